"""Write a run: a process appends finished episodes, and a later one resumes where it stopped.

Several processes may write to one run at once, on one machine or on several that share the folder. Each has its own
number and logs, so they need no coordination; a second process with the same number is refused.
"""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any, Self

from filelock import FileLock

from sonde._util.argument_checks import check_call
from sonde.core import StoreError, Trajectory, UserError, invalid

from .codec import encode_trajectory
from .finished import FinishedKeys
from .folder import claim_writer, read_config, save_planned
from .index import WRITERS, Index, Key, log_path
from .log import Closing, Log, StoreWarning, warn_damage

LOG_BYTES = 64 * 1024 * 1024


class RunWriter(Closing):
    """One writer of a run folder. A context manager; not for use from several threads at once."""

    def __init__(self, folder: Path, held: FileLock, writer: int, fsync: bool) -> None:
        self.folder, self._held, self._fsync = folder, held, fsync
        self.config: dict[str, Any] = read_config(folder)["config"]
        self._index = Index(folder)
        warn_damage(self._index.damage_reports)
        self._finished = FinishedKeys(self._index)
        self._log = self._open_log(self._index.newest_log(writer))

    @classmethod
    @check_call
    def open(cls, folder: Path | str, config: Mapping[str, Any], *, writer: int = 0, fsync: bool = False) -> Self:
        """Start a run, or resume it if the folder holds one with this exact configuration.

        `config` is the resolved configuration, JSON without secrets. With `fsync` every flush also survives a power
        loss. `writer` distinguishes concurrent writers. Raises `UserError` naming the first field that differs from the
        folder's configuration, `StoreError` if another process is this writer or the folder is not writable; warns if
        the last flush was incomplete.
        """
        if not 0 <= writer < WRITERS:
            raise invalid("writer", writer, f"0 to {WRITERS - 1}")
        folder = Path(folder)
        held = claim_writer(folder, config, writer)
        try:
            return cls(folder, held, writer, fsync)
        except BaseException:
            held.release()
            raise

    @property
    def finished_keys(self) -> Set[Key]:
        """The keys `(task.id, seed, sample)` of all episodes stored without error, always current."""
        return self._finished

    def plan_episodes(self, n: int) -> None:
        """Note how many episodes the run will have, so that a reader knows when it is complete."""
        save_planned(self.folder, n)

    def append_trajectory(self, trajectory: Trajectory) -> None:
        """Store a finished episode. It is on disk after the next flush; `sonde.runs.store.log` says when that happens.

        A record with the same key and an error is superseded; appending a finished key again is refused.
        """
        if not isinstance(trajectory, Trajectory):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid("append", trajectory, "a Trajectory, such as the result of Episode.to_trajectory()")
        t, key = trajectory, Key(trajectory.task.id, trajectory.seed, trajectory.sample)
        if key in self._finished:
            raise UserError(f"append: the run already holds task {key.task}, seed {t.seed}, sample {t.sample}")
        if not 0 <= t.seed < 2**64:
            raise invalid("trajectory.seed", t.seed, "0 to 2**64 - 1")
        if not 0 <= t.sample < 2**63:
            raise invalid("trajectory.sample", t.sample, "0 to 2**63 - 1")
        if self._log.size >= LOG_BYTES:
            self._log.close()
            self._log = self._open_log(self._number + 1)
        if self._log.size >= self._due:
            self._save_index()
            self._due = self._log.size + self._index.save_slack
        self._log.add_line(encode_trajectory(t))
        if not t.error:
            self._finished.add_key(key)

    def flush(self) -> None:
        """Write all appended episodes to the log."""
        self._log.flush()

    def _open_log(self, number: int) -> Log:
        log = Log(log_path(self.folder, number), fsync=self._fsync, end=self._index.state(number).end or None)
        self._number, self._due = number, log.size + self._index.save_slack
        return log

    def _save_index(self) -> None:
        """Save the index; a failure loses nothing, so it does not stop the run."""
        try:
            self._index.save_index()
        except (OSError, StoreError, sqlite3.Error) as e:
            said = getattr(e, "strerror", None) or e
            why = f"not written ({said}); nothing is lost, the next opening reads the logs instead"
            warnings.warn(f"{self._index.path}: {why}", StoreWarning, 2)
        self._finished.settle_index()

    def close(self) -> None:
        """Flush, make everything durable and let another process become this writer. Idempotent."""
        if self._held.is_locked:
            try:
                self._log.close()
                self._save_index()
            finally:
                self._held.release()
