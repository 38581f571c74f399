"""Parse amounts and intervals: digits, number words, "more than", "between"."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .lists import word_list

_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip

UNITS: Mapping[str, int] = {word: n for n, word in enumerate(_UNITS)}
"""From zero to twenty."""
TENS: Mapping[str, int] = {
    word: 10 * n for n, word in enumerate(("thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"), 3)
}

SCALES: Mapping[str, int] = {
    "hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9,
    "k": 10**3, "millions": 10**6, "mio": 10**6, "mil": 10**6, "m": 10**6, "bn": 10**9,
}  # fmt: skip
DIGITS = r"(?:\d+(?:\.\d+)?|\.\d+)"
"""A number in digits, its thousands not set apart."""

_WORDS: Mapping[str, float] = {**UNITS, **TENS, "half": 0.5}
_DIGITS = re.compile(DIGITS)
_GROUPED = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_LONGEST = 15
"""Digits of a number that are read: with more it is no amount of anything."""


def ungrouped(text: str) -> str:
    """A text without the commas between thousands.

    >>> ungrouped("1,500,000 of 12, 13")
    '1500000 of 12, 13'
    """
    return _GROUPED.sub("", text)


def amount(words: Sequence[str]) -> float | None:
    """Return the number that all of these words make, or None.

    >>> amount(["1.5", "million"]), amount(["two", "hundred", "and", "five"]), amount(["half", "a", "million"])
    (1500000.0, 205.0, 500000.0)
    >>> amount(["a", "million"]), amount(["2.5", "k"]), amount(["a"]), amount(["blue"])
    (1000000.0, 2500.0, None, None)
    """
    total, part = 0.0, None
    read = False
    for word in words:
        if word in ("a", "an", "of") or (word == "and" and read):
            continue
        read = True
        if word in SCALES:
            part = (1.0 if part is None else part) * SCALES[word]
            if SCALES[word] >= 1000:
                total, part = total + part, None
            continue
        value = float(word) if len(word) <= _LONGEST and _DIGITS.fullmatch(word) else _WORDS.get(word)
        if value is None:
            return None
        part = (part or 0.0) + value
    return total + (part or 0.0) if read else None


class Interval(NamedTuple):
    """Numbers from `low` to `high`, both included."""

    low: float
    high: float

    def holds(self, low: float, high: float) -> bool | None:
        """Whether a value known to lie between two limits is inside; None where that is not decided.

        >>> [Interval(5, 9).holds(*v) for v in ((6, 7), (1, 2), (4, 6))]
        [True, False, None]
        """
        if self.low <= low and high <= self.high:
            return True
        return False if high < self.low or low > self.high else None

    def scaled(self, factor: float) -> Interval:
        return Interval(self.low * factor, self.high * factor)


_COMPARERS: Sequence[tuple[tuple[str, ...], str]] = tuple(
    (tuple(form.split()), sense)
    for sense, forms in (row.split(" ", 1) for row in word_list("comparers"))
    for form in forms.split("|")
)


def interval(words: Sequence[str]) -> Interval | None:
    """The numbers that words such as "more than five million" allow; None where they are no amount.

    >>> interval("at least 3".split()), interval("between 5 and 10".split()), interval("20 or more".split())
    (Interval(low=3.0, high=inf), Interval(low=5.0, high=10.0), Interval(low=20.0, high=inf))
    >>> interval(["12"]), interval("less than blue".split())
    (Interval(low=12.0, high=12.0), None)
    """
    words = (
        [w for w in words if w not in ("around", "about", "roughly", "approximately", "least")]
        if words[:1] != ["at"]
        else list(words)
    )
    if words[:1] == ["between"] and "and" in words:
        return _between(words[1:], "and")
    if words[-2:-1] == ["or"] and words[-1] in ("more", "less", "fewer", "older", "younger"):
        n = amount(words[:-2])
        more = words[-1] in ("more", "older")
        return None if n is None else Interval(n, math.inf) if more else Interval(-math.inf, n)
    for form, sense in _COMPARERS:
        if tuple(words[: len(form)]) == form:
            n = amount(words[len(form) :])
            return None if n is None else _side(sense, n)
    n = amount(words)
    return Interval(n, n) if n is not None else _between(words, "to")


def _between(words: Sequence[str], joint: str) -> Interval | None:
    at = next((i for i, w in enumerate(words) if w == joint), 0)
    low, high = (amount(words[:at]), amount(words[at + 1 :])) if at else (None, None)
    return None if low is None or high is None else Interval(low, high)


def _side(sense: str, n: float) -> Interval:
    if sense[0] == ">":
        return Interval(n if sense == ">=" else math.nextafter(n, math.inf), math.inf)
    if sense[0] == "<":
        return Interval(-math.inf, n if sense == "<=" else math.nextafter(n, -math.inf))
    return Interval(n, n)


def measure(words: Sequence[str], units: Mapping[str, float]) -> Interval | None:
    """An amount with one of the units behind it, in the unit that counts 1.

    >>> measure("at least 2 km".split(), {"m": 1, "km": 1000})
    Interval(low=2000.0, high=inf)
    """
    unit = units.get(words[-1]) if len(words) > 1 else None
    found = interval(words[:-1]) if unit is not None else None
    return None if found is None or unit is None else found.scaled(unit)
