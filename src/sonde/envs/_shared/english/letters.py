"""Letters and contractions as people type them, brought into one form for every parser."""

from __future__ import annotations

import re
import unicodedata

_PLAIN = str.maketrans(
    {"ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d", "Đ": "D", "ß": "ss", "æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe",
     "ı": "i", "ð": "d", "þ": "th", "Þ": "Th", "’": "'", "‘": "'", "ʼ": "'", "´": "'", "`": "'"}
)  # fmt: skip
_NEGATIVE = re.compile(
    r"\b(is|are|was|were|do|does|did|has|have|had|ca|could|would|should|must|might|wo|need|ai)nt\b", re.IGNORECASE
)


def unaccented(text: str) -> str:
    """Without accents, and with one kind of apostrophe.

    >>> unaccented("Łódź’s Café")
    "Lodz's Cafe"
    """
    if text.isascii():
        return text.replace("`", "'")
    bare = unicodedata.normalize("NFKD", text.translate(_PLAIN))
    return "".join(c for c in bare if not unicodedata.combining(c))


def apostrophes(text: str) -> str:
    """With the apostrophes that are left out of negations.

    >>> apostrophes("Isnt it so? It cant be, we want a hint.")
    "Isn't it so? It can't be, we want a hint."
    """
    return _NEGATIVE.sub(r"\1n't", text)
