"""Which page an address means, as a value, and a value as HTML: pure functions of the run folders."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from enum import Enum
from typing import Any

import orjson

from sonde.core import UserError

from ..headline import KIND_MEANINGS
from ..losses import CAUSES, MEANINGS
from ..templating import asset, fingerprint, templates
from . import compare, episode, group, moments, run, runs, search, tokens, trainings
from .library import Library
from .links import Links, whole

Query = Mapping[str, str]
SCRIPT = "site.js"
"""Of every page. Those that no server answers have others with it, which their class names as `scripts`."""
STYLES = ("report.css", "site.css")


class NotFound(UserError):
    """An address that no page has."""


PAGES: Mapping[tuple[str, int], Callable[..., Any]] = {
    ("", 0): runs.page,
    ("run", 1): lambda library, query, name: run.page(library, name, query),
    ("episode", 2): lambda library, query, name, identity: episode.page(library, name, identity),
    ("group", 3): lambda library, query, name, task, seed: group.page(library, name, task, seed),
    ("compare", 2): lambda library, query, a, b: compare.page(library, a, b, query),
    ("training", 1): lambda library, query, name: trainings.page(library, name),
    ("search", 0): search.everywhere,
    ("search", 1): lambda library, query, name: search.page(library, name, query),
    ("moments", 2): lambda library, query, name, identity: moments.page(library, name, identity),
    ("tokens", 3): lambda library, query, name, identity, t: tokens.page(library, name, identity, whole("turn", t)),
    ("best", 3): lambda library, query, name, identity, t: moments.best(library, name, identity, whole("turn", t)),
}
"""By the first part of the address and the number of the others."""
PARTS = ("moments", "tokens", "best")
"""Pages that are parts of others: they come on demand, and have no frame."""


def page(library: Library, parts: Sequence[str], query: Query | None = None) -> Any:
    """The page at an address; `NotFound` where there is none, `UserError` where it names what is not there."""
    kind, *rest = parts or ("",)
    known = PAGES.get((kind, len(rest)))
    if known is None:
        raise NotFound(f"address: got {'/'.join(parts)!r}, allowed: {', '.join(k for k, _ in PAGES if k)}")
    return known(library, query or {}, *rest)


def render(page: Any, links: Links, **more: Any) -> str:
    """A page as HTML. Whatever is in it that somebody said is escaped by the template."""
    template = templates().get_template(page.template)
    script = "".join(map(asset, (SCRIPT, *(getattr(page, "scripts", ()) if links.static else ()))))
    return template.render(
        p=page,
        to=links,
        now=time.time(),
        age=age,
        day=day,
        script=script,
        script_hash=fingerprint(script),
        kinds=KIND_MEANINGS,
        causes={key: (name, MEANINGS[key]) for key, name in CAUSES.items()},
        **{"live": "", "inline": {}, **more},
    )


def age(then: float, now: float) -> str:
    """How long ago something was, in one unit.

    >>> age(0, 59), age(0, 7300), age(0, 200_000)
    ('59 s', '2 h', '2 d')
    """
    seconds = max(0.0, now - then)
    for limit, unit, name in ((120, 1, "s"), (7200, 60, "min"), (172_800, 3600, "h")):
        if seconds < limit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds / 86_400:.0f} d"


def day(then: float) -> str:
    """The date of a moment here."""
    return time.strftime("%Y-%m-%d", time.localtime(then))


def as_json(page: Any) -> bytes:
    """A page as JSON: its fields, with the record itself where it is an episode's."""
    return orjson.dumps(getattr(page, "json", page), default=_plain, option=orjson.OPT_NON_STR_KEYS)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return value.name if isinstance(value, Enum) else str(value)


def version(library: Library, parts: Sequence[str]) -> str:
    """What differs when a page would: asked for again and again while one is looked at, so it is cheap."""
    kind, *rest = parts or ("",)
    if kind == "":
        library.look()
        return runs.version(library)
    if kind == "training" and rest:
        return trainings.version(library.training(rest[0]))
    if kind == "compare" and len(rest) == 2:
        return library.run(rest[0]).version + library.run(rest[1]).version
    return library.run(rest[0]).version if rest else ""
