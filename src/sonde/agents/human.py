"""A person at a terminal in the agent's seat. A bare answer is enough; the answer syntax is added.

Messages to a user or narrator are passed on as typed, unless they are one of the listed answers.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TextIO

from rich.console import Console

from sonde._util.escaping import make_visible
from sonde.core import Action, Episode, Policy, Spec, View, WorldError

_THINKING = re.compile(r"(?: as| in this form[^:\n]*:|:)?\s*<Think>[^<]*</Think>\s*")
_TAG = re.compile(r"<Answer>\s*|\s*</Answer>")


def parse_input(line: str, legal: Sequence[str], spec: Spec, say: Callable[[str], str]) -> str:
    """Interpret what a person typed: a listed answer as the environment reads it, whose first words may be omitted if
    unambiguous (`2 3` for `reveal 2 3`); any other line only gets the answer syntax.

    In a conversation a line has to be the whole of a listed answer, and any other is what is said.
    """
    if "<answer>" in line.lower():
        return line
    in_tags = "<answer>" in say(line).lower()
    talks = len(spec.seats) > 1 and not in_tags
    words = _split_words(line)
    fitting = [a for a in legal if (found := _split_words(a)) == words or (not talks and found[-len(words) :] == words)]
    return say(fitting[0] if len(fitting) == 1 else line) if in_tags or len(fitting) == 1 else line


def _split_words(text: str) -> list[str]:
    return text.lower().replace(",", " ").split()


def strip_tags(told: str) -> str:
    """What a model is told, for display to a person: without thinking and tags.

    >>> strip_tags("Make your next guess as <Think> ... </Think> <Answer> word </Answer>.")
    'Make your next guess: word.'
    """
    return _TAG.sub("", _THINKING.sub(": ", told))


def strip_thinking(said: str) -> str:
    """What the agent said, without thinking and tags."""
    return _TAG.sub("", _THINKING.sub("", said))


def rejection_reason(ep: Episode) -> str | None:
    """Why the last line was rejected, from the first sentence of the environment's reply; None if it was accepted."""
    result = ep.turns[-1].info.get("result")
    if result == "unreadable":
        return "That is no answer"
    told = strip_tags(ep.view().messages[-1].content)
    return told.partition("\n")[0].partition(". ")[0].rstrip(".") if result == "invalid" else None


@dataclass(frozen=True, kw_only=True)
class Human(Policy):
    """Prints what the agent is told and reads a line. End of input ends the episode as a world failure."""

    console: Console = field(default_factory=Console, repr=False, compare=False, metadata={"config": False})
    stream: TextIO | None = field(default=None, repr=False, compare=False, metadata={"config": False})

    async def act(self, view: View) -> Action:
        self.console.print(make_visible(view.messages[-1].content), markup=False, emoji=False, highlight=False)
        try:
            line = await asyncio.to_thread(
                self._read_line, f"[bold]turn {view.turn + 1}/{view.spec.max_turns}[/bold] > "
            )
        except EOFError as e:
            raise WorldError("the player left") from e
        return Action(parse_input(line, view.legal or (), view.spec, view.say))

    def _read_line(self, prompt: str) -> str:
        """The next non-empty line."""
        while True:
            line = self.console.input(prompt, stream=self.stream)
            if self.stream is not None and not line:
                raise EOFError
            if line.strip():
                return line.strip()

    async def finish(self, view: View) -> None:
        self.console.print(make_visible(view.messages[-1].content), markup=False, emoji=False, highlight=False)
