"""Addresses of pages, relative to the page that they stand on: so one rendering serves a browser and a folder of files.

`run/NAME`, `episode/RUN/ID`, `group/RUN/TASK/SEED`, `compare/A/B`, `training/NAME`, `search`, `search/RUN`, `report`,
`play`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote, urlencode

from sonde.core import UserError


@dataclass(frozen=True)
class Links:
    """Links of a page that lies `depth` folders below the first one. `static`: pages are files, and those that need
    an answer (play, what is computed on demand) are not there; `there` are the others."""

    depth: int = 0
    static: bool = False
    query: Mapping[str, str] | None = None
    there: frozenset[tuple[str, ...]] = frozenset()

    def has(self, *parts: object) -> bool:
        """Whether a page can be linked to: an application has them all, a folder those that were written."""
        return not self.static or tuple(map(str, parts)) in self.there

    @property
    def root(self) -> str:
        return "../" * self.depth

    def __call__(self, *parts: object, **query: object) -> str:
        """The address of a page; without parts, of the first one. Empty values of the query are left out."""
        path = "/".join(_quoted(str(part)) for part in parts)
        if self.static:
            path = f"{path or 'index'}.html"
        asked = urlencode({k: v for k, v in query.items() if v not in ("", None)})
        return (self.root + path or "./") + (f"?{asked}" if asked else "")

    def here(self, **changed: object) -> str:
        """This page with another query; what stays is kept."""
        asked = {**(self.query or {}), **changed}
        return "?" + urlencode({k: v for k, v in asked.items() if v not in ("", None)})


@lru_cache(4096)
def _quoted(part: str) -> str:
    return quote(part, safe="")


def depth_of(parts: tuple[str, ...]) -> int:
    """How many folders below the first page one lies."""
    return max(0, len(parts) - 1)


def whole(name: str, text: str) -> int:
    """A whole number that an address or a form holds, as large as an index can keep."""
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise UserError(f"{name}: got {text!r}, allowed: a whole number")
    return int(text)
