"""Posteriors that are uniform over numbered hypotheses, as arrays of the numbers that are still possible.

Rules that give each hypothesis one reply leave a uniform posterior: over the hypotheses that would have given every
reply seen. `UniformFilter` has what follows from their number alone; `RecentValues` keeps such arrays, which episodes
with the same history share.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from sonde.core import Belief, Filter

Rows = npt.NDArray[Any]
T = TypeVar("T")


class LazyNames(Sequence[Any]):
    """The hypotheses at some rows (ascending numbers), named on demand: `name(row)` is a hypothesis, `find_row` its
    row, -1 if it has none."""

    def __init__(self, rows: Rows, name: Callable[[int], Any], find_row: Callable[[Any], int]) -> None:
        self._rows, self._name, self._find_row = rows, name, find_row

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Any]:
        return map(self._name, self._rows.tolist())

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return list(map(self._name, self._rows[i].tolist()))
        return self._name(int(self._rows[i]))

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:6]))
        return f"({shown}, ... {len(self)} in all)" if len(self) > 6 else f"({shown})"

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        at = find_position(self._rows, self._find_row(value))
        if not start <= at < (len(self) if stop is None else stop):
            raise ValueError(f"{value!r} is not in the support")
        return at


def find_position(rows: Rows, row: int) -> int:
    """The position of a number in an ascending array; -1 if it is not in it.

    >>> find_position(np.array([2, 5, 7]), 5), find_position(np.array([2, 5, 7]), 6)
    (1, -1)
    """
    if row < 0:
        return -1
    at = int(np.searchsorted(rows, np.asarray(row, rows.dtype)))
    return at if at < len(rows) and rows[at] == row else -1


class UniformFilter(Filter):
    """Base class: every hypothesis whose number is in `alive`, an ascending array, is equally likely."""

    alive: Rows

    @abstractmethod
    def name_row(self, row: int) -> Any:
        """The hypothesis with this number."""

    @abstractmethod
    def find_row(self, hypothesis: Any) -> int:
        """The number of a hypothesis; -1 if it has none."""

    def belief(self) -> Belief:
        n = len(self.alive)
        return Belief(LazyNames(self.alive, self.name_row, self.find_row), np.full(n, 1.0 / n), self.entropy)  # type: ignore[arg-type]

    @property
    def entropy(self) -> float:
        return math.log2(len(self.alive))

    def prob(self, hypothesis: Any) -> float:
        return 1.0 / len(self.alive) if find_position(self.alive, self.find_row(hypothesis)) >= 0 else 0.0


class RecentValues(Generic[T]):
    """The values of recently used keys. The least recently used are evicted while the sizes of all add up to more than
    `limit`."""

    def __init__(self, limit: int, size: Callable[[T], int] = lambda value: 1) -> None:
        self._limit, self._size = limit, size
        self._values: OrderedDict[Hashable, T] = OrderedDict()
        self._total = 0

    def find(self, key: Hashable, build: Callable[[], T]) -> T:
        """The value of a key, built when it is not held."""
        if key in self._values:
            value = self._values.pop(key)
        else:
            value = build()
            self._total += self._size(value)
        self._values[key] = value
        while self._total > self._limit and len(self._values) > 1:
            self._total -= self._size(self._values.popitem(last=False)[1])
        return value
