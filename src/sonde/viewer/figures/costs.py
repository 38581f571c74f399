"""Cost against performance: the score of each agent over the tokens that it spends on an episode.

Source: Multi-Turn Puzzles, section 3.2 and figure 5, which compares three tiers of a family of models. Here every agent
that called a model is a point; programs, which cost nothing, are dashed lines at their score.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sonde.evaluation.metrics import Estimate

from .axes import AgentStyle, figure_axes, label_ends
from .svg import Drawing


class CostPoint(NamedTuple):
    """An agent's mean score, and its tokens per episode, 0 for a program. `whole`: it played the whole suite."""

    style: AgentStyle
    score: Estimate
    tokens: float
    whole: bool


def draw_costs(points: Sequence[CostPoint], about: str) -> Drawing | None:
    """Scores with 95 % intervals over tokens per episode, on a logarithmic axis; a hollow point played only a part of
    the suite. None where no agent called a model."""
    if not any(point.tokens > 0 for point in points):
        return None
    with figure_axes(right=0.7) as ax:
        ax.set_xscale("log")
        for point in points:
            style, score = point.style, point.score
            look = {"color": style.colour, "gid": f"agent-{style.number}"}
            if not point.tokens:
                ax.axhline(score.mean, linestyle=(0, (4, 2)), linewidth=1.2, **look)
                continue
            ax.plot([point.tokens] * 2, [score.low, score.high], linewidth=1.2, **look)
            fill = point.style.colour if point.whole else "none"
            ax.plot(
                [point.tokens], [score.mean], marker=point.style.marker, markersize=6, mfc=fill, linestyle="", **look
            )
        ax.set(xlabel="tokens per episode", ylabel="score")
        ax.xaxis.set_major_formatter("{x:,.0f}")
        ax.xaxis.set_minor_formatter("")
        ax.grid(axis="y")
        label_ends(ax, [(point.score.mean, point.style) for point in points])
        return Drawing(ax.figure, about)
