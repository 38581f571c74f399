"""RiverSwim: swim against a current through caves with uninformative labels to a reward that is far upstream.

Source: Toward Efficient Exploration by LLM Agents, section 4.2 and appendices C, D and H.3, after Strehl and Littman
(2008) and Osband et al. (2013). One tunnel of each cave always leads downstream, the other upstream with probability
0.35 and back with 0.05; downstream in the first cave pays 0.005, upstream in the last one 1, everything else 0.
Presets: length3 (3 caves, H = 6, K = 35), length4 (4, H = 20, K = 35), length6 (6, H = 50, K = 35); the world is the
same over the K sub-episodes, each of which begins in the first cave.

Left open by the paper:
- The ends of the river. `ends="stated"`, the default, applies the stated 35 % and 5 % in every cave: the first keeps a
  swimmer with 0.65, the last with 0.95. `ends="osband"` has the ends of the paper that it cites for the dynamics:
  0.6 up from the first cave, 0.6 to stay in the last.
- What rewards depend on. `rewards="action"`, the default: on cave and tunnel (R(s, a), section 2), whatever cave the
  stroke ends in. `rewards="transition"`: on cave, tunnel and next cave, as its prompts ask of a sampled map (H.3); the
  last cave then pays 1 to a stroke upstream that stays there and nothing to one that is washed back, as in Strehl and
  Littman. Agents then have to find out every such reward, and are told so.
- K and H of length 6 and K of length 4; it names horizons "as large as 50" and K = 35 for length 3.

Labels of caves and tunnels are drawn from the world seed; the label of the first cave is public.
`downstream_known=True` also reveals every deterministic transition (appendix C), so only probabilities and rewards
remain to be found out. An episode is won if its mean return per sub-episode is at least half the optimal value, and its
score is that ratio, at most 1; the agent is not told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from sonde.core import AGENT, Frozen, Outcome, Rng, Spec, Step, TabularEnv, Task, TaskList, derive, invalid, unknown
from sonde.core.env import pick_weighted
from sonde.core.tools import choice_schema
from sonde.core.types import Json

from .._shared.answer import AnswerTags, Which, parse_answer, read_answer, tag_answer
from .._shared.rounds import check_turn_count, step_facts
from .currents import ENDS, GREAT, REWARDS, SMALL, TUNNELS, Labels, stroke_outcomes, stroke_reward

if TYPE_CHECKING:
    from .._shared.finite import FiniteProblem, World
    from .filter import RiverFilter, RiverGame


class _Preset(NamedTuple):
    caves: int
    horizon: int
    sub_episodes: int


_PRESETS = {"length3": _Preset(3, 6, 35), "length4": _Preset(4, 20, 35), "length6": _Preset(6, 50, 35)}
_SIZES = {"train": 1000, "test": 100}
_REWARDS = {r: Frozen({AGENT: r}) for r in (0.0, SMALL, GREAT)}


class State(NamedTuple):
    """The labels, the swimmer's place (counted from the first cave), the steps taken and the rewards so far."""

    labels: Labels
    place: int = 0
    turn: int = 0
    total: float = 0.0


@dataclass(frozen=True, kw_only=True)
class RiverSwim(TabularEnv[State], AnswerTags):
    """See the module docstring. None takes the preset's value. `caves` in 2..7; `ends` is `stated` or `osband`,
    `rewards` `action` or `transition`."""

    presets: ClassVar[tuple[str, ...]] = tuple(_PRESETS)

    preset: str = "length3"
    caves: int | None = None
    horizon: int | None = None
    sub_episodes: int | None = None
    ends: str = "stated"
    rewards: str = "action"
    downstream_known: bool = False
    max_turns: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 2 <= self.cave_count <= 7:
            raise invalid("river_swim: caves", self.cave_count, "2 to 7")
        if self.ends not in ENDS:
            raise unknown("river_swim: ends", self.ends, ENDS)
        if self.rewards not in REWARDS:
            raise unknown("river_swim: rewards", self.rewards, REWARDS)

    def check_turns(self) -> None:
        check_turn_count("river_swim", self.max_turns, self.step_count, self._setting_value("sub_episodes"))

    def _setting_value(self, field: str) -> int:
        own = getattr(self, field)
        return getattr(_PRESETS[self.preset], field) if own is None else own

    @cached_property
    def cave_count(self) -> int:
        """Number of caves."""
        return self._setting_value("caves")

    @cached_property
    def step_count(self) -> int:
        """Steps of a sub-episode."""
        return self._setting_value("horizon")

    @cached_property
    def turns(self) -> int:
        """Steps of the episode."""
        return check_turn_count("river_swim", self.max_turns, self.step_count, self._setting_value("sub_episodes"))

    @cached_property
    def round_count(self) -> int:
        """Number of sub-episodes; `max_turns` may cut the last one short."""
        return -(-self.turns // self.step_count)

    @cached_property
    def cave_labels(self) -> tuple[str, ...]:
        """The labels of the caves."""
        return tuple(str(i + 1) for i in range(self.cave_count))

    @cached_property
    def _by_next(self) -> bool:
        return self.rewards == "transition"

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name="river_swim",
            version="2",
            summary="swim upstream through unlabelled caves to a distant reward, again and again in the same river",
            preset=self.preset,
            max_turns=self.turns,
            reward_range=(0.0, 1.0),
            support="every labelling of the caves after the first and of their tunnels, equally likely",
            source="Toward Efficient Exploration by LLM Agents, section 4.2 and appendices C, D and H.3",
            reference="psrl",
            departures=(
                "the ends of the river follow the stated current, or Osband et al. (2013)",
                f"rewards by cave{', tunnel and next cave' if self._by_next else ' and tunnel'}; the agent is told "
                "the three possible values",
            ),
        )

    def split(self, split: str) -> Sequence[Task]:
        return TaskList(_SIZES[split], lambda i: self._task(self._public(split, i), None, split, i))

    def _public(self, split: str, index: int) -> Frozen[Any]:
        rng = Random(derive(0, "task", "river_swim", self.preset, split, index))
        return self._public_facts(_draw_labels(self.cave_labels, self.cave_labels[rng.randrange(self.cave_count)], rng))

    def _public_facts(self, labels: Labels) -> Frozen[Any]:
        """The public facts about a river with these labels."""
        public: dict[str, Any] = {"caves": self.cave_labels, "start": labels.order[0]}
        if self.downstream_known:
            from .filter import known_downstream

            public["known"] = known_downstream(labels)
        return Frozen(public)

    def task(self, hidden: Json) -> Task:
        """`{"order": ["2", "1", "3"], "up": ["B", "A", "B"]}`: caves from the first, and their upstream tunnels."""
        labels = _read_labels(self._check_setup(hidden))
        return self._task(self._public_facts(labels), _hidden_setup(labels), "custom", 0)

    def _check_setup(self, hidden: Json) -> Mapping[str, Any]:
        setup = cast("Mapping[str, Any]", hidden) if isinstance(hidden, Mapping) else Frozen[Any]()
        if set(setup) != {"order", "up"}:
            raise invalid("river_swim: hidden", cast("object", hidden), '{"order": ["2", ...], "up": ["B", ...]}')
        order, up = setup["order"], setup["up"]
        if not _is_text_list(order) or sorted(order) != sorted(self.cave_labels):
            raise invalid("river_swim: hidden: order", order, f"each of {', '.join(self.cave_labels)} once")
        if not _is_text_list(up) or len(up) != self.cave_count or not set(up) <= set(TUNNELS):
            raise invalid("river_swim: hidden: up", up, f"{self.cave_count} of {', '.join(TUNNELS)}")
        return setup

    def _task(self, public: Mapping[str, Json], hidden: Json, split: str, index: int) -> Task:
        return self.make_listed_task(split, index, public, hidden)

    # --- rules -------------------------------------------------------------------------------------------------------

    def prior(self, public: Mapping[str, Json]) -> Sequence[tuple[float, Json]]:
        rows = self._fitting_labels(public)
        return [(1.0 / len(rows), _hidden_setup(labels)) for labels in rows]

    def _fitting_labels(self, public: Mapping[str, Json]) -> Sequence[Labels]:
        from .filter import known_downstream, list_labellings

        rows = list_labellings(self.cave_labels, public["start"])
        return [r for r in rows if known_downstream(r) == public["known"]] if "known" in public else rows

    def draw(self, public: Mapping[str, Json], rng: Rng) -> Json:
        if "known" in public:
            return super().draw(public, rng)
        return _hidden_setup(_draw_labels(self.cave_labels, public["start"], rng))

    def start(self, public: Mapping[str, Json], hidden: Json) -> State:
        return State(_read_labels(hidden))

    def to_act(self, state: State) -> str | None:
        return AGENT if state.turn < self.turns else None

    def hypothesis(self, state: State) -> str:
        return str(state.labels)

    def intro(self, state: State, seat: str) -> str:
        say, start = self.prompt_pieces("river_swim"), state.labels.order[0]
        known = (
            "\n\n" + say["known"].format(list=_current_sentences(say["known_line"], state.labels))
            if self.downstream_known
            else ""
        )
        pays = say[f"pays_{self.rewards}"]
        told = say["intro"].format(
            n=self.cave_count, start=start, rounds=self.round_count, h=self.step_count, known=known, pays=pays
        )
        return f"{told}\n\n{self._position_text(start, 0)}"

    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        tunnel = _parse_tunnel(text, self.which_answer)
        if tunnel is None:
            return [(1.0, self._reject_answer(state, text))]
        return [(p, self._swim_step(state, tunnel, after)) for p, after in self._current_rows(state, tunnel)]

    def step(self, state: State, text: str, rng: Rng) -> Step:
        """Sample one step, without building the other outcomes."""
        tunnel = _parse_tunnel(text, self.which_answer)
        if tunnel is None:
            return self._reject_answer(state, text)
        rows = self._current_rows(state, tunnel)
        return self._swim_step(state, tunnel, rows[0][1] if len(rows) == 1 else pick_weighted(rows, rng))

    def _current_rows(self, state: State, tunnel: str) -> tuple[tuple[float, int], ...]:
        return stroke_outcomes(self.cave_count, self.ends, state.place, tunnel == state.labels.up[state.place])

    def _swim_step(self, state: State, tunnel: str, place: int) -> Step:
        labels, before, turn, total = state
        order = labels.order
        reward = stroke_reward(self.cave_count, before, tunnel == labels.up[before], place, self._by_next)
        info = step_facts("step", turn, self.step_count, order[before], tunnel, reward, order[place])
        return self._end_turn(
            State(labels, place, turn + 1, total + reward),
            _stroke_text(self.prompt_pieces("river_swim")["stroke"], tunnel, order[place], reward),
            info,
        )

    def _reject_answer(self, state: State, text: str) -> Step:
        """An answer that names no tunnel wastes the step; a reply without an answer ends the episode."""
        say, cave = self.prompt_pieces("river_swim"), state.labels.order[state.place]
        if read_answer(text) is None:
            info = step_facts("unreadable", state.turn, self.step_count, cave, None, 0.0, cave)
            told = Frozen({AGENT: say["format"]})
            return Step(state._replace(turn=self.turns), told, info=info, outcome=Outcome("unreadable"))
        info = step_facts("invalid", state.turn, self.step_count, cave, None, 0.0, cave)
        return self._end_turn(state._replace(turn=state.turn + 1), say["invalid"].format(cave=cave), info)

    def _end_turn(self, after: State, told: str, info: Frozen[Any]) -> Step:
        rewards = _REWARDS[info["reward"]]
        if after.turn == self.turns:
            ended = Frozen({AGENT: f"{told}\n{self.prompt_pieces('river_swim')['over']}"})
            return Step(after, ended, rewards, info, self._final_outcome(after.total, info))
        if after.turn % self.step_count == 0:
            after = State(after.labels, 0, after.turn, after.total)
        now = self._position_text(after.labels.order[after.place], after.turn)
        return Step(after, Frozen({AGENT: f"{told}\n{now}"}), rewards, info)

    def _final_outcome(self, total: float, info: Frozen[Any]) -> Outcome:
        score = min(1.0, total / (self._best_return * self.turns / self.step_count))
        won = score >= 0.5 and info["action"] is not None
        return Outcome("win" if won else "loss", score)

    def _position_text(self, cave: str, turn: int) -> str:
        """The swimmer's cave and the current step, as text."""
        round_, step = divmod(turn, self.step_count)
        text = self.prompt_pieces("river_swim")["round" if step == 0 else "step"]
        return _clock_text(text, cave, round_ + 1, self.round_count, step + 1, self.step_count)

    def actions(self, state: State) -> Sequence[str] | None:
        return TUNNELS

    def answer_schema(self, public: Mapping[str, Json]) -> Mapping[str, Json] | None:
        return choice_schema(TUNNELS, "The tunnel to swim into.")

    def say(self, answer: str) -> str:
        return tag_answer(answer)

    # --- the decision problem ----------------------------------------------------------------------------------------

    def decision_problem(self, public: Mapping[str, Json]) -> FiniteProblem:
        """The decision problem of tasks with this public part."""
        return _river_problem(self, public["start"], public.get("known", ()))

    def world(self, state: State) -> World:
        """The tables of the world behind a state, in the order of `decision_problem`'s labels."""
        from .filter import labelled_world

        return labelled_world(self.decision_problem({"start": state.labels.order[0]}), self.ends, state.labels)

    def optimal_value(self, state: State) -> float:
        """Expected return of optimal play over one sub-episode; the same under every labelling."""
        return self._best_return

    @cached_property
    def _best_return(self) -> float:
        from .filter import river_world

        return float(river_world(self.cave_count, self.ends, self._by_next).action_values(self.step_count)[0, 0].max())

    def filter(self, public: Mapping[str, Json]) -> RiverFilter:
        from .filter import RiverFilter

        return RiverFilter.prior(_river_game(self, Frozen(public)))


@lru_cache(maxsize=256)
def _river_problem(env: RiverSwim, start: str, known: tuple[tuple[str, str, str], ...]) -> FiniteProblem:
    from .._shared.finite import FiniteProblem

    by_next = env.rewards == "transition"
    return FiniteProblem(
        "tabular", env.cave_labels, TUNNELS, env.step_count, env.round_count, start, (0.0, SMALL, GREAT), known, by_next
    )


@lru_cache(maxsize=64)
def _river_game(env: RiverSwim, public: Frozen[Any]) -> RiverGame:
    from .filter import river_arrays

    return river_arrays(
        env.decision_problem(public),
        env.ends,
        env._fitting_labels(public),  # pyright: ignore[reportPrivateUsage]
        partial(_parse_tunnel, which=env.which_answer),
    )


# --- labels and words ------------------------------------------------------------------------------------------------


def _draw_labels(caves: Sequence[str], start: str, rng: Random) -> Labels:
    """A uniformly random labelling with this start."""
    others = [c for c in caves if c != start]
    rng.shuffle(others)
    return Labels((start, *others), tuple(TUNNELS[rng.randrange(2)] for _ in caves))


def _read_labels(hidden: Mapping[str, Any]) -> Labels:
    return Labels(tuple(hidden["order"]), tuple(hidden["up"]))


def _hidden_setup(labels: Labels) -> Json:
    return Frozen[Any](order=labels.order, up=labels.up)


def _is_text_list(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(v, str) for v in cast("Sequence[object]", value))


def _parse_tunnel(text: str, which: Which = "last") -> str | None:
    """The tunnel that a text names; None if it names none."""
    return parse_answer(text, _match_tunnel, which=which)


def _match_tunnel(answer: str) -> str | None:
    name = answer.upper().removeprefix("TUNNEL ")
    return name if name in TUNNELS else None


@lru_cache(maxsize=1024)
def _stroke_text(text: str, tunnel: str, cave: str, reward: float) -> str:
    return text.format(tunnel=tunnel, cave=cave, reward=f"{reward:g}")


@lru_cache(maxsize=16_384)
def _clock_text(text: str, cave: str, round_: int, rounds: int, step: int, steps: int) -> str:
    return text.format(cave=cave, round=round_, rounds=rounds, step=step, steps=steps)


def _current_sentences(line: str, labels: Labels) -> str:
    from .filter import known_downstream

    rows = known_downstream(labels)
    return "\n".join(line.format(cave=cave, tunnel=tunnel, after=after) for cave, tunnel, after in rows)
