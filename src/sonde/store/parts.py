"""The parts that a run's records lie in, behind one interface: shards of JSON lines, and Parquet."""

from __future__ import annotations

import mmap
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from sonde.core import StoreError

from .codec import loads
from .frames import Buffer, Entry, read_lines, walk
from .parquet import ParquetPart, has_pyarrow
from .tables import rows

_SHARD = re.compile(r"trajectories-(\d{5,})\.jsonl\.zst")
_PARQUET = re.compile(r"parquet-(\d{5,})")


class Part(Protocol):
    """Some of a run's records, in the order they were stored."""

    def __len__(self) -> int: ...

    def entries(self) -> Iterator[Entry]:
        """The keys of all records, without reading the records."""
        ...

    def record(self, i: int) -> dict[str, Any]:
        """The i-th record: a trajectory's JSON form."""
        ...

    def records(self) -> Iterator[dict[str, Any]]:
        """All records, one after the other."""
        ...

    def rows(self, table: str, columns: Sequence[str]) -> Iterator[Sequence[dict[str, Any]]]:
        """Per record, its rows of a table of `docs/store.md`, with these columns only."""
        ...


class Shards:
    """Shards of JSON lines, memory-mapped: a few at a time, so that what is mapped stays small."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        # Per-instance caches: methods cannot carry one without keeping every instance alive.
        self._map: Callable[[int], Buffer] = lru_cache(2)(self._open)
        self._lines: Callable[[int], list[bytes]] = lru_cache(8)(self._read)
        places: list[tuple[int, int, int, int]] = []
        for shard, path in enumerate(paths):
            frames = walk(self._map(shard), path, last=shard == len(paths) - 1)
            places += [(shard, f.at, f.size, len(f.entries)) for f in frames]
        self._places = np.array(places, np.int64).reshape(-1, 4)
        self._firsts = np.concatenate([[0], np.cumsum(self._places[:, 3])])

    def _open(self, shard: int) -> Buffer:
        with self._paths[shard].open("rb") as f:
            empty = f.seek(0, 2) == 0
            return b"" if empty else memoryview(mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ))

    def _read(self, frame: int) -> list[bytes]:
        shard, at, size, n = (int(x) for x in self._places[frame])
        lines = read_lines(self._map(shard), at, size, self._paths[shard])
        if len(lines) != n:
            raise StoreError(f"{self._paths[shard]}: damaged at byte {at} ({len(lines)} lines, its index has {n})")
        return lines

    def __len__(self) -> int:
        return int(self._firsts[-1])

    def entries(self) -> Iterator[Entry]:
        for shard, path in enumerate(self._paths):
            for frame in walk(self._map(shard), path, last=shard == len(self._paths) - 1):
                yield from (Entry(*e) for e in frame.entries)

    def record(self, i: int) -> dict[str, Any]:
        frame = int(np.searchsorted(self._firsts, i, "right")) - 1
        return loads(self._lines(frame)[i - int(self._firsts[frame])])

    def records(self) -> Iterator[dict[str, Any]]:
        for frame in range(len(self._places)):
            yield from map(loads, self._read(frame))

    def rows(self, table: str, columns: Sequence[str]) -> Iterator[Sequence[dict[str, Any]]]:
        return (rows(data, table, columns) for data in self.records())


def shard_path(folder: Path, number: int) -> Path:
    """Where a shard lies."""
    return folder / f"trajectories-{number:05}.jsonl.zst"


def shards(folder: Path) -> dict[int, Path]:
    """The shards of a run by number, in order."""
    found = {int(m[1]): p for p in folder.iterdir() if (m := _SHARD.fullmatch(p.name))}
    return dict(sorted(found.items()))


def parquet_path(folder: Path, cover: int) -> Path:
    """Where the Parquet files lie that hold the records of all shards below `cover`."""
    return folder / f"parquet-{cover:05}"


def covered(folder: Path) -> int:
    """How many shards, from the first, are also there as Parquet. Nothing is ever appended to those."""
    return max((int(m[1]) for p in folder.iterdir() if (m := _PARQUET.fullmatch(p.name))), default=0)


def open_parts(folder: Path, *, columns: bool = False) -> list[Part]:
    """The parts that together hold every record once, in order.

    Where records are there in both forms, shards are taken for whole records and Parquet for `columns`.
    """
    cover, found = covered(folder), shards(folder)
    if list(found)[:cover] == list(range(cover)) and not (cover and columns and has_pyarrow()):
        return [Shards(_gapless(found, 0))]
    parquet = [ParquetPart(parquet_path(folder, cover))] if cover else []
    return [*parquet, fresh(folder)]


def fresh(folder: Path) -> Shards:
    """The shards that are not covered by Parquet yet."""
    return Shards(_gapless(shards(folder), covered(folder)))


def _gapless(found: Mapping[int, Path], first: int) -> list[Path]:
    """The shards from number `first` on, of which none may be missing."""
    paths = [path for number, path in found.items() if number >= first]
    for number in range(first, first + len(paths)):
        if number not in found:
            raise StoreError(f"{paths[0].parent}: shard {number} is missing")
    return paths
