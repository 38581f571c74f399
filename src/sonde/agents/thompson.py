"""Thompson sampling on a Bernoulli bandit: draw a mean for every action from its Beta posterior, play the best draw.

Source: Toward Efficient Exploration by LLM Agents, section 4.1.1 (each arm starts from Beta(1, 1)); Thompson (1933).
Posterior sampling with the environment's own prior, on any finite problem, is `agents:psrl` with `prior="exact"`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sonde.core import Action, ProgramPolicy, Rng, UserError, View, invalid
from sonde.envs._shared.sub_episodes import pick_largest, require_finite_problem, tally_actions


@dataclass(frozen=True, kw_only=True)
class Thompson(ProgramPolicy):
    """See the module docstring. `wins` and `losses` are the parameters of the Beta prior."""

    wins: float = 1.0
    losses: float = 1.0

    def __post_init__(self) -> None:
        for name in ("wins", "losses"):
            if not 0.0 < getattr(self, name) < math.inf:
                raise invalid(f"agents:thompson: {name}", getattr(self, name), "more than 0")

    def act_now(self, view: View) -> Action:
        problem, rng = require_finite_problem(view, "thompson", "bandit"), Rng(view.seed)
        if set(problem.rewards) != {0.0, 1.0}:
            name = f"{view.spec.name}, preset {view.spec.preset}"
            raise UserError(f"agents:thompson: {name} pays other rewards than 0 and 1; use agents:psrl")
        counts = tally_actions(view, problem.actions)
        draws = [rng.betavariate(self.wins + total, self.losses + n - total) for n, total in counts]
        return Action(view.say(problem.actions[pick_largest(draws, rng)]))
