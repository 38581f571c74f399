"""Best-arm identification: try options that pay or do not, then name the one with the highest chance to pay.

Source: PAPRIKA, table 1 and appendix B.4.10: with eps ~ U[0.1, 0.2], a random arm pays with probability 0.5 + eps and
the others with probabilities drawn from U[0, 0.5 - eps]; 20 pulls, then one decision; 81 training scenarios of 3 to 7
arms, and one test scenario of 5 played in 100 worlds. Rewards: 1 for the right decision, otherwise 0; the payout of a
pull is in `info`. The means are drawn from the world seed, so a group of samples shares them. Preset `small` is ours,
for models of less than a million parameters: three machines with fixed names, 10 pulls, 500 training and 500 test
worlds, and no story; after every pull, and in `render`, the tallies of all machines and the number of tries left.
Departures: scenarios are ours; the agent is told the number of pulls left. A name that is no arm costs its pull, as in
the paper's code, but the request to decide always follows the last pull, whereas that code omits it after a wrong name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from sonde._util.folders import data_file
from sonde.core import AGENT, Frozen, Outcome, Rng, Spec, Step, TabularEnv, Task, TaskList, invalid
from sonde.core.tools import choice_schema
from sonde.core.types import Json

from .._shared.answer import AnswerTags, Which, begins_another, parse_answer, read_answer, tag_answer
from .._shared.frames import plain_letters

if TYPE_CHECKING:
    from .filter import ArmsFilter

_N_TEST = 100
_N_SMALL = 500
_SMALL_ARMS = ("amber", "coral", "indigo")
_CUSTOM, _SMALL = "custom", "small"
_TURNS = Frozen(paprika=21, small=11)
_WIN = Frozen({AGENT: 1.0})


class Scenario(NamedTuple):
    """A story around some arms: the name of an arm, the meaning of a pull and of its payout."""

    name: str
    split: str
    setting: str
    arm: str
    act: str
    payoff: str
    arms: tuple[str, ...]


class State(NamedTuple):
    """The world (scenario, arms, payout probability of each), `(pulls, successes)` of each arm, and the turns taken."""

    scenario: str
    arms: tuple[str, ...]
    means: tuple[float, ...]
    counts: tuple[tuple[int, int], ...]
    turn: int = 0


@dataclass(frozen=True, kw_only=True)
class BestArm(TabularEnv[State], AnswerTags):
    """See the module docstring. `max_turns` in 2..201, None takes the preset's: all turns but the last are pulls, the
    last is the decision."""

    presets: ClassVar[tuple[str, ...]] = ("paprika", "small")

    preset: str = "paprika"
    max_turns: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_turns is None:
            object.__setattr__(self, "max_turns", _TURNS[self.preset])

    def check_turns(self) -> None:
        if self.max_turns is not None and not 2 <= self.max_turns <= 201:
            raise invalid("best_arm: max_turns", self.max_turns, "2 to 201")

    @property
    def pull_count(self) -> int:
        """The number of pulls: all turns but the last, which is the decision."""
        return cast("int", self.max_turns) - 1

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name="best_arm",
            version="2",
            summary="find the arm most likely to pay in a limited number of pulls",
            preset=self.preset,
            max_turns=self.pull_count + 1,
            reward_range=(0.0, 1.0),
            support="eps ~ U[0.1, 0.2]; the best arm pays with 0.5 + eps, every other with U[0, 0.5 - eps]",
            source="PAPRIKA (arXiv 2502.17543), table 1 and appendix B.4.10",
            reference="best_arm",
            departures=(
                *self.paprika_departures,
                "scenarios are ours",
                "every message states the number of pulls left",
                "the request to decide also follows an invalid last pull",
            ),
        )

    def split(self, split: str) -> Sequence[Task]:
        if self.preset == _SMALL:
            return TaskList(_N_SMALL, lambda i: self._task(_SMALL, _SMALL_ARMS, None, split, i))
        if split == "test":
            room = _load_scenarios(split)[0]
            return TaskList(_N_TEST, lambda i: self._task(room.name, room.arms, None, split, i))
        told = _load_scenarios(split)
        return TaskList(len(told), lambda i: self._task(told[i].name, told[i].arms, None, split, i))

    def task(self, hidden: Json) -> Task:
        """`{"means": {"blue": 0.63, ...}}`: the arms of a scenario, or 2 to 10 names. With `{"arms": ["blue", ...]}`,
        every episode draws the means."""
        if isinstance(hidden, Mapping) and set(cast("Mapping[Any, Any]", hidden)) == {"arms"}:
            return self._task(*self._find_home(_check_arms(hidden["arms"])), None, "custom", 0)
        means = _check_means(hidden)
        name, arms = self._find_home(tuple(means))
        ordered = Frozen(means=Frozen({arm: float(means[arm]) for arm in arms}))
        return self._task(name, arms, ordered, "custom", 0)

    def _find_home(self, arms: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        """The scenario of these arms, and its arms in order."""
        if self.preset == _SMALL:
            return _SMALL, _SMALL_ARMS if set(arms) == set(_SMALL_ARMS) else arms
        scenario = _find_scenario(frozenset(arms))
        return (scenario.name, scenario.arms) if scenario else (_CUSTOM, arms)

    def _task(self, name: str, arms: tuple[str, ...], hidden: Json, split: str, index: int) -> Task:
        return self.make_listed_task(split, index, Frozen[Any](scenario=name, arms=arms), hidden)

    # --- rules -------------------------------------------------------------------------------------------------------

    def draw(self, public: Mapping[str, Json], rng: Rng) -> Json:
        arms: tuple[str, ...] = public["arms"]
        eps, best = rng.uniform(0.1, 0.2), rng.randrange(len(arms))
        means = [0.5 + eps if i == best else rng.uniform(0.0, 0.5 - eps) for i in range(len(arms))]
        return {"means": dict(zip(arms, means, strict=True))}

    def start(self, public: Mapping[str, Json], hidden: Json) -> State:
        arms: tuple[str, ...] = public["arms"]
        return State(public["scenario"], arms, tuple(hidden["means"][a] for a in arms), ((0, 0),) * len(arms))

    def to_act(self, state: State) -> str | None:
        return AGENT if state.turn <= self.pull_count else None

    def hypothesis(self, state: State) -> str:
        return state.arms[state.means.index(max(state.means))]

    def intro(self, state: State, seat: str) -> str:
        if state.scenario == _SMALL:
            return self._render_state(state)
        story = _scenario_texts(self.prompt_pieces("best_arm"), state.scenario, state.arms)
        return self.prompt_pieces("best_arm")["intro"].format(pulls=self.pull_count, **story.words)

    def render(self, state: State, seat: str) -> str | None:
        """Rules, tallies and remaining tries under preset `small`; the stories of `paprika` have no summary."""
        return self._render_state(state) if state.scenario == _SMALL else None

    def _render_state(self, state: State) -> str:
        rules = self.prompt_pieces("best_arm")["small-intro"].format(pulls=self.pull_count, arms=", ".join(state.arms))
        return f"{rules}\n{self._tallies_text(state)}"

    def _tallies_text(self, state: State) -> str:
        """Tries and wins of every arm, then the tries left or the request to decide."""
        say, left = self.prompt_pieces("best_arm"), self.pull_count - state.turn
        rows = zip(state.arms, state.counts, strict=True)
        tallies = [say["small-tally"].format(arm=arm, tries=n, wins=wins) for arm, (n, wins) in rows]
        return "\n".join([*tallies, say["small-next"].format(left=left) if left > 0 else say["small-decide"]])

    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        arm = _parse_arm(state.arms, text, self.which_answer) if state.turn < self.pull_count else None
        if arm is None:
            return [(1.0, self._settle_text(state, text))]
        mean = state.means[arm]
        return [(mean, self._pull_arm(state, arm, 1)), (1.0 - mean, self._pull_arm(state, arm, 0))]

    def step(self, state: State, text: str, rng: Rng) -> Step:
        """Sample one step, without building the other outcomes."""
        arm = _parse_arm(state.arms, text, self.which_answer) if state.turn < self.pull_count else None
        if arm is None:
            return self._settle_text(state, text)
        return self._pull_arm(state, arm, int(rng.random() < state.means[arm]))

    def _pull_arm(self, state: State, arm: int, reward: int) -> Step:
        scenario, arms, means, counts, turn = state
        n, s = counts[arm]
        counts = (*counts[:arm], (n + 1, s + reward), *counts[arm + 1 :])
        texts = _scenario_texts(self.prompt_pieces("best_arm"), scenario, arms)
        info = Frozen[Any](result="pull", arm=arms[arm], reward=reward, pulls=_count_table(arms, counts))
        after = State(scenario, arms, means, counts, turn + 1)
        return self._end_turn(after, texts, texts.pulled[arm][reward], info)

    def _settle_text(self, state: State, text: str) -> Step:
        """The step that depends on the text alone: a decision, or an answer that names no arm."""
        say, texts = (
            self.prompt_pieces("best_arm"),
            _scenario_texts(self.prompt_pieces("best_arm"), state.scenario, state.arms),
        )
        words = texts.words
        after = state._replace(turn=state.turn + 1)
        pulls, arm = _count_table(state.arms, state.counts), _parse_arm(state.arms, text, self.which_answer)
        if arm is None and read_answer(text) is None:
            over = state._replace(turn=self.pull_count + 1)
            return _end_step(over, say["format"], Frozen(result="unreadable"), Outcome("unreadable"))
        if arm is None:
            info = Frozen[Any](result="invalid", pulls=pulls)
            if state.turn < self.pull_count:
                return self._end_turn(after, texts, say["invalid"].format(**words), info)
            return _end_step(after, say["no-decision"].format(**words), info, Outcome("loss"))
        name, right = state.arms[arm], state.means[arm] == max(state.means)
        result = "win" if right else "loss"
        info = Frozen[Any](result=result, arm=name, pulls=pulls)
        told = say[result].format(arm=name, **words)
        return _end_step(after, told, info, Outcome("win", 1.0) if right else Outcome("loss"))

    def _end_turn(self, after: State, texts: ScenarioTexts, told: str, info: Frozen[Any]) -> Step:
        if after.scenario == _SMALL:
            return Step(after, Frozen({AGENT: f"{told}\n{self._tallies_text(after)}"}), info=info)
        left = self.pull_count - after.turn
        ask = texts.decide if left == 0 else f"{texts.next[0]}{left}{texts.next[1]}"
        return Step(after, Frozen({AGENT: f"{told}\n{ask}"}), info=info)

    def actions(self, state: State) -> Sequence[str] | None:
        return state.arms

    def answer_schema(self, public: Mapping[str, Json]) -> Mapping[str, Json] | None:
        return choice_schema(public["arms"], "What to try, or at the end your decision.")

    def say(self, answer: str) -> str:
        return tag_answer(answer)

    # --- exact beliefs -----------------------------------------------------------------------------------------------

    def filter(self, public: Mapping[str, Json]) -> ArmsFilter:
        from .filter import ArmsGame

        arms: tuple[str, ...] = public["arms"]
        return ArmsGame(arms, self.pull_count, partial(_parse_arm, arms, which=self.which_answer)).start()


def _end_step(state: State, told: str, info: Frozen[Any], outcome: Outcome) -> Step:
    rewards = _WIN if outcome.kind == "win" else Frozen[float]()
    return Step(state, Frozen({AGENT: told}), rewards, info, outcome)


def _count_table(arms: tuple[str, ...], counts: tuple[tuple[int, int], ...]) -> Frozen[tuple[int, int]]:
    return Frozen(zip(arms, counts, strict=True))


# --- names -----------------------------------------------------------------------------------------------------------


def _normalise_name(name: str) -> str:
    """A name in canonical form: case, double spaces and surrounding quotes or stops are ignored."""
    return " ".join(plain_letters(name).strip(" \t\r\n\"'`*.“”‘’").casefold().split())


def _parse_arm(arms: tuple[str, ...], text: str, which: Which = "last") -> int | None:
    """The number of the arm that a text names; None if it names none."""
    known = _arm_numbers(arms)

    def parse_name(answer: str) -> str | None:
        name = _normalise_name(answer)
        return name if name in known else None

    name = parse_answer(text, parse_name, begins_another(known), which=which)
    return None if name is None else known[name]


@lru_cache(maxsize=1024)
def _arm_numbers(arms: tuple[str, ...]) -> Mapping[str, int]:
    return {_normalise_name(arm): i for i, arm in enumerate(arms)}


def _check_arms(arms: Json) -> tuple[str, ...]:
    """The names of the arms in a hidden setup; an error names what is wrong with them."""
    names = tuple(cast("Sequence[Any]", arms)) if isinstance(arms, list | tuple) else ()
    if not 2 <= len(names) <= 10:
        raise invalid("best_arm: arms", cast("object", arms), "2 to 10 arms")
    for name in names:
        if not _is_name(name):
            raise invalid("best_arm: name of an arm", name, "1 to 40 printable characters without <")
    if len({_normalise_name(name) for name in names}) < len(names):
        raise invalid("best_arm: arms", names, "names that differ in more than case, spaces and quotes")
    return names


def _is_name(name: object) -> bool:
    if not isinstance(name, str) or not _normalise_name(name):
        return False
    return len(name) <= 40 and name.isprintable() and "<" not in name


def _check_means(hidden: Json) -> Mapping[str, float]:
    """The means in a hidden setup; an error names what is wrong with it."""
    setup = cast("Mapping[Any, Any]", hidden) if isinstance(hidden, Mapping) else Frozen[Any]()
    if set(setup) != {"means"} or not isinstance(setup["means"], Mapping):
        raise invalid("best_arm: hidden", cast("object", hidden), '{"means": {"blue": 0.63, ...}}')
    rows = cast("Mapping[Any, Any]", setup["means"])
    _check_arms([*rows])
    for name, mean in rows.items():
        if isinstance(mean, bool) or not isinstance(mean, int | float) or not (0.0 <= mean <= 1.0):
            raise invalid(f"best_arm: means[{name!r}]", mean, "a number from 0 to 1")
    if list(rows.values()).count(max(rows.values())) > 1:
        raise invalid("best_arm: means", dict(rows), "one highest mean, not several")
    return rows


# --- scenarios -------------------------------------------------------------------------------------------------------


@cache
def _load_scenarios(split: str) -> tuple[Scenario, ...]:
    rows: list[dict[str, Any]] = json.loads(data_file("best_arm", "scenarios.json").read_text("utf-8"))
    return tuple(Scenario(**row)._replace(arms=tuple(row["arms"])) for row in rows if row["split"] == split)


@cache
def _find_scenario(arms: frozenset[str]) -> Scenario | None:
    """The scenario with exactly these arms."""
    return next((s for s in _load_scenarios("test") + _load_scenarios("train") if frozenset(s.arms) == arms), None)


def _scenario_of(custom: str, name: str, arms: tuple[str, ...]) -> Scenario:
    if name == _SMALL:
        return Scenario(name, "", "", "machine", "try {arm}", "it pays", arms)
    if name == _CUSTOM:
        return Scenario(name, "", custom, "machine", "start {arm}", "it pays", arms)
    return next(s for s in _load_scenarios("test") + _load_scenarios("train") if s.name == name)


class ScenarioTexts(NamedTuple):
    """The prompt pieces of one scenario, filled in as far as they are constant."""

    words: Mapping[str, str]
    pulled: tuple[tuple[str, str], ...]
    next: tuple[str, str]
    """The text before and after the number of pulls left."""
    decide: str


@lru_cache(maxsize=1024)
def _scenario_texts(say: Frozen[str], name: str, arms: tuple[str, ...]) -> ScenarioTexts:
    scenario = _scenario_of(say["custom"], name, arms)
    listed = ", ".join(arms)
    words = {"setting": scenario.setting, "noun": scenario.arm, "payoff": scenario.payoff, "arms": listed}
    acts = [scenario.act.format(arm=arm) for arm in arms]
    pulled = tuple((say["pull"].format(act=a, reward=0), say["pull"].format(act=a, reward=1)) for a in acts)
    before, _, after = say["next"].partition("{left}")
    return ScenarioTexts(words, pulled, (before, after.format(**words)), say["decide"].format(**words))
