"""Columns of knowledge about the things that may be hidden: numbers and lists of values, and claims about them.

Ours. A column has a value for some things; `among` are those for which its absence means that a claim is false ("a
river has no date of birth": false that it was born before 1900), of all others it is not known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from .claims import Claim
from .numbers import Interval

Range = tuple[float, float]


class Numbers:
    """A number, or a range where it is known roughly, of each thing that has one."""

    def __init__(self, rows: Mapping[int, Range], doubt: float = 1.0) -> None:
        """`doubt` is the factor by which a value may be off where it is compared."""
        self.rows, self._doubt = rows, doubt
        self._by_value: dict[Range, int] = {}
        for i, (low, high) in rows.items():
            self._by_value[low, high] = self._by_value.get((low, high), 0) | 1 << i

    @property
    def known(self) -> int:
        return union(self._by_value.values())

    def within(self, asked: Interval, text: str) -> Claim:
        """Of which things the number is in an interval.

        >>> Numbers({0: (5, 5), 1: (7, 9), 2: (1, 2)}).within(Interval(6, 10), "size")[:3]
        ('size 6..10', 2, 5)
        """
        yes = no = 0
        for (low, high), things in self._by_value.items():
            inside = asked.holds(*_widened(low, high, self._doubt))
            if inside is not None:
                yes, no = (yes | things, no) if inside else (yes, no | things)
        return Claim(f"{text} {asked.low:g}..{asked.high:g}", yes, no)

    def of(self, things: int) -> Range | None:
        """The number that all of these things have, if it is the same."""
        held = {value for value, mask in self._by_value.items() if mask & things}
        return held.pop() if len(held) == 1 else None


def _widened(low: float, high: float, doubt: float) -> Range:
    """A range as wide as the doubt about it."""
    return (low / doubt if low > 0 else low * doubt), (high * doubt if high > 0 else high / doubt)


class Lists:
    """Values of each thing that has a list of them: its countries, its occupations."""

    def __init__(self, rows: Mapping[int, Iterable[str]]) -> None:
        self._masks: dict[str, int] = {}
        self.known = self.several = 0
        for i, values in rows.items():
            held = tuple(values)
            self.known |= 1 << i
            self.several |= (len(held) > 1) << i
            for value in held:
                self._masks[value] = self._masks.get(value, 0) | 1 << i

    @property
    def values(self) -> Collection[str]:
        return self._masks.keys()

    def having(self, value: str) -> int:
        return self._masks.get(value, 0)


def union(masks: Iterable[int]) -> int:
    """All things of several masks."""
    found = 0
    for mask in masks:
        found |= mask
    return found
