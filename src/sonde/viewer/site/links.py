"""Addresses of pages, relative to the page that links, so one template serves an application, a folder and a report.

`run/NAME`, `episode/RUN/ID`, `group/RUN/TASK/SEED`, `compare/A/B`, `rate/RUN/ID`, `training/NAME`, `search`,
`search/RUN`, `report`, `play`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote, urlencode

from sonde.core import UserError


@dataclass(frozen=True)
class Links:
    """Links of a page that lies `depth` folders below the first one. `static`: pages are files, without those that need
    a server (play, parts on demand); `there` holds their addresses."""

    depth: int = 0
    static: bool = False
    query: Mapping[str, str] | None = None
    there: frozenset[tuple[str, ...]] = frozenset()

    def has(self, *parts: object) -> bool:
        """Whether a page exists: an application has all pages, a folder only those that were written."""
        return not self.static or tuple(map(str, parts)) in self.there

    @property
    def is_report(self) -> bool:
        return False

    @property
    def root(self) -> str:
        return "../" * self.depth

    def __call__(self, *parts: object, **query: object) -> str:
        """The address of a page; without parts, of the first one. Empty values of the query are omitted."""
        path = "/".join(_quote_part(str(part)) for part in parts)
        if self.static:
            path = f"{path or 'index'}.html"
        asked = urlencode({k: v for k, v in query.items() if v not in ("", None)})
        return (self.root + path or "./") + (f"?{asked}" if asked else "")

    def with_query(self, **changed: object) -> str:
        """This page with a changed query."""
        asked = {**(self.query or {}), **changed}
        return "?" + urlencode({k: v for k, v in asked.items() if v not in ("", None)})


@dataclass(frozen=True)
class Anchors(Links):
    """Links within a report, which is one file: an address is an anchor."""

    static: bool = True

    @property
    def is_report(self) -> bool:
        return True

    def __call__(self, *parts: object, **query: object) -> str:
        """The anchor of a part; without parts, of the top. There is no query."""
        return "#" + (make_anchor(*parts) or "top")


def make_anchor(*parts: object) -> str:
    """The id of the part of a report that an address leads to."""
    return "-".join(map(str, parts))


@lru_cache(4096)
def _quote_part(part: str) -> str:
    return quote(part, safe="")


def page_depth(parts: tuple[str, ...]) -> int:
    """The number of folders between a page and the first one."""
    return max(0, len(parts) - 1)


def parse_whole(name: str, text: str) -> int:
    """Parse a whole number of an address or a form, of at most 18 digits."""
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise UserError(f"{name}: got {text!r}, allowed: a whole number")
    return int(text)
