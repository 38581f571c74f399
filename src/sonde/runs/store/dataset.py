"""A run's trajectories as a sequence, and selections of them by outcome."""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, SupportsIndex, overload

from sonde._util.argument_checks import check_call
from sonde.core import StoreError, Trajectory, UserError, invalid

from .codec import load_json
from .folder import read_config
from .frames import read_lines
from .index import PLACE, Entry, Index, delete_index, log_path
from .log import warn_damage

BY_KEY = "task, seed, sample"
"""The order of the canonical export."""


class TrajectoryDataset(Sequence[Trajectory]):
    """The trajectories of a run in storage order, read from disk on access.

    One per key (task id, seed, sample): the last without an error, else the last. The dataset is a snapshot of the run
    when it was opened; unpickling (in worker processes) opens it anew.
    """

    @check_call
    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        read_config(self.folder)
        self._index = Index(self.folder)
        warn_damage(self._index.damage_reports)
        # Per-instance cache: a cache on the method would keep every instance alive.
        self._lines: Callable[[int, int, int], Sequence[bytes]] = lru_cache(8)(self._read_frame)
        self._query: tuple[str, tuple[Any, ...], str] = ("1", (), PLACE)
        self._found: array[int] | None = None

    def select_where(self, condition: str = "1", *values: Any, order: str = PLACE) -> TrajectoryDataset:
        """The trajectories for which an SQL condition on the columns of `Entry` holds, sorted by such columns:

        `run.trajectories.select_where("kind = ? AND turns > ?", "win", 5, order="score DESC, task, seed, sample")`
        """
        found, (before, known, _) = object.__new__(type(self)), self._query
        vars(found).update(vars(self), _query=(f"({before}) AND ({condition})", (*known, *values), order), _found=None)
        try:
            list(found._index.select_columns("1", *found._query[:2], f"{order} LIMIT 0"))
        except sqlite3.Error as e:
            raise UserError(f"where: {e}; columns: {', '.join(Entry._fields)}") from e
        return found

    @property
    def _record_places(self) -> array[int]:
        """Log, byte, length and line of each trajectory, consecutively: a hundred thousand take 3 MB."""
        if self._found is None:
            rows = self._index.select_columns("log, at, length, line", *self._query)
            self._found = array("q", (number for row in rows for number in row))
        return self._found

    def __len__(self) -> int:
        return len(self._record_places) // 4

    def refresh(self) -> None:
        """Read what has been appended to the logs since. Selections made by `select_where` see it only after their own
        refresh.

        Damage is reported once, when a run is opened.
        """
        self._index.refresh()
        self._found = None

    @property
    def damage_reports(self) -> list[str]:
        """The unreadable parts of the logs: file, offset and what was lost."""
        return self._index.damage_reports

    @property
    def superseded_count(self) -> int:
        """The number of records left out because a later attempt at the same episode replaced them."""
        return self._index.superseded_count

    @overload
    def __getitem__(self, i: int) -> Trajectory: ...
    @overload
    def __getitem__(self, i: slice) -> list[Trajectory]: ...
    def __getitem__(self, i: int | slice) -> Trajectory | list[Trajectory]:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        if not isinstance(i, SupportsIndex):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid("run: index", i, "a number or a slice; `select_where` finds episodes by their columns")
        return Trajectory.from_json(load_json(self.record_line(i)))

    def record_line(self, i: int) -> bytes:
        """The raw log line of a trajectory, for fast text search over many of them."""
        at = 4 * range(len(self))[i]
        log, start, length, line = self._record_places[at : at + 4]
        return self._lines(log, start, length)[line]

    def __iter__(self) -> Iterator[Trajectory]:
        """Iterate over all trajectories; damaged ones are skipped with a warning."""
        for i in range(len(self)):
            try:
                found = self[i]
            except StoreError as e:
                warn_damage([f"{e}; 1 record is left out"])
            else:
                yield found

    def index_entries(self) -> Iterator[Entry]:
        """The index entry of every trajectory, in order, without reading the trajectories."""
        for row in self._index.select_columns(", ".join(Entry._fields), *self._query):
            found = Entry(*row)
            yield found._replace(seed=int(found.seed), success=None if found.success is None else bool(found.success))

    def select_columns(
        self, what: str, *, group: str = "", order: str = "", limit: int = -1, offset: int = 0
    ) -> list[tuple[Any, ...]]:
        """SQL columns or aggregates over these episodes, without reading the trajectories:

        `run.trajectories.select_columns("kind, count(*)", group="kind")`
        """
        condition, values, own = self._query
        grouped = f"({condition})" + (f" GROUP BY {group}" if group else "")
        asked = order or (group or own)
        try:
            return list(self._index.select_columns(what, grouped, values, f"{asked} LIMIT {limit:d} OFFSET {offset:d}"))
        except sqlite3.Error as e:
            raise UserError(f"select: {e}; columns: {', '.join(Entry._fields)}") from e

    def _read_frame(self, log: int, start: int, length: int) -> Sequence[bytes]:
        try:
            return read_lines(log_path(self.folder, log), start, start + length)
        except StoreError:
            delete_index(self.folder)  # the next reader or writer rebuilds it from the logs
            raise

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen_dataset, (self.folder, *self._query)


def _reopen_dataset(folder: Path, condition: str, values: Sequence[Any], order: str) -> TrajectoryDataset:
    return TrajectoryDataset(folder).select_where(condition, *values, order=order)
