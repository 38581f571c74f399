"""The figures of one environment, each small enough to be read on a phone and all with the same look per agent.

Lines are labelled at their ends and rows at their left, so no figure needs a legend to be read.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sonde.evaluation.metrics import Estimate
from sonde.evaluation.per_turn import MANY
from sonde.evaluation.per_turn import passes as passed

from .loading import Agent, Section
from .losses import CAUSES, Losses
from .svg import GRID, INK, MUTED, PAPER, STYLE, inline

WIDTH, HEIGHT = 4.5, 2.8
"""Inches; a figure is scaled to its card, at most 520 pixels wide."""
_TINT = 0.32
_PATTERNS = {"poor": "", "nothing": "///", "invalid": "xxx", "format": ""}
_BINS = 20
_FEW = 40
"""Points of a curve up to which each gets a marker."""


@contextmanager
def axes(
    height: float = HEIGHT, left: float = 0.12, right: float = 0.97, bottom: float = 0.5, width: float = WIDTH
) -> Iterator[Any]:
    """Axes on a figure of our style; `height`, `bottom` and `width` in inches."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure((width, height))
        yield figure.subplots(
            gridspec_kw={"left": left, "right": right, "bottom": bottom / height, "top": 1 - 0.12 / height}
        )


def success(section: Section, name: str) -> str:
    """Share of episodes won within n turns."""
    with axes(right=0.76) as ax:
        ends: list[tuple[float, Agent]] = []
        for run in section.runs:
            found = run.evaluation.within
            curve(ax, run.agent, found, at=range(1, len(found) + 1), scale=100)
            ends.append((100 * found[-1].mean, run.agent))
        ax.set(xlabel="turns", ylabel="episodes won (%)", ylim=(-3, 103))
        whole_turns(ax, 1, section.max_turns)
        label_ends(ax, ends)
        return inline(ax.figure, name, f"Share of episodes won within n turns in {section.title}")


def passes(section: Section, name: str) -> str | None:
    """pass@k over k, as far as each run was sampled; None where no run was sampled often."""
    runs = [run for run in section.runs if run.evaluation.k >= MANY]
    if not runs:
        return None
    with axes(right=0.76) as ax:
        ends: list[tuple[float, Agent]] = []
        for run in runs:
            found = passed(run.evaluation.metrics, run.evaluation.k)
            curve(ax, run.agent, [*found.values()], at=[math.log2(k) for k in found], scale=100)
            ends.append((100 * found[run.evaluation.k].mean, run.agent))
        ax.set(xlabel="samples k", ylabel="pass@k (%)", ylim=(-3, 103))
        most = max(run.evaluation.k for run in runs)
        ax.set_xticks(range(most.bit_length()), [str(2**i) for i in range(most.bit_length())])
        label_ends(ax, ends)
        return inline(ax.figure, name, f"Share of tasks won by at least one of k samples in {section.title}")


def wasted(section: Section, what: str, name: str) -> str | None:
    """The share of turns 1, 2, ... that the environment called invalid, or repeated; None where it called none so."""
    runs = [run for run in section.runs if run.evaluation.wasted[what]]
    if not any(point.mean for run in runs for point in run.evaluation.wasted[what]):
        return None
    with axes(right=0.76) as ax:
        ends: list[tuple[float, Agent]] = []
        for run in runs:
            found = run.evaluation.wasted[what]
            curve(ax, run.agent, found, at=range(1, len(found) + 1), scale=100)
            ends.append((100 * found[-1].mean, run.agent))
        ax.set(xlabel="turn", ylabel=f"{what} (% of episodes still on)", ylim=(-3, 103))
        whole_turns(ax, 1, section.max_turns)
        label_ends(ax, ends)
        return inline(ax.figure, name, f"Share of {what} turns by turn in {section.title}")


def entropy(section: Section, name: str) -> str | None:
    """Mean posterior entropy after every turn; None where no run has it."""
    runs = [(run, curve) for run in section.runs if (curve := run.evaluation.entropy)]
    if not runs:
        return None
    with axes(right=0.76) as ax:
        ends: list[tuple[float, Agent]] = []
        for run, curve in runs:
            line(ax, run.agent, range(len(curve)), curve)
            ends.append((curve[-1], run.agent))
        ax.set(xlabel="turns", ylabel="still unknown (bits)")
        ax.set_ylim(bottom=-0.03 * ax.get_ylim()[1])
        whole_turns(ax, 0, section.max_turns)
        label_ends(ax, ends)
        return inline(ax.figure, name, f"Mean posterior entropy in bits after each turn in {section.title}")


def turns(section: Section, name: str) -> str:
    """How long episodes lasted, won and not won."""
    rows: list[tuple[Agent, Mapping[float, float], Mapping[float, float], str]] = []
    for run in section.runs:
        n = max(1, len(run.rows))
        won = Counter(float(r.turns) for r in run.rows if r.win)
        other = Counter(float(r.turns) for r in run.rows if not r.win)
        mean = sum(r.turns for r in run.rows) / n
        rows.append((run.agent, _shares(won, n), _shares(other, n), f"mean {mean:.1f}" if run.rows else "no episodes"))
    with _ridge(rows, width=0.84) as ax:
        ax.set(xlabel="turns played")
        whole_turns(ax, 0 if any(r.turns == 0 for run in section.runs for r in run.rows) else 1, section.max_turns)
        return inline(ax.figure, name, f"Histogram of turns played in {section.title}")


def efficiencies(section: Section, name: str) -> str | None:
    """How good single questions were; None where no turn has an efficiency."""
    rows: list[tuple[Agent, Mapping[float, float], Mapping[float, float], str]] = []
    for run in section.runs:
        found = [e for r in run.rows for gain in r.gains or () if (e := gain.efficiency) is not None]
        binned = Counter((min(int(e * _BINS), _BINS - 1) + 0.5) / _BINS for e in found)
        note = f"mean {sum(found) / len(found):.2f}" if found else "n/a"
        rows.append((run.agent, _shares(binned, max(1, len(found))), {}, note))
    if all(not bars for _, bars, _, _ in rows):
        return None
    with _ridge(rows, width=0.9 / _BINS) as ax:
        ax.set(xlabel="efficiency of a question (1 = the best one)", xlim=(-0.02, 1.02))
        return inline(ax.figure, name, f"Histogram of the efficiency of single questions in {section.title}")


def lost_by_turn(agent: Agent, found: Losses, top: float, name: str) -> str:
    """Bits taken and lost at every turn, per cause; `top` is the scale that the agents of a section share."""
    with axes(left=0.13) as ax:
        bottom = [0.0] * len(found.taken)
        for key, values in {"taken": found.taken, **found.lost}.items():
            at = [i for i, value in enumerate(values) if value > 0.002 * top]
            bars = [values[i] for i in at], 0.84, [bottom[i] for i in at]
            ax.bar([i + 1 for i in at], *bars, **_fill(agent.colour, key))
            bottom = [b + v for b, v in zip(bottom, values, strict=True)]
        ax.set(xlabel="turn", ylabel="bits on offer", ylim=(0, 1.06 * top))
        ax.grid(axis="y")
        whole_turns(ax, 1, len(bottom))
        return inline(ax.figure, name, f"Bits on offer at each turn to {agent.name}, taken and lost by cause")


def lost_in_all(rows: Sequence[tuple[Agent, Losses]], name: str) -> str:
    """Bits on offer per episode: taken, or lost and why. One bar per agent."""
    height = 0.62 + 0.12 + 0.34 * len(rows)
    with axes(height, left=0.27, right=0.9, bottom=0.62) as ax:
        for y, (agent, found) in enumerate(rows):
            left = 0.0
            for key, value in {"taken": sum(found.taken), **{k: sum(v) for k, v in found.lost.items()}}.items():
                if value > 0:
                    bar = ax.barh(y, value, 0.62, left, **_fill(agent.colour, key))
                    bar.patches[0].set_gid(f"agent-{agent.number}")
                left += value
            share = f" {100 * sum(found.taken) / found.offered:.0f} %" if found.offered > 0 else " n/a"
            ax.text(left, y, share, va="center", fontsize=8.5)
        row_names(ax, [agent for agent, _ in rows])
        ax.set(xlabel="bits on offer per episode, and the share taken", ylim=(len(rows) - 0.5, -0.5))
        ax.spines.left.set_visible(False)
        ax.grid(axis="x")
        return inline(ax.figure, name, "Bits on offer per episode, taken and lost by cause, per agent")


def key(name: str) -> str:
    """The patterns of the two figures about losses."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    names = {"taken": "taken", **CAUSES}
    with rc_context(STYLE):
        figure = Figure((WIDTH, 0.46))
        ax = figure.add_axes((0, 0, 1, 1))
        ax.set(xlim=(0, WIDTH), ylim=(0, 0.46))
        ax.axis("off")
        for i, (cause, text) in enumerate(names.items()):
            x, y = (0.1, 1.2, 3.0)[i % 3], 0.26 - 0.22 * (i // 3)
            ax.add_patch(Rectangle((x, y), 0.22, 0.14, **_fill(MUTED, cause)))
            ax.text(x + 0.3, y + 0.07, text if cause == "taken" else f"lost: {text}", va="center", fontsize=8.5)
        return inline(figure, name, "Key: " + ", ".join(names.values()))


def _fill(colour: str, key: str) -> dict[str, Any]:
    """How bits of a kind are drawn: taken in full, lost ones tinted, patterned or in ink."""
    if key == "taken":
        return {"facecolor": colour, "edgecolor": PAPER, "linewidth": 0.4}
    if key == "format":
        return {"facecolor": INK, "edgecolor": PAPER, "linewidth": 0.4}
    if key == "poor":
        return {"facecolor": colour, "alpha": _TINT, "linewidth": 0}
    return {"facecolor": PAPER, "edgecolor": colour, "hatch": _PATTERNS[key], "linewidth": 0.6}


def line(ax: Any, agent: Agent, x: Sequence[float], y: Sequence[float], *, markers: bool = True) -> None:
    """One agent's line in its look."""
    ax.plot(
        x, y, color=agent.colour, linestyle=agent.dash, linewidth=1.8, marker=agent.marker if markers else "",
        markersize=3.4, gid=f"agent-{agent.number}", clip_on=False,
    )  # fmt: skip
    ax.grid(axis="y")


def curve(
    ax: Any, agent: Agent, values: Sequence[Estimate], *, at: Sequence[float] = (), alpha: float = 1.0, scale: float = 1
) -> None:
    """One agent's estimates in its look, at these x (by default 0, 1, ...), with their intervals as a band."""
    x, few = at or range(len(values)), len(values) <= _FEW
    mean, low, high = ([scale * getattr(e, name) for e in values] for name in ("mean", "low", "high"))
    look = {"color": agent.colour, "gid": f"agent-{agent.number}", "clip_on": False}
    ax.plot(
        x, mean, linestyle=agent.dash, linewidth=1.8, alpha=alpha, marker=agent.marker if few else "", markersize=3.4,
        **look,
    )  # fmt: skip
    ax.fill_between(x, low, high, color=agent.colour, alpha=0.15 * alpha, lw=0, gid=f"agent-{agent.number}")
    ax.grid(axis="y")


def label_ends(ax: Any, ends: Sequence[tuple[float, Agent]]) -> None:
    """Names at the right end of lines, moved apart where they would overlap."""
    low, high = ax.get_ylim()
    places = apart([end for end, _ in ends], low, high)
    for place, (_, agent) in zip(places, ends, strict=True):
        ax.text(
            1.02, (place - low) / (high - low), agent.short, transform=ax.transAxes, va="center", fontsize=8.5,
            color=agent.colour, gid=f"agent-{agent.number}",
        )  # fmt: skip


def apart(ends: Sequence[float], low: float, high: float) -> list[float]:
    """Where to write names beside lines that end at `ends`, on an axis from `low` to `high`: none over another."""
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


def _shares(counts: Mapping[float, int], n: int) -> dict[float, float]:
    return {at: count / n for at, count in sorted(counts.items())}


@contextmanager
def _ridge(
    rows: Sequence[tuple[Agent, Mapping[float, float], Mapping[float, float], str]], width: float
) -> Iterator[Any]:
    """One histogram per agent above one axis: full bars, lighter bars on top of them, and a note at the right."""
    height = 0.62 + max(1.2, 0.56 * len(rows))
    tops = [max([0.0, *(full.get(x, 0) + light.get(x, 0) for x in {*full, *light})]) for _, full, light, _ in rows]
    scale = 0.82 / max([1e-9, *tops])
    with axes(height, left=0.27, right=0.82) as ax:
        for y, (agent, full, light, note) in enumerate(rows):
            base = len(rows) - 1 - y
            ax.axhline(base, color=GRID, linewidth=0.7, zorder=0)
            for bars, under, alpha in ((full, {}, 1.0), (light, full, _TINT)):
                for x, share in bars.items():
                    patch = ax.bar(x, scale * share, width, base + scale * under.get(x, 0.0), color=agent.colour)
                    patch.patches[0].set(alpha=alpha, gid=f"agent-{agent.number}")
            ax.text(1.02, base + 0.12, note, transform=ax.get_yaxis_transform(), fontsize=8.5)
        row_names(ax, [row[0] for row in rows][::-1], 0.12)
        ax.spines.left.set_visible(False)
        ax.set(ylim=(-0.04, len(rows)))
        yield ax


def row_names(ax: Any, agents: Sequence[Agent], shift: float = 0.0) -> None:
    """Names left of rows, in place of ticks."""
    ax.set_yticks([])
    for y, agent in enumerate(agents):
        ax.text(
            -0.02, y + shift, agent.short, transform=ax.get_yaxis_transform(), ha="right",
            va="baseline" if shift else "center", fontsize=8.5, color=agent.colour, gid=f"agent-{agent.number}",
        )  # fmt: skip


def whole_turns(ax: Any, first: int, last: int) -> None:
    """Ticks at whole turns, few enough to be read."""
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, last) if (last - first) / s <= 12)
    ticks = [t for t in range(first, last + 1) if t % step == 0]
    if not ticks or ticks[0] - first > step / 2:
        ticks = [first, *ticks]
    ax.set_xticks(ticks)
    ax.set_xlim(first - 0.6, last + 0.6)


def scale_of(found: Sequence[Losses]) -> float:
    """The highest bar of all."""
    return max([1e-9, *(t + sum(v[i] for v in f.lost.values()) for f in found for i, t in enumerate(f.taken))])
