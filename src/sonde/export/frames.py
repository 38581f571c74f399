"""Both tables as data frames of pandas or polars: `Run.to_frame` and `Evaluation.to_frame`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from sonde._util.argument_checks import check_call
from sonde._util.extras import missing_extra
from sonde.core import unknown
from sonde.evaluation.evaluate import Evaluation
from sonde.runs.store import Run

from .columns import Column, Table
from .tables import Source, table_columns, tabulate

LIBRARIES = ("pandas", "polars")
"""In the order in which they are looked for."""


@check_call
def run_to_frame(run: Run, of: Table = "episodes", library: str = "") -> Any:
    """See `Run.to_frame`."""
    chosen = choose_library(library)  # before anything is computed
    return _make_frame(of, [Source.from_run(run)], chosen)


@check_call
def evaluation_to_frame(evaluation: Evaluation, of: Table = "episodes", library: str = "") -> Any:
    """See `Evaluation.to_frame`."""
    return _make_frame(of, [Source(evaluation)], choose_library(library))


def choose_library(library: str) -> str:
    """The library that makes a frame: the one asked for, or the first that is installed."""
    if library and library not in LIBRARIES:
        raise unknown("to_frame: library", library, LIBRARIES)
    found = [name for name in ([library] if library else LIBRARIES) if find_spec(name) is not None]
    if not found:
        raise missing_extra("a data frame", library or LIBRARIES[0])
    return found[0]


def _make_frame(table: Table, sources: Sequence[Source], library: str) -> Any:
    columns = table_columns(table, sources)
    rows = list(tabulate(table, sources))
    values = {name: [row.get(name) for row in rows] for name in columns}
    return _to_polars(values, columns) if library == "polars" else _to_pandas(values, columns)


def _to_pandas(values: Mapping[str, list[Any]], columns: Mapping[str, Column]) -> Any:
    pd: Any = import_module("pandas")
    kinds = {"text": "str", "bool": "boolean", "int": "Int64", "seed": "UInt64", "float": "float64"}
    return pd.DataFrame({name: pd.Series(of, dtype=kinds[columns[name].kind]) for name, of in values.items()})


def _to_polars(values: Mapping[str, list[Any]], columns: Mapping[str, Column]) -> Any:
    pl: Any = import_module("polars")
    kinds = {"text": pl.String, "bool": pl.Boolean, "int": pl.Int64, "seed": pl.UInt64, "float": pl.Float64}
    return pl.DataFrame(dict(values), schema={name: kinds[column.kind] for name, column in columns.items()})
