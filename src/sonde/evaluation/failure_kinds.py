"""The kinds of failure of Multi-Turn Puzzles, section 3.4, computed from the exact posterior instead of read by eye.

The paper compares two models on movie recommendation by reading dialogues. Its observations, and what is counted here:

    reasoning strategy     `varied`, in how many attributes two compared movies differ: 1 isolates an attribute, several
                           teach more at once, but no conclusion about one of them follows
    effective questions    `ineffective`: a question with no expected bits although something is left to learn
    strategic use          `idle`: a question after the posterior has decided the answer
    accurate conclusions   `premature`: a conclusion that lost, with turns left, while the answer was open; `regret`:
                           what a pick loses against the pick of the highest expected score (0: it is the posterior's)

`open_at_end` says whether the conclusion was drawn while the answer was open, whoever is to blame. The answer is
*decided* when one is right in every world that is left: with a filter that has `is_decided`, one unseen movie is liked
best by all remaining users; else the hypothesis is known. Any environment with an exact filter can be labelled; for
`varied` and `regret` it must compare and pick (`movie_recommendation`). What a model writes about its reasons is not
read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, cast, runtime_checkable

from sonde.core import AGENT, Env, Episode, Filter, Trajectory

from . import metrics
from .metrics import Estimate

LABELLED = 200
"""Episodes of a run that a page labels: each is replayed through the filter."""
_NOTHING = 1e-9


@runtime_checkable
class PickFilter(Protocol):
    """A filter of questions about some items, followed by a pick of others."""

    @property
    def is_decided(self) -> bool: ...
    @property
    def is_picking(self) -> bool: ...
    def read_answer(self, text: str) -> tuple[str, tuple[str, ...]] | None:
        """`("compare", (a, b))`, `("rate", (a,))` or `("pick", (a,))`; None for what is no legal answer now."""
        ...

    def shown_profiles(self) -> Mapping[str, Sequence[float]]: ...
    def expected_scores(self) -> Sequence[float]: ...
    def pick_index(self, name: str) -> int: ...


class QuestionLabels(NamedTuple):
    """A question: the attributes in which compared items differ (None for another kind of question), and its faults."""

    turn: int
    varied: int | None
    ineffective: bool
    idle: bool


class FailureLabels(NamedTuple):
    """An episode's labels. `regret` is None without a pick, `open_at_end` without a conclusion."""

    questions: tuple[QuestionLabels, ...]
    open_at_end: bool | None
    premature: bool
    regret: float | None


def label_failures(env: Env[Any], trajectory: Trajectory) -> FailureLabels | None:
    """Label an episode; None where the environment has no exact filter."""
    questions: list[QuestionLabels] = []
    open_at_end: bool | None = None
    premature, regret = False, None
    for before, after in _agent_turns(env, trajectory):
        known = before.filter()
        if known is None:
            return None
        text = after.turns[-1].text
        if after.outcome is None:
            questions.append(_label_question(known, len(before.turns), text))
            continue
        if after.outcome.kind not in ("win", "loss"):
            continue
        open_at_end = not is_decided(known)
        turns_left = len(after.turns) < env.spec.max_turns
        premature = open_at_end and turns_left and after.outcome.kind == "loss"
        regret = _pick_regret(known, text)
    return FailureLabels(tuple(questions), open_at_end, premature, regret)


def _agent_turns(env: Env[Any], trajectory: Trajectory) -> Iterator[tuple[Episode, Episode]]:
    """The episode before and after every turn."""
    stages = [e for e in Episode.stages(env, trajectory) if e.outcome is not None or e.to_act == AGENT]
    yield from ((a, b) for a, b in pairwise(stages) if len(b.turns) > len(a.turns) or b.outcome is not None)


def is_decided(known: Filter) -> bool:
    """Whether one answer is right in every world that is left."""
    return known.is_decided if isinstance(known, PickFilter) else known.entropy <= _NOTHING


def _label_question(known: Filter, turn: int, text: str) -> QuestionLabels:
    ineffective = known.entropy > _NOTHING and known.expected_gain(text) <= _NOTHING
    return QuestionLabels(turn, _count_varied(known, text), ineffective, is_decided(known))


def _count_varied(known: Filter, text: str) -> int | None:
    asked = known.read_answer(text) if isinstance(known, PickFilter) else None
    if asked is None or asked[0] != "compare":
        return None
    profiles = cast("PickFilter", known).shown_profiles()
    first, second = (profiles[name] for name in asked[1])
    return sum(a != b for a, b in zip(first, second, strict=True))


def _pick_regret(known: Filter, text: str) -> float | None:
    said = known.read_answer(text) if isinstance(known, PickFilter) and known.is_picking else None
    if said is None:
        return None
    scores = cast("PickFilter", known).expected_scores()
    return max(0.0, float(max(scores)) - float(scores[cast("PickFilter", known).pick_index(said[1][0])]))


# --- a run -----------------------------------------------------------------------------------------------------------


Rows = Sequence[tuple[str, FailureLabels]]

MEASURES: Mapping[str, str] = {
    "attributes varied": "in how many attributes two compared items differ, mean over comparisons",
    "one at a time": "share of comparisons that isolate an attribute",
    "ineffective": "share of questions with no expected bits although something was left to learn",
    "idle": "share of questions after the answer was decided",
    "open at the end": "share of conclusions while the answer was open",
    "premature": "share of episodes lost by a conclusion with turns left while the answer was open",
    "poor pick": "share of picks below the highest expected score",
    "pick regret": "expected score that the pick loses against the best one",
}
"""What is measured over the episodes of a run."""


def summarise_failures(rows: Rows) -> dict[str, Estimate | None]:
    """The `MEASURES` of a run from (task, labels) pairs: means over an episode's questions, then over tasks; None where
    no episode has the number."""
    of: Mapping[str, Callable[[FailureLabels], Sequence[float]]] = {
        "attributes varied": lambda f: [q.varied for q in f.questions if q.varied is not None],
        "one at a time": lambda f: [float(q.varied == 1) for q in f.questions if q.varied is not None],
        "ineffective": lambda f: [float(q.ineffective) for q in f.questions],
        "idle": lambda f: [float(q.idle) for q in f.questions],
        "open at the end": lambda f: [] if f.open_at_end is None else [float(f.open_at_end)],
        "premature": lambda f: [float(f.premature)],
        "poor pick": lambda f: [] if f.regret is None else [float(f.regret > _NOTHING)],
        "pick regret": lambda f: [] if f.regret is None else [f.regret],
    }
    return {name: _mean_over(rows, values, name) for name, values in of.items()}


def _mean_over(rows: Rows, values: Callable[[FailureLabels], Sequence[float]], name: str) -> Estimate | None:
    bounds = (0.0, float("inf")) if name == "attributes varied" else (0.0, 1.0)
    means = ((task, sum(v) / len(v)) for task, labels in rows if (v := values(labels)))
    return metrics.mean_by_task(means, bounds=bounds)


def label_run(env: Env[Any], trajectories: Iterable[Trajectory]) -> list[tuple[str, FailureLabels]]:
    """(Task, labels) of every episode that was played to its end."""
    labels = ((t.task.id, label_failures(env, t)) for t in trajectories if not t.error)
    return [(task, found) for task, found in labels if found is not None]
