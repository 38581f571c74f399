"""Bandits whose rewards count: earn as much as possible in a fixed number of pulls of arms with unknown means.

Sources and presets:
    psrl           Toward Efficient Exploration by LLM Agents, section 4.1.1 and H.2.1: 5 arms with random letters as
                   labels; one arm, chosen uniformly, pays with probability 0.6, the others with 0.4; T = 100
    krishnamurthy  the same problem as a story of buttons labelled by colours (Krishnamurthy et al. 2024, the source of
                   both papers; PAPRIKA, appendix J), with the history in one message: `history="raw"` lists every
                   press, `"summary"` gives counts and means; with up to 20 buttons (`arms=20`), because appendix J
                   compares few arms with many
    informative    appendix F and H.2.3, after Russo and Van Roy (2018, example 2): arms 0 to 10; one of 1 to 10 always
                   pays 1, arm 0 pays 1 / (2 times its number), all others 0. T = 20, which the paper does not state

Number of arms, best mean and gap are configurable. A pull is a sub-episode of one step, so regret is per pull. The
filter knows the prior above; agents that assume less (Beta(1, 1) for each arm, as in the paper) use the counts. An
episode is won if the best arm was pulled more often than any other; its score is the mean reward. The agent is not
told. Departures: prompts are ours; that of `informative` states the rule, which the paper gives only to its samplers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from random import Random
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from sonde.core import AGENT, Frozen, Outcome, Rng, Spec, Step, TabularEnv, Task, TaskList, derive, invalid, unknown
from sonde.core.tools import choice_schema
from sonde.core.types import Json

from .._shared.answer import AnswerTags, Which, begins_another, parse_answer, read_answer, tag_answer
from .._shared.rounds import check_turn_count, step_facts

if TYPE_CHECKING:
    from .._shared.finite import FiniteProblem, World
    from .filter import BanditFilter, BanditGame


class _Preset(NamedTuple):
    arms: int
    pulls: int
    history: str
    reference: str
    source: str


_STORY = "Krishnamurthy et al. (arXiv 2403.15371)"
_PAPER = "Toward Efficient Exploration by LLM Agents"
_PRESETS = {
    "psrl": _Preset(5, 100, "messages", "bernoulli_bandit", f"{_PAPER}, section 4.1.1 and appendix H.2.1"),
    "krishnamurthy": _Preset(5, 100, "raw", "bernoulli_bandit", f"{_STORY}; PAPRIKA, appendix J"),
    "informative": _Preset(11, 20, "messages", "ids", f"{_PAPER}, appendices F and H.2.3"),
}
_COLOURS = (
    "blue", "green", "red", "yellow", "purple", "orange", "white", "black", "pink", "brown",
    "grey", "gold", "silver", "turquoise", "beige", "maroon", "navy", "lime", "olive", "coral",
)  # fmt: skip
_MOST_ARMS = {"psrl": len(ascii_uppercase), "krishnamurthy": len(_COLOURS), "informative": 100}
_HISTORIES = ("messages", "raw", "summary")
_SIZES = {"train": 1000, "test": 100}
_ONLY = "pull"
"""The name of a bandit's only state."""


class State(NamedTuple):
    """The labels and mean rewards of the arms, and the pulls so far as `(arm, reward)`; arm None marks an unreadable
    reply."""

    arms: tuple[str, ...]
    means: tuple[float, ...]
    pulls: tuple[tuple[int | None, float], ...] = ()


@dataclass(frozen=True, kw_only=True)
class BernoulliBandit(TabularEnv[State], AnswerTags):
    """See the module docstring. None takes the preset's value; `max_turns` is the number of pulls T. `best` and `gap`
    (0.6 and 0.2) apply to the presets with random rewards. `history` is `messages`, `raw` or `summary`; see
    `render`."""

    presets: ClassVar[tuple[str, ...]] = tuple(_PRESETS)

    preset: str = "psrl"
    arms: int | None = None
    best: float | None = None
    gap: float | None = None
    history: str | None = None
    max_turns: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 2 <= self.arm_count <= _MOST_ARMS[self.preset]:
            raise invalid("bernoulli_bandit: arms", self.arm_count, f"2 to {_MOST_ARMS[self.preset]}")
        if self.history_form not in _HISTORIES:
            raise unknown("bernoulli_bandit: history", self.history_form, _HISTORIES)
        check_turn_count("bernoulli_bandit", None, 1, self.turns)
        for name, value in (("best", self.best), ("gap", self.gap)):
            if value is not None and self._pays_surely:
                raise invalid(f"bernoulli_bandit: {name}", value, "none for the preset 'informative'")
        best, rest = self._arm_means
        if not 0.0 < best < 1.0:
            raise invalid("bernoulli_bandit: best", best, "a number between 0 and 1")
        if not 0.0 < rest < best:
            raise invalid("bernoulli_bandit: gap", self.gap, f"a number between 0 and best = {best}")

    @cached_property
    def arm_count(self) -> int:
        """Number of arms, including arm 0 of `informative`."""
        return _PRESETS[self.preset].arms if self.arms is None else self.arms

    @cached_property
    def turns(self) -> int:
        """Number of pulls."""
        return _PRESETS[self.preset].pulls if self.max_turns is None else self.max_turns

    @cached_property
    def history_form(self) -> str:
        """The form in which the history is shown."""
        return _PRESETS[self.preset].history if self.history is None else self.history

    @cached_property
    def _pays_surely(self) -> bool:
        return self.preset == "informative"

    @cached_property
    def _arm_means(self) -> tuple[float, float]:
        """The means of the best arm and of the others."""
        best = 0.6 if self.best is None else self.best
        return best, round(best - (0.2 if self.gap is None else self.gap), 12)

    @cached_property
    def spec(self) -> Spec:
        preset = _PRESETS[self.preset]
        best, rest = self._arm_means
        return Spec(
            name="bernoulli_bandit",
            version="2",
            summary="earn as much as possible in a fixed number of pulls of arms with unknown means",
            preset=self.preset,
            max_turns=self.turns,
            reward_range=(0.0, 1.0),
            support=f"the best arm, uniform over arms 1 to {self.arm_count - 1}"
            if self._pays_surely
            else f"the best of {self.arm_count} arms, uniform; it pays with {best:g}, the others with {rest:g}",
            source=preset.source,
            reference=preset.reference,
            departures=(
                "prompts are ours",
                *(("the prompt states the rule of the rewards",) if self._pays_surely else ()),
            ),
        )

    def split(self, split: str) -> Sequence[Task]:
        return TaskList(_SIZES[split], lambda i: self._task(self._draw_labels(split, i), None, split, i))

    def _draw_labels(self, split: str, index: int) -> tuple[str, ...]:
        if self._pays_surely:
            return tuple(str(i) for i in range(self.arm_count))
        if self.preset == "krishnamurthy":
            return _COLOURS[: self.arm_count]
        rng = Random(derive(0, "task", "bernoulli_bandit", self.preset, split, index))
        return tuple(rng.sample(ascii_uppercase, self.arm_count))

    def task(self, hidden: Json) -> Task:
        """`{"arms": ["K", "Q", ...], "best": "Q"}`: labels in display order, and the best one. Without `arms`, the
        labels are those of the preset, or the first letters."""
        setup = cast("Mapping[str, Any]", hidden) if isinstance(hidden, Mapping) else Frozen[Any]()
        if not {"best"} <= set(setup) <= {"arms", "best"}:
            raise invalid("bernoulli_bandit: hidden", cast("object", hidden), '{"arms": ["K", "Q", ...], "best": "Q"}')
        preset_arms = (
            tuple(ascii_uppercase[: self.arm_count]) if self.preset == "psrl" else self._draw_labels("custom", 0)
        )
        arms = _check_arms(setup.get("arms", preset_arms), self.arm_count, preset_arms, self.preset == "psrl")
        if setup["best"] not in (arms[1:] if self._pays_surely else arms):
            raise invalid("bernoulli_bandit: hidden: best", setup["best"], f"one of {', '.join(arms)}")
        return self._task(arms, Frozen[Any](arms=arms, best=setup["best"]), "custom", 0)

    def _task(self, arms: tuple[str, ...], hidden: Json, split: str, index: int) -> Task:
        return self.make_listed_task(split, index, Frozen[Any](arms=arms), hidden)

    # --- rules -------------------------------------------------------------------------------------------------------

    def prior(self, public: Mapping[str, Json]) -> Sequence[tuple[float, Json]]:
        arms = public["arms"][1:] if self._pays_surely else public["arms"]
        return [(1.0 / len(arms), {"best": arm}) for arm in arms]

    def start(self, public: Mapping[str, Json], hidden: Json) -> State:
        arms: tuple[str, ...] = public["arms"]
        return State(arms, self._means_of(arms, hidden["best"]))

    def _means_of(self, arms: tuple[str, ...], best: str) -> tuple[float, ...]:
        high, low = (1.0, 0.0) if self._pays_surely else self._arm_means
        means = tuple(high if arm == best else low for arm in arms)
        return (1.0 / (2.0 * arms.index(best)), *means[1:]) if self._pays_surely else means

    def to_act(self, state: State) -> str | None:
        return AGENT if len(state.pulls) < self.turns else None

    def hypothesis(self, state: State) -> str:
        return state.arms[_best_arm(state)]

    def intro(self, state: State, seat: str) -> str:
        return f"{self._rules_text(state.arms)}\n\n{self._request_text('ask', 1)}"

    def _rules_text(self, arms: tuple[str, ...]) -> str:
        listed, last = ", ".join(arms), self.arm_count - 1
        return self.prompt_pieces("bernoulli_bandit")[f"{self.preset}-intro"].format(
            n=self.arm_count, arms=listed, pulls=self.turns, last=last
        )

    def _request_text(self, piece: str, n: int) -> str:
        return _format_request(self.prompt_pieces("bernoulli_bandit")[f"{self.preset}-{piece}"], n, self.turns)

    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        arm = _parse_arm(state.arms, text)
        if arm is None:
            return [(1.0, self._reject_answer(state, text))]
        mean = state.means[arm]
        if self._pays_surely:
            return [(1.0, self._pull_arm(state, arm, mean))]
        return [(mean, self._pull_arm(state, arm, 1.0)), (1.0 - mean, self._pull_arm(state, arm, 0.0))]

    def step(self, state: State, text: str, rng: Rng) -> Step:
        """Sample one step, without building the other outcomes."""
        arm = _parse_arm(state.arms, text, self.which_answer)
        if arm is None:
            return self._reject_answer(state, text)
        mean = state.means[arm]
        return self._pull_arm(state, arm, mean if self._pays_surely else float(rng.random() < mean))

    def _pull_arm(self, state: State, arm: int, reward: float) -> Step:
        arms, means, pulls = state
        info = step_facts("step", len(pulls), 1, _ONLY, arms[arm], reward, _ONLY)
        told = _pull_text(self.prompt_pieces("bernoulli_bandit")[f"{self.preset}-pull"], arms[arm], reward)
        return self._end_turn(State(arms, means, (*pulls, (arm, reward))), told, info, _agent_reward(reward))

    def _reject_answer(self, state: State, text: str) -> Step:
        """An answer that names no arm wastes the pull; a reply without an answer ends the episode."""
        say, turn = self.prompt_pieces("bernoulli_bandit"), len(state.pulls)
        if read_answer(text) is None:
            over = state._replace(pulls=state.pulls + ((None, 0.0),) * (self.turns - turn))
            info, told = step_facts("unreadable", turn, 1, _ONLY, None, 0.0, _ONLY), Frozen({AGENT: say["format"]})
            return Step(over, told, info=info, outcome=Outcome("unreadable"))
        info = step_facts("invalid", turn, 1, _ONLY, None, 0.0, _ONLY)
        told = say[f"{self.preset}-invalid"]
        return self._end_turn(state._replace(pulls=(*state.pulls, (None, 0.0))), told, info, _agent_reward(0.0))

    def _end_turn(self, after: State, told: str, info: Frozen[Any], rewards: Frozen[float]) -> Step:
        n = len(after.pulls)
        if n == self.turns:
            ended = Frozen({AGENT: f"{told}\n{self.prompt_pieces('bernoulli_bandit')['over']}"})
            return Step(after, ended, rewards, info, _final_outcome(after))
        return Step(after, Frozen({AGENT: f"{told}\n{self._request_text('next', n + 1)}"}), rewards, info)

    def render(self, state: State, seat: str) -> str | None:
        """Rules, history and question in one message; None if `history="messages"`."""
        if self.history_form == "messages":
            return None
        say, n = self.prompt_pieces("bernoulli_bandit"), len(state.pulls)
        head = say[f"{self.history_form}-head"].format(n=n) if n else say["no-history"]
        told = _raw_history(say, state) if self.history_form == "raw" else _summary_history(say, state)
        lines = [head, *told] if n else [head]
        ask = self._request_text("next", min(n + 1, self.turns))
        return "\n\n".join([self._rules_text(state.arms), "\n".join(lines), ask])

    def actions(self, state: State) -> Sequence[str] | None:
        return state.arms

    def answer_schema(self, public: Mapping[str, Json]) -> Mapping[str, Json] | None:
        return choice_schema(public["arms"], "The arm to choose.")

    def say(self, answer: str) -> str:
        return tag_answer(answer)

    # --- the decision problem ----------------------------------------------------------------------------------------

    def decision_problem(self, public: Mapping[str, Json]) -> FiniteProblem:
        """The decision problem of tasks with this public part."""
        return _bandit_problem(self, tuple(public["arms"]))

    def world(self, state: State) -> World:
        """The mean rewards behind a state of an episode."""
        from .._shared.finite import bandit_world

        return bandit_world(state.means)

    def optimal_value(self, state: State) -> float:
        """The mean reward of the best arm."""
        return max(state.means)

    def filter(self, public: Mapping[str, Json]) -> BanditFilter:
        return _prior(self, tuple(public["arms"]))


@lru_cache(maxsize=4096)
def _bandit_problem(env: BernoulliBandit, arms: tuple[str, ...]) -> FiniteProblem:
    from .._shared.finite import FiniteProblem

    certain = env.preset == "informative"
    pays = (0.0, *(1.0 / (2.0 * i) for i in range(env.arm_count - 1, 0, -1)), 1.0) if certain else (0.0, 1.0)
    return FiniteProblem("bandit", (_ONLY,), arms, 1, env.turns, _ONLY, pays)


@lru_cache(maxsize=4096)
def _prior(env: BernoulliBandit, arms: tuple[str, ...]) -> BanditFilter:
    from .filter import BanditGame, BernoulliFilter, InformativeFilter

    best, rest = env._arm_means  # pyright: ignore[reportPrivateUsage]

    def parse_arm(text: str) -> str | None:
        arm = _parse_arm(arms, text, env.which_answer)
        return None if arm is None else arms[arm]

    game: BanditGame = BanditGame(_bandit_problem(env, arms), best, rest, parse_arm)
    return (InformativeFilter if env.preset == "informative" else BernoulliFilter)(game)


def _best_arm(state: State) -> int:
    return state.means.index(max(state.means))


def _final_outcome(state: State) -> Outcome:
    arms = [arm for arm, _ in state.pulls]
    best = _best_arm(state)
    counts = [arms.count(i) for i in range(len(state.arms))]
    won = arms[-1] is not None and all(counts[best] > c for i, c in enumerate(counts) if i != best)
    score = sum(reward for _, reward in state.pulls) / len(arms)
    return Outcome("win" if won else "loss", min(1.0, score))


@lru_cache(maxsize=1024)
def _agent_reward(reward: float) -> Frozen[float]:
    return Frozen({AGENT: reward})


# --- names and words -------------------------------------------------------------------------------------------------


def _check_arms(arms: object, n: int, preset_arms: tuple[str, ...], letters: bool) -> tuple[str, ...]:
    """The labels of a custom setup: any distinct letters under `psrl`, otherwise those of the preset."""
    allowed = f"{n} different letters from A to Z" if letters else ", ".join(preset_arms)
    rows = tuple(cast("Sequence[object]", arms)) if isinstance(arms, list | tuple) else ()
    names = tuple(a for a in rows if isinstance(a, str))
    fits = len(names) == len(rows) == n and len(set(names)) == n and set(names) <= set(ascii_uppercase)
    if not (fits if letters else names == preset_arms == rows):
        raise invalid("bernoulli_bandit: hidden: arms", cast("object", arms), allowed)
    return names


def _parse_arm(arms: tuple[str, ...], text: str, which: Which = "last") -> int | None:
    """The number of the arm that a text names; None if it names none."""
    known = _arm_numbers(arms)

    def parse_name(answer: str) -> str | None:
        name = answer.lower()
        return name if name in known and answer.isascii() else None

    name = parse_answer(text, parse_name, begins_another(known), which=which)
    return None if name is None else known[name]


@lru_cache(maxsize=4096)
def _arm_numbers(arms: tuple[str, ...]) -> Mapping[str, int]:
    return {arm.lower(): i for i, arm in enumerate(arms)}


def _format_reward(reward: float) -> str:
    """A reward as text; the four digits of 1/(2 i) distinguish i up to 100.

    >>> _format_reward(1.0), _format_reward(1 / 6)
    ('1', '0.1667')
    """
    return f"{reward:.4g}"


@lru_cache(maxsize=4096)
def _pull_text(text: str, arm: str, reward: float) -> str:
    return text.format(arm=arm, reward=_format_reward(reward))


@lru_cache(maxsize=16_384)
def _format_request(text: str, n: int, pulls: int) -> str:
    return text.format(n=n, pulls=pulls)


def _raw_history(say: Mapping[str, str], state: State) -> list[str]:
    none = say["raw-none"]
    return [
        say["raw-line"].format(i=i + 1, arm=none if arm is None else state.arms[arm], reward=_format_reward(reward))
        for i, (arm, reward) in enumerate(state.pulls)
    ]


def _summary_history(say: Mapping[str, str], state: State) -> list[str]:
    rows: list[str] = []
    for i, arm in enumerate(state.arms):
        paid = [reward for a, reward in state.pulls if a == i]
        mean = f"{sum(paid) / len(paid):.2f}" if paid else ""
        rows.append(say["summary-line" if paid else "summary-none"].format(arm=arm, n=len(paid), mean=mean))
    return rows
