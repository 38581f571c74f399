"""Consoles that cannot show every character: what has no place in their encoding is shown as what looks most like it.

    PYTHONIOENCODING=ascii sonde eval ...        # 38~12 for 38±12, - for the lines of tables

One character stands for one, so that tables stay in line; what looks like nothing is a question mark.
"""

from __future__ import annotations

import codecs
import unicodedata
from typing import TextIO

_NAME = "sonde.look_alike"
_LOOK_ALIKES = {
    ord(c): as_ascii
    for those, as_ascii in (
        ("±≈", "~"), ("·–—−─━┄", "-"), ("•●█▓", "#"), ("…", "."), ("→›»≥", ">"), ("←‹«≤", "<"), ("“”„", '"'),
        ("‘’", "'"), ("×✗", "x"), ("│┃▏▌", "|"), ("✓", "v"), ("▁", "_"),
    )
    for c in those
}  # fmt: skip


def replace_unshowable(*streams: TextIO) -> None:
    """Never fail on what these streams cannot encode, or, where they are read from, on what is no text."""
    codecs.register_error(_NAME, _look_alikes)
    for stream in streams:
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors=_NAME)


def _look_alikes(error: UnicodeError) -> tuple[str, int]:
    if isinstance(error, UnicodeDecodeError):
        return "\ufffd", error.end
    assert isinstance(error, UnicodeEncodeError)
    return "".join(map(_look_alike, error.object[error.start : error.end])), error.end


def _look_alike(c: str) -> str:
    """A character of ASCII: itself as a table has it, or its letter without accents.

    >>> "".join(map(_look_alike, "38±12 é → 象"))
    '38~12 e > ?'
    """
    shown = unicodedata.normalize("NFKD", c.translate(_LOOK_ALIKES))[:1]
    return shown if shown.isascii() and shown else "?"
