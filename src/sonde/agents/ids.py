"""Exact information-directed sampling: the lowest squared expected regret per bit of information about the best action.

Source: Russo and Van Roy (2018); Toward Efficient Exploration by LLM Agents, appendix F. Expected regrets and gains are
those of the exact filter at the present state; the action is drawn from the distribution that minimises the information
ratio over all pairs of actions. Myopic, as in the paper: in problems of several steps only the next observation counts
as gain, and the regret is `V* - Q*` of the true world, in expectation.
"""

from __future__ import annotations

from dataclasses import dataclass

from sonde.core import Action, ProgramPolicy, Rng, View
from sonde.envs._shared.sub_episodes import require_explored_filter

from ._shared.ratio import minimise_ratio


@dataclass(frozen=True, kw_only=True)
class IDS(ProgramPolicy):
    """See the module docstring. Needs an exact filter with `expected_regrets` and `expected_gains`."""

    def act_now(self, view: View) -> Action:
        known, rng = require_explored_filter(view, "ids"), Rng(view.seed)
        mix = minimise_ratio(known.expected_regrets, known.expected_gains, rng)
        return Action(view.say(known.problem.actions[mix.draw_action(rng)]))
