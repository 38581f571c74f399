"""The plots of this folder, as PNG files in the look of the reports (`sonde.viewer`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sonde.evaluation.metrics import Estimate
from sonde.viewer.figures.axes import HEIGHT, MARKERS, AgentStyle, figure_axes, label_ends, plot_line
from sonde.viewer.figures.svg import FLOOR, GRID, PALETTE, REFERENCE

DPI = 200


class Curve(NamedTuple):
    """A line with its spread: `low` and `high` as long as `y`, or empty."""

    name: str
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


def looks(names: Iterable[str]) -> dict[str, AgentStyle]:
    """A colour and a marker for each name; that of random play is grey."""
    found: dict[str, AgentStyle] = {}
    for i, name in enumerate(names):
        colour = FLOOR if name == "random" else PALETTE[i % len(PALETTE)]
        found[name] = AgentStyle(i, name, colour, "-", MARKERS[i % len(MARKERS)])
    return found


def curves(
    path: Path, x: Sequence[float], found: Sequence[Curve], *, xlabel: str, ylabel: str = "success (%)",
    ticks: Sequence[str] = (), scale: float = 100.0,
) -> Path:  # fmt: skip
    """Lines over `x`, named at their right ends, their spread shaded."""
    agents = looks(curve.name for curve in found)
    two_lines = 0.14 if any("\n" in tick for tick in ticks) else 0.0
    with figure_axes(HEIGHT + two_lines, right=0.76, bottom=0.5 + two_lines) as ax:
        for curve in found:
            agent = agents[curve.name]
            plot_line(ax, agent, x, _times(scale, curve.y))
            if curve.low:
                low, high = _times(scale, curve.low), _times(scale, curve.high)
                ax.fill_between(x, low, high, color=agent.colour, alpha=0.14, linewidth=0)
        ax.set(xlabel=xlabel, ylabel=ylabel)
        ax.set_xticks(x, labels=list(ticks) or [f"{value:g}" for value in x])
        label_ends(ax, [(scale * curve.y[-1], agents[curve.name]) for curve in found])
        return _saved(ax, path)


def bars(
    path: Path, groups: Sequence[str], series: Mapping[str, Sequence[Estimate]], *, ylabel: str = "success (%)",
    scale: float = 100.0, key: bool = True,
) -> Path:  # fmt: skip
    """For every group one bar per series, with its interval; the series are named beside the bars if `key`."""
    agents, width = looks(series), 0.84 / len(series)
    with figure_axes(right=0.78 if key else 0.97) as ax:
        for i, (name, estimates) in enumerate(series.items()):
            at = [g - 0.42 + (i + 0.5) * width for g in range(len(groups))]
            y = [scale * e.mean for e in estimates]
            reach = [[scale * (e.mean - e.low) for e in estimates], [scale * (e.high - e.mean) for e in estimates]]
            ax.bar(at, y, 0.9 * width, color=agents[name].colour)
            ax.errorbar(at, y, yerr=reach, fmt="none", ecolor=REFERENCE, elinewidth=0.8, capsize=1.5)
        ax.set(ylabel=ylabel)
        ax.set_xticks(range(len(groups)), labels=list(groups))
        ax.axhline(0.0, color=GRID, linewidth=0.7)
        ax.grid(axis="y")
        if key:
            _key(ax, agents)
        return _saved(ax, path)


def _times(scale: float, values: Sequence[float]) -> list[float]:
    return [scale * value for value in values]


def _key(ax: Any, agents: Mapping[str, AgentStyle]) -> None:
    for i, agent in enumerate(agents.values()):
        place = 0.96 - 0.09 * i
        ax.text(1.03, place, agent.short, transform=ax.transAxes, va="center", fontsize=8.5, color=agent.colour)


def _saved(ax: Any, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    ax.figure.savefig(path, dpi=DPI)
    return path
