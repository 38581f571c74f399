"""Drawings, and how a page shows them: inline SVG, equal bytes for equal figures, colours as CSS variables.

A page has a light and a dark theme, so a figure does not fix its colours: each is one of those below, written as a CSS
variable. `sonde.figures` saves the same drawings as files.
"""

from __future__ import annotations

import re
from io import StringIO
from typing import Any, NamedTuple

INK, MUTED, GRID, PAPER = "#1b1f24", "#69707a", "#dde1e6", "#fffffe"
FLOOR, REFERENCE = "#8b929b", "#30363d"
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#b8589a", "#c28800", "#3fa3dc")
"""After Okabe and Ito, "Color universal design" (2008), with the three light colours darkened for thin lines."""
VARIABLES = {INK: "ink", MUTED: "muted", GRID: "grid", PAPER: "paper", FLOOR: "floor", REFERENCE: "reference"}
VARIABLES |= {colour: f"agent{i}" for i, colour in enumerate(PALETTE)}

STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "sonde",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.labelsize": 9,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.prop_cycle": "cycler('color', ['#1b1f24'])",
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "hatch.linewidth": 0.7,
}

_TAG = re.compile(r"<[^>]+>")
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
_ID = re.compile(r' id="([^"]*)"')
_LINK = re.compile(r'(url\(#|href="#)')
_CLASS = re.compile(r"agent-\d+")
_BLANK = re.compile(r"\n\s*")
_NOISE = re.compile(r'<metadata>.*?</metadata>|<style.*?</style>|<g [^>]*/>| transform="rotate\(-0 [^"]*\)"', re.DOTALL)
"""Left out of a figure: metadata, matplotlib's style for all elements, empty groups, rotations by zero."""
_DIGITS = re.compile(r"(\.\d\d)\d+")


class Drawing(NamedTuple):
    """A figure of matplotlib, and its text alternative."""

    figure: Any
    about: str

    def to_svg(self, name: str) -> str:
        """Render an `<svg>` element. `name` is the prefix of its ids, so that figures of a page do not clash.

        Artists whose gid is `agent-N` become elements of class `of-agent agent-N`.
        """
        return _render_svg(self.figure, name, self.about)


def _render_svg(figure: Any, name: str, description: str) -> str:
    from matplotlib import rc_context

    buffer, about = StringIO(), dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with rc_context(STYLE):
        figure.savefig(buffer, format="svg", transparent=True, metadata=about)
    text = buffer.getvalue()
    body = text[text.index("<svg") :].split(">", 1)[1]
    width, height = (72 * side for side in figure.get_size_inches())
    body = _BLANK.sub("\n", _NOISE.sub("", body))
    body = _TAG.sub(lambda m: _replace_colours(m[0], name), body)
    # The template does not escape a figure, so its description is escaped here.
    label = description.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{label}">{body}'


def _replace_colours(tag: str, name: str) -> str:
    """A tag with CSS variables for colours, numbers of two decimals, and prefixed ids."""
    tag = _COLOUR.sub(lambda m: f"var(--{VARIABLES[m[0]]})" if m[0] in VARIABLES else m[0], _DIGITS.sub(r"\1", tag))
    tag = _ID.sub(lambda m: _replace_id(tag, m[1], name), tag)
    return _LINK.sub(lambda m: f"{m[1]}{name}-", tag)


def _replace_id(tag: str, found: str, name: str) -> str:
    """The class of an agent's artist, nothing for other groups, and a prefixed id for other elements."""
    if _CLASS.fullmatch(found):
        return f' class="of-agent {found}"'
    return "" if tag.startswith("<g ") else f' id="{name}-{found}"'
