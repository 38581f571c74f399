"""Numbers in words, as players write them."""

from __future__ import annotations

from collections.abc import Mapping

_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip

UNITS: Mapping[str, int] = {word: n for n, word in enumerate(_UNITS)}
"""From zero to twenty."""
TENS: Mapping[str, int] = {
    word: 10 * n for n, word in enumerate(("thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"), 3)
}
