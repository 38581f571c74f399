"""A person at a terminal in the agent's seat. A bare answer is enough; the answer syntax is added."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TextIO

from rich.console import Console

from sonde.core import Action, Policy, View, WorldError
from sonde.core.plain import plain


@dataclass(frozen=True, kw_only=True)
class Human(Policy):
    """Prints what the agent is told and reads a line. End of input ends the episode as a failure of the world."""

    console: Console = field(default_factory=Console, repr=False, compare=False, metadata={"config": False})
    stream: TextIO | None = field(default=None, repr=False, compare=False, metadata={"config": False})

    async def act(self, view: View) -> Action:
        self.console.print(plain(view.messages[-1].content), markup=False, emoji=False, highlight=False)
        try:
            line = await asyncio.to_thread(self._read, f"[bold]turn {view.turn + 1}/{view.spec.max_turns}[/bold] > ")
        except EOFError as e:
            raise WorldError("the player left") from e
        return Action(line if "<" in line else view.say(line))

    def _read(self, prompt: str) -> str:
        """The next line that says something."""
        while True:
            line = self.console.input(prompt, stream=self.stream)
            if self.stream is not None and not line:
                raise EOFError
            if line.strip():
                return line.strip()

    async def finish(self, view: View) -> None:
        self.console.print(plain(view.messages[-1].content), markup=False, emoji=False, highlight=False)
