"""Rarer garbage collection while thousands of episodes are played.

Python looks for cycles whenever 700 more objects were made than freed, and walks all objects when enough of them have
grown old. Episodes in flight are many objects and no cycles, so that most of these walks find nothing: a third of the
CPU time of a run with 1,500 episodes at once.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Final

RARELY: Final = 10_000
"""The number of new objects that starts a collection, instead of Python's 700."""


@dataclass
class _Users:
    """How many are inside, and the thresholds that the first of them found."""

    count: int = 0
    before: tuple[int, int, int] = (0, 0, 0)


_USERS, _LOCK = _Users(), Lock()


@contextmanager
def collect_garbage_rarely() -> Iterator[None]:
    """Collect garbage more rarely inside, in the whole process; the last one out restores the thresholds. Those that
    are higher already, or switched off, stay."""
    with _LOCK:
        if not _USERS.count:
            _USERS.before = gc.get_threshold()
            if 0 < _USERS.before[0] < RARELY:
                gc.set_threshold(RARELY, *_USERS.before[1:])
        _USERS.count += 1
    try:
        yield
    finally:
        with _LOCK:
            _USERS.count -= 1
            if not _USERS.count and gc.get_threshold()[0] == RARELY:  # nobody else has changed it
                gc.set_threshold(*_USERS.before)
