"""Before and after: the stages of one model beside each other, where a page has several in one environment.

A stage is a run labelled as `sonde paprika` labels them (`base`, `round-1-sft`), or one whose model is what a training
of the page began from or led to. Source: PAPRIKA (arXiv 2502.17543), section 4, compares the same stages; the figure is
ours.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from sonde.evaluation.evaluate import compare

from . import plots
from .histories import MODELS, History, model_of
from .loading import Loaded, Section
from .svg import MUTED, inline

_LABEL = re.compile(r"base|round-\d+(-.+)?")


def stages(section: Section, trainings: Sequence[History]) -> list[Loaded]:
    """The runs of a section that are stages of a training, in the order given; none if there are not two of them."""
    models = {Path(place).resolve() for h in trainings for place in (h.start, *(h.folder / m for m in MODELS)) if place}
    found = [run for run in section.runs if run.evaluation.metrics["success"] is not None and _is_stage(run, models)]
    return found if len(found) > 1 else []


def _is_stage(run: Loaded, models: set[Path]) -> bool:
    model = model_of(run.source)
    return bool(_LABEL.fullmatch(run.evaluation.label)) or (bool(model) and Path(model).resolve() in models)


def figure(runs: Sequence[Loaded], name: str, title: str) -> str:
    """Success with its interval, one row per stage."""
    found = [run.evaluation.metrics["success"] for run in runs]
    known = [(run.agent, e) for run, e in zip(runs, found, strict=True) if e is not None]
    height = 0.62 + max(1.2, 0.42 * len(runs))
    with plots.axes(height, left=0.27, right=0.88) as ax:
        ax.axvline(100 * known[0][1].mean, color=MUTED, linewidth=0.9, linestyle=(0, (3, 2)), zorder=0)
        for y, (agent, e) in enumerate(known):
            look = {"color": agent.colour, "gid": f"agent-{agent.number}"}
            ax.plot([100 * e.low, 100 * e.high], [y, y], linewidth=2.4, alpha=0.45, **look)
            ax.plot([100 * e.mean], [y], marker=agent.marker, markersize=7, **look)
            ax.text(
                1.02, y, f"{100 * e.mean:.0f} %", transform=ax.get_yaxis_transform(), va="center", fontsize=8.5,
            )  # fmt: skip
        plots.row_names(ax, [agent for agent, _ in known])
        low, high = min(e.low for _, e in known), max(e.high for _, e in known)
        ax.set(xlabel="episodes won (%), 95 % interval", ylim=(len(known) - 0.5, -0.5))
        ax.set_xlim(max(-2.0, 100 * low - 5), min(102.0, 100 * high + 5))
        ax.spines.left.set_visible(False)
        ax.grid(axis="x")
        rows = ", ".join(f"{agent.name} {100 * e.mean:.0f} %" for agent, e in known)
        return inline(ax.figure, name, f"Episodes won by stage in {title}: {rows}")


def gains(runs: Sequence[Loaded]) -> list[str]:
    """What each later stage wins more than the first, in points, paired by task."""
    first = runs[0]
    told: list[str] = []
    for run in runs[1:]:
        shared = {row.task for row in run.rows} & {row.task for row in first.rows}
        if run.evaluation.env != first.evaluation.env or not shared:
            told.append(f"{run.agent.name}: not to be paired with {first.agent.name}")
            continue
        gain = compare(run.evaluation, first.evaluation).success
        low, mean, high = (f"{100 * value:+.1f}".replace("-", "−") for value in (gain.low, gain.mean, gain.high))
        told.append(f"{run.agent.name} {mean} [{low}, {high}]")
    return told
