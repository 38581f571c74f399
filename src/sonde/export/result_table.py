r"""The result table of a paper, in LaTeX or Markdown: one row per evaluation, grouped by environment.

    print(format_results([evaluation_a, evaluation_b], "latex"))        # needs \usepackage{booktabs}

A cell is a mean with its 95 % interval, clustered by task: `97.5 [91.0, 99.3]`, in LaTeX as distances to the limits.
Metrics that no evaluation has are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from sonde._util.argument_checks import check_call
from sonde._util.escaping import make_visible
from sonde.core import UserError, unknown
from sonde.evaluation.evaluate import Evaluation
from sonde.evaluation.metrics import Estimate


class _Metric(NamedTuple):
    title: str
    name: str
    scale: float
    digits: int


_METRICS = (
    _Metric("success (%)", "success", 100.0, 1),
    _Metric("return", "score", 1.0, 2),
    _Metric("score", "reference_score", 1.0, 0),
    _Metric("turns", "turns", 1.0, 1),
    _Metric("bits", "bits", 1.0, 2),
    _Metric("efficiency", "efficiency", 1.0, 2),
    _Metric("regret", "regret", 1.0, 1),
)
_MISSING = "n/a"
_NOTES = (
    "means with 95 % intervals, clustered by task; turns: unsolved episodes count as the limit;",
    "score: 0 is random play, 100 the reference; bits: information gained per episode",
)


@check_call
def format_results(evaluations: Sequence[Evaluation], form: str = "markdown") -> str:
    """The table as text. Raises `UserError` without evaluations, and for an unknown form."""
    if form not in TABLES:
        raise unknown("table", form, TABLES)
    if not evaluations:
        raise UserError("table: got no evaluations, allowed: at least one")
    metrics = [m for m in _METRICS if any(e.metrics.get(m.name) is not None for e in evaluations)]
    head = ["environment", "agent", "tasks", *(metric.title for metric in metrics)]
    ordered = sorted(
        evaluations, key=lambda e: [_describe_environment(o) for o in evaluations].index(_describe_environment(e))
    )
    groups = [
        [
            [
                name,
                make_visible(e.players),
                _count_episodes(e),
                *(_round_estimate(e.metrics.get(m.name), m) for m in metrics),
            ]
            for e in group
        ]
        for name, group in groupby(ordered, key=_describe_environment)
    ]
    return TABLES[form](head, groups)


def _describe_environment(e: Evaluation) -> str:
    return make_visible(f"{e.env_name} ({e.preset})")


def _count_episodes(e: Evaluation) -> str:
    return f"{e.n_tasks} × {e.k}" if e.k > 1 else str(e.n_tasks)


class _Number(NamedTuple):
    """A rounded mean, and its limits."""

    mean: str
    low: str
    high: str
    below: str
    above: str


def _round_estimate(value: Estimate | None, metric: _Metric) -> _Number | str:
    if value is None:
        return _MISSING
    mean, low, high = (round(metric.scale * x, metric.digits) + 0.0 for x in (value.mean, value.low, value.high))
    return _Number(*(f"{x:.{metric.digits}f}" for x in (mean, low, high, mean - low, high - mean)))


Groups = Sequence[Sequence[Sequence[_Number | str]]]
"""Rows of cells, by environment."""


def _to_markdown(head: Sequence[str], groups: Groups) -> str:
    def format_row(cells: Sequence[_Number | str]) -> str:
        return "| " + " | ".join(map(_markdown_cell, cells)) + " |"

    marks = ["---"] * 2 + ["---:"] * (len(head) - 2)
    rows = [format_row(row) for group in groups for row in group]
    return "\n".join([format_row(head), f"| {' | '.join(marks)} |", *rows, "", " ".join(_NOTES)]) + "\n"


def _markdown_cell(cell: _Number | str) -> str:
    if isinstance(cell, _Number):
        return f"{cell.mean} [{cell.low}, {cell.high}]"
    return "".join(f"\\{c}" if c in "\\|<>*_`[]" else c for c in " ".join(cell.split()))


_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "×": r"$\times$",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "[": "{[}", "]": "{]}",
    **{c: f"\\{c}" for c in "&%$#_{}"},
}  # fmt: skip


def _to_latex(head: Sequence[str], groups: Groups) -> str:
    def format_row(cells: Sequence[_Number | str]) -> str:
        return " & ".join(map(_latex_cell, cells)) + r" \\"

    body: list[str] = []
    for group in groups:
        first, *rest = group
        body += [r"\midrule", format_row(first), *(format_row(["", *row[1:]]) for row in rest)]
    return "\n".join(
        [
            "% \\usepackage{booktabs}",
            *(f"% {note.replace('%', 'percent')}" for note in _NOTES),
            f"\\begin{{tabular}}{{ll{'r' * (len(head) - 2)}}}",
            r"\toprule",
            format_row(head),
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def _latex_cell(cell: _Number | str) -> str:
    if isinstance(cell, _Number):
        return f"${cell.mean}_{{-{cell.below}}}^{{+{cell.above}}}$"
    return "".join(_LATEX.get(c, c) for c in " ".join(cell.split()))


TABLES: Mapping[str, Callable[[Sequence[str], Groups], str]] = {"latex": _to_latex, "markdown": _to_markdown}
