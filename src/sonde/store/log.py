"""The writing end of a file of frames: buffered, locked, and as it was after any failure.

What is added waits in memory until 64 KB are together, `flush` is called, or, inside a running event loop, the loop
next gets its turn: a burst of records costs one write, and none waits while the program waits.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sonde.core import StoreError, UserError

from .frames import contents, make_frame

FLUSH_BYTES = 64 * 1024


class StoreWarning(UserWarning):
    """Something was cut off a file of a run folder, or could not be read, and what."""


class Log:
    """A file of frames, open for appending by this process alone.

    Opening cuts a torn end, with a warning. `fsync` makes every flush durable against a loss
    of power; without it flushes survive the end of the process, however it ends, and `close` makes them durable.
    """

    def __init__(self, path: Path, *, fsync: bool = False) -> None:
        self.path, self._fsync = path, fsync
        self._lines: list[bytes] = []
        self._index: list[Any] = []
        self._waiting = 0
        self._failure: OSError | None = None
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            lock(self._fd, path)
            sync_folder(path.parent)
            data = path.read_bytes()
            found = contents(data, path)
        except BaseException:
            os.close(self._fd)
            raise
        self.size = found.end
        if len(data) > self.size:
            self._trim()
            cut = f"{path}: cut {len(data) - self.size} bytes at byte {self.size}"
            warnings.warn(f"{cut}; the last flush had not been finished, its records are lost", StoreWarning, 4)

    def add(self, line: bytes, entry: Any) -> None:
        """Take in one line and its entry for the index."""
        if self._fd < 0:
            raise UserError(f"{self.path}: closed for writing")
        if self._failure is not None:
            raise self._failure
        self._lines.append(line)
        self._index.append(entry)
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
        """A flush without a caller: its failure is raised by the next `add`, and by `close` if it persists."""
        try:
            self.flush()
        except OSError as e:
            self._failure = e

    def flush(self) -> None:
        """Write what waits as one frame. After an error (a full disk, an interrupt) it still waits; nothing is half."""
        if not self._lines:
            return
        self._trim()
        rest = memoryview(make_frame(self._lines, self._index))
        size = self.size + len(rest)
        while rest:
            rest = rest[os.write(self._fd, rest) :]
        if self._fsync:
            os.fsync(self._fd)
        # One statement: an interrupt finds the records either waiting or written.
        self.size, self._lines, self._index, self._waiting, self._failure = size, [], [], 0, None

    def _trim(self) -> None:
        """Drop what a flush that did not come to its end has left."""
        if os.fstat(self._fd).st_size != self.size:
            os.ftruncate(self._fd, self.size)

    def close(self) -> None:
        """Write what waits and make the file durable. Idempotent."""
        if self._fd < 0:
            return
        try:
            self.flush()
            os.fsync(self._fd)
        finally:
            os.close(self._fd)
            self._fd = -1


def tell(damage: Iterable[str]) -> None:
    """Warn of what could not be read."""
    for what in damage:
        warnings.warn(what, StoreWarning, 2)


def lock(fd: int, path: Path) -> None:
    """Hold `path` for this process until the descriptor closes or the process ends, however it ends."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as e:
        raise StoreError(f"{path.parent}: another writer is open on this run (it holds {path.name})") from e


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
