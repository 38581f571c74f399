"""From shards to Parquet, checked record by record before anything is reported or deleted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sonde.core import StoreError, UserError

from .codec import Digest, acts
from .folder import acquire, read_config
from .log import sync_folder
from .parquet import ParquetPart, ParquetSink, file_of
from .parts import Part, covered, fresh, open_parts, parquet_path, shards
from .tables import TABLES

GROUP_ACTS = 1024
GROUP_TOKENS = 128 * 1024
"""A row group is full at this many acts or token ids, whichever comes first: a few megabytes in memory."""


def compact(folder: Path | str, *, delete: bool = False) -> Path:
    """Write all records of a run as Parquet, read them back, compare, and return the folder they are in.

    The shards stay, unless `delete`; either way new records go to a new shard, and readers see one run. Needs the
    extra `parquet`. Raises `StoreError` if another process writes to the run, or if what was read back differs.
    """
    folder = Path(folder)
    read_config(folder)
    held = acquire(folder)
    try:
        if len(fresh(folder)):
            _write(folder, max(shards(folder)) + 1)
        elif not covered(folder):
            raise UserError(f"compact: {folder} holds no trajectories yet")
        target = parquet_path(folder, covered(folder))
        _clear(folder, target, delete)
        return target
    finally:
        os.close(held)


def _write(folder: Path, cover: int) -> None:
    """Write, verify, and only then rename into place."""
    target = parquet_path(folder, cover)
    temporary = target.with_name(f".{target.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    meta = _copy(open_parts(folder), temporary, cover)
    _verify(temporary, meta)
    for table in TABLES:
        _sync_file(file_of(temporary, table))
    sync_folder(temporary)
    temporary.rename(target)
    sync_folder(folder)


def _copy(parts: list[Part], target: Path, cover: int) -> dict[str, Any]:
    sink, digest, count = ParquetSink(target), Digest(), 0
    for group in _groups(parts):
        sink.write(group)
        count += len(group)
        for data in group:
            digest.add(data)
    meta = {"format": 1, "records": count, "shards": cover, "digest": digest.value}
    sink.close(meta)
    return meta


def _groups(parts: list[Part]) -> Iterator[list[dict[str, Any]]]:
    group: list[dict[str, Any]] = []
    n_acts = n_tokens = 0
    for part in parts:
        for data in part.records():
            group.append(data)
            n_acts += len(data["opening"]) + sum(map(len, data["turns"]))
            n_tokens += _tokens(data)
            if n_acts >= GROUP_ACTS or n_tokens >= GROUP_TOKENS:
                yield group
                group, n_acts, n_tokens = [], 0, 0
    if group:
        yield group


def _tokens(data: dict[str, Any]) -> int:
    completions = (c for act in acts(data) for c in act.get("completions", ()))
    return sum(len(c["ids"]) + len(c["prompt_ids"]) for c in completions)


def _verify(target: Path, meta: dict[str, Any]) -> None:
    part, digest = ParquetPart(target), Digest()
    for data in part.records():
        digest.add(data)
    if part.meta != meta or digest.value != meta["digest"]:
        raise StoreError(f"{target}: reads back differently from what was written; the shards are untouched")


def _clear(folder: Path, target: Path, delete: bool) -> None:
    """Remove older Parquet folders, and the shards that the newest one covers."""
    for old in folder.glob("parquet-*"):
        if old != target:
            shutil.rmtree(old)
    if delete:
        for number, path in shards(folder).items():
            if number < covered(folder):
                path.unlink()


def _sync_file(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
