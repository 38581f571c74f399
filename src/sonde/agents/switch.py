"""One policy until a given turn, another after it: separates exploring from concluding.

Source: Multi-Turn Puzzles, section 3.3 (a stronger model takes over a weaker one's conversation, and the reverse).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

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
        object.__setattr__(self, "privileged", self.first.privileged or self.then.privileged)

    async def act(self, view: View) -> Action:
        who: Literal["first", "then"] = "first" if view.turn < self.turn else "then"
        memories = view.memory or {}
        action = await (self.first if who == "first" else self.then).act(replace(view, memory=memories.get(who)))
        if action.memory is None and not memories:
            return action
        return action._replace(memory={**memories, who: action.memory})

    async def finish(self, view: View) -> None:
        memories = view.memory or {}
        await self.first.finish(replace(view, memory=memories.get("first")))
        await self.then.finish(replace(view, memory=memories.get("then")))

    async def close(self) -> None:
        await self.first.close()
        await self.then.close()
