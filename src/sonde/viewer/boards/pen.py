"""A picture being drawn: shapes with classes that style sheets give colours, so it follows the page's theme.

A place of the board may stand for an answer; where the picture is played on, it is a button then (`site.js`).
Everything that is written into a picture is escaped here. Lengths are pixels at natural size.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from xml.sax.saxutils import escape, quoteattr


class Pen:
    """Draws into a picture of a width and a height that say what it shows to who cannot see it."""

    def __init__(self, width: float, height: float, about: str) -> None:
        self.width, self.height, self.about = width, height, about
        self.pairs: dict[str, dict[str, str]] = {}
        """Answers that two places make together, one pressed after the other: `{"e2": {"e4": "e4"}}`."""
        self.when_live: Callable[[], None] | None = None
        """Marks places, only where the picture is played on."""
        self._parts: list[str] = []
        self._places: list[str] = []

    def rect(self, x: float, y: float, w: float, h: float, style: str, *, round: float = 0) -> None:
        corners = f' rx="{round:g}"' if round else ""
        self._parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}"{corners} class={quoteattr(style)}/>'
        )

    def circle(self, x: float, y: float, r: float, style: str) -> None:
        self._parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="{r:g}" class={quoteattr(style)}/>')

    def line(self, x1: float, y1: float, x2: float, y2: float, style: str) -> None:
        self._parts.append(f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" class={quoteattr(style)}/>')

    def path(self, d: str, style: str) -> None:
        self._parts.append(f"<path d={quoteattr(d)} class={quoteattr(style)}/>")

    def text(
        self, x: float, y: float, said: str, style: str = "b-ink", *, size: float = 14, anchor: str = "middle"
    ) -> None:
        """Words whose middle is at this height."""
        self._parts.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" text-anchor="{anchor}" dominant-baseline="central" '
            f"class={quoteattr(style)}>{escape(said)}</text>"
        )

    def place(self, x: float, y: float, w: float, h: float, said: str) -> None:
        """A part of the board that stands for this answer, or for one half of a pair."""
        self._places.append(
            f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="4" class="b-place" role="button" '
            f'tabindex="{-1 if self._places else 0}" data-say={quoteattr(said)}><title>{escape(said)}</title></rect>'
        )

    def svg(self, name: str, *, live: bool = False) -> str:
        """The element; `live` with its places as buttons, if it has any."""
        if live and self.when_live is not None:
            self.when_live()
        places = self._places if live else []
        pairs = f" data-pairs={quoteattr(json.dumps(self.pairs))}" if live and self.pairs else ""
        return (
            f'<svg class="board" id={quoteattr(name)} viewBox="0 0 {self.width:g} {self.height:g}" '
            f'width="{self.width:g}" height="{self.height:g}" role="{"group" if places else "img"}" '
            f"aria-label={quoteattr(self.about)}{pairs}>" + "".join([*self._parts, *places]) + "</svg>"
        )
