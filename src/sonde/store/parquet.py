"""Runs as Parquet: a folder of `trajectories.parquet` and `acts.parquet`, with the schema of `docs/store.md`.

Row group g of `acts` holds the acts of the trajectories in row group g of `trajectories`, so a record is found by
reading one small row group of each, and both are written and scanned in bounded memory.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from importlib.util import find_spec
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from sonde.core import StoreError

from .arrow import pyarrow, reader, reading, writer
from .codec import dumps, loads
from .frames import Entry, left_out
from .tables import COMPLETION, TABLES, Row, restore, rows

_META = b"sonde"
_KINDS = {**TABLES["trajectories"], **TABLES["acts"]}
_KEYS = ("id", "task_id", "seed", "sample", "error")


def has_pyarrow() -> bool:
    """Whether the extra `parquet` is installed."""
    return find_spec("pyarrow") is not None


def _schema(table: str) -> Any:
    pa = pyarrow()
    plain = {
        "text": pa.string(),
        "json": pa.string(),
        "bool": pa.bool_(),
        "int64": pa.int64(),
        "uint64": pa.uint64(),
        "float64": pa.float64(),
        "list<int32>": pa.list_(pa.int32()),
        "list<int64>": pa.list_(pa.int64()),
        "list<float32>": pa.list_(pa.float32()),
    }
    plain["completions"] = pa.list_(pa.struct([(name, plain[kind]) for name, kind in COMPLETION.items()]))
    return pa.schema([(name, plain[kind]) for name, kind in TABLES[table].items()])


def file_of(folder: Path, table: str) -> Path:
    """Where a table lies in a Parquet folder."""
    return folder / f"{table}.parquet"


class ParquetSink:
    """Writes records into a new Parquet folder, one row group per `write`."""

    def __init__(self, folder: Path) -> None:
        # Token ids and log-probabilities hardly repeat as wholes; dictionaries pay for the texts only.
        texts = {t: [c for c, kind in TABLES[t].items() if kind in ("text", "json")] for t in TABLES}
        self._schemas = {t: _schema(t) for t in TABLES}
        self._writers = {t: writer(file_of(folder, t), s, use_dictionary=texts[t]) for t, s in self._schemas.items()}

    def write(self, records: Sequence[dict[str, Any]]) -> None:
        """Append one row group of these trajectories, in JSON form, to each table."""
        for table, file in self._writers.items():
            columns = TABLES[table]
            found = [row for data in records for row in rows(data, table, list(columns))]
            batch = {c: [_to_cell(row[c], kind) for row in found] for c, kind in columns.items()}
            file.write_table(pyarrow().table(batch, schema=self._schemas[table]), row_group_size=max(1, len(found)))

    def close(self, meta: dict[str, Any]) -> None:
        """Finish both files; `meta` is kept in each."""
        for file in self._writers.values():
            file.add_key_value_metadata({_META.decode(): json.dumps(meta)})
            file.close()


class ParquetPart:
    """The records of a Parquet folder, memory-mapped (a `Part`)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._maps = {t: _mapped(file_of(folder, t)) for t in TABLES}
        self._files = {t: reader(file_of(folder, t), _source(m)) for t, m in self._maps.items()}
        for t, file in self._files.items():
            if not file.schema_arrow.equals(_schema(t)):
                raise StoreError(f"{file_of(folder, t)}: damaged, or not one of sonde: its columns are others")
        footers = {t: (f.metadata.metadata or {}).get(_META, b"{}") for t, f in self._files.items()}
        with reading(file_of(folder, "trajectories")):
            self.meta: dict[str, Any] = json.loads(footers["trajectories"])
            meta = self._files["trajectories"].metadata
            counts = [meta.row_group(g).num_rows for g in range(meta.num_row_groups)]
        if len(set(footers.values())) != 1 or self.meta.get("records") != sum(counts):
            raise StoreError(f"{folder}: its files do not belong together")
        self.damage: list[str] = []
        self._sound = [g for g in range(len(counts)) if self._reads(g, counts[g])]
        self._firsts = [0, *accumulate(counts[g] for g in self._sound)]
        self._group: Callable[[int], tuple[Any, Any, list[int]]] = lru_cache(4)(self._read_group)

    def _reads(self, group: int, n: int) -> bool:
        """Whether a row group of both tables reads; if not, it is left out and noted."""
        try:
            for table, columns in TABLES.items():
                self._read(table, group, list(columns))
        except StoreError as e:
            self.damage.append(f"{e}; {left_out(n)}")
            return False
        return True

    def __len__(self) -> int:
        return self._firsts[-1]

    def entries(self) -> Iterator[Entry]:
        for (row,) in self.rows("trajectories", _KEYS):
            yield Entry(row["id"], row["task_id"], row["seed"], row["sample"], bool(row["error"]))

    def record(self, i: int) -> dict[str, Any]:
        group = int(np.searchsorted(self._firsts, i, "right")) - 1
        heads, acts, ends = self._group(self._sound[group])
        n = i - self._firsts[group]
        return restore(_rows(heads.slice(n, 1))[0], _rows(acts.slice(ends[n], ends[n + 1] - ends[n])))

    def records(self) -> Iterator[dict[str, Any]]:
        for group in self._sound:
            heads, acts, ends = self._read_group(group)
            yield from map(restore, _rows(heads), _parted(_rows(acts), ends))

    def rows(self, table: str, columns: Sequence[str]) -> Iterator[Sequence[Row]]:
        for group in self._sound:
            found = _rows(self._read(table, group, columns))
            ends = (
                range(len(found) + 1)
                if table == "trajectories"
                else _ends(self._read("trajectories", group, ["n_acts"]))
            )
            yield from _parted(found, ends)

    def _read_group(self, group: int) -> tuple[Any, Any, list[int]]:
        """The row group of both tables, and where each record's acts begin, with the end of the last."""
        heads, acts = (self._read(table, group, list(columns)) for table, columns in TABLES.items())
        return heads, acts, _ends(heads)

    def _read(self, table: str, group: int, columns: Sequence[str]) -> Any:
        names = [c.replace("completions.", "completions.list.element.") for c in columns]
        with reading(file_of(self.folder, table)):
            found = self._files[table].read_row_group(group, columns=names, use_threads=False)
        # Pages that were read may leave memory; otherwise a scan would end with the whole file resident.
        self._maps[table].madvise(mmap.MADV_DONTNEED)
        return found


def _ends(heads: Any) -> list[int]:
    return [0, *accumulate(heads["n_acts"].to_pylist())]


def _parted(found: Sequence[Row], ends: Sequence[int]) -> Iterator[Sequence[Row]]:
    return (found[a:b] for a, b in pairwise(ends))


def _rows(found: Any) -> list[Row]:
    columns = [[_from_cell(v, _KINDS[name]) for v in found[name].to_pylist()] for name in found.column_names]
    return [dict(zip(found.column_names, cells, strict=True)) for cells in zip(*columns, strict=True)]


def _source(mapped: mmap.mmap) -> Any:
    return pyarrow().BufferReader(pyarrow().py_buffer(mapped))


def _mapped(path: Path) -> mmap.mmap:
    with reading(path), path.open("rb") as f:
        return mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)


def _to_cell(value: Any, kind: str) -> Any:
    return dumps(value).decode() if kind == "json" and value is not None else value


def _from_cell(value: Any, kind: str) -> Any:
    return loads(value.encode()) if kind == "json" and value is not None else value
