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
"""A number in digits, without thousands separators."""

_WORDS: Mapping[str, float] = {**UNITS, **TENS, "half": 0.5}
_DIGITS = re.compile(DIGITS)
_GROUPED = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_LONGEST = 15
"""Maximum number of digits; longer numbers are not amounts."""


def drop_thousands_commas(text: str) -> str:
    """A text without the commas between thousands.

    >>> drop_thousands_commas("1,500,000 of 12, 13")
    '1500000 of 12, 13'
    """
    return _GROUPED.sub("", text)


def parse_amount(words: Sequence[str]) -> float | None:
    """The number that all of these words form, or None.

    >>> [parse_amount(words.split()) for words in ("1.5 million", "two hundred and five", "half a million")]
    [1500000.0, 205.0, 500000.0]
    >>> parse_amount(["a", "million"]), parse_amount(["2.5", "k"]), parse_amount(["a"]), parse_amount(["blue"])
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

    def contains_range(self, low: float, high: float) -> bool | None:
        """Whether a value known to lie between two limits is inside; None if undecided.

        >>> [Interval(5, 9).contains_range(*v) for v in ((6, 7), (1, 2), (4, 6))]
        [True, False, None]
        """
        if self.low <= low and high <= self.high:
            return True
        return False if high < self.low or low > self.high else None

    def scale_by(self, factor: float) -> Interval:
        return Interval(self.low * factor, self.high * factor)


_COMPARERS: Sequence[tuple[tuple[str, ...], str]] = tuple(
    (tuple(form.split()), sense)
    for sense, forms in (row.split(" ", 1) for row in word_list("comparers"))
    for form in forms.split("|")
)


def parse_interval(words: Sequence[str]) -> Interval | None:
    """The numbers that words such as "more than five million" allow; None if the words are not an amount.

    >>> parse_interval("at least 3".split()), parse_interval("between 5 and 10".split())
    (Interval(low=3.0, high=inf), Interval(low=5.0, high=10.0))
    >>> parse_interval("20 or more".split())
    Interval(low=20.0, high=inf)
    >>> parse_interval(["12"]), parse_interval("less than blue".split())
    (Interval(low=12.0, high=12.0), None)
    """
    words = (
        [w for w in words if w not in ("around", "about", "roughly", "approximately", "least")]
        if words[:1] != ["at"]
        else list(words)
    )
    if words[:1] == ["between"] and "and" in words:
        return _parse_between(words[1:], "and")
    if words[-2:-1] == ["or"] and words[-1] in ("more", "less", "fewer", "older", "younger"):
        n = parse_amount(words[:-2])
        more = words[-1] in ("more", "older")
        return None if n is None else Interval(n, math.inf) if more else Interval(-math.inf, n)
    for form, sense in _COMPARERS:
        if tuple(words[: len(form)]) == form:
            n = parse_amount(words[len(form) :])
            return None if n is None else _one_sided(sense, n)
    n = parse_amount(words)
    return Interval(n, n) if n is not None else _parse_between(words, "to")


def _parse_between(words: Sequence[str], joint: str) -> Interval | None:
    at = next((i for i, w in enumerate(words) if w == joint), 0)
    low, high = (parse_amount(words[:at]), parse_amount(words[at + 1 :])) if at else (None, None)
    return None if low is None or high is None else Interval(low, high)


def _one_sided(sense: str, n: float) -> Interval:
    if sense[0] == ">":
        return Interval(n if sense == ">=" else math.nextafter(n, math.inf), math.inf)
    if sense[0] == "<":
        return Interval(-math.inf, n if sense == "<=" else math.nextafter(n, -math.inf))
    return Interval(n, n)


def parse_measure(words: Sequence[str], units: Mapping[str, float]) -> Interval | None:
    """An amount followed by one of the units, converted to the unit with factor 1.

    >>> parse_measure("at least 2 km".split(), {"m": 1, "km": 1000})
    Interval(low=2000.0, high=inf)
    """
    unit = units.get(words[-1]) if len(words) > 1 else None
    found = parse_interval(words[:-1]) if unit is not None else None
    return None if found is None or unit is None else found.scale_by(unit)
