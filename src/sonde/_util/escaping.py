"""Make untrusted text safe to display: every invisible character is shown by its code.

Handles what HTML escaping leaves alone: characters that drive a terminal, reverse the reading direction, are invisible,
or cannot be written to a file. Reports and terminals show the same text.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


class Piece(NamedTuple):
    """A stretch of text; `code` names the character if it cannot be shown directly."""

    text: str
    code: str = ""


def split_invisible(text: str) -> list[Piece]:
    """Split off the invisible characters of `text` as separate pieces. Line breaks and tabs count as visible.

    >>> split_invisible("a\\u202eb")
    [Piece(text='a', code=''), Piece(text='U+202E', code='RIGHT-TO-LEFT OVERRIDE'), Piece(text='b', code='')]
    """
    if text.isprintable():
        return [Piece(text)] if text else []
    found: list[Piece] = []
    start = 0
    for i, char in enumerate(text):
        if char in "\n\t" or char.isprintable() or unicodedata.category(char) not in _HIDDEN:
            continue
        if start < i:
            found.append(Piece(text[start:i]))
        found.append(Piece(f"U+{ord(char):04X}", unicodedata.name(char, "a character without a name")))
        start = i + 1
    if start < len(text):
        found.append(Piece(text[start:]))
    return found


def make_visible(text: str) -> str:
    """`text` with visible codes, in one string, for terminals, labels and tool tips.

    >>> make_visible("a\\x00b")
    'a<U+0000>b'
    """
    return text if text.isprintable() else "".join(f"<{p.text}>" if p.code else p.text for p in split_invisible(text))
