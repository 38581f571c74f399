"""Names of cities with one slip of the pen in guess_my_city: "Vilnus".

Ours. A letter put for another is not read as a slip: that is how names of different places differ (Palma, Parma).
"""

from __future__ import annotations

from .atlas import atlas
from .words import place

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def slip(word: str) -> str | None:
    """The one name of a city that a word becomes with one letter more, one less, or two of them changed over.

    >>> slip("vilnus"), slip("budpaest"), slip("paris"), slip("mountain")
    ('vilnius', 'budapest', None, None)
    """
    names = atlas().by_name
    if len(word) < 6 or not word.isalpha() or word in names or word.endswith("town") or place(word, True) is not None:
        return None
    cuts = [(word[:i], word[i:]) for i in range(1, len(word) + 1)]
    found = {a + b[1:] for a, b in cuts if b} | {a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1}
    found |= {a + x + b for a, b in cuts for x in _LETTERS}
    near = {name for name in found if name in names}
    return near.pop() if len(near) == 1 else None
