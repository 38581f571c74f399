"""Yes/no questions on place, capital, people and neighbours: from a match to claims (see `patterns.py`).

A builder returns None where a slot holds something that it does not know; then the next pattern is tried.
"""

from __future__ import annotations

import re

from ..checks import plain
from . import people, where
from .atlas import City, Truth, atlas
from .claims import Claim, both, either
from .replies import Asked, Query
from .slots import Match, count, of, several, slot
from .words import land_label, lands, number, place, town

_BESIDE = re.compile(
    r"[CN] (?:right |directly )*(?:near|close to|next to|by|along|beside|bordering|adjacent to|not far from|at)\b"
)


def ask_in(m: Match) -> Query | None:
    if _BESIDE.match(m.string):
        return None
    lands_only = m.string.startswith(("N ", "does N "))
    found = several(slot(m), lambda t: of_land(place(t)) if lands_only else place(t))
    if found is None and " , " in slot(m):
        head, _, tail = slot(m).partition(" , ")
        a, b = place(head), place(tail.removeprefix("in "))
        return None if a is None or b is None else Asked((both(a.topic, (a, b), a.words),))
    return found


def ask_people(m: Match) -> Query | None:
    """french city, asian country, spanish or italian city"""
    if re.match(r"(?:north|south|east|west) of ", slot(m)):
        return None
    lands_only = m.string.startswith("N ")
    return several(slot(m), lambda t: of_land(place(t, True)) if lands_only else place(t, True))


_SPREAD = frozenset(
    [
        "RU",
        "TR",
        "KZ",
        "EG",
        "AZ",
        "GE",
        "AM",
        "CY",
        "US",
        "FR",
        "NL",
        "DK",
        "ID",
        "YE",
        "PA",
        "TT",
        "ES",
        "PT",
        "CL",
        "EC",
        "NO",
        "GB",
        "CO",
        "GR",
        "IT",
    ]
)

_ASTRIDE = frozenset(
    [
        "BR",
        "ID",
        "KE",
        "CO",
        "EC",
        "CG",
        "CD",
        "UG",
        "GA",
        "SO",
        "ST",
        "GQ",
        "KI",
        "MV",
        "GB",
        "FR",
        "ES",
        "DZ",
        "ML",
        "BF",
        "GH",
        "TG",
        "US",
        "RU",
        "FJ",
        "NZ",
    ]
)


def of_land(claim: Claim | None) -> Claim | None:
    """A claim about the city, said of its country: what is false of the city may be true of another part."""
    if claim is None or claim.topic not in ("continent", "region", "hemisphere"):
        return claim
    if claim.words.startswith("my country"):
        return claim
    spread = _ASTRIDE if claim.topic == "hemisphere" else _SPREAD

    def truth(c: City) -> Truth:
        found = claim.truth(c)
        return None if c.land.code in spread and (found is False or claim.topic == "hemisphere") else found

    return Claim(claim.topic, truth, claim.words.replace("my city", "my country"))


_HOME_CAPITALS = {"england": "London", "scotland": "Edinburgh", "wales": "Cardiff", "northern ireland": "Belfast"}


def _home_capital(x: str) -> Claim:
    """Of a part of the United Kingdom."""
    return Claim(
        "capital",
        lambda c: c.land.code == "GB" and c.name == _HOME_CAPITALS[x],
        f"my city [is|is not] the capital of {x.title()}",
    )


def ask_state_capital(m: Match) -> Query | None:
    """Of a state of the United States; of other provinces it is known only which cities are not their capitals."""
    x = slot(m)
    if x == "georgia":
        claims = (where.state_capital("Georgia"), where.capital_of(frozenset(("GE",)), "Georgia"))
        return Asked((either("capital", claims, "my city [is|is not] the capital of a Georgia"),))
    if lands(x):
        return None
    if x in atlas().states:
        return Asked((where.state_capital(atlas().states[x]),))
    code = atlas().provinces.get(x)
    inside = where.area(x)
    if code is None or (inside is None and place(x) is not None):
        return None
    if inside is not None:
        return Asked((both("capital", (inside, where.SEAT), f"my city [is|is not] the capital of {x.title()}"),))
    words = f"my city [is|is not] the capital of {x.title()}"
    return Asked((Claim("capital", lambda c: None if c.land.code == code and c.seat is not False else False, words),))


def ask_capital_of(m: Match) -> Query | None:
    x = slot(m)
    if x in (
        "country",
        "N",
        "sovereign state",
        "nation",
        "sovereign country",
        "independent country",
    ):
        return Asked((where.CAPITAL,))
    if x.endswith(" state") and x.removesuffix(" state") in atlas().states:
        return Asked((where.state_capital(atlas().states[x.removesuffix(" state")]),))
    if x in _HOME_CAPITALS:
        return Asked((_home_capital(x),))
    codes = lands(x)
    if codes:
        return Asked((where.capital_of(codes, land_label(x)),))
    area = place(x, True) if x not in atlas().states else None
    if area is None or area.topic not in ("region", "continent", "country"):
        return None
    words = f"my city [is a capital|is not a capital] and [is|or is not] in {x.title()}"
    return Asked((both("capital", (where.CAPITAL, area), re.sub(r"\[is\|or is not\]", "[is|not]", words)),))


def ask_capital_here(m: Match) -> Query | None:
    """capital of a country in Europe; a European capital"""
    area = place(slot(m), True)
    return None if area is None else Asked((where.CAPITAL, area), "all")


def _population(text: str, sign: str, amount: str, top: str = "") -> Query | None:
    n = number(amount)
    if n is None or n < 500:
        return None
    if sign == "over":
        return Asked((people.people(n, 1e12, f"my city [has|does not have] more than {count(n)} people"),))
    if sign == "under":
        return Asked((people.people(0, n, f"my city [has|does not have] fewer than {count(n)} people"),))
    high = number(top)
    if high is not None and n < 500_000 and high < 500 <= n:
        return None
    return (
        None
        if high is None or high <= n
        else Asked((people.people(n, high, f"my city [has|does not have] {count(n)} to {count(high)} people"),))
    )


def ask_over(m: Match) -> Query | None:
    return _population(m.string, "over", slot(m, "n"))


def ask_under(m: Match) -> Query | None:
    return _population(m.string, "under", slot(m, "n"))


def ask_between(m: Match) -> Query | None:
    a, b = m["a"], m["b"]
    for scale in ("million", "thousand"):
        if scale in b and scale not in a and (number(a) or 0) < 1000:
            a = f"{a} {scale}"
    return _population(m.string, "between", a, b)


def ask_bigger(m: Match) -> Query | None:
    sign = -1 if re.search(r"\b(?:smaller|fewer|less)\b", m[0]) else 1
    if " or " in slot(m):  # than either or than both
        return None
    return several(slot(m), lambda t: of(town(t), lambda c: people.bigger(c, c.name, sign)))


def ask_big_in(m: Match) -> Query | None:
    x = slot(m) or "N"
    if x in ("world", "globe", "earth", "planet"):
        return Asked((people.AMONG_WORLD,))
    if x in ("N", "country"):
        return Asked((people.AMONG_OWN,))
    claim = place(x, False)
    if (
        claim is not None
        and claim.topic == "continent"
        and x.title() in ("Europe", "Asia", "Africa", "North America", "South America")
    ):
        return Asked((people.among_continent(x.title()),))
    codes = lands(x)
    return Asked((where.country(codes, land_label(x)), people.AMONG_OWN), "all") if codes else None


def ask_biggest_in(m: Match) -> Query | None:
    x = slot(m)
    if not x or x in ("N", "country"):
        return Asked((people.BIGGEST,))
    area = x.removeprefix("state of ").removeprefix("province of ").removeprefix("its ").removesuffix(" state")
    part = people.biggest_in(area, place(area) or Claim("", people.AMONG_WORLD.truth, f"in in {area.title()}"))
    if part is not None:
        return Asked((part,))
    codes = lands(x)
    return Asked((people.BIGGEST, where.country(codes, land_label(x))), "all") if codes else None


def ask_neighbours(m: Match) -> Query | None:
    """Of the city nothing is known but that it is not on a border that its country does not have."""
    found = several(
        re.sub(r" by land$| directly$", "", slot(m)),
        lambda t: None if lands(t) is None else where.neighbour(lands(t) or frozenset(), land_label(t)),
    )
    if not isinstance(found, Asked) or not re.match(r"(?:is |does )?C ", m.string):
        return found
    return Asked(tuple(_never_true(claim) for claim in found.claims), found.how)


def _never_true(claim: Claim) -> Claim:
    return Claim(claim.topic, lambda c: None if claim.truth(c) else claim.truth(c), claim.words)


def ask_border_count(m: Match) -> Query | None:
    n, s = number(slot(m, "n")), slot(m, "s")
    if n is None or n > 20:
        return None
    least, most = (
        (int(n) + 1, 99)
        if s in ("more than", "over")
        else (int(n), 99)
        if s == "at least"
        else (0, int(n) - 1)
        if s in ("fewer than", "less than")
        else (int(n), int(n))
    )
    words = f"{s} {n:g}".strip()
    return Asked(
        (where.borders(least, most, f"my country [borders|does not border] {words} other{'' if n == 1 else 's'}"),)
    )


def ask_more_people(m: Match) -> Query | None:
    return _population("", "over", slot(m, "n"))


def ask_fewer_people(m: Match) -> Query | None:
    return _population("", "under", slot(m, "n"))


def ask_capitals(m: Match) -> Query | None:
    ids = atlas().by_name.get(plain(slot(m)))
    return None if ids is None else Asked((where.capital_is(ids, atlas().cities[ids[0]].name),))


def ask_neighbour_of(m: Match) -> Query | None:
    """A neighbour may be one across the sea: without a border on land it is not known."""
    found = ask_neighbours(m)
    if not isinstance(found, Asked) or "border" in m[0]:
        return found
    return Asked(tuple(_next_door(claim) for claim in found.claims), found.how)


def _next_door(claim: Claim) -> Claim:
    def truth(c: City) -> Truth:
        found = claim.truth(c)
        return None if found is False and not c.land.neighbours else found

    return Claim(claim.topic, truth, claim.words)
