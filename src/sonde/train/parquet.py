"""Samples and pairs as one Parquet file, kept exactly: ids, masks, NaN, what is not there.

Every record is a sample with its rows in a nested list; in a file of pairs, records 2i and 2i + 1 are the chosen and
the rejected sample of pair i, as `role` says. Log-probabilities, advantages and references are columns of 32-bit floats
where all arrays in the file are; otherwise of 64-bit ones, and are read as such.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, cast

import numpy as np

from sonde.core import Frozen, StoreError, invalid
from sonde.runs.store.parquet import pyarrow, reader, reading, writer

from .types import Item, Pair, Row, Sample

SCHEMA = 4
GROUP = 256
"""Samples per row group, an even number, so that pairs stay together."""

_META = b"sonde"
_INTS = ("ids", "turns", "weights")
_FLOATS = ("logprobs", "temperatures", "advantages", "reference", "proximal", "returns", "values")
_HEAD = ("trajectory", "group", "task", "env", "kind")
_ROLES = {"samples": ("sample",), "pairs": ("chosen", "rejected")}


def write_parquet(path: Path | str, items: Sequence[Item]) -> None:
    """Write samples, or pairs, to a new file."""
    kinds = {"pairs" if isinstance(item, Pair) else "samples" for item in items}
    if len(kinds) != 1:
        raise invalid("items", sorted(kinds) or "none", "samples only, or pairs only, at least one")
    (kind,) = kinds
    flat = [sample for item in items for sample in (item if isinstance(item, Pair) else (item,))]
    roles = cycle(_ROLES[kind])
    pa = pyarrow()
    meta = json.dumps({"schema": SCHEMA, "kind": kind}).encode()
    schema = _schema(pa, flat).with_metadata({_META: meta})
    with writer(Path(path), schema) as file:
        for start in range(0, len(flat), GROUP):
            records = [_record(sample, next(roles)) for sample in flat[start : start + GROUP]]
            file.write_table(pa.Table.from_pylist(records, schema=schema))


def read_parquet(path: Path | str) -> list[Sample] | list[Pair]:
    """The samples, or the pairs, of a file."""
    with reader(Path(path)) as file, reading(Path(path)):
        kind = _kind(path, (file.schema_arrow.metadata or {}).get(_META))
        groups = (file.read_row_group(g) for g in range(file.num_row_groups))
        flat = [sample for group in groups for sample in _samples(group)]
        if len(flat) != file.metadata.num_rows:
            raise StoreError(f"{path}: damaged ({len(flat)} records, its footer has {file.metadata.num_rows})")
    if kind == "samples":
        return flat
    return [Pair(a, b) for a, b in zip(flat[::2], flat[1::2], strict=True)]


def _kind(path: Path | str, meta: bytes | None) -> str:
    """What the file holds, if it is one of ours."""
    known: dict[str, Any] = json.loads(meta) if meta else {}
    if known.get("kind") not in _ROLES:
        raise StoreError(f"{path}: no training set of sonde")
    if known["schema"] != SCHEMA:
        raise StoreError(f"{path}: got schema {known['schema']}, allowed: {SCHEMA}, that of this sonde")
    return known["kind"]


def _schema(pa: Any, samples: Sequence[Sample]) -> Any:
    ints = {name: pa.list_(pa.int32()) for name in _INTS}
    floats = {name: pa.list_(pa.float64() if _is_wide(samples, name) else pa.float32()) for name in _FLOATS}
    row = {**ints, **floats, "agent": pa.binary(), "versions": pa.list_(pa.string())}
    return pa.schema(
        [
            ("role", pa.string()),
            *((name, pa.string()) for name in _HEAD),
            ("score", pa.float64()),
            ("cut", pa.bool_()),
            ("rewards", pa.list_(pa.float64())),
            ("tags", pa.map_(pa.string(), pa.string())),
            ("rows", pa.list_(pa.struct(list(row.items())))),
        ]
    )


def _is_wide(samples: Sequence[Sample], name: str) -> bool:
    found = (getattr(row, name) for sample in samples for row in sample.rows)
    return any(values is not None and values.typecode == "d" for values in found)


def _record(sample: Sample, role: str) -> dict[str, Any]:
    return {
        "role": role,
        **{name: getattr(sample, name) for name in _HEAD},
        "score": sample.score,
        "cut": sample.cut,
        "rewards": list(sample.rewards),
        "tags": list(sample.tags.items()),
        "rows": [_row_record(row) for row in sample.rows],
    }


def _row_record(row: Row) -> dict[str, Any]:
    packed = {name: getattr(row, name) for name in (*_INTS, *_FLOATS)}
    numbers = {name: None if v is None else np.frombuffer(v, v.typecode) for name, v in packed.items()}
    return {**numbers, "agent": row.agent, "versions": list(row.versions)}


def _samples(table: Any) -> Iterator[Sample]:
    """The samples of a row group. Numbers are taken from Arrow's buffers, not one by one."""
    nested = table["rows"].combine_chunks()
    found = list(_rows(nested.values))
    ends = nested.offsets.to_pylist()
    for i, head in enumerate(table.drop_columns(["rows"]).to_pylist()):
        yield Sample(
            rows=tuple(found[ends[i] : ends[i + 1]]),
            score=head["score"],
            cut=head["cut"],
            rewards=tuple(head["rewards"]),
            tags=Frozen(dict(head["tags"])),
            **{name: head[name] for name in _HEAD},
        )


def _rows(struct: Any) -> Iterator[Row]:
    columns: dict[str, list[Any]] = {name: list(_arrays(struct.field(name))) for name in (*_INTS, *_FLOATS)}
    columns["agent"] = struct.field("agent").to_pylist()
    columns["versions"] = [tuple(v) for v in struct.field("versions").to_pylist()]
    for cells in zip(*columns.values(), strict=True):
        yield Row(**dict(zip(columns, cells, strict=True)))


def _arrays(column: Any) -> Iterator[array[Any] | None]:
    """Lists of numbers as packed arrays; None where there was none."""
    values = column.values.to_numpy(zero_copy_only=False)
    ends, there = column.offsets.to_pylist(), column.is_valid().to_pylist()
    for i, present in enumerate(there):
        yield _array(values[ends[i] : ends[i + 1]]) if present else None


def _array(values: Any) -> array[Any]:
    code = {"int32": "i", "float32": "f", "float64": "d"}[str(values.dtype)]
    packed = cast("array[Any]", array(code))
    packed.frombytes(values.tobytes())
    return packed
