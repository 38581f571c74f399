"""Posterior sampling for reinforcement learning: per sub-episode, sample a world from the posterior and solve it.

Source: Strens (2000); Osband, Russo and Van Roy (2013); Toward Efficient Exploration by LLM Agents, algorithm 1 and
section 4.2:

    for each sub-episode:  draw a world from the posterior given all sub-episodes before
                           play that world's optimal policy (backward induction over the horizon) to its end

`prior="standard"` is the paper's tabular agent if the problem is tabular: a Dirichlet with every parameter `alpha`
(default 1/|S|) per state and action, rewards uniform over the values that the problem lists, certain once seen.
Elsewhere (bandits, codes), and everywhere with `prior="exact"`, worlds come from the environment's exact posterior. On
a bandit this is Thompson sampling.
Where the paper is silent: among equally good actions of the sampled world one is drawn at random, except that a sampled
code is entered to its end even after it has turned out to be wrong.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from operator import attrgetter, itemgetter

import numpy as np
import numpy.typing as npt

from sonde.core import Action, ProgramPolicy, Rng, View, invalid, unknown
from sonde.envs._shared.finite import DirichletPosterior, FiniteProblem, World
from sonde.envs._shared.sub_episodes import (
    current_position,
    current_state,
    require_explored_filter,
    require_finite_problem,
)

Ints = npt.NDArray[np.int64]
_SAME = 1e-12
_MOVE = itemgetter("state", "action", "next", "reward")


@dataclass(frozen=True, kw_only=True)
class PSRL(ProgramPolicy):
    """See the module docstring. Memory: the plan of this sub-episode, one action number per step and state, as one
    text, because a record checks and freezes every value in a memory; where it is missing, because somebody else began
    the sub-episode, a world is drawn anew."""

    prior: str = "standard"
    alpha: float | None = None

    def __post_init__(self) -> None:
        if self.prior not in ("standard", "exact"):
            raise unknown("agents:psrl: prior", self.prior, ("standard", "exact"))
        if self.alpha is not None and not 0.0 < self.alpha < math.inf:
            raise invalid("agents:psrl: alpha", self.alpha, "more than 0, or none for 1/|S|")

    def act_now(self, view: View) -> Action:
        problem = require_finite_problem(view, "psrl")
        step = current_position(view, problem.horizon).step
        plan = view.memory if step and view.memory else " ".join(map(str, self._plan_sub_episode(view, problem)))
        at = step * len(problem.states) + problem.states.index(current_state(view, problem))
        choice = problem.actions[int(plan.split(" ")[at])]
        return Action(view.say(choice), memory=plan if problem.horizon > 1 else None)

    def _plan_sub_episode(self, view: View, problem: FiniteProblem) -> list[int]:
        """The optimal policy of a world sampled from the posterior, step by step and state by state."""
        rng = Rng(view.seed)
        if problem.kind == "tabular" and self.prior == "standard":
            return (
                optimal_actions(dirichlet_posterior(view, problem, self.alpha).sample(rng), problem.horizon, rng)
                .ravel()
                .tolist()
            )
        known = require_explored_filter(view, "psrl")
        if problem.kind == "code":
            return [problem.actions.index(symbol) for symbol in known.sample(rng) for _ in problem.states]
        return optimal_actions(known.world(known.sample(rng)), problem.horizon, rng).ravel().tolist()


def dirichlet_posterior(view: View, problem: FiniteProblem, alpha: float | None) -> DirichletPosterior:
    """The Dirichlet posterior after all finished turns."""
    known = DirichletPosterior.prior(problem, alpha)
    states = {s: i for i, s in enumerate(problem.states)}
    actions = {a: i for i, a in enumerate(problem.actions)}
    moves = Counter(map(_MOVE, map(attrgetter("info"), view.turns)))
    for (state, action, after, reward), n in moves.items():
        if action is not None:
            at = states[state], actions[action]
            known.counts_SAS[(*at, states[after])] += n
            known.paid_SAN[(*at, states[after] if problem.by_next else 0)] = reward
    return known


def optimal_actions(world: World, horizon: int, rng: Rng) -> Ints:
    """The index of an optimal action for every step and state, shape `(H, S)`; ties are broken at random."""
    q_HSA = world.action_values(horizon)
    good_HSA = q_HSA >= q_HSA.max(axis=2, keepdims=True) - _SAME
    plan_HS = good_HSA.argmax(axis=2)
    for h, s in np.argwhere(good_HSA.sum(axis=2) > 1).tolist():
        plan_HS[h, s] = rng.choice(np.flatnonzero(good_HSA[h, s]).tolist())
    return plan_HS
