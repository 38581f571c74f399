"""Questions on whole countries set against numbers and one another (see `unread.py`).

Ours. People and areas are rounded (table `nations` of `envs/data/cities_more.toml`): what lies within a tenth of a
number, or two countries within a fifth of one another, is not known. "Bigger" may be of area or of people: it is told
where both agree.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from ..lazy import Lazy
from . import where
from .atlas import City, Truth, atlas
from .claims import Claim, limits
from .replies import Asked, Query
from .slots import OVER, UNDER
from .words import NUMBER, land_label, lands, number, town

_MORE = rf"(?:{OVER[3:-1]}|{UNDER[3:-1]}|fewer than)"
_PEOPLE = Lazy(
    rf"(?:does N have (?:population of )?|do |is N home to |is N 's population |is population of N )"
    rf"(?P<s>{_MORE}) (?P<n>{NUMBER})(?: (?:people|inhabitants|citizens|residents))?(?: live)?(?: inN| in N)?"
)
_SIZE = Lazy(
    r"is N (?:much |far |a bit |a lot )?(?P<s>bigger|larger|smaller|more populous|less populous)"
    r"(?: (?:in|by) (?P<k>area|size|population|land area))? than (?P<x>[a-z ]+?)"
    r"(?: (?:in|by) (?P<k2>area|size|population|land area))?"
)
_AS_MANY = Lazy(r"does N have (?P<s>more|fewer|less) (?:people|inhabitants|citizens) than (?P<x>[a-z ]+)")
_IN_N = Lazy(
    r"(?:is|are|can P (?:visit|see|find)|would P find|could P (?:visit|see|find)) (?P<x>[a-z' ]+?) "
    r"(?:inN|(?:in|part of) (?:N|same country)(?: as (?:C|you|yours|N))?)"
    r"|(?:is C|are you) in same country as (?P<x2>[a-z' ]+)"
)


@cache
def _sizes() -> Mapping[str, tuple[float, float]]:
    """A country -> people in millions, area in thousands of square kilometres."""
    rows = (row.split() for row in atlas().more["nations"]["sizes"].split(";"))
    return {code: (float(people), float(area)) for code, people, area in rows}


def _people(m: re.Match[str]) -> Claim | None:
    n = number(m["n"])
    if n is None or n < 10_000 or " N" not in m.string.replace("inN", " N"):
        return None
    few = re.match(UNDER, m["s"]) is not None or m["s"] == "fewer than"

    def truth(c: City) -> Truth:
        size = _sizes().get(c.land.code)
        found = limits(size and 1e6 * size[0], 1.1 * n, 0.9 * n)
        return found if found is None else found is not few

    return Claim("population", truth, f"my country [has|does not have] {m['s']} {m['n']} people")


def _against(codes: frozenset[str], sign: int, kinds: tuple[int, ...], words: str) -> Claim:
    def truth(c: City) -> Truth:
        own, others = _sizes().get(c.land.code), [_sizes()[code] for code in codes if code in _sizes()]
        if own is None or c.land.code in codes or not others:
            return False if c.land.code in codes else None
        found = {limits((own[k] / others[0][k]) ** sign, 1.2, 1 / 1.2) for k in kinds}
        return found.pop() if len(found) == 1 else None

    return Claim("country", truth, words)


def _size(m: re.Match[str]) -> Claim | None:
    codes, kind = lands(m["x"]), m["k"] or m["k2"] or ""
    if not codes:
        return None
    people = kind == "population" or "populous" in m["s"]
    sign = -1 if m["s"] in ("smaller", "less populous") else 1
    kinds = (0,) if people else (1,) if kind else (0, 1)
    return _against(codes, sign, kinds, f"my country [is|is not] {m['s']} than {land_label(m['x'])}")


def _as_many(m: re.Match[str]) -> Claim | None:
    codes = lands(m["x"])
    sign = 1 if m["s"] == "more" else -1
    words = f"my country [has|does not have] {m['s']} people than "
    return _against(codes, sign, (0,), words + land_label(m["x"])) if codes else None


def _inside(m: re.Match[str]) -> Claim | None:
    """Whether a named city is in the same country."""
    name = m["x"] or m["x2"]
    other = None if lands(name) else town(name)
    if other is None or len(atlas().by_name.get(name, ())) != 1:
        return None
    inside = where.country(frozenset((other.land.code,)), "").truth
    return Claim("country", inside, f"{other.name} [is|is not] in my country")


_TABLE = (
    (_PEOPLE, _people, "N"),
    (_SIZE, _size, " than "),
    (_AS_MANY, _as_many, " than "),
    (_IN_N, _inside, "in"),
)
"""Patterns, what they come to, and letters without which they cannot fit."""


def of_nation(text: str) -> Query | None:
    """The question on a country that a text in the one form asks."""
    for pattern, build, cue in _TABLE:
        m = pattern.compiled.fullmatch(text) if cue in text else None
        if m is not None and (claim := build(m)) is not None:
            return Asked((claim,))
    return None
