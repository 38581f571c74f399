"""The objects of a host that others wrote: where each of them is, and its own streams of the global generators.

Hosts that draw from the global generators of Python and numpy do so in a stream of each object's own: around every call
(`Live.alone`) the generators are exchanged and put back, so that episodes do not disturb each other, nor anything else
here.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock
from typing import Any

import numpy as np

from sonde.core import AGENT

KEPT = 1024
"""Objects of hosts that wait in the middle of an episode, at most."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an object of the host is: its seed, and all that was said since by whoever it was.

    >>> Place(seed=7, opening=(("agent", "Guess a number."),)).said
    ()
    """

    seed: int
    opening: tuple[tuple[str, str], ...]
    said: tuple[str, ...] = ()
    to_act: str | None = AGENT
    turns: int = 0


class Live:
    """An object of the host, with its own streams of the global generators."""

    def __init__(self) -> None:
        self.host: Any = None
        self.seed(0)

    def seed(self, seed: int) -> None:
        drawn = np.random.RandomState(seed % 2**32)
        self._generators = (random.Random(seed).getstate(), drawn._bit_generator)

    @contextmanager
    def alone(self) -> Iterator[None]:
        before = _exchanged(self._generators)
        try:
            yield
        finally:
            self._generators = _exchanged(before)


class Pool:
    """The objects of a host: those in the middle of an episode by their place, and those that are free."""

    def __init__(self, end: Callable[[Any], None]) -> None:
        self.lock = RLock()
        self.free: list[Live] = []
        self._end = end
        self._at: OrderedDict[tuple[int, tuple[str, ...]], list[Live]] = OrderedDict()

    def take(self, place: Place) -> Live | None:
        """One of those that are there, which is there no longer."""
        key = (place.seed, place.said)
        found = self._at.get(key)
        if found is None:
            return None
        if len(found) == 1:
            del self._at[key]
        return found.pop()

    def put(self, place: Place, live: Live) -> None:
        self._at.setdefault((place.seed, place.said), []).append(live)
        if len(self._at) > KEPT:
            self.free += self._at.popitem(last=False)[1]

    def drop(self, live: Live) -> None:
        """Forget an object that has failed."""
        self._end(live.host)


def _exchanged(states: tuple[Any, Any]) -> tuple[Any, Any]:
    """Give the global generators this state (Python) and this source (numpy); those that they had."""
    before = random.getstate(), np.random.get_bit_generator()  # pyright: ignore[reportAttributeAccessIssue]
    random.setstate(states[0])
    np.random.set_bit_generator(states[1])  # pyright: ignore[reportAttributeAccessIssue]
    return before
