"""Bayesian play of a bandit: pull the arm with the lowest expected regret under the exact posterior.

If one uniformly chosen arm pays with a greater known probability than all the others, no strategy earns more, for any
number of pulls: Feldman (1962, "Contributions to the two-armed bandit problem") proves it for two arms, Rodman (1978,
"On the many-armed bandit problem") for several. Such bandits are the presets `psrl` and `krishnamurthy` of
`bernoulli_bandit`. Elsewhere this is the greedy strategy, which ignores the information that a pull would give.
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
