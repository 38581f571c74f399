"""Text that others wrote, made safe to look at: cut to a length, every invisible character shown by its code.

Escaping is the template's work; `core.plain` does what escaping leaves alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sonde._util.escaping import Piece, plain, shown

LIMIT = 2000
"""Characters of one message that are shown; of a longer one the beginning and the end."""
_TAIL = 500


def pieces(text: str, limit: int = LIMIT) -> list[Piece]:
    """`text` for the template, with invisible characters as pieces of their own.

    >>> pieces("a\\u202eb")
    [Piece(text='a', code=''), Piece(text='U+202E', code='RIGHT-TO-LEFT OVERRIDE'), Piece(text='b', code='')]
    """
    if len(text) <= limit:
        return shown(text)
    head, tail = text[: limit - _TAIL], text[-_TAIL:]
    left_out = Piece(f" … {len(text) - limit:,} more characters … ", "left out of this page; the run folder has them")
    return [*shown(head), left_out, *shown(tail)]


def compact(value: Any, limit: int = 240) -> str:
    """A JSON value in one short line."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return plain(text if len(text) <= limit else text[:limit] + "…")


def indented(value: Mapping[str, Any]) -> str:
    """A JSON value over several lines."""
    return plain(json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True, default=str))
