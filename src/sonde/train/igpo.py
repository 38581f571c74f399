"""IGPO, information-gain policy optimisation: a turn earns what the model then believes more in the truth than before.

With b_t the probability that the model gives to the truth a = (a_1, ..., a_L) after turn t, the mean over its tokens,

    belief     b_t = exp(1/L sum_j log pi(a_j | game up to turn t, a_1 ... a_j-1))                      equation 3
    gain       r_t = b_t - b_t-1            on every turn but the last                                  equation 4
    outcome    r_T = the outcome's reward   on the last turn T, which has no gain                       equation 5
    normalised A_t = (r_t - mean) / (std + eps)   over all turns of all games of the group              equation 6
    credit     C_t = sum over k >= t of discount^(k - t) A_k                                            equation 7

and C_t is the advantage of all tokens of turn t in a clipped policy gradient with a penalty for leaving the reference,
mean over games of means over tokens (equation 8, `objectives.grpo`). What others said is masked, as everywhere here.

    rewards = RewardMix.from_paper("igpo")
    online = OnlineSettings(rewarders=(ProbabilityGain(),), rewards=rewards, credit=NormalisedReturn())

`sonde train igpo ENV` has all of it. Beside ΔBelief-RL, which takes the difference of ln b: a difference of
probabilities is bounded and telescopes to the final probability, but says almost nothing while b is small (.001 to .01
earns .009; ΔBelief 2.3). Beside `credit.ReturnToGo`, whose baseline is what the other games earned from the same turn
on, one mean centres every reward here, so the number of turns to come enters the advantage: turns that earn less than
the mean make a long game worse, as a price on turns would.

Source: Wang et al., *Information Gain-based Policy Optimization* (arXiv 2510.14967, ICLR 2026), section 3. From its
code (the release of February 2026, after the first one normalised the sums instead of the rewards): the standard
deviation is of n, not n - 1; discount 1; `change="log"` and `norm="separate"`, the mean and deviation of gains and of
outcomes each by themselves, which its training script has and the paper's equations do not; -2 for an unreadable end.

Departures: the outcome is success, not the F1 score of an answer. b_t is asked for under a template of
`beliefs.elicitation`, by default in a sentence of ours as for ΔBelief-RL; the paper's answers stand in its own tags. A
group whose rewards are all equal gets 0. In that code a gain of exactly 0 keeps the advantage 0 and enters no mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from sonde._util.argument_checks import Checked
from sonde.beliefs.elicitation import Elicited
from sonde.core import Trajectory

from .credit import (
    EPS,
    Grouped,
    Values,
    as_scores,
    check_eps,
    check_unit,
    discount_rewards,
    is_apart,
    rounding_of_scores,
)
from .rewarders import BeliefGain, Measurements

Norm = Literal["joint", "separate"]


@dataclass(frozen=True, kw_only=True)
class ProbabilityGain(BeliefGain):
    """`probability_gain`: the change of the probability of the truth in a turn, none in the last one (equations 3, 4).

    `change="log"` takes the difference of logarithms. The other settings are those of `BeliefGain`; by default, as in
    the paper, the truth's tokens are averaged and nothing is shaped.
    """

    called = "probability_gain"
    names: ClassVar[tuple[str, ...]] = ("probability_gain",)

    change: Literal["probability", "log"] = "probability"
    aggregate: Literal["sum", "mean"] = "mean"
    shaping: str | tuple[str, ...] = ()

    def read_beliefs(self, trajectory: Trajectory, beliefs: Sequence[Elicited]) -> Values:
        logs = super().read_beliefs(trajectory, beliefs)
        return np.exp(logs) if self.change == "probability" else logs

    def compute_gains(self, trajectory: Trajectory, measured: Measurements) -> Mapping[str, Values]:
        (gains,) = super().compute_gains(trajectory, measured).values()
        gains[-1:] = np.nan
        return {self.names[0]: gains}


@dataclass(frozen=True, kw_only=True)
class NormalisedReturn(Checked):
    """Rewards normalised over the group, then summed to the end of the game (equations 6 and 7).

    `norm="separate"`: those of last turns, which hold the outcome, apart from those of all other turns.

    >>> credit = NormalisedReturn(eps=0.0)
    >>> [a.tolist() for a in credit({"g": [np.array([1.0, 3.0]), np.array([1.0, 3.0])]})["g"]]
    [[0.0, 1.0], [0.0, 1.0]]
    """

    called = "credit"

    norm: Norm = "joint"
    discount: float = 1.0
    eps: float = EPS

    def __post_init__(self) -> None:
        check_unit("credit: discount", self.discount)
        check_eps(self.eps)

    def __call__(self, rewards: Grouped) -> dict[str, list[Values]]:
        return {group: self._credit_group([as_scores(row) for row in rows]) for group, rows in rewards.items()}

    def _credit_group(self, rows: list[Values]) -> list[Values]:
        if not rows:
            return []
        flat = np.concatenate(rows)
        last = np.concatenate([np.arange(len(row)) == len(row) - 1 for row in rows])
        for part in (last, ~last) if self.norm == "separate" else (np.ones(len(flat), np.bool_),):
            flat[part] = _normalise(flat[part], self.eps)
        ends = np.cumsum([len(row) for row in rows])
        return [discount_rewards(row, self.discount) for row in np.split(flat, ends[:-1])]


def _normalise(values: Values, eps: float) -> Values:
    """`(x - mean) / (std + eps)` with the deviation of n; 0 where all are equal up to rounding."""
    if not is_apart(values, rounding_of_scores(values)):
        return np.zeros(len(values))
    return (values - values.mean()) / (values.std() + eps)
