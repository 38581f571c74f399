"""From an address to a page as a value, and from a page to HTML: pure functions of the run folders."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from enum import Enum
from typing import Any

import orjson

from sonde.core import UserError

from ..templating import STYLE, hash_script, read_asset, render_template
from . import compare, episode, group, rate, replay, run, runs, search, tokens, training
from .library import Library
from .links import Links, parse_whole

Query = Mapping[str, str]
SCRIPT = "site.js"
"""The script of every page that sets no other `script`; without a server a page also has its `scripts`."""


class NotFoundError(UserError):
    """An address without a page."""


PAGES: Mapping[tuple[str, int], Callable[..., Any]] = {
    ("", 0): runs.make_runs_page,
    ("run", 1): lambda library, query, name: run.make_run_page(library, name, query),
    ("episode", 2): lambda library, query, name, identity: episode.make_episode_page(library, name, identity),
    ("group", 3): lambda library, query, name, task, seed: group.make_group_page(library, name, task, seed),
    ("rate", 2): lambda library, query, name, identity: rate.make_rate_page(library, name, identity, query),
    ("compare", 2): lambda library, query, a, b: compare.make_compare_page(library, a, b, query),
    ("training", 1): lambda library, query, name: training.make_training_page(library, name),
    ("search", 0): search.search_all_runs,
    ("search", 1): lambda library, query, name: search.make_search_page(library, name, query),
    ("replay", 2): lambda library, query, name, identity: replay.make_replay_part(library, name, identity),
    ("tokens", 3): lambda library, query, name, identity, t: tokens.make_tokens_part(
        library, name, identity, parse_whole("turn", t)
    ),
    ("best", 3): lambda library, query, name, identity, t: replay.find_best(
        library, name, identity, parse_whole("turn", t)
    ),
}
"""By the first part of the address and the number of the others."""
PARTS = ("replay", "tokens", "best")
"""Parts of other pages: they are loaded on demand and have no frame."""


def find_page(library: Library, parts: Sequence[str], query: Query | None = None) -> Any:
    """The page at an address. Raises `NotFoundError` for an unknown address, `UserError` for an unknown run or task."""
    kind, *rest = parts or ("",)
    known = PAGES.get((kind, len(rest)))
    if known is None:
        raise NotFoundError(f"address: got {'/'.join(parts)!r}, allowed: {', '.join(k for k, _ in PAGES if k)}")
    return known(library, query or {}, *rest)


def render_page(page: Any, links: Links, **more: Any) -> str:
    """A page as HTML; the template escapes all text."""
    names = (getattr(page, "script", SCRIPT), *(getattr(page, "scripts", ()) if links.static else ()))
    script = "".join(map(read_asset, names))
    return render_template(
        page.template,
        p=page,
        to=links,
        now=time.time(),
        age=format_age,
        day=format_day,
        css=read_asset(STYLE) if links.is_report else "",
        script=script,
        script_hash=hash_script(script),
        **{"live": "", "inline": {}, **more},
    )


def format_age(then: float, now: float) -> str:
    """The time between two moments, in one unit.

    >>> format_age(0, 59), format_age(0, 7300), format_age(0, 200_000)
    ('59 s', '2 h', '2 d')
    """
    seconds = max(0.0, now - then)
    for limit, unit, name in ((120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h")):
        if seconds < limit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds / 86_400:.0f} d"


def format_day(then: float) -> str:
    """The local date of a moment."""
    return time.strftime("%Y-%m-%d", time.localtime(then))


def as_json(page: Any) -> bytes:
    """A page as JSON: its fields; for an episode, the record itself."""
    return orjson.dumps(getattr(page, "json", page), default=_to_plain, option=orjson.OPT_NON_STR_KEYS)


def _to_plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return value.name if isinstance(value, Enum) else str(value)


def hash_version(library: Library, parts: Sequence[str]) -> str:
    """A cheap hash that changes when a page would; an open page polls it."""
    kind, *rest = parts or ("",)
    if kind == "":
        library.refresh()
        return runs.hash_version(library)
    if kind == "training" and rest:
        return training.hash_version(library.find_training(rest[0]))
    if kind == "compare" and len(rest) == 2:
        return library.run(rest[0]).version + library.run(rest[1]).version
    return library.run(rest[0]).version if rest else ""
