"""A run's trajectories as a sequence, whatever form they are stored in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TypeVar, overload

import numpy as np

from sonde.core import Trajectory
from sonde.core.checked import checked

from .folder import read_config
from .frames import Entry, Key
from .parts import Part, covered, open_parts
from .tables import Row, check_columns

T = TypeVar("T")


class TrajectoryDataset(Sequence[Trajectory]):
    """The trajectories of a run, in the order they were stored, read from disk when asked for.

    One per key (task id, seed, sample): the last without an error, else the last. Shards and Parquet are memory-mapped
    and may be mixed. It shows the run as it was when opened; pickling (for worker processes) opens it anew.
    """

    @checked
    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        read_config(self.folder)
        self._parts = open_parts(self.folder)
        self._chosen = _chosen(self._all_entries())
        self._firsts = np.concatenate([[0], np.cumsum([len(p) for p in self._parts], dtype=np.int64)])

    def __len__(self) -> int:
        return len(self._chosen)

    @property
    def superseded(self) -> int:
        """Records left out because a later attempt at the same episode replaced them."""
        return int(self._firsts[-1]) - len(self)

    @overload
    def __getitem__(self, i: int) -> Trajectory: ...
    @overload
    def __getitem__(self, i: slice) -> list[Trajectory]: ...
    def __getitem__(self, i: int | slice) -> Trajectory | list[Trajectory]:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        at = int(self._chosen[i])
        part = int(np.searchsorted(self._firsts, at, "right")) - 1
        return Trajectory.from_json(self._parts[part].record(at - int(self._firsts[part])))

    def __iter__(self) -> Iterator[Trajectory]:
        records = (data for part in self._parts for data in part.records())
        return map(Trajectory.from_json, self._only_chosen(records))

    def entries(self) -> Iterator[Entry]:
        """Id and key of every trajectory, in order, without reading them."""
        return self._only_chosen(self._all_entries())

    def scan(self, table: str, columns: Sequence[str] | None = None) -> Iterator[Row]:
        """The rows of `trajectories` or `acts`, with these columns of `docs/store.md` only (None: all).

        `"completions.ids"` and the like take one field of the completions. Parquet reads only the columns asked for.
        """
        chosen = check_columns(table, columns)
        grouped = (found for part in self._columns for found in part.rows(table, chosen))
        return (row for found in self._only_chosen(grouped) for row in found)

    @cached_property
    def _columns(self) -> list[Part]:
        """The parts to scan: Parquet where it is, unless one form has lost what the other has."""
        found = open_parts(self.folder, columns=True) if covered(self.folder) else self._parts
        return self._parts if any(part.damage for part in (*found, *self._parts)) else found

    def _all_entries(self) -> Iterator[Entry]:
        return (entry for part in self._parts for entry in part.entries())

    def _only_chosen(self, values: Iterator[T]) -> Iterator[T]:
        at = 0
        for i in self._chosen:
            for value in values:
                at += 1
                if at > i:
                    yield value
                    break

    def __reduce__(self) -> tuple[type[TrajectoryDataset], tuple[Path]]:
        return type(self), (self.folder,)


def _chosen(entries: Iterator[Entry]) -> np.ndarray:
    """Positions of the records that no later one supersedes, ascending."""
    best: dict[Key, tuple[int, bool]] = {}
    for i, entry in enumerate(entries):
        held = best.get(entry.key)
        if held is None or held[1] or not entry.failed:
            best[entry.key] = (i, entry.failed)
    return np.array(sorted(i for i, _ in best.values()), np.int64)
