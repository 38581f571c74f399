"""UCB1: the action with the highest upper confidence bound on its mean.

Source: Auer, Cesa-Bianchi and Fischer (2002), "Finite-time analysis of the multiarmed bandit problem": every action
once, then the one with the largest `mean + sqrt(2 ln t / n)`, with t pulls in all and n of this action. Ties, and the
order of the first pulls, are random.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sonde.core import Action, ProgramPolicy, Rng, View, invalid
from sonde.envs._shared.sub_episodes import best_of, finite, means, tally


@dataclass(frozen=True, kw_only=True)
class UCB1(ProgramPolicy):
    """See the module docstring. `width` scales the bonus; 1 is the algorithm as published."""

    width: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.width < math.inf:
            raise invalid("agents:ucb1: width", self.width, "0 or more")

    def act_now(self, view: View) -> Action:
        actions = finite(view, "ucb1", "bandit").actions
        counts = tally(view, actions)
        log = 2.0 * math.log(max(1, sum(n for n, _ in counts)))
        bonus = (self.width * math.sqrt(log / n) if n else math.inf for n, _ in counts)
        bounds = [mean + more for mean, more in zip(means(counts), bonus, strict=True)]
        return Action(view.say(actions[best_of(bounds, Rng(view.seed))]))
