"""Draw a picture of shapes whose classes get colours from the style sheet, so that it follows the theme of the page.

A place of the board may stand for an answer; on a live board it is a button (`site.js`). All text is escaped here.
Lengths are pixels at natural size.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from xml.sax.saxutils import escape, quoteattr


class Pen:
    """A picture of the given size; `about` is its text alternative."""

    def __init__(self, width: float, height: float, about: str) -> None:
        self.width, self.height, self.about = width, height, about
        self.pairs: dict[str, dict[str, str]] = {}
        """Answers of two places that are pressed one after the other: `{"e2": {"e4": "e4"}}`."""
        self.when_live: Callable[[], None] | None = None
        """Adds places, called only for a live board."""
        self._parts: list[str] = []
        self._places: list[str] = []

    def add_rect(self, x: float, y: float, w: float, h: float, style: str, *, round: float = 0) -> None:
        corners = f' rx="{round:g}"' if round else ""
        self._parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}"{corners} class={quoteattr(style)}/>'
        )

    def add_circle(self, x: float, y: float, r: float, style: str) -> None:
        self._parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="{r:g}" class={quoteattr(style)}/>')

    def add_line(self, x1: float, y1: float, x2: float, y2: float, style: str) -> None:
        self._parts.append(f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" class={quoteattr(style)}/>')

    def add_path(self, d: str, style: str) -> None:
        self._parts.append(f"<path d={quoteattr(d)} class={quoteattr(style)}/>")

    def add_text(
        self, x: float, y: float, content: str, style: str = "b-ink", *, size: float = 14, anchor: str = "middle"
    ) -> None:
        """Add a line of text, centred at this height."""
        self._parts.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" text-anchor="{anchor}" dominant-baseline="central" '
            f"class={quoteattr(style)}>{escape(content)}</text>"
        )

    def add_place(self, x: float, y: float, w: float, h: float, answer: str) -> None:
        """Add a part of the board that stands for this answer, or for one half of a pair."""
        self._places.append(
            f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="4" class="b-place" role="button" '
            f'tabindex="{-1 if self._places else 0}" data-say={quoteattr(answer)}>'
            f"<title>{escape(answer)}</title></rect>"
        )

    def to_svg(self, name: str, *, live: bool = False) -> str:
        """Render the element; with `live` its places are buttons."""
        if live and self.when_live is not None:
            self.when_live()
        places = self._places if live else []
        pairs = f" data-pairs={quoteattr(json.dumps(self.pairs))}" if live and self.pairs else ""
        return (
            f'<svg class="board" id={quoteattr(name)} viewBox="0 0 {self.width:g} {self.height:g}" '
            f'width="{self.width:g}" height="{self.height:g}" role="{"group" if places else "img"}" '
            f"aria-label={quoteattr(self.about)}{pairs}>" + "".join([*self._parts, *places]) + "</svg>"
        )
