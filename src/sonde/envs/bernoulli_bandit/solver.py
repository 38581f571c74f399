"""Bayesian play of a bandit: pull the arm that costs least in expectation, by the exact posterior.

Where one arm, each as likely, pays with a greater known chance than all the others do, no strategy earns more, however
many pulls there are: Feldman (1962, "Contributions to the two-armed bandit problem") shows it for two arms, Rodman
(1978, "On the many-armed bandit problem") for several. Such bandits are the presets `psrl` and `krishnamurthy` of
`bernoulli_bandit`. Elsewhere this is the greedy strategy, which may miss what a pull would teach.
"""

from __future__ import annotations

from dataclasses import dataclass

from sonde.core import Action, ProgramPolicy, Rng, View

from .._shared.sub_episodes import pick_largest, require_explored_filter, require_finite_problem


@dataclass(frozen=True, kw_only=True)
class BernoulliBanditSolver(ProgramPolicy):
    """See the module docstring. Ties are drawn."""

    def act_now(self, view: View) -> Action:
        problem, known = (
            require_finite_problem(view, "bernoulli_bandit", "bandit"),
            require_explored_filter(view, "bernoulli_bandit"),
        )
        # Rounded, so that arms whose pulls say the same tie.
        worth = [-round(float(regret), 12) for regret in known.expected_regrets]
        return Action(view.say(problem.actions[pick_largest(worth, Rng(view.seed))]))
