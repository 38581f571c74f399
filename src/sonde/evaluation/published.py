"""The numbers that the papers print in a suite, of their models on their tasks with their users.

They say what a benchmark's own models come to. They are never ranked with results measured here: tasks, users and often
the metric are others, as each table says. Data: `published.toml`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

TITLE = "published, other tasks and users"


@dataclass(frozen=True, kw_only=True)
class PublishedTable:
    """Models in environments (by name, and preset if the suite has several of that name). `rows`: a model and its value
    in each environment, None where the paper prints none."""

    suite: str
    source: str
    metric: str
    differs: str
    environments: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float | None, ...]], ...]


@cache
def _load_tables() -> tuple[PublishedTable, ...]:
    found = tomllib.loads(files("sonde.evaluation").joinpath("published.toml").read_text("utf-8"))
    return tuple(
        PublishedTable(
            **{**table, "environments": tuple(table["environments"]), "rows": tuple(map(_read_row, table["rows"]))}
        )
        for table in found["table"]
    )


def _read_row(row: Sequence[str | float]) -> tuple[str, tuple[float | None, ...]]:
    model, *values = row
    return str(model), tuple(None if value == "" else float(value) for value in values)


def published_tables(suite: str) -> tuple[PublishedTable, ...]:
    """The tables of a suite's paper; none for anything else.

    >>> [table.metric for table in published_tables("paprika")]
    ['success in %, mean of 4 samples']
    """
    return tuple(table for table in _load_tables() if table.suite == suite)
