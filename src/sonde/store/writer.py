"""Writing a run: one process appends finished episodes, and later one continues where it stopped."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sonde.core import Trajectory, UserError, invalid
from sonde.core.checked import checked

from .codec import encode
from .folder import claim, read_config
from .frames import Entry, Key
from .log import Log
from .parts import covered, open_parts, shard_path, shards

SHARD_BYTES = 64 * 1024 * 1024


class RunWriter:
    """The only writer of a run folder. A context manager; not for use from several threads at once."""

    def __init__(self, folder: Path, held: int, fsync: bool) -> None:
        self.folder, self._held, self._fsync = folder, held, fsync
        self.config: dict[str, Any] = read_config(folder)["config"]
        first = covered(folder)
        last = max([first, *shards(folder)])
        self._finished = {e.key for part in open_parts(folder) for e in part.entries() if not e.failed}
        self._log = Log(shard_path(folder, last), fsync=fsync)
        self._shard = last

    @classmethod
    @checked
    def open(cls, folder: Path | str, config: Mapping[str, Any], *, fsync: bool = False) -> Self:
        """Begin a run, or continue it if the folder holds one with this very configuration.

        `config` is the resolved configuration, JSON without secrets. With `fsync` every flush also survives a loss of
        power. Raises `UserError` naming the first field that differs from the folder's configuration, `StoreError` if
        another process writes to it; warns if the end of the last flush was lost.
        """
        folder = Path(folder)
        held = claim(folder, config)
        try:
            return cls(folder, held, fsync)
        except BaseException:
            os.close(held)
            raise

    @property
    def finished(self) -> frozenset[Key]:
        """The keys `(task.id, seed, sample)` of all episodes stored without error."""
        return frozenset(self._finished)

    def append(self, trajectory: Trajectory) -> None:
        """Store a finished episode. It is on disk after the next flush; see `sonde.store.log` for when that is.

        One whose key is stored with an error is superseded; one whose key is finished is refused.
        """
        t = trajectory
        entry = Entry(t.id, t.task.id, t.seed, t.sample, bool(t.error))
        if entry.key in self._finished:
            raise UserError(f"append: the run already holds task {entry.task}, seed {t.seed}, sample {t.sample}")
        if not 0 <= t.seed < 2**64:
            raise invalid("trajectory.seed", t.seed, "0 to 2**64 - 1")
        if not 0 <= t.sample < 2**63:
            raise invalid("trajectory.sample", t.sample, "0 to 2**63 - 1")
        if self._log.size >= SHARD_BYTES:
            self._roll()
        self._log.add(encode(t), entry)
        if not entry.failed:
            self._finished.add(entry.key)

    def flush(self) -> None:
        """Write everything appended so far to the file."""
        self._log.flush()

    def _roll(self) -> None:
        self._log.close()
        self._shard += 1
        self._log = Log(shard_path(self.folder, self._shard), fsync=self._fsync)

    def close(self) -> None:
        """Flush, make everything durable and let another writer in. Idempotent."""
        if self._held >= 0:
            try:
                self._log.close()
            finally:
                os.close(self._held)
                self._held = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
