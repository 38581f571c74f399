"""The consoles of the command line: what they are given is text, never markup, and nothing in it reaches the terminal
but what can be seen. Labels, paths and what models said are printed as they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from sonde._util.escaping import plain


class Terminal(Console):
    """A console without markup and emoji codes. Every piece of text on its way out goes through `plain`."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"markup": False, "emoji": False, **settings})

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(plain(segment.text), segment.style)

    def print_json(self, json: str | None = None, **settings: Any) -> None:
        """As rich does it; what the console's encoding lacks is escaped, so that what is read from it is the same."""
        super().print_json(json, **{"ensure_ascii": not self.encoding.startswith("utf"), **settings})


out = Terminal()
stderr = Terminal(stderr=True)
