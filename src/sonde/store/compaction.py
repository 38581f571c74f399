"""From shards to Parquet, checked record by record before anything is reported or deleted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sonde.core import StoreError, UserError
from sonde.core.checked import checked

from .codec import Digest
from .folder import acquire, read_config
from .log import Log, sync_folder
from .parquet import ParquetPart, ParquetSink, file_of
from .parts import Part, covered, fresh, open_parts, parquet_path, shard_path, shards
from .tables import TABLES

GROUP_RECORDS = 1024
GROUP_BYTES = 1024 * 1024
"""A row group is full at this many trajectories or about this many bytes of JSON, whichever comes first."""


@checked
def compact(folder: Path | str, *, delete: bool = False) -> Path:
    """Write all records of a run as Parquet, read them back, compare, and return the folder they are in.

    The shards stay, unless `delete`; either way new records go to a new shard, and readers see one run. Needs the
    extra `parquet`. Raises `StoreError` if another process writes to the run, or if what was read back differs.
    """
    folder = Path(folder)
    read_config(folder)
    held = acquire(folder)
    try:
        if delete and any(part.damage for part in open_parts(folder)):
            raise StoreError(f"{folder}: parts of it are damaged; shards are deleted only where all of them read")
        if len(fresh(folder)):
            last = max(shards(folder))
            Log(shard_path(folder, last)).close()  # cuts a torn end, which only a last shard may have
            _write(folder, last + 1)
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
    for group in _groups(parts, digest):
        sink.write(group)
        count += len(group)
    meta = {"format": 1, "records": count, "shards": cover, "digest": digest.value}
    sink.close(meta)
    return meta


def _groups(parts: list[Part], digest: Digest) -> Iterator[list[dict[str, Any]]]:
    """All records in groups of a size that fits in memory; each goes through the digest."""
    group: list[dict[str, Any]] = []
    size = 0
    for part in parts:
        for data in part.records():
            group.append(data)
            size += digest.add(data)
            if len(group) >= GROUP_RECORDS or size >= GROUP_BYTES:
                yield group
                group, size = [], 0
    if group:
        yield group


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
