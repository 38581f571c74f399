"""Curves with bands, in the look of the other figures of the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .loading import Agent
from .plots import axes, label_ends, line
from .svg import inline


class Drawn(NamedTuple):
    """One agent's curve; the band is `error` to both sides, where it is a number."""

    agent: Agent
    x: Sequence[float]
    y: Any
    error: Any


def draw(rows: Sequence[Drawn], name: str, labels: str, about: str) -> str:
    """The figure; `labels` are those of the axes, with | between them."""
    with axes(right=0.76) as ax:
        ends: list[tuple[float, Agent]] = []
        for row in rows:
            few = row.x if len(row.x) <= 40 else ()
            line(ax, row.agent, row.x, row.y, markers=bool(few))
            ax.fill_between(row.x, row.y - row.error, row.y + row.error, color=row.agent.colour, alpha=0.15, lw=0)
            ends.append((float(row.y[-1]), row.agent))
        x, _, y = labels.partition("|")
        ax.set(xlabel=x, ylabel=y)
        ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
        label_ends(ax, ends)
        return inline(ax.figure, name, about)
