"""Credit: from rewards per turn to an advantage per token. Pure functions; numpy only.

    rewards = {group: [mix(named_rewards(t)) for t in trajectories] for group, trajectories in groups.items()}
    advantages = GroupRelative()(rewards)                     # per group, trajectory and turn
    sample = with_advantages(sample, advantages[sample.group][i])

Every way of giving credit is an `Estimator`: a function of the rewards per turn of all trajectories, grouped by world,
that returns an advantage per turn in the same arrangement. `GroupRelative` judges whole trajectories; credit per turn
is one more such function.

Sources: returns and GAE, Schulman et al. (2016); GRPO, DeepSeekMath (arXiv 2402.03300), equation 3 with the standard
deviation of n - 1; no scaling, Dr. GRPO (arXiv 2503.20783); leave-one-out baseline, RLOO (arXiv 2402.14740); groups
without signal, DAPO (arXiv 2503.14476), section 3.2; reward weights, ΔBelief-RL, equation 3 and its configuration.

**Bias.** Only the leave-one-out baseline without scaling gives the policy gradient itself. With the mean over the whole
group, the trajectory's own reward is in its baseline, and the expected estimate is (n - 1) / n of the gradient: the
same direction, shorter. Dividing by the standard deviation changes the direction: in the stop/continue problem of
`tests/train/test_credit.py` (two decisions; returns 1, 0 and 3; groups of 4) the gradient is (0.026, 0.190), and the
expected estimates are

| baseline | scale | expected estimate | share of its length | angle |
|---|---|---|---|---|
| leave-one-out | none | (0.026, 0.190) | 1.00 | 0.0 degrees |
| mean | none | (0.020, 0.142) | 0.75 | 0.0 degrees |
| mean | std | (-0.054, 0.150) | 0.84 | 27.8 degrees |
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sonde.core import AGENT, Frozen, Trajectory, UserError, invalid, unknown
from sonde.core.checked import Checked
from sonde.core.frozen import frozen

from .types import Floats, Sample

Values = NDArray[np.float64]
"""One number per turn, or per trajectory of a group."""

Scale = Literal["std", "none"]
Baseline = Literal["mean", "leave_one_out"]
EPS = 1e-6
"""Added to the standard deviation, as in ΔBelief-RL's code."""

K = TypeVar("K")


# --- rewards ---------------------------------------------------------------------------------------------------------


def named_rewards(trajectory: Trajectory) -> dict[str, Values]:
    """What rewards can be mixed from: one array per name, one number per turn.

    `env`: the environment's own reward (any before the first turn is the first turn's). `turns`: 1 per turn;
    `extra_turns`: the same, but 0 where one turn was all. `invalid`, `repeated`: 1 on turns that the environment called
    so. On the last turn only: `success`, 1 if won (and judged so, where there is a judge); `loss`, `format` and
    `timeout`, 1 for that outcome; `score`, the outcome's.
    """
    turns, outcome = trajectory.turns, trajectory.outcome
    n, kind = len(turns), outcome.kind if outcome else "error"
    called = [{turn.info.get("result"), turn.info.get("answer")} for turn in turns]
    earned = np.array([turn.rewards.get(AGENT, 0.0) for turn in turns], np.float64)
    earned[:1] += sum(act.rewards.get(AGENT, 0.0) for act in trajectory.opening)
    return {
        "env": earned,
        "turns": np.ones(n),
        "extra_turns": np.full(n, float(n > 1)),
        "invalid": np.array([float("invalid" in names) for names in called]),
        "repeated": np.array([float("repeated" in names) for names in called]),
        "success": _last(n, float(outcome is not None and outcome.success)),
        **{name: _last(n, float(kind == name)) for name in ("loss", "format", "timeout")},
        "score": _last(n, outcome.score if outcome else 0.0),
    }


def _last(n: int, value: float) -> Values:
    values = np.zeros(n)
    values[-1:] = value
    return values


_PUBLISHED: Mapping[str, Mapping[str, float]] = {
    "success": {"success": 1.0},  # PAPRIKA: trajectories are told apart by success
    "delta_belief": {"success": 2.0, "invalid": -5.0, "repeated": -1.0, "extra_turns": -0.05},  # and StarPO beside it
    "env": {"env": 1.0},  # LMRL-Gym: the environment's return
}


@dataclass(frozen=True)
class RewardMix(Checked):
    """Named arrays of rewards with their weights; the environment's rewards on the record stay as they are.

    >>> RewardMix({"success": 1.0, "turns": -0.02})({"success": [0, 1], "turns": [1, 1]}).tolist()
    [-0.02, 0.98]
    """

    called = "rewards"

    weights: Mapping[str, float] = field(default_factory=lambda: Frozen(_PUBLISHED["success"]))

    def __post_init__(self) -> None:
        for name, weight in self.weights.items():
            if not np.isfinite(weight):
                raise invalid(f"rewards: {name}", weight, "a finite number")
        if not self.weights:
            raise invalid("rewards", dict(self.weights), "at least one name with its weight")
        object.__setattr__(self, "weights", frozen(self.weights))

    @classmethod
    def published(cls, name: str) -> RewardMix:
        """`success` (PAPRIKA), `delta_belief` (ΔBelief-RL's environment rewards, StarPO's too) or `env` (LMRL-Gym)."""
        if name not in _PUBLISHED:
            raise unknown("rewards", name, _PUBLISHED)
        return cls(_PUBLISHED[name])

    def __call__(self, named: Mapping[str, Sequence[float] | Values]) -> Values:
        """The reward per turn. `named` is that of `named_rewards`, with any further arrays (gains, say) added."""
        arrays = [weight * np.asarray(self._of(name, named), np.float64) for name, weight in self.weights.items()]
        lengths = sorted({len(a) for a in arrays})
        if len(lengths) > 1:
            raise invalid("rewards: lengths", lengths, "one number per turn in every array")
        return np.sum(arrays, axis=0)

    def _of(self, name: str, named: Mapping[str, Sequence[float] | Values]) -> Sequence[float] | Values:
        if name not in named:
            raise unknown("rewards", name, named)
        return named[name]


# --- returns ---------------------------------------------------------------------------------------------------------


def discounted(rewards: Sequence[float] | Values, discount: float = 1.0) -> Values:
    """Returns-to-go: G_t = r_t + discount G_{t+1}. The discount is per turn.

    >>> discounted([0.0, 0.0, 1.0], 0.5).tolist()
    [0.25, 0.5, 1.0]
    """
    _unit("discount", discount)
    return _accumulate(np.asarray(rewards, np.float64), discount)


def returns(rewards: Sequence[Sequence[float] | Values], discount: float = 1.0) -> Values:
    """The discounted return of each trajectory, given its rewards per turn; 0 for one without turns."""
    return np.array([discounted(r, discount)[0] if len(r) else 0.0 for r in rewards], np.float64)


def gae(
    rewards: Sequence[float] | Values,
    values: Sequence[float] | Values,
    *,
    discount: float = 1.0,
    lam: float = 0.95,
    bootstrap: float = 0.0,
) -> Values:
    """Generalised advantage estimates per turn: A_t = d_t + discount lam A_{t+1}, where
    d_t = r_t + discount V_{t+1} - V_t. `bootstrap` is the value after the last turn: 0 where the episode ended.

    With `lam` 1 this is the return-to-go less the value; with 0 it is the one-step error.
    """
    _unit("discount", discount)
    _unit("lam", lam)
    if len(rewards) != len(values):
        raise invalid("gae: values", len(values), f"one per turn: {len(rewards)}")
    v = np.append(np.asarray(values, np.float64), bootstrap)
    return _accumulate(np.asarray(rewards, np.float64) + discount * v[1:] - v[:-1], discount * lam)


def _accumulate(x: Values, factor: float) -> Values:
    out, following = np.empty_like(x), 0.0
    for t in reversed(range(len(x))):
        out[t] = following = x[t] + factor * following
    return out


def _unit(name: str, value: float) -> None:
    if not 0.0 <= value <= 1.0:
        raise invalid(name, value, "0 to 1")


# --- groups ----------------------------------------------------------------------------------------------------------


def group_advantages(
    scores_by_group: Mapping[K, Sequence[float] | Values],
    *,
    scale: Scale = "std",
    baseline: Baseline = "mean",
    eps: float = EPS,
) -> dict[K, Values]:
    """What each score is above the others of its group.

    The `mean` baseline is over the whole group, `leave_one_out` over the others; `std` divides by the standard
    deviation (n - 1) plus `eps`. A group of one gives 0, and so does, exactly, one in which all scores are equal.
    Departure: ΔBelief-RL's code takes baseline 0 and deviation 1 for a group of one, so that its raw score is used.

    >>> group_advantages({"g": [1.0, 0.0, 0.0]}, scale="none", baseline="leave_one_out")["g"].tolist()
    [1.0, -0.5, -0.5]
    """
    _among("scale", scale, ("std", "none"))
    _among("baseline", baseline, ("mean", "leave_one_out"))
    return {group: _relative(_scores(s), scale, baseline, eps) for group, s in scores_by_group.items()}


def _scores(scores: Sequence[float] | Values) -> Values:
    values = np.asarray(scores, np.float64)
    if not np.isfinite(values).all():
        raise invalid("scores", values.tolist(), "finite numbers")
    return values


def _relative(scores: Values, scale: Scale, baseline: Baseline, eps: float) -> Values:
    n = len(scores)
    if not has_signal(scores):
        return np.zeros(n)
    above = scores - scores.mean()
    if baseline == "leave_one_out":  # r - (sum - r) / (n - 1)
        above *= n / (n - 1)
    return above / (scores.std(ddof=1) + eps) if scale == "std" else above


def _among(name: str, got: str, allowed: tuple[str, ...]) -> None:
    if got not in allowed:
        raise invalid(name, got, " or ".join(allowed))


def has_signal(scores: Sequence[float] | Values) -> bool:
    """Whether scores tell the members of a group apart: at least two of them differ. What a group teaches is decided by
    its advantages, which need not come from one score per member (`groups.moves`)."""
    return len(scores) > 1 and float(np.min(scores)) < float(np.max(scores))


Grouped = Mapping[str, Sequence[Values]]
"""One number per turn of each trajectory of each group."""


@runtime_checkable
class Estimator(Protocol):
    """A way of giving credit: from rewards per turn to advantages per turn, in the same arrangement."""

    def __call__(self, rewards: Grouped) -> dict[str, list[Values]]: ...


@dataclass(frozen=True, kw_only=True)
class GroupRelative(Checked):
    """Trajectory-level credit (GRPO, StarPO): every turn gets its trajectory's `group_advantages` of the return."""

    called = "credit"

    scale: Scale = "std"
    baseline: Baseline = "mean"
    eps: float = EPS

    def __post_init__(self) -> None:
        _among("scale", self.scale, ("std", "none"))
        _among("baseline", self.baseline, ("mean", "leave_one_out"))
        if not 0.0 <= self.eps < np.inf:
            raise invalid("eps", self.eps, "0 or more")

    def __call__(self, rewards: Grouped) -> dict[str, list[Values]]:
        scores = {group: returns(rows) for group, rows in rewards.items()}
        above = group_advantages(scores, scale=self.scale, baseline=self.baseline, eps=self.eps)
        return {
            group: [np.full(len(r), a) for r, a in zip(rows, above[group], strict=True)]
            for group, rows in rewards.items()
        }


# --- to tokens -------------------------------------------------------------------------------------------------------


def broadcast(sample: Sample, values: float | Sequence[float] | Values) -> tuple[Floats, ...]:
    """One array per row of `sample`: on the agent's tokens the value of their turn, elsewhere 0. A single number is
    the value of every turn."""
    per_turn = np.full(sample.turns, values) if isinstance(values, float | int) else np.asarray(values, np.float64)
    if per_turn.shape != (sample.turns,):
        raise invalid("credit: values", per_turn.shape, f"one number per turn of the sample: ({sample.turns},)")
    if not np.isfinite(per_turn).all():
        raise UserError(f"credit: the advantages of trajectory {sample.trajectory} are not finite: {per_turn.tolist()}")
    padded = np.append(per_turn, 0.0)  # turn -1 marks tokens that are not the agent's
    return tuple(array("f", padded[np.asarray(row.turns, np.int64)].tolist()) for row in sample.rows)


def with_advantages(sample: Sample, values: float | Sequence[float] | Values) -> Sample:
    """`sample` with `advantages` on its rows; see `broadcast`."""
    per_row = broadcast(sample, values)
    rows = tuple(replace(row, advantages=a) for row, a in zip(sample.rows, per_row, strict=True))
    return replace(sample, rows=rows)
