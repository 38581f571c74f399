"""Numbers in digits and words, as players write them: the one reader of amounts for every environment."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

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
    """The number that all of these words come to, or None.

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
