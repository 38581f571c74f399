"""Epsilon-greedy: the action with the best mean so far, or, with probability epsilon, a random action.

The classic baseline for bandits (Sutton and Barto, chapter 2; compared with language models by Krishnamurthy et al.,
2024). Untried actions come first; ties are broken at random.
"""

from __future__ import annotations

from dataclasses import dataclass

from sonde.core import Action, ProgramPolicy, Rng, View, invalid
from sonde.envs._shared.sub_episodes import mean_rewards, pick_largest, require_finite_problem, tally_actions


@dataclass(frozen=True, kw_only=True)
class EpsilonGreedy(ProgramPolicy):
    """See the module docstring. `epsilon` in 0..1."""

    epsilon: float = 0.1

    def __post_init__(self) -> None:
        if not 0.0 <= self.epsilon <= 1.0:
            raise invalid("agents:epsilon_greedy: epsilon", self.epsilon, "0 to 1")

    def act_now(self, view: View) -> Action:
        actions, rng = require_finite_problem(view, "epsilon_greedy", "bandit").actions, Rng(view.seed)
        if rng.random() < self.epsilon:
            return Action(view.say(actions[rng.randrange(len(actions))]))
        return Action(view.say(actions[pick_largest(mean_rewards(tally_actions(view, actions)), rng)]))
