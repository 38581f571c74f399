"""Consoles of the command line. Text is printed as it is, never as markup; control characters are escaped, and a
character that the stream's encoding lacks is replaced by one that looks like it.

    PYTHONIOENCODING=ascii sonde eval ...        # 38~12 for 38±12, - for the lines of tables

One character replaces one, so tables stay aligned; a character without a look-alike becomes a question mark.
"""

from __future__ import annotations

import codecs
import json
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from sonde._util.escaping import make_visible


class Terminal(Console):
    """A console without markup and emoji codes; all text goes through `make_visible`."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"markup": False, "emoji": False, **settings})

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(make_visible(segment.text), segment.style)

    def print_json(self, json: str | None = None, **settings: Any) -> None:
        """Print JSON with rich; characters that the console's encoding lacks are escaped, so the parsed value is the
        same."""
        super().print_json(json, **{"ensure_ascii": not self.encoding.startswith("utf"), **settings})


out = Terminal()
stderr = Terminal(stderr=True)


def print_result(data: Any, shown: RenderableType, as_json: bool, *written: Path) -> None:
    """Print a result as JSON, or as `shown` and the paths that were written."""
    if as_json:
        out.print_json(json.dumps(data))
        return
    out.print(shown)
    print_written(*written)


def print_written(*paths: Path, to: Console = out) -> None:
    """Print the paths that were written, a line each."""
    for path in paths:
        to.print(f"written: {path}", highlight=False, soft_wrap=True)


# --- encodings ---------------------------------------------------------------------------------------------------

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
    """Keep these streams from failing on characters that they cannot encode, or on bytes that they cannot decode."""
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
    """The ASCII character that looks most like `c`: from the table, or its letter without accents.

    >>> "".join(map(_look_alike, "38±12 é → 象"))
    '38~12 e > ?'
    """
    shown = unicodedata.normalize("NFKD", c.translate(_LOOK_ALIKES))[:1]
    return shown if shown.isascii() and shown else "?"
