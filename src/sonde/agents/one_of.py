"""One of several policies for a whole episode, chosen at random: data of mixed strength.

Source: LMRL-Gym (arXiv 2311.18232), appendix D.4: its chess data are games of an engine whose strength is drawn
uniformly from Elo 800 to 1600. Stockfish 15.1 begins at 1350: of that range it can play its levels 0 to 2, so here

    sonde.make("agents:one_of", policies=[sonde.make("users:stockfish", level=n) for n in (0, 1, 2)])
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sonde.core import Action, Policy, Rng, View, invalid


@dataclass(frozen=True, kw_only=True)
class OneOf(Policy):
    """Draws one of `policies` uniformly at its first act, and keeps its number in memory."""

    policies: tuple[Policy, ...]

    def __post_init__(self) -> None:
        if not self.policies:
            raise invalid("agents:one_of: policies", self.policies, "one or more policies")
        object.__setattr__(self, "policies", tuple(self.policies))
        object.__setattr__(self, "privileged", any(policy.privileged for policy in self.policies))

    async def act(self, view: View) -> Action:
        kept = view.memory or {"drawn": Rng(view.seed, "one_of").randrange(len(self.policies)), "policy": None}
        action = await self.policies[kept["drawn"]].act(replace(view, memory=kept["policy"]))
        return action._replace(memory={"drawn": kept["drawn"], "policy": action.memory})

    async def finish(self, view: View) -> None:
        if view.memory:
            await self.policies[view.memory["drawn"]].finish(replace(view, memory=view.memory["policy"]))

    async def close(self) -> None:
        for policy in self.policies:
            await policy.close()
