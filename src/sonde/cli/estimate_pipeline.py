"""Estimate what a PAPRIKA pipeline plays, for `sonde paprika --dry-run`."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich.console import Console

from sonde.core.types import Json
from sonde.train.paprika import PlannedRun

from .estimate import estimate_costs
from .result_table import ResultTable

COUNTS = ("episodes", "calls", "asked_again", "prompt_tokens", "completion_tokens")


def estimate_pipeline(plan: Sequence[PlannedRun]) -> list[dict[str, Json]]:
    """Upper bounds by environment, over all rounds and stages, and their sum. A sum of what is not known is None."""
    rows: list[dict[str, Json]] = []
    for title, run, times in plan:
        costs = estimate_costs(run)
        counts = {name: costs[name] if costs[name] is None else times * costs[name] for name in COUNTS}
        rows.append({"stage": title, "environment": costs["environment"], "models": times, **counts})
    sums = {name: None if any(row[name] is None for row in rows) else sum(row[name] for row in rows) for name in COUNTS}
    return [*rows, {"stage": "total", "environment": "", "models": None, **sums}]


def print_pipeline_estimate(plan: Sequence[PlannedRun], out: Console, as_json: bool) -> None:
    """Print the estimate as a table, or as JSON."""
    rows = estimate_pipeline(plan)
    if as_json:
        out.print_json(json.dumps(rows))
        return
    about = "Play: upper bounds, for 4 characters per token and replies of the maximum length"
    words = ("stage", "environment")
    numbers = [name for name in rows[0] if name not in words]
    numbers = [name for name in numbers if name != "asked_again" or any(row[name] for row in rows)]
    table = ResultTable(words, [name.replace("_", " ") for name in numbers], about)
    for row in rows:
        if row["stage"] == "total":
            table.add_section()
        table.add_row(*(_format_cell(row[name]) for name in (*words, *numbers)))
    out.print(table)
    out.print("models: rounds that play, or models that are evaluated. The cost of training is not included.")


def _format_cell(value: Json) -> str:
    """A text, or a number; millions are written as such.

    >>> _format_cell(29_980), _format_cell(793_870_400), _format_cell(None)
    ('29,980', '793.9M', '')
    """
    if isinstance(value, int):
        return f"{value / 1e6:,.1f}M" if value >= 1_000_000 else f"{value:,}"
    return "" if value is None else str(value)
