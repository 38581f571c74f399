"""UCB1: the action with the highest upper confidence bound on its mean.

Source: Auer, Cesa-Bianchi and Fischer (2002), "Finite-time analysis of the multiarmed bandit problem": every action
once, then the one with the largest `mean + sqrt(2 ln t / n)`, with t pulls in all and n of this action. Ties, and the
order of the first pulls, are random.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sonde.core import Action, ProgramPolicy, Rng, View, invalid
from sonde.envs._shared.sub_episodes import mean_rewards, pick_largest, require_finite_problem, tally_actions


@dataclass(frozen=True, kw_only=True)
class UCB1(ProgramPolicy):
    """See the module docstring. `width` scales the bonus; 1 is the algorithm as published."""

    width: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.width < math.inf:
            raise invalid("agents:ucb1: width", self.width, "0 or more")

    def act_now(self, view: View) -> Action:
        actions = require_finite_problem(view, "ucb1", "bandit").actions
        counts = tally_actions(view, actions)
        log = 2.0 * math.log(max(1, sum(n for n, _ in counts)))
        bonus = (self.width * math.sqrt(log / n) if n else math.inf for n, _ in counts)
        bounds = [mean + more for mean, more in zip(mean_rewards(counts), bonus, strict=True)]
        return Action(view.say(actions[pick_largest(bounds, Rng(view.seed))]))
