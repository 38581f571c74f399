"""Figures of the runs in one environment, each small enough to read on a phone.

Success and pass@k, wasted turns, posterior entropy, turns, efficiency of questions, bits lost, stages of a training.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from sonde.evaluation.metrics import Estimate
from sonde.evaluation.per_turn import MANY, pass_curve

from ..evaluated_runs import Section
from ..information_losses import CAUSES, Losses
from .axes import (
    HEIGHT,
    WIDTH,
    AgentStyle,
    Line,
    draw_lines,
    figure_axes,
    label_ends,
    label_rows,
    plot_line,
    set_turn_ticks,
)
from .svg import GRID, INK, MUTED, PAPER, STYLE, Drawing

_TINT = 0.32
_PATTERNS = {"poor": "", "nothing": "///", "invalid": "xxx", "unreadable": ""}
_BINS = 20
_PERCENT = (-3, 103)


class Histogram(NamedTuple):
    """An agent's full bars, the lighter bars on top of them, and a note at the right."""

    style: AgentStyle
    full: Mapping[float, float]
    light: Mapping[float, float]
    note: str


def draw_success(section: Section) -> Drawing:
    """Share of episodes won within n turns."""
    found = [run.evaluation.within for run in section.runs]
    lines = [Line(r.style, ys, range(1, len(ys) + 1)) for r, ys in zip(section.runs, found, strict=True)]
    about = f"Share of episodes won within n turns in {section.title}"
    labels = {"xlabel": "turns", "ylabel": "episodes won (%)", "ylim": _PERCENT}
    return draw_lines(lines, about, labels, scale=100, turns=(1, section.max_turns))


def draw_pass_at_k(section: Section) -> Drawing | None:
    """pass@k over k, up to each run's samples per task; None without a run of many samples."""
    runs = [run for run in section.runs if run.evaluation.k >= MANY]
    if not runs:
        return None
    found = [pass_curve(run.evaluation.metrics, run.evaluation.k) for run in runs]
    lines = [
        Line(r.style, [*ys.values()], [math.log2(k) for k in ys]) for r, ys in zip(runs, found, strict=True)
    ]  # fmt: skip
    most = max(run.evaluation.k for run in runs)
    ticks = [(i, str(2**i)) for i in range(most.bit_length())]
    about = f"Share of tasks won by at least one of k samples in {section.title}"
    labels = {"xlabel": "samples k", "ylabel": "pass@k (%)", "ylim": _PERCENT}
    return draw_lines(lines, about, labels, scale=100, ticks=ticks)


def draw_wasted_turns(section: Section, what: str) -> Drawing | None:
    """The share of episodes in which turn 1, 2, ... was marked `invalid` or `repeated`; None if none was."""
    runs = [run for run in section.runs if run.evaluation.wasted[what]]
    if not any(point.mean for run in runs for point in run.evaluation.wasted[what]):
        return None
    found = [run.evaluation.wasted[what] for run in runs]
    lines = [Line(run.style, ys, range(1, len(ys) + 1)) for run, ys in zip(runs, found, strict=True)]
    about = f"Share of {what} turns by turn in {section.title}"
    labels = {"xlabel": "turn", "ylabel": f"{what} (% of episodes)", "ylim": _PERCENT}
    return draw_lines(lines, about, labels, scale=100, turns=(1, section.max_turns))


def draw_entropy(section: Section) -> Drawing | None:
    """Mean posterior entropy after each turn; None if no run has it."""
    runs = [(run, values) for run in section.runs if (values := run.evaluation.entropy)]
    if not runs:
        return None
    with figure_axes(right=0.76) as ax:
        for run, values in runs:
            plot_line(ax, run.style, range(len(values)), values)
        ax.set(xlabel="turns", ylabel="posterior entropy (bits)")
        ax.set_ylim(bottom=-0.03 * ax.get_ylim()[1])
        set_turn_ticks(ax, 0, section.max_turns)
        label_ends(ax, [(values[-1], run.style) for run, values in runs])
        return Drawing(ax.figure, f"Mean posterior entropy in bits after each turn in {section.title}")


def draw_turns(section: Section) -> Drawing:
    """Histogram of the turns of an episode, won and not won."""
    rows: list[Histogram] = []
    for run in section.runs:
        n = max(1, len(run.rows))
        won = Counter(float(r.turns) for r in run.rows if r.win)
        other = Counter(float(r.turns) for r in run.rows if not r.win)
        mean = sum(r.turns for r in run.rows) / n
        note = f"mean {mean:.1f}" if run.rows else "no episodes"
        rows.append(Histogram(run.style, _to_shares(won, n), _to_shares(other, n), note))
    with _histogram_axes(rows, width=0.84) as ax:
        ax.set(xlabel="turns played")
        first = 0 if any(r.turns == 0 for run in section.runs for r in run.rows) else 1
        set_turn_ticks(ax, first, section.max_turns)
        return Drawing(ax.figure, f"Histogram of turns played in {section.title}")


def draw_efficiency(section: Section) -> Drawing | None:
    """Histogram of the efficiency of single questions; None if no turn has one."""
    rows: list[Histogram] = []
    for run in section.runs:
        found = [e for r in run.rows for gain in r.gains or () if (e := gain.efficiency) is not None]
        binned = Counter((min(int(e * _BINS), _BINS - 1) + 0.5) / _BINS for e in found)
        note = f"mean {sum(found) / len(found):.2f}" if found else "n/a"
        rows.append(Histogram(run.style, _to_shares(binned, max(1, len(found))), {}, note))
    if not any(row.full for row in rows):
        return None
    with _histogram_axes(rows, width=0.9 / _BINS) as ax:
        ax.set(xlabel="efficiency of a question (1 = best question)", xlim=(-0.02, 1.02))
        return Drawing(ax.figure, f"Histogram of the efficiency of single questions in {section.title}")


def _to_shares(counts: Mapping[float, int], n: int) -> dict[float, float]:
    return {at: count / n for at, count in sorted(counts.items())}


@contextmanager
def _histogram_axes(rows: Sequence[Histogram], width: float) -> Iterator[Any]:
    """One histogram per agent above a common axis."""
    height = max(HEIGHT, 0.62 + 0.56 * len(rows))
    tops = [max([0.0, *(full.get(x, 0) + light.get(x, 0) for x in {*full, *light})]) for _, full, light, _ in rows]
    scale = 0.82 / max([1e-9, *tops])
    with figure_axes(height, left=0.27, right=0.82) as ax:
        for y, (style, full, light, note) in enumerate(rows):
            base = len(rows) - 1 - y
            ax.axhline(base, color=GRID, linewidth=0.7, zorder=0)
            for bars, under, alpha in ((full, {}, 1.0), (light, full, _TINT)):
                for x, share in bars.items():
                    patch = ax.bar(x, scale * share, width, base + scale * under.get(x, 0.0), color=style.colour)
                    patch.patches[0].set(alpha=alpha, gid=f"agent-{style.number}")
            ax.text(1.02, base + 0.12, note, transform=ax.get_yaxis_transform(), fontsize=8.5)
        label_rows(ax, [row.style for row in rows][::-1], 0.12)
        ax.spines.left.set_visible(False)
        ax.set(ylim=(-0.04, len(rows)))
        yield ax


# --- bits lost --------------------------------------------------------------------------------------------------------


def draw_losses_by_turn(style: AgentStyle, found: Losses, top: float) -> Drawing:
    """Bits gained and lost at each turn, by cause; `top` is the scale that the agents of a section share."""
    with figure_axes(left=0.13) as ax:
        bottom = [0.0] * len(found.taken)
        for key, values in {"taken": found.taken, **found.lost}.items():
            at = [i for i, value in enumerate(values) if value > 0.002 * top]
            bars = [values[i] for i in at], 0.84, [bottom[i] for i in at]
            ax.bar([i + 1 for i in at], *bars, **_fill_style(style.colour, key))
            bottom = [b + v for b, v in zip(bottom, values, strict=True)]
        ax.set(xlabel="turn", ylabel="best question (bits)", ylim=(0, 1.06 * top))
        ax.grid(axis="y")
        set_turn_ticks(ax, 1, len(bottom))
        about = f"Bits of the best question at each turn of {style.name}, taken and lost by cause"
        return Drawing(ax.figure, about)


def draw_total_losses(rows: Sequence[tuple[AgentStyle, Losses]]) -> Drawing:
    """Bits of the best questions per episode: taken, or lost and why. One bar per agent."""
    height = 0.62 + 0.12 + 0.34 * len(rows)
    with figure_axes(height, left=0.27, right=0.9, bottom=0.62) as ax:
        for y, (style, found) in enumerate(rows):
            left = 0.0
            for key, value in {"taken": sum(found.taken), **{k: sum(v) for k, v in found.lost.items()}}.items():
                if value > 0:
                    bar = ax.barh(y, value, 0.62, left, **_fill_style(style.colour, key))
                    bar.patches[0].set_gid(f"agent-{style.number}")
                left += value
            share = f" {100 * sum(found.taken) / found.best_bits:.0f} %" if found.best_bits > 0 else " n/a"
            ax.text(left, y, share, va="center", fontsize=8.5)
        label_rows(ax, [style for style, _ in rows])
        ax.set(xlabel="best questions (bits per episode), share taken", ylim=(len(rows) - 0.5, -0.5))
        ax.spines.left.set_visible(False)
        ax.grid(axis="x")
        return Drawing(ax.figure, "Bits of the best questions per episode, taken and lost by cause, per agent")


def draw_loss_key() -> Drawing:
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
            ax.add_patch(Rectangle((x, y), 0.22, 0.14, **_fill_style(MUTED, cause)))
            ax.text(x + 0.3, y + 0.07, text if cause == "taken" else f"lost: {text}", va="center", fontsize=8.5)
        return Drawing(figure, "Key: " + ", ".join(names.values()))


def _fill_style(colour: str, key: str) -> dict[str, Any]:
    """How bits of a kind are drawn: taken ones solid, lost ones tinted, patterned or in ink."""
    if key == "taken":
        return {"facecolor": colour, "edgecolor": PAPER, "linewidth": 0.4}
    if key == "unreadable":
        return {"facecolor": INK, "edgecolor": PAPER, "linewidth": 0.4}
    if key == "poor":
        return {"facecolor": colour, "alpha": _TINT, "linewidth": 0}
    return {"facecolor": PAPER, "edgecolor": colour, "hatch": _PATTERNS[key], "linewidth": 0.6}


# --- stages of a training ---------------------------------------------------------------------------------------------


def draw_stages(rows: Sequence[tuple[AgentStyle, Estimate]], title: str) -> Drawing:
    """Success with its interval, one row per stage of a training, in the order given."""
    height = 0.62 + max(1.2, 0.42 * len(rows))
    with figure_axes(height, left=0.27, right=0.88) as ax:
        ax.axvline(100 * rows[0][1].mean, color=MUTED, linewidth=0.9, linestyle=(0, (3, 2)), zorder=0)
        for y, (style, e) in enumerate(rows):
            look = {"color": style.colour, "gid": f"agent-{style.number}"}
            ax.plot([100 * e.low, 100 * e.high], [y, y], linewidth=2.4, alpha=0.45, **look)
            ax.plot([100 * e.mean], [y], marker=style.marker, markersize=7, **look)
            ax.text(1.02, y, f"{100 * e.mean:.0f} %", transform=ax.get_yaxis_transform(), va="center", fontsize=8.5)
        label_rows(ax, [style for style, _ in rows])
        low, high = min(e.low for _, e in rows), max(e.high for _, e in rows)
        ax.set(xlabel="episodes won (%), 95 % interval", ylim=(len(rows) - 0.5, -0.5))
        ax.set_xlim(max(-2.0, 100 * low - 5), min(102.0, 100 * high + 5))
        ax.spines.left.set_visible(False)
        ax.grid(axis="x")
        won = ", ".join(f"{style.name} {100 * e.mean:.0f} %" for style, e in rows)
        return Drawing(ax.figure, f"Episodes won by stage in {title}: {won}")
