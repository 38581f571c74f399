"""Read hand-written text files so that equal texts read as equal, whichever editor saved them."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, composed (Unicode form NFC), without a byte order mark and with `\n` line ends. Raises
    `OSError`, or `UnicodeDecodeError` if the file is not UTF-8."""
    return unicodedata.normalize("NFC", path.read_text("utf-8-sig"))


def compose_text(value: Any) -> Any:
    """A JSON value with all its texts in form NFC; escapes in JSON are visible only after parsing.

    >>> compose_text({"city": "Malmo\\u0308"}) == {"city": "Malm\\u00f6"}
    True
    """
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if isinstance(value, Mapping):
        return {compose_text(k): compose_text(v) for k, v in cast("Mapping[str, Any]", value).items()}
    return [compose_text(v) for v in cast("list[Any]", value)] if isinstance(value, list) else value
