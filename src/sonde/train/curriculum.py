"""Curriculum: groups of tasks as arms of a bandit whose reward is their learning potential.

    groups = group_tasks(tasks, by="difficulty")
    curriculum = Curriculum(groups={name: len(rows) for name, rows in groups.items()})
    state = curriculum.initial_state()
    choices, state = curriculum.choose_tasks(state, seed, n=8)
    for choice in choices:
        ...                                             # play k samples of groups[choice.group][choice.task]
        state = curriculum.record_potential(state, choice.group, learning_potential(trajectories, max_turns=20))

Source: PAPRIKA, section 3.4, algorithm 1 and appendix H. The learning potential of a task is the coefficient of
variation of the number of turns, where failures count with the environment's maximum; a group's potential is the mean
over the tasks played so far; UCB chooses the group, and the task within it is uniform. A curriculum is a value:
`choose_tasks` and `record_potential` return the next `CurriculumState`, which converts to JSON and back, so an
interrupted run continues with the same choices.

Algorithm 1 starts each round of training without knowledge (`initial_state`), because the model has changed since.
Its bonus is large beside potentials below 1: of 250 tasks with four groups of potential .05, .1, .2 and .5, the best
group gets 64 % with `alpha` 1, 94 % with .25, 95 % with Thompson's defaults, 25 % with uniform choice
(`test_curriculum.py`).

Ours: the edge cases of `coefficient_of_variation`; Thompson sampling; choosing several tasks at once (the paper
leaves that open). Of n choices made together, each counts as one more task of its group for the choices after it,
while the group's mean stays unchanged: UCB's bonus shrinks as if the results were in and as expected ("hallucinated"
updates, Desautels et al. 2014). Groups that were never played come first, in order, each once before any is chosen
again; a group that is chosen but has no result yet is assumed to be as good as the mean of the others. With n = 1
this is algorithm 1. Departures from the published code (a notebook): ties go to the first group, not the last; every
failure counts as the maximum of turns, even where no judge saw it; tasks without replacement work (there, a variable
is undefined).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from sonde._util.argument_checks import Checked
from sonde._util.frozen import as_frozen
from sonde.core import Frozen, Task, Trajectory, UserError, derive, invalid

# --- learning potential ----------------------------------------------------------------------------------------------


def coefficient_of_variation(values: Sequence[float]) -> float:
    """The coefficient of variation with its small-sample correction: (1 + 1 / (4 n)) s / |mean|, s with n - 1.

    Fewer than two values, or all equal ones (including all zero), give 0. Where values have both signs, the mean of
    their absolute values takes the place of |mean|, which could be near zero and would inflate any spread; for values
    of one sign the two are equal.

    >>> round(coefficient_of_variation([2.0, 4.0]), 4)  # s = sqrt(2), mean 3, 1 + 1/8
    0.5303
    """
    x = np.asarray(values, np.float64)
    if not np.isfinite(x).all():
        raise invalid("potential: values", list(values), "finite numbers")
    if len(x) < 2 or x.min() == x.max():
        return 0.0
    return float((1 + 1 / (4 * len(x))) * x.std(ddof=1) / np.abs(x).mean())


def turns_needed(trajectories: Sequence[Trajectory], max_turns: int) -> list[float]:
    """Turns to success, `max_turns` for every failure; episodes that failed for outside reasons are left out."""
    played = [t for t in trajectories if not t.error and not (t.outcome and t.outcome.kind == "error")]
    return [float(len(t.turns) if t.outcome is not None and t.outcome.success else max_turns) for t in played]


def learning_potential(trajectories: Sequence[Trajectory], max_turns: int) -> float:
    """The learning potential of a task, from the turns of all its `trajectories`."""
    return coefficient_of_variation(turns_needed(trajectories, max_turns))


# --- groups ----------------------------------------------------------------------------------------------------------


def group_tasks(tasks: Sequence[Task], by: str = "group") -> dict[str, list[int]]:
    """Indices of `tasks` by a tag's value (`difficulty`, `category`, `group` ...), or by `env` or `preset`; groups in
    the order in which they first occur."""
    groups: dict[str, list[int]] = {}
    for i, task in enumerate(tasks):
        value = getattr(task, by) if by in ("env", "preset") else task.tags.get(by)
        if value is None:
            known = ", ".join(sorted(task.tags)) or "none"
            raise UserError(f"curriculum: by: task {task.index} of {task.env} has no tag {by!r}; its tags: {known}")
        groups.setdefault(value, []).append(i)
    return groups


class Arm(NamedTuple):
    """Statistics of a group: the number of tasks played, and the sum of their potentials."""

    n: int = 0
    total: float = 0.0

    @property
    def mean(self) -> float:
        return self.total / self.n


@runtime_checkable
class Bandit(Protocol):
    """A rule for choosing a group."""

    def pick_group(
        self, arms: Mapping[str, Arm], pending: Mapping[str, int], left: Mapping[str, int], seed: int
    ) -> str:
        """The group to play, given the statistics of all, how often each was chosen without a result so far, and how
        many of its tasks are left."""
        ...


@dataclass(frozen=True, kw_only=True)
class Uniform(Checked):
    """Every task with the same probability: the paper's baseline (section 4.3). A group is chosen in proportion to its
    number of tasks."""

    called = "curriculum: uniform"

    def pick_group(
        self, arms: Mapping[str, Arm], pending: Mapping[str, int], left: Mapping[str, int], seed: int
    ) -> str:
        ends = list(accumulate(left[name] for name in arms))
        return list(arms)[bisect_right(ends, int(_make_generator(seed).integers(ends[-1])))]


@dataclass(frozen=True, kw_only=True)
class UCB(Checked):
    """The largest mean + alpha sqrt(2 ln N / n), N tasks in all, n of the group; groups never played first, in
    order."""

    called = "curriculum: ucb"

    alpha: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.alpha < math.inf:
            raise invalid("curriculum: ucb: alpha", self.alpha, "0 or more")

    def pick_group(
        self, arms: Mapping[str, Arm], pending: Mapping[str, int], left: Mapping[str, int], seed: int
    ) -> str:
        index = self.upper_bounds(arms, pending)
        return max(index, key=index.__getitem__)  # the first of equals

    def upper_bounds(self, arms: Mapping[str, Arm], pending: Mapping[str, int]) -> dict[str, float]:
        """The upper confidence bound of every group; infinite for a group that was never chosen."""
        means = [arm.mean for arm in arms.values() if arm.n]
        usual = sum(means) / len(means) if means else 0.0
        counts = {name: arm.n + pending.get(name, 0) for name, arm in arms.items()}
        twice_log = 2 * math.log(max(1, sum(counts.values())))
        bonus = {name: math.sqrt(twice_log / n) if n else math.inf for name, n in counts.items()}
        return {name: (arm.mean if arm.n else usual) + self._weigh_bonus(bonus[name]) for name, arm in arms.items()}

    def _weigh_bonus(self, bonus: float) -> float:
        return bonus if bonus == math.inf else self.alpha * bonus


@dataclass(frozen=True, kw_only=True)
class Thompson(Checked):
    """The largest of one posterior draw per group for its mean: normal, prior N(`mean`, `sd`^2), each task's potential
    N(group's mean, `noise`^2). Choices made together differ only by their draws."""

    called = "curriculum: thompson"

    mean: float = 0.5
    sd: float = 0.5
    noise: float = 0.25

    def __post_init__(self) -> None:
        for name in ("sd", "noise"):
            if not 0.0 < getattr(self, name) < math.inf:
                raise invalid(f"curriculum: thompson: {name}", getattr(self, name), "above 0")

    def posterior(self, arm: Arm) -> tuple[float, float]:
        """Posterior mean and standard deviation of the group's mean."""
        precision = 1 / self.sd**2 + arm.n / self.noise**2
        return (self.mean / self.sd**2 + arm.total / self.noise**2) / precision, precision**-0.5

    def pick_group(
        self, arms: Mapping[str, Arm], pending: Mapping[str, int], left: Mapping[str, int], seed: int
    ) -> str:
        rng = _make_generator(seed)
        drawn = {name: rng.normal(*self.posterior(arm)) for name, arm in arms.items()}
        return max(drawn, key=drawn.__getitem__)


BANDITS: Mapping[str, type[Uniform] | type[UCB] | type[Thompson]] = {
    "uniform": Uniform,
    "ucb": UCB,
    "thompson": Thompson,
}


def _make_generator(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


# --- the curriculum --------------------------------------------------------------------------------------------------


class Choice(NamedTuple):
    """A task to play: its group and its index within the group."""

    group: str
    task: int


@dataclass(frozen=True, kw_only=True)
class CurriculumState:
    """The state of a curriculum. `chosen` counts choices and derives the next random numbers; `pending` counts those
    without a result; `used` holds, per group, the tasks played in the current pass (without replacement only)."""

    arms: Mapping[str, Arm]
    chosen: int = 0
    pending: Mapping[str, int] = field(default_factory=Frozen[int])
    used: Mapping[str, tuple[int, ...]] = field(default_factory=Frozen[tuple[int, ...]])

    def __post_init__(self) -> None:
        for name in ("arms", "pending", "used"):
            object.__setattr__(self, name, as_frozen(getattr(self, name)))

    def to_json(self) -> dict[str, Any]:
        arms = {name: list(arm) for name, arm in self.arms.items()}
        used = {name: list(rows) for name, rows in self.used.items()}
        return {"arms": arms, "chosen": self.chosen, "pending": dict(self.pending), "used": used}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CurriculumState:
        arms = {name: Arm(int(n), float(total)) for name, (n, total) in data["arms"].items()}
        used = {name: tuple(rows) for name, rows in data["used"].items()}
        return cls(arms=arms, chosen=data["chosen"], pending=data["pending"], used=used)


@dataclass(frozen=True, kw_only=True)
class Curriculum(Checked):
    """Chooses among `groups`, which maps names to numbers of tasks. With `replacement` False, every task of a group is
    played once before any is repeated."""

    called = "curriculum"

    groups: Mapping[str, int]
    bandit: Bandit = UCB()
    replacement: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", as_frozen(self.groups))
        if not self.groups:
            raise invalid("curriculum: groups", {}, "at least one group")
        for name, size in self.groups.items():
            if size < 1:
                raise invalid(f"curriculum: groups: {name}", size, "1 task or more")

    def initial_state(self) -> CurriculumState:
        """The state without any knowledge, where each round of training begins."""
        return CurriculumState(arms={name: Arm() for name in self.groups})

    def choose_tasks(self, state: CurriculumState, seed: int, n: int = 1) -> tuple[list[Choice], CurriculumState]:
        """The next `n` tasks, and the state in which they wait for their results."""
        if state.arms.keys() != self.groups.keys():
            raise invalid("curriculum: state", sorted(state.arms), f"the groups {sorted(self.groups)}")
        choices: list[Choice] = []
        for _ in range(n):
            choice, state = self._choose_task(state, seed)
            choices.append(choice)
        return choices, state

    def _choose_task(self, state: CurriculumState, seed: int) -> tuple[Choice, CurriculumState]:
        path = ("curriculum", state.chosen)
        arms = {name: state.arms[name] for name in self.groups}  # in our order, independent of a file's
        used: dict[str, tuple[int, ...]] = {name: state.used.get(name, ()) for name in self.groups}
        if all(len(used[name]) == size for name, size in self.groups.items()):
            used = dict.fromkeys(self.groups, ())  # all tasks were played
        left = {name: size - len(used[name]) for name, size in self.groups.items()}
        group = self.bandit.pick_group(arms, state.pending, left, derive(seed, *path, "group"))
        played = used[group] if left[group] else ()  # a finished group starts its next pass
        free = sorted(set(range(self.groups[group])) - set(played))
        index = free[int(_make_generator(derive(seed, *path, "task")).integers(len(free)))]
        if not self.replacement:
            used[group] = (*played, index)
        pending = {**state.pending, group: state.pending.get(group, 0) + 1}
        return Choice(group, index), replace(state, chosen=state.chosen + 1, pending=pending, used=used)

    def record_potential(self, state: CurriculumState, group: str, value: float | None) -> CurriculumState:
        """The state after a task of `group` turned out to have this potential; None if it could not be played."""
        waiting = state.pending.get(group, 0)
        if not waiting:
            raise invalid("curriculum: update: group", group, "a group that was chosen and waits for a result")
        arms = dict(state.arms)
        if value is not None:
            if not 0.0 <= value < math.inf:
                raise invalid("curriculum: update: potential", value, "a finite number, 0 or more")
            arms[group] = Arm(arms[group].n + 1, arms[group].total + value)
        pending = {**state.pending, group: waiting - 1}
        return replace(state, arms=arms, pending={name: n for name, n in pending.items() if n})
