"""Both tables as CSV, JSON lines or Parquet.

    write_tables(["runs/a", "runs/b"], "numbers", ("csv",))     # numbers/episodes.csv, numbers/turns.csv

A file appears when it is complete. CSV follows RFC 4180, in UTF-8, and an empty field is a missing value; JSON lines
and Parquet have null. Rows are written as they are computed, so runs may be large.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from sonde._util.argument_checks import check_call
from sonde._util.folders import write_errors
from sonde.core import UserError, unknown
from sonde.runs.store import Run
from sonde.runs.store.parquet import import_pyarrow, open_parquet_writer

from .columns import TABLES, Column
from .tables import Cells, Source, table_columns, tabulate

GROUP = 10_000
"""Rows per row group of a Parquet file."""


@check_call
def write_tables(runs: Sequence[Path | str | Run], to: Path | str, formats: Sequence[str] = ("csv",)) -> list[Path]:
    """Write `episodes` and `turns` of these runs into the folder `to`, once in each format, and return the
    files. Existing ones are replaced. Parquet needs the extra `parquet`."""
    for form in formats:
        if form not in FORMATS:
            raise unknown("export: format", form, FORMATS)
    if not runs or not formats:
        raise UserError("export: got no runs or no formats, allowed: at least one of each")
    if "parquet" in formats:
        import_pyarrow()
    sources = [Source.from_folder(folder) for folder in dict.fromkeys(map(Path, runs))]
    to = Path(to)
    with write_errors(to):
        to.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for table in TABLES:
        columns = table_columns(table, sources)
        for form in formats:
            path = to / f"{table}.{form}"
            FORMATS[form](path, columns, tabulate(table, sources))
            written.append(path)
    return written


@contextmanager
def _open_atomically(path: Path) -> Iterator[Any]:
    """A binary file that appears complete or not at all."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with write_errors(path), temporary.open("wb") as file:
            yield file
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _write_csv(path: Path, columns: Mapping[str, Column], rows: Iterable[Cells]) -> None:
    with _open_atomically(path) as file, io.TextIOWrapper(file, "utf-8", errors="replace", newline="") as text:
        writer = csv.writer(text)
        writer.writerow(columns)
        for row in rows:
            writer.writerow([row.get(name) for name in columns])


def _write_jsonl(path: Path, columns: Mapping[str, Column], rows: Iterable[Cells]) -> None:
    with _open_atomically(path) as file:
        for row in rows:
            cells = {name: _to_utf8(row.get(name)) for name in columns}
            file.write(orjson.dumps(cells, option=orjson.OPT_APPEND_NEWLINE))


def _write_parquet(path: Path, columns: Mapping[str, Column], rows: Iterable[Cells]) -> None:
    pa = import_pyarrow()
    kinds = {
        "text": pa.string(), "bool": pa.bool_(), "int": pa.int64(), "seed": pa.uint64(), "float": pa.float64(),
    }  # fmt: skip
    schema = pa.schema([(name, kinds[column.kind]) for name, column in columns.items()])
    with open_parquet_writer(path, schema) as file:
        rest = iter(rows)
        while group := list(islice(rest, GROUP)):
            cells = {name: [_to_utf8(row.get(name)) for row in group] for name in columns}
            file.write_table(pa.table(cells, schema=schema))


def _to_utf8(value: Any) -> Any:
    """A value whose text can be encoded: a lone surrogate becomes `?`."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "replace").decode()
    return value


FORMATS: Mapping[str, Callable[[Path, Mapping[str, Column], Iterable[Cells]], None]] = {
    "csv": _write_csv, "jsonl": _write_jsonl, "parquet": _write_parquet,
}  # fmt: skip
