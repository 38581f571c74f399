"""Bayesian bandit play: pull the arm with the least expected regret under the exact posterior.

If exactly one arm, each with equal prior probability, pays with a higher known probability than all others, no strategy
earns more, whatever the number of pulls: Feldman (1962, "Contributions to the two-armed bandit problem") proves it for
two arms, Rodman (1978, "On the many-armed bandit problem") for several. The presets `psrl` and `krishnamurthy` of
`bernoulli_bandit` are such bandits. Elsewhere this is the greedy strategy, which ignores the information of a pull.
"""

from __future__ import annotations

from dataclasses import dataclass

from sonde.core import Action, ProgramPolicy, Rng, View

from .._shared.sub_episodes import pick_largest, require_explored_filter, require_finite_problem


@dataclass(frozen=True, kw_only=True)
class BernoulliBanditSolver(ProgramPolicy):
    """See the module docstring. Ties are broken at random."""

    def act_now(self, view: View) -> Action:
        problem, known = (
            require_finite_problem(view, "bernoulli_bandit", "bandit"),
            require_explored_filter(view, "bernoulli_bandit"),
        )
        # Rounded, so that arms with equal observations tie.
        worth = [-round(float(regret), 12) for regret in known.expected_regrets]
        return Action(view.say(problem.actions[pick_largest(worth, Rng(view.seed))]))
