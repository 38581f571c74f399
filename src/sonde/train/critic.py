"""Credit by a critic: advantages and returns of the agent's tokens from a value head's numbers (PPO).

With rewards r, values V of the state before each token, V' of that before the next (`final` after the last: 0 where the
episode is over), a discount g and lambda l,

    reward    r_t - kl (log pi_sampled(t) - log pi_ref(t))          if kl is set: leaving the reference costs
    error     d_t = r_t + g V' - V
    advantage A_t = d_t + g l A_{t+1}
    return    A_t + V_t, before advantages are whitened             what V is to predict

`level="turn"`: a turn is one decision. Its reward is the sum over its tokens, its value that before its first token;
all its tokens share advantage and return.

Source: GAE (Schulman et al. 2016); LMRL-Gym (Abdulhai et al. 2023), appendix E and its code: over action tokens,
across what the environment says, whitened over all that was played. The penalty and its controller: Ziegler et al.
(2019); after a rollout of n episodes with mean divergence D, kl *= 1 + clip(D / target - 1, -.2, .2) n / horizon.
Departure: there D is a sum over an answer; here it is per token of the agent's, since games differ in length.

Which level: with values of the policy both are its gradient, with lambda 1 whatever the values (`credit`, rows of
`gae`). A critic over tokens has to learn values in the middle of words; one over turns has fewer to learn, and cannot
tell which word of a turn was good.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonde._util.argument_checks import Checked
from sonde.core import invalid

from .credit import Estimator, Grouped, GroupRelative, Progress, ReturnToGo, TurnWise, Values, gae


class Credit(NamedTuple):
    """Of the agent's tokens of one episode, in the order in which they were said."""

    advantages: Values
    returns: Values


@dataclass(frozen=True, kw_only=True)
class GAE(Checked):
    """See the module. `discount` is `per` token of the agent's, as published, or per turn (1 within one).

    `whiten`: advantages of a rollout get mean 0 and variance 1. `kl`: weight of the penalty, that at the start where
    there is a `kl_target`. `limit`: what follows where a limit on turns ended an episode, the value of its last state
    ("bootstrap") or nothing ("end").
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
            raise invalid("credit: kl_target", self.kl_target, "above 0, where kl is above 0 to begin with")
        if self.kl_horizon < 1:
            raise invalid("credit: kl_horizon", self.kl_horizon, "1 or more")

    def __call__(self, rewards: Grouped) -> dict[str, list[Values]]:
        """The rewards as they are: a critic makes advantages of them, once it has seen the episodes."""
        return {group: [np.asarray(row, np.float64) for row in rows] for group, rows in rewards.items()}

    def of(self, rewards: Values, values: Values, turns: NDArray[np.int64], final: float) -> Credit:
        """Advantages, not whitened, and returns. All arrays have one entry per token of the agent's in order."""
        if self.level == "turn":
            begins = np.flatnonzero(np.append(True, turns[1:] != turns[:-1]))
            found = gae(
                np.add.reduceat(rewards, begins), values[begins], discount=self.discount, lam=self.lam, bootstrap=final
            )
            lengths = np.diff(np.append(begins, len(rewards)))
            return Credit(np.repeat(found, lengths), np.repeat(found + values[begins], lengths))
        step = np.full(len(rewards), self.discount)
        if self.per == "turn":
            step[:-1][turns[1:] == turns[:-1]] = 1.0
        errors = rewards + step * np.append(values[1:], final) - values
        advantages, following = np.empty_like(errors), 0.0
        for t in reversed(range(len(errors))):
            advantages[t] = following = errors[t] + step[t] * self.lam * following
        return Credit(advantages, advantages + values)

    def weight_after(self, weight: float, divergence: float, episodes: int) -> float:
        """The weight of the penalty after a rollout with this divergence per token."""
        if self.kl_target is None:
            return weight
        error = min(max(divergence / self.kl_target - 1, -0.2), 0.2)
        return weight * (1 + error * episodes / self.kl_horizon)


ESTIMATORS: Mapping[str, Callable[..., Estimator]] = {
    "group_relative": GroupRelative,
    "return_to_go": ReturnToGo,
    "turn_wise": TurnWise,
    "progress": Progress,
    "gae": GAE,
}
"""What settings can name."""
