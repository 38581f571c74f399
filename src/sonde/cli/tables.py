"""Results as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from sonde.evaluate import Comparison, Evaluation
from sonde.metrics import Estimate

NOT_AVAILABLE = "n/a"


def number(value: Estimate | None, digits: int) -> str:
    """A mean."""
    return NOT_AVAILABLE if value is None else f"{value.mean:.{digits}f}"


def interval(value: Estimate | None, digits: int = 0, percent: bool = False) -> str:
    """A mean with half the width of its interval."""
    if value is None:
        return NOT_AVAILABLE
    scale = 100.0 if percent else 1.0
    mean = round(scale * value.mean, digits) + 0.0  # no "-0"
    half = scale * (value.high - value.low) / 2
    return f"{mean:.{digits}f}±{half:.{digits}f}"


def evaluations(rows: Sequence[Evaluation]) -> Group:
    """One line per evaluation, and what the columns mean."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
    table.add_column("environment", no_wrap=True)
    table.add_column("agent", overflow="fold", min_width=8)
    several = any(e.k > 1 for e in rows)
    for name in ("tasks", "success %", *(["pass@k"] if several else []), "score", "turns", "bits", "fmt %"):
        table.add_column(name, justify="right", no_wrap=True)
    for e in rows:
        table.add_row(*_cells(e, several))
    notes = [
        "±: half a 95 % interval, by task. score: 0 is random play, 100 the reference.",
        "bits: information gained per turn. fmt %: episodes without a readable answer.",
    ]
    if any(e.privileged for e in rows):
        notes.append("*: this policy sees what is hidden.")
    failures = (Text(note, style="bold red") for e in rows if (note := _failures(e)))
    return Group(table, *(Text(note, style="dim") for note in notes), *failures)


def _failures(e: Evaluation) -> str:
    """What was lost to the outside world, and why the first of it was; empty if nothing was."""
    lost = [f"{n} {kind}" for kind in ("error", "missing") if (n := e.kinds[kind])]
    if not lost:
        return ""
    why = next((f"; the first: {r.error}" for r in e.rows if r.error), "")
    return f"{e.env_name}, {e.label}: {', '.join(lost)} of {sum(e.kinds.values())} episodes count as failures{why}"


def _cells(e: Evaluation, several: bool) -> list[str]:
    m = e.metrics
    preset = "" if e.preset == "paprika" else f" ({e.preset})"
    return [
        e.env_name + preset,
        e.label + (" *" if e.privileged else ""),
        f"{e.n_tasks}x{e.k}" if several else str(e.n_tasks),
        interval(m["success"], percent=True),
        *([interval(m[f"pass@{e.k}"], percent=True)] if several else []),
        interval(m["reference_score"]),
        number(m["turns"], 1),
        number(m["bits_per_turn"], 2),
        NOT_AVAILABLE if (f := m["format_failure"]) is None else f"{100 * f.mean:.0f}",
    ]


def comparison(c: Comparison) -> Table:
    """The paired differences of two runs."""
    table = Table(title=f"{c.env_name}: {c.a} minus {c.b}, paired over {c.n_tasks} tasks")
    for name in ("metric", "difference", "95 % interval"):
        table.add_column(name)
    for name, value in (("success", c.success), ("score", c.score), ("turns", c.turns)):
        table.add_row(name, f"{value.mean:+.3f}", f"[{value.low:+.3f}, {value.high:+.3f}]")
    return table


def listing(title: str, rows: Iterable[tuple[str, str]]) -> Table:
    """Names and what they are."""
    table = Table(title=title, show_header=False, box=None, title_justify="left", padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    for name, summary in rows:
        table.add_row(name, summary)
    return table
