"""Another policy with a share of random moves: the behaviour policy of offline data.

Source: LMRL-Gym (arXiv 2311.18232): for its endgame data a probability epsilon is drawn for each game, and moves are
random with that probability, otherwise the engine's (appendix D.5); maze and wordle dilute a solver in the same way
(D.1, D.3).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sonde.core import Action, Policy, Rng, View, invalid
from sonde.envs._shared.sub_episodes import require_legal_actions


@dataclass(frozen=True, kw_only=True)
class Diluted(Policy):
    """Plays as `policy` does, but with probability `epsilon` plays a random legal answer. None draws epsilon for every
    episode, uniformly from 0 to 1, and keeps it in memory."""

    policy: Policy
    epsilon: float | None = None

    def __post_init__(self) -> None:
        if self.epsilon is not None and not 0.0 <= self.epsilon <= 1.0:
            raise invalid("agents:diluted: epsilon", self.epsilon, "0 to 1, or None")
        object.__setattr__(self, "privileged", self.policy.privileged)

    async def act(self, view: View) -> Action:
        rng, kept = Rng(view.seed, "diluted"), view.memory or {}
        drawn, u = rng.random(), rng.random()
        epsilon = kept.get("epsilon", drawn) if self.epsilon is None else self.epsilon
        if u >= epsilon:
            action = await self.policy.act(replace(view, memory=kept.get("policy")))
            return action._replace(memory={"epsilon": epsilon, "policy": action.memory})
        legal = require_legal_actions(view, "diluted")
        return Action(view.say(legal[rng.randrange(len(legal))]), memory={**kept, "epsilon": epsilon})

    async def finish(self, view: View) -> None:
        await self.policy.finish(replace(view, memory=(view.memory or {}).get("policy")))

    async def close(self) -> None:
        await self.policy.close()
