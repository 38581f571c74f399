"""The append side of a file of frames: buffered, and consistent after any failure.

Added lines wait in memory until they reach 64 KB, `flush` is called, or, inside a running event loop, the loop next
gets its turn: a burst of records costs one write, and records never wait while the program is idle.
"""

from __future__ import annotations

import asyncio
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from sonde._util.folders import sync_folder
from sonde.core import UserError

from .frames import make_frame, read_frames

FLUSH_BYTES = 64 * 1024


class StoreWarning(UserWarning):
    """Part of a file in a run folder was cut off, or could not be read or written."""


class Closing(ABC):
    """Base class of context managers that close themselves on exit."""

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Log:
    """A file of frames, open for appending; the caller ensures that nobody else appends.

    Opening cuts off a torn end, with a warning; `end` is where the last whole frame ends, if known. With `fsync` every
    flush survives a power loss; without it, flushes survive the end of the process, however it ends, and `close` makes
    them durable.
    """

    def __init__(self, path: Path, *, fsync: bool = False, end: int | None = None) -> None:
        self.path, self._fsync = path, fsync
        self._lines: list[bytes] = []
        self._waiting = 0
        self._failure: OSError | None = None
        self._file = path.open("ab", buffering=0)
        try:
            sync_folder(path.parent)
            self.size = max((f.end for f in read_frames(path)), default=0) if end is None else end
            torn = self._trim_torn_end()
        except BaseException:
            self._file.close()
            raise
        if torn:
            cut = f"{path}: cut {torn} bytes at byte {self.size}"
            warnings.warn(f"{cut}; the last flush was incomplete, and its records are lost", StoreWarning, 4)

    def add_line(self, line: bytes) -> None:
        """Buffer one line."""
        if self._file.closed:
            raise UserError(f"{self.path}: closed for writing")
        if self._failure is not None:
            raise self._failure
        self._lines.append(line)
        self._waiting += len(line)
        if self._waiting >= FLUSH_BYTES:
            self.flush()
        elif len(self._lines) == 1:
            self._flush_soon()

    def _flush_soon(self) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        loop.call_soon(self._flush_later)

    def _flush_later(self) -> None:
        """A background flush: its failure is raised by the next `add_line`, and by `close` if it persists."""
        try:
            self.flush()
        except OSError as e:
            self._failure = e

    def flush(self) -> None:
        """Write the buffered lines as one frame. After an error (a full disk, an interrupt) they stay buffered, and
        nothing is half written."""
        if not self._lines:
            return
        try:
            self._trim_torn_end()
            rest = memoryview(make_frame(self._lines))
            size = self.size + len(rest)
            while rest:
                rest = rest[self._file.write(rest) :]
            if self._fsync:
                os.fsync(self._file.fileno())
        except OSError as e:
            raise OSError(e.errno, e.strerror, str(self.path)) from e  # the system does not name the file
        # A single statement, so an interrupt finds the records either waiting or written.
        self.size, self._lines, self._waiting, self._failure = size, [], 0, None

    def _trim_torn_end(self) -> int:
        """Remove the remains of an incomplete flush; returns the number of bytes."""
        torn = os.fstat(self._file.fileno()).st_size - self.size
        if torn:
            self._file.truncate(self.size)
        return torn

    def close(self) -> None:
        """Write what is buffered and make the file durable. Idempotent."""
        if self._file.closed:
            return
        try:
            self.flush()
            os.fsync(self._file.fileno())
        finally:
            self._file.close()


def warn_damage(damage: Iterable[str]) -> None:
    """Warn about unreadable data."""
    for what in damage:
        warnings.warn(what, StoreWarning, 2)
