"""One policy until a turn, another from there on: who explores and who concludes can be told apart.

Source: Multi-Turn Puzzles, section 3.3 (a stronger model takes over a weaker one's conversation, and the reverse).
"""

from __future__ import annotations

from dataclasses import dataclass

from sonde.core import Action, Policy, View, invalid


@dataclass(frozen=True, kw_only=True)
class Switch(Policy):
    """`first` plays the turns below `turn` (counted from 0), `then` the others. Each finds only its own memory."""

    first: Policy
    then: Policy
    turn: int

    def __post_init__(self) -> None:
        if self.turn < 0:
            raise invalid("agents:switch: turn", self.turn, "0 or more")

    async def act(self, view: View) -> Action:
        return await (self.first if view.turn < self.turn else self.then).act(view)

    async def finish(self, view: View) -> None:
        await self.first.finish(view)
        await self.then.finish(view)

    async def close(self) -> None:
        await self.first.close()
        await self.then.close()
