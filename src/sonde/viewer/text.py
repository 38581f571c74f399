"""Text that others wrote, made safe to look at: cut to a length, every invisible character shown by its code.

Escaping is the template's work. This module is about what escaping leaves alone: characters that reverse the reading
direction, hide, or cannot be written to a file at all.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from typing import Any, NamedTuple

LIMIT = 2000
"""Characters of one message that are shown; of a longer one the beginning and the end."""
_TAIL = 500
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


class Piece(NamedTuple):
    """A stretch of text; `code` names what it stands for where the character itself is not shown."""

    text: str
    code: str = ""


def pieces(text: str, limit: int = LIMIT) -> list[Piece]:
    """`text` for the template, with invisible characters as pieces of their own.

    >>> pieces("a\\u202eb")
    [Piece(text='a', code=''), Piece(text='U+202E', code='RIGHT-TO-LEFT OVERRIDE'), Piece(text='b', code='')]
    """
    if len(text) <= limit:
        return _shown(text)
    head, tail = text[: limit - _TAIL], text[-_TAIL:]
    left_out = Piece(f" … {len(text) - limit:,} more characters … ", "left out of this page; the run folder has them")
    return [*_shown(head), left_out, *_shown(tail)]


def _shown(text: str) -> list[Piece]:
    found: list[Piece] = []
    start = 0
    for i, char in enumerate(text):
        if char in "\n\t" or unicodedata.category(char) not in _HIDDEN:
            continue
        if start < i:
            found.append(Piece(text[start:i]))
        found.append(Piece(f"U+{ord(char):04X}", unicodedata.name(char, "a character without a name")))
        start = i + 1
    if start < len(text):
        found.append(Piece(text[start:]))
    return found


def plain(text: str) -> str:
    """`text` in one piece, for labels and tool tips.

    >>> plain("a\\x00b")
    'a<U+0000>b'
    """
    return "".join(f"<{p.text}>" if p.code else p.text for p in _shown(text))


def compact(value: Any, limit: int = 240) -> str:
    """A JSON value in one short line."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return plain(text if len(text) <= limit else text[:limit] + "…")


def indented(value: Mapping[str, Any]) -> str:
    """A JSON value over several lines."""
    return plain(json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True, default=str))
