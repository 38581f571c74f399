"""Axes, lines, bands and labels of all figures: the same look for an agent wherever it appears.

Lines are labelled at their ends and rows at their left, so no figure needs a legend.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from sonde.evaluation.metrics import Estimate

from .svg import FLOOR, PALETTE, REFERENCE, STYLE, VARIABLES, Drawing

WIDTH, HEIGHT = 4.5, 2.8
"""Inches; a figure is scaled to its card, at most 520 pixels wide."""
DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1.5)), (0, (6, 1.5, 1.5, 1.5)))
MARKERS = ("o", "s", "^", "D", "v", "P")
_EDGE = 3.0
"""Pixels between a text and the edge of a figure."""
_FEW = 40
"""A curve with at most this many points has markers."""


@dataclass(frozen=True)
class AgentStyle:
    """How an agent is drawn: name, colour, dashes and marker, the same in all figures of a page. A `whole` name is not
    shortened."""

    number: int
    name: str
    colour: str
    dash: Any
    marker: str
    whole: bool = False

    @classmethod
    def from_number(cls, number: int, name: str, turn: int) -> AgentStyle:
        """The `turn`-th of the looks, which repeat only when all combinations of colours, dashes and markers are used
        up."""
        cycle, colour = divmod(turn, len(PALETTE))
        dash = DASHES[(turn + cycle) % len(DASHES)] if cycle else "-"
        return cls(number, name, PALETTE[colour], dash, MARKERS[turn % len(MARKERS)])

    @classmethod
    def for_role(cls, number: int, name: str, role: str) -> AgentStyle:
        """The look of an end of the scale: the floor in grey, the reference solver in black."""
        if role == "floor":
            return cls(number, name, FLOOR, (0, (2, 1.5)), "x")
        return cls(number, name, REFERENCE, "-", "o")

    @property
    def short(self) -> str:
        """The name for the margin of a figure: the text in its brackets, shortened in the middle.

        >>> AgentStyle(0, "llm (SmolLM2-135M-Instruct)", "", "-", "o").short
        'SmolLM…nstruct'
        """
        if self.whole:
            return self.name
        head, bracket, rest = self.name.partition(" (")
        inner = rest[: rest.index(")")] + rest[rest.index(")") + 1 :] if bracket and ")" in rest else ""
        name = inner or head
        return name if len(name) <= 14 else f"{name[:6]}…{name[-7:]}"

    @property
    def variable(self) -> str:
        """The CSS variable that holds its colour."""
        return VARIABLES[self.colour]


@contextmanager
def figure_axes(
    height: float = HEIGHT, left: float = 0.12, right: float = 0.97, bottom: float = 0.5, width: float = WIDTH
) -> Iterator[Any]:
    """Axes on a figure in our style; `height`, `bottom` and `width` in inches."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure((width, height))
        yield figure.subplots(
            gridspec_kw={"left": left, "right": right, "bottom": bottom / height, "top": 1 - 0.12 / height}
        )


def plot_line(ax: Any, style: AgentStyle, x: Sequence[float], y: Sequence[float], *, markers: bool = True) -> None:
    """One agent's line in its style."""
    ax.plot(
        x, y, color=style.colour, linestyle=style.dash, linewidth=1.8, marker=style.marker if markers else "",
        markersize=3.4, gid=f"agent-{style.number}", clip_on=False,
    )  # fmt: skip
    ax.grid(axis="y")


def plot_estimates(
    ax: Any,
    style: AgentStyle,
    values: Sequence[Estimate],
    *,
    at: Sequence[float] = (),
    alpha: float = 1.0,
    scale: float = 1.0,
) -> None:
    """One agent's estimates in its style, at these x (by default 0, 1, ...), with their intervals as a band."""
    x, few = at or range(len(values)), len(values) <= _FEW
    mean, low, high = ([scale * getattr(e, name) for e in values] for name in ("mean", "low", "high"))
    look = {"color": style.colour, "gid": f"agent-{style.number}", "clip_on": False}
    ax.plot(
        x, mean, linestyle=style.dash, linewidth=1.8, alpha=alpha, marker=style.marker if few else "", markersize=3.4,
        **look,
    )  # fmt: skip
    ax.fill_between(x, low, high, color=style.colour, alpha=0.15 * alpha, lw=0, gid=f"agent-{style.number}")
    ax.grid(axis="y")


class Line(NamedTuple):
    """An agent's estimates at these x, by default 0, 1, ..."""

    style: AgentStyle
    values: Sequence[Estimate]
    at: Sequence[float] = ()


def draw_lines(
    lines: Sequence[Line],
    about: str,
    labels: Mapping[str, Any],
    *,
    scale: float = 1.0,
    turns: tuple[int, int] | None = None,
    ticks: Sequence[tuple[float, str]] = (),
    from_zero: bool = False,
) -> Drawing:
    """A figure of curves with bands, each labelled at its end. `labels` go to `Axes.set`; `turns` are the first and
    last value of an axis of turns."""
    with figure_axes(right=0.76) as ax:
        for line in lines:
            plot_estimates(ax, line.style, line.values, at=line.at, scale=scale)
        ax.set(**labels)
        if from_zero:
            ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
        if turns is not None:
            set_turn_ticks(ax, *turns)
        if ticks:
            ax.set_xticks([x for x, _ in ticks], [text for _, text in ticks])
        label_ends(ax, [(scale * line.values[-1].mean, line.style) for line in lines])
        return Drawing(ax.figure, about)


def label_ends(ax: Any, ends: Sequence[tuple[float, AgentStyle]]) -> None:
    """Names at the right end of lines, moved apart where they would overlap."""
    low, high = ax.get_ylim()
    places = spread_labels([end for end, _ in ends], low, high)
    for place, (_, style) in zip(places, ends, strict=True):
        ax.text(
            1.02, (place - low) / (high - low), style.short, transform=ax.transAxes, va="center", fontsize=8.5,
            color=style.colour, gid=f"agent-{style.number}",
        )  # fmt: skip


def widen_margins(ax: Any) -> None:
    """Move the sides of the axes inwards where names or ticks would pass the edge of the figure."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure, box = ax.figure, ax.get_position()
    text, width = ax.get_tightbbox(FigureCanvasAgg(figure).get_renderer()), figure.bbox.width
    left, right = max(0.0, _EDGE - text.x0), max(0.0, text.x1 - width + _EDGE)
    if left or right:
        grid = ax.get_gridspec()
        grid.left, grid.right = box.x0 + left / width, box.x1 - right / width
        figure.subplots_adjust()


def spread_labels(ends: Sequence[float], low: float, high: float) -> list[float]:
    """Positions for names beside lines that end at `ends`, on an axis from `low` to `high`, without overlaps."""
    step = 0.085 * (high - low)
    places = [0.0] * len(ends)
    order = sorted(range(len(ends)), key=lambda i: ends[i])
    for rank, i in enumerate(order):
        below = places[order[rank - 1]] + step if rank else low
        places[i] = max(ends[i], below)
    excess = max(0.0, places[order[-1]] - high) if order else 0.0
    for rank, i in enumerate(reversed(order)):
        places[i] = min(places[i], high - rank * step) if excess else places[i]
    return places


def label_rows(ax: Any, styles: Sequence[AgentStyle], shift: float = 0.0) -> None:
    """Names to the left of rows, in place of ticks."""
    ax.set_yticks([])
    for y, style in enumerate(styles):
        ax.text(
            -0.02, y + shift, style.short, transform=ax.get_yaxis_transform(), ha="right",
            va="baseline" if shift else "center", fontsize=8.5, color=style.colour, gid=f"agent-{style.number}",
        )  # fmt: skip


def set_turn_ticks(ax: Any, first: int, last: int) -> None:
    """Ticks at whole turns, few enough to be read."""
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, last) if (last - first) / s <= 12)
    ticks = [t for t in range(first, last + 1) if t % step == 0]
    if not ticks or ticks[0] - first > step / 2:
        ticks = [first, *ticks]
    ax.set_xticks(ticks)
    ax.set_xlim(first - 0.6, last + 0.6)
