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
from .frames import Buffer, Entry, contents, read_index, read_lines
from .log import tell
from .parquet import ParquetPart, has_pyarrow
from .tables import rows

_SHARD = re.compile(r"trajectories-(\d{5,})\.jsonl\.zst")
_PARQUET = re.compile(r"parquet-(\d{5,})")


class Part(Protocol):
    """Some of a run's records, in the order they were stored. `damage` says what could not be read of it."""

    damage: list[str]

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
        places: list[tuple[int, int, int, int, int]] = []
        self.damage: list[str] = []
        for shard, path in enumerate(paths):
            found = contents(self._map(shard), path, last=shard == len(paths) - 1)
            places += [(shard, f.at, f.size, len(f.entries), f.start) for f in found.frames]
            self.damage += found.damage
        self._places = np.array(places, np.int64).reshape(-1, 5)
        self._firsts = np.concatenate([[0], np.cumsum(self._places[:, 3])])

    def _open(self, shard: int) -> Buffer:
        with self._paths[shard].open("rb") as f:
            empty = f.seek(0, 2) == 0
            return b"" if empty else memoryview(mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ))

    def _read(self, frame: int) -> list[bytes]:
        shard, at, size = (int(x) for x in self._places[frame, :3])
        return read_lines(self._map(shard), at, size, self._paths[shard])

    def __len__(self) -> int:
        return int(self._firsts[-1])

    def entries(self) -> Iterator[Entry]:
        for shard, _, _, _, start in self._places.tolist():
            yield from (Entry(*e) for e in read_index(self._map(shard), start))

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
    """The parts that together hold every record once, in order. Warns of what is damaged.

    Where records are there in both forms, shards are taken for whole records and Parquet for `columns`; if that form is
    damaged, the one that holds more.
    """
    cover, found = covered(folder), shards(folder)
    forms: list[Callable[[], list[Part]]] = []
    if list(found)[:cover] == list(range(cover)):
        forms.append(lambda: [Shards(_gapless(found, 0))])
    if cover and (has_pyarrow() or not forms):
        forms.append(lambda: [ParquetPart(parquet_path(folder, cover)), fresh(folder)])
    first, *others = reversed(forms) if columns else forms
    try:
        parts = first()
        damaged = any(part.damage for part in parts)
    except StoreError:
        if not others:
            raise
        parts, damaged = [], True
    if damaged:
        parts = max([parts, *(form() for form in others)], key=lambda parts: sum(map(len, parts)))
    tell(what for part in parts for what in part.damage)
    return parts


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
