"""Credit assignment: rewards per turn to advantages per token. Pure functions, numpy only.

    rewards = {group: [mix(named_rewards(t)) for t in trajectories] for group, trajectories in groups.items()}
    advantages = ReturnToGo()(rewards)                        # per group, trajectory and turn
    sample = with_advantages(sample, advantages[sample.group][i])

An `Estimator` maps the rewards per turn of all trajectories, grouped by world, to advantages per turn in the same
arrangement. `GroupRelative` credits whole trajectories; for credit per turn use `ReturnToGo`. `TurnWise` is the
estimator of ΔBelief-RL, `igpo.NormalisedReturn` that of IGPO. `GAE` needs a critic: it returns the rewards unchanged,
and advantages and returns of the agent's tokens follow from the value head once the episodes are played
(`online.advantages`).

**GAE.** With rewards r, values V of the state before each token, V' of the state before the next one (`final` after the
last: 0 where the episode is over), a discount g and lambda l,

    reward    r_t - kl (log pi_sampled(t) - log pi_ref(t))          penalty for leaving the reference, if kl is set
    error     d_t = r_t + g V' - V
    advantage A_t = d_t + g l A_{t+1}
    return    A_t + V_t, before advantages are whitened             the target of V

With `level="turn"` a turn is one decision: its reward is the sum over its tokens, its value that before its first
token, and all its tokens share advantage and return. With the values of the policy both levels give its gradient, and
with lambda 1 they do so whatever the values (rows `gae` below). A critic over tokens has to learn values in the middle
of words; one over turns has fewer to learn, and cannot say which word of a turn was good.

Sources: returns and GAE, Schulman et al. (2016); GRPO, DeepSeekMath (arXiv 2402.03300), equation 3 with the standard
deviation of n - 1; no scaling, Dr. GRPO (arXiv 2503.20783); leave-one-out baseline, RLOO (arXiv 2402.14740); groups
without signal, DAPO (arXiv 2503.14476), section 3.2; turn-wise GRPO, ΔBelief-RL, equation 4 and appendix F. GAE over
action tokens, across what the environment says, whitened over everything played: LMRL-Gym (Abdulhai et al. 2023),
appendix E and its code. The KL penalty and its controller: Ziegler et al. (2019); after a rollout of n episodes with
mean divergence D, kl *= 1 + clip(D / target - 1, -.2, .2) n / horizon. Departure: there D is a sum over an answer; here
it is per agent token, since games differ in length.

**Bias**, enumerated in `tests/train/test_credit_bias.py` on two problems of two decisions each, for groups of 4. In the
first problem stopping at once earns 1, stopping after one step 0, and not stopping 3. In the second, an agent that asks
earns part of what it learns at once and pays for every turn; one question is worth its turn, two are not. The gradients
are (0.026, 0.190) and (0.018, -0.010). For each problem the table gives the expected estimate, its angle to the
gradient in degrees, and the price it puts on a turn: the c for which it has the direction of the gradient of return + c
turns (-: it opposes all of these). Equation 3: the outcome of the game is part of the reward of every turn.

| estimator | settings | two decisions | angle | pays | asking | angle | pays |
|---|---|---|---|---|---|---|---|
| GroupRelative | leave one out, no scale | (0.026, 0.190) | 0 | 0 | (0.018, -0.010) | 0 | 0 |
| GroupRelative | no scale | (0.020, 0.142) | 0 | 0 | (0.013, -0.008) | 0 | 0 |
| GroupRelative | default | (-0.054, 0.150) | 28 | -0.482 | (0.027, -0.020) | 7 | -0.008 |
| ReturnToGo | default | (0.026, 0.190) | 0 | 0 | (0.018, -0.010) | 0 | 0 |
| TurnWise | no scale | (-0.147, 0.064) | 74 | -2.365 | (-0.045, -0.022) | 124 | -0.330 |
| TurnWise | default | (-0.279, 0.033) | 91 | -8.403 | (-0.337, -0.089) | 135 | - |
| TurnWise | no scale; equation 3 | (0.020, 0.064) | 9 | +0.163 | (0.011, -0.005) | 4 | +0.005 |
| TurnWise | default; equation 3 | (-0.054, 0.033) | 67 | -1.745 | (0.024, -0.032) | 23 | -0.022 |
| TurnWise | as published, no scale; equation 3 | (0.020, 0.142) | 0 | 0 | (0.011, -0.008) | 5 | -0.005 |
| TurnWise | as published; equation 3 | (-0.054, 0.092) | 38 | -0.701 | (0.024, -0.069) | 41 | -0.034 |
| Progress | default | (-0.197, 0.190) | 54 | -1.133 | (-0.059, -0.041) | 115 | -0.170 |
| gae | values of the policy | (0.026, 0.190) | 0 | 0 | (0.018, -0.010) | 0 | 0 |
| gae | values 0 | (0.015, 0.190) | 3 | -0.057 | (0.012, -0.012) | 13 | -0.014 |

- A baseline made only of the other trajectories is independent of what the trajectory did, so it cannot turn the
  gradient, however the others end: `ReturnToGo`, and trajectory-level credit with leave-one-out. On both problems
  `ReturnToGo` varies least of those compared; in general that depends on the problem. With a trajectory's own reward in
  the mean, the estimate is (n - 1) / n as long.
- Dividing by a standard deviation turns the gradient, most of all turn by turn, where few trajectories are left to
  compare.
- `TurnWise` subtracts the mean of every turn, so what all turns cost or earn has no effect: a price of c per turn
  leaves the estimate unchanged, which amounts to paying -c for each turn. This is how turn-wise credit comes to favour
  long games where turns cost, and short ones where they earn. In addition, a turn answers for no later one (as earned,
  it points away from asking) unless equation 3 makes it answer for the outcome; and later turns count less, as fewer
  trajectories reach them. Without a scale it is then near the gradient, and with the zeros of the published padding
  nearer in one problem and further in the other; with a scale it charges for turns in both.
- `Progress` and `gae` are as good as the values behind their differences.

**Rounding.** Equal sums computed in another order may differ. A sum of n numbers x is off by at most (n - 1) u sum |x|,
with u = 2^-53 (Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 4.2), so two sums that should be
equal differ by at most twice that; smaller differences count as none.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sonde._util.argument_checks import Checked
from sonde.core import UserError, invalid
from sonde.core.types import Rules

from .types import Floats, Sample

Values = NDArray[np.float64]
"""One number per turn, or per trajectory of a group."""

Scale = Literal["std", "none"]
Baseline = Literal["mean", "leave_one_out"]
EPS = 1e-6
"""Added to the standard deviation, as in ΔBelief-RL's code."""

K = TypeVar("K")


# --- returns ---------------------------------------------------------------------------------------------------------


def discount_rewards(rewards: Sequence[float] | Values, discount: float = 1.0) -> Values:
    """Returns-to-go: G_t = r_t + discount G_{t+1}. The discount is per turn.

    >>> discount_rewards([0.0, 0.0, 1.0], 0.5).tolist()
    [0.25, 0.5, 1.0]
    """
    check_unit("discount", discount)
    return _accumulate_backwards(np.asarray(rewards, np.float64), discount)


def compute_returns(rewards: Sequence[Sequence[float] | Values], discount: float = 1.0) -> Values:
    """The discounted return of each trajectory, given its rewards per turn; 0 for one without turns."""
    return np.array([discount_rewards(r, discount)[0] if len(r) else 0.0 for r in rewards], np.float64)


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
    check_unit("discount", discount)
    check_unit("lam", lam)
    if len(rewards) != len(values):
        raise invalid("gae: values", len(values), f"one per turn: {len(rewards)}")
    v = np.append(np.asarray(values, np.float64), bootstrap)
    return _accumulate_backwards(np.asarray(rewards, np.float64) + discount * v[1:] - v[:-1], discount * lam)


def whiten(values: Any, *, eps: float = 1e-8) -> Any:
    """Values with mean 0 and variance 1: `(x - mean) / sqrt(variance + eps)`, with the variance of the values
    themselves (n, not n - 1), as in LMRL-Gym's code. Accepts numpy and torch arrays and returns the same kind.

    >>> whiten(np.array([1.0, 3.0]), eps=0.0).tolist()
    [-1.0, 1.0]
    """
    array = 1.0 * (values if hasattr(values, "mean") else np.asarray(values, np.float64))  # integers have no mean
    if 0 in array.shape:
        return array
    centred = array - array.mean()
    return centred / ((centred**2).mean() + eps) ** 0.5


def _accumulate_backwards(x: Values, factor: float) -> Values:
    out, following = np.empty_like(x), 0.0
    for t in reversed(range(len(x))):
        out[t] = following = x[t] + factor * following
    return out


def check_unit(name: str, value: float) -> None:
    """Raise `UserError` where a number is not within 0 and 1."""
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
    """The difference between each score and the others of its group.

    The `mean` baseline is over the whole group, `leave_one_out` over the others; `std` divides by the standard
    deviation (n - 1) plus `eps`. A group of one gives 0, and so does, exactly, a group with equal scores. Departure:
    ΔBelief-RL's code uses baseline 0 and deviation 1 for a group of one, so that its raw score is used.

    >>> group_advantages({"g": [1.0, 0.0, 0.0]}, scale="none", baseline="leave_one_out")["g"].tolist()
    [1.0, -0.5, -0.5]
    """
    _check_choice("scale", scale, ("std", "none"))
    _check_choice("baseline", baseline, ("mean", "leave_one_out"))
    arrays = {group: as_scores(s) for group, s in scores_by_group.items()}
    return {
        group: _compare_scores(scores, scale, baseline, eps, rounding_of_scores(scores))
        for group, scores in arrays.items()
    }


def as_scores(scores: Sequence[float] | Values) -> Values:
    """The scores as an array; a `UserError` where they are not finite numbers in a row."""
    try:
        values = np.asarray(scores, np.float64)
    except (TypeError, ValueError):
        raise invalid("scores", scores, "numbers, one per turn or per trajectory") from None
    if values.ndim != 1 or not np.isfinite(values).all():
        raise invalid("scores", values.tolist(), "finite numbers, one per turn or per trajectory")
    return values


def _compare_scores(scores: Values, scale: Scale, baseline: Baseline, eps: float, rounding: float) -> Values:
    n = len(scores)
    if not is_apart(scores, rounding):
        return np.zeros(n)
    above = scores - scores.mean()
    if baseline == "leave_one_out":  # r - (sum - r) / (n - 1)
        above *= n / (n - 1)
    return above / (scores.std(ddof=1) + eps) if scale == "std" else above


def _check_choice(name: str, got: str, allowed: tuple[str, ...]) -> None:
    if got not in allowed:
        raise invalid(name, got, " or ".join(allowed))


def is_apart(scores: Values, rounding: float) -> bool:
    """Whether scores differ by more than this."""
    return len(scores) > 1 and float(np.max(scores) - np.min(scores)) > rounding


Grouped = Mapping[str, Sequence[Values]]
"""One number per turn of each trajectory of each group."""


@runtime_checkable
class Estimator(Protocol):
    """Credit assignment: from rewards per turn to advantages per turn, in the same arrangement."""

    def __call__(self, rewards: Grouped) -> dict[str, list[Values]]: ...


@dataclass(frozen=True, kw_only=True)
class GroupRelative(Checked):
    """Trajectory-level credit (GRPO, StarPO): every turn gets its trajectory's `group_advantages` of the return."""

    called = "credit"

    scale: Scale = "std"
    baseline: Baseline = "mean"
    eps: float = EPS

    def __post_init__(self) -> None:
        _check_choice("scale", self.scale, ("std", "none"))
        _check_choice("baseline", self.baseline, ("mean", "leave_one_out"))
        check_eps(self.eps)

    def __call__(self, rewards: Grouped) -> dict[str, list[Values]]:
        return {group: self._credit_group([as_scores(row) for row in rows]) for group, rows in rewards.items()}

    def _credit_group(self, rows: list[Values]) -> list[Values]:
        above = _compare_scores(compute_returns(rows), self.scale, self.baseline, self.eps, rounding_of_returns(rows))
        return [np.full(len(row), value) for row, value in zip(rows, above, strict=True)]


def check_eps(eps: float) -> None:
    """Raise `UserError` where what is added to a deviation is below 0."""
    if not 0.0 <= eps < np.inf:
        raise invalid("eps", eps, "0 or more")


# --- per turn --------------------------------------------------------------------------------------------------------


def turnwise_advantages(
    rewards: Mapping[K, Sequence[Sequence[float] | Values]],
    *,
    scale: Scale = "std",
    rules: Rules = "paper",
    eps: float = EPS,
) -> dict[K, list[Values]]:
    """ΔBelief-RL, equation 4: the difference between each turn's own reward and the group's rewards on the same turn.

    Only trajectories that reach a turn count there; a trajectory that is alone on a turn, or equal to the others up to
    rounding, gets 0. `rules="code"`, as in the paper's code: the whole group counts on every turn, ended trajectories
    as 0, and the reward of a group of one is unchanged (mean 0, deviation 1). `std` divides by the standard deviation
    (n - 1) plus `eps`.

    >>> [a.tolist() for a in turnwise_advantages({"g": [[1.0, 5.0], [3.0]]}, scale="none")["g"]]
    [[-1.0, 0.0], [1.0]]
    """
    _check_choice("scale", scale, ("std", "none"))
    check_eps(eps)
    return {
        group: _credit_turns([as_scores(row) for row in rows], scale, rules == "code", eps)
        for group, rows in rewards.items()
    }


def _credit_turns(rows: list[Values], scale: Scale, padded: bool, eps: float) -> list[Values]:
    if padded and len(rows) == 1:
        return [row / (1.0 + eps) if scale == "std" else row.copy() for row in rows]
    out = [np.zeros(len(row)) for row in rows]
    for t in range(max(map(len, rows), default=0)):
        there = [i for i, row in enumerate(rows) if len(row) > t]
        ended = len(rows) - len(there) if padded else 0
        values = np.array([rows[i][t] for i in there] + [0.0] * ended)
        for i, value in zip(
            there, _compare_scores(values, scale, "mean", eps, rounding_of_scores(values)), strict=False
        ):
            out[i][t] = value
    return out


@dataclass(frozen=True, kw_only=True)
class TurnWise(Checked):
    """Turn-wise GRPO (ΔBelief-RL, equation 4); see `turnwise_advantages`. A turn is credited with its own reward and no
    later one, so its reward must contain what it makes possible: the paper adds the whole outcome to every turn
    (equation 3)."""

    called = "credit"

    scale: Scale = "std"
    rules: Rules = "paper"
    eps: float = EPS

    def __post_init__(self) -> None:
        _check_choice("scale", self.scale, ("std", "none"))
        check_eps(self.eps)

    def __call__(self, rewards: Grouped) -> dict[str, list[Values]]:
        return turnwise_advantages(rewards, scale=self.scale, rules=self.rules, eps=self.eps)


@dataclass(frozen=True)
class ReturnToGo(Checked):
    """The return from a turn on, minus the others' returns from that turn on; a trajectory that has ended counts with
    its last reward. The default choice for credit per turn: the baseline is made only of other trajectories, so the
    expected estimate is the policy gradient itself, whatever ends them and when; see the module. A group of one gives
    0.

    >>> [a.tolist() for a in ReturnToGo()({"g": [np.array([1.0, 5.0]), np.array([3.0])]})["g"]]
    [[3.0, 2.0], [-3.0]]
    """

    called = "credit"

    def __call__(self, rewards: Grouped) -> dict[str, list[Values]]:
        return {group: _credit_returns_to_go([as_scores(row) for row in rows]) for group, rows in rewards.items()}


def _credit_returns_to_go(rewards: list[Values]) -> list[Values]:
    left, rounding = [discount_rewards(row) for row in rewards], rounding_of_returns(rewards)
    turns = max(map(len, left), default=0)
    filled_NT = np.array([np.append(row, np.full(turns - len(row), row[-1] if len(row) else 0.0)) for row in left])
    columns = [_compare_scores(column, "none", "leave_one_out", 0.0, rounding) for column in filled_NT.T]
    above_NT = np.stack(columns, 1) if turns else filled_NT
    return [above[: len(row)] for above, row in zip(above_NT, left, strict=True)]


@dataclass(frozen=True)
class Progress(Checked):
    """Every turn gets its own reward and nothing else. If rewards are differences of a potential (`truth_gain`, raw
    `belief`), advantages sum to its last value minus its first. Unbiased if the potential is the value of the policy
    itself; with any other potential, turns get no credit for later effects."""

    called = "credit"

    def __call__(self, rewards: Grouped) -> dict[str, list[Values]]:
        return {group: [as_scores(row).copy() for row in rows] for group, rows in rewards.items()}


# --- to tokens -------------------------------------------------------------------------------------------------------


def broadcast_to_tokens(sample: Sample, values: float | Sequence[float] | Values) -> tuple[Floats, ...]:
    """One array per row of `sample`: the value of the turn on agent tokens, 0 elsewhere. A single number is the value
    of every turn."""
    per_turn = np.full(sample.turns, values) if isinstance(values, float | int) else np.asarray(values, np.float64)
    if per_turn.shape != (sample.turns,):
        raise invalid("credit: values", per_turn.shape, f"one number per turn of the sample: ({sample.turns},)")
    if not np.isfinite(per_turn).all():
        raise UserError(f"credit: the advantages of trajectory {sample.trajectory} are not finite: {per_turn.tolist()}")
    padded = np.append(per_turn, 0.0)  # turn -1 marks tokens of others
    return tuple(array("f", padded[np.asarray(row.turns, np.int64)].tolist()) for row in sample.rows)


def with_advantages(sample: Sample, values: float | Sequence[float] | Values) -> Sample:
    """`sample` with `advantages` on its rows; see `broadcast_to_tokens`."""
    per_row = broadcast_to_tokens(sample, values)
    rows = tuple(replace(row, advantages=a) for row, a in zip(sample.rows, per_row, strict=True))
    return replace(sample, rows=rows)


# --- rounding --------------------------------------------------------------------------------------------------------


TERMS = 1024
"""The number of rewards that a score is assumed to sum, if only the score is known."""
PARTS = 16
"""The number of weighted rewards that the reward of one turn is assumed to sum."""
_UNIT = 2.0**-53


def rounding_of_scores(scores: NDArray[np.float64]) -> float:
    """For sums of `TERMS` numbers of one sign: 2.3e-13 of the largest.

    >>> 0.0 < abs((0.1 + 0.2) - 0.3) < rounding_of_scores(np.array([0.3])) < 1e-13
    True
    """
    return 2 * TERMS * _UNIT * float(np.max(np.abs(scores), initial=0.0))


def rounding_of_returns(rewards: Sequence[NDArray[np.float64]]) -> float:
    """For the returns of trajectories with these rewards per turn, discounted or not, from any turn on. Rewards may
    cancel each other; the `PARTS` numbers that make up the reward of a single turn may not."""
    turns = max(map(len, rewards), default=0)
    return 2 * (turns + PARTS) * _UNIT * max((float(np.abs(row).sum()) for row in rewards), default=0.0)


# --- by a critic -----------------------------------------------------------------------------------------------------


class TokenCredit(NamedTuple):
    """Advantages and returns of one episode's agent tokens, in order."""

    advantages: Values
    returns: Values


@dataclass(frozen=True, kw_only=True)
class GAE(Checked):
    """Generalised advantage estimation with a critic; see the module. `discount` is `per` agent token, as published, or
    per turn (1 within one).

    `whiten`: advantages of a rollout get mean 0 and variance 1. `kl`: weight of the penalty, its initial value with a
    `kl_target`. `limit`: the value after an episode that a limit on turns ended: that of its last state ("bootstrap")
    or nothing ("end").
    """

    called = "credit"

    discount: float = 0.99
    lam: float = 0.95
    level: Literal["token", "turn"] = "token"
    per: Literal["token", "turn"] = "token"
    whiten: bool = True
    kl: float = 0.0
    kl_target: float | None = None
    kl_horizon: int = 10_000
    limit: Literal["bootstrap", "end"] = "end"

    def __post_init__(self) -> None:
        for name in ("discount", "lam"):
            if not 0 <= getattr(self, name) <= 1:
                raise invalid(f"credit: {name}", getattr(self, name), "0 to 1")
        if not 0 <= self.kl < np.inf:
            raise invalid("credit: kl", self.kl, "a finite number >= 0")
        if self.kl_target is not None and not (self.kl_target > 0 and self.kl > 0):
            raise invalid("credit: kl_target", self.kl_target, "above 0, with an initial kl above 0")
        if self.kl_horizon < 1:
            raise invalid("credit: kl_horizon", self.kl_horizon, "1 or more")

    def __call__(self, rewards: Grouped) -> dict[str, list[Values]]:
        """The rewards unchanged: a critic turns them into advantages later."""
        return {group: [np.asarray(row, np.float64) for row in rows] for group, rows in rewards.items()}

    def estimate_advantages(
        self, rewards: Values, values: Values, turns: NDArray[np.int64], final: float
    ) -> TokenCredit:
        """Advantages, not whitened, and returns. All arrays have one entry per agent token in order."""
        if self.level == "turn":
            begins = np.flatnonzero(np.append(True, turns[1:] != turns[:-1]))
            per_turn = gae(
                np.add.reduceat(rewards, begins), values[begins], discount=self.discount, lam=self.lam, bootstrap=final
            )
            lengths = np.diff(np.append(begins, len(rewards)))
            return TokenCredit(np.repeat(per_turn, lengths), np.repeat(per_turn + values[begins], lengths))
        step = np.full(len(rewards), self.discount)
        if self.per == "turn":
            step[:-1][turns[1:] == turns[:-1]] = 1.0
        errors = rewards + step * np.append(values[1:], final) - values
        advantages, following = np.empty_like(errors), 0.0
        for t in reversed(range(len(errors))):
            advantages[t] = following = errors[t] + step[t] * self.lam * following
        return TokenCredit(advantages, advantages + values)

    def update_kl_weight(self, weight: float, divergence: float, episodes: int) -> float:
        """The weight of the penalty after a rollout with this divergence per token."""
        if self.kl_target is None:
            return weight
        error = min(max(divergence / self.kl_target - 1, -0.2), 0.2)
        return weight * (1 + error * episodes / self.kl_horizon)
