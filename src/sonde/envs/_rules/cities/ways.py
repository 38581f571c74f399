"""Yes/no questions on language, money, religion, flag and the past: from a match to claims (see `matters.py`)."""

from __future__ import annotations

import re
from functools import cache

from ..checks import plain
from . import customs, past
from .atlas import City, Truth, all_of, atlas
from .claims import Claim, opposite
from .replies import Asked, Query
from .slots import UNDER, Match, one, several, slot
from .words import number


def ask_language(m: Match) -> Query | None:
    text, words = slot(m), m.string
    sole = bool(
        re.search(
            (
                r"\b(?:main|primary|mainly|mostly|primarily|predominantly|native|dominant|principal|first|"
                r"most spoken|majority|most people|language P speak|mother tongue|national language|most common|"
                r"chiefly)\b"
            ),
            words,
        )
    )
    official = bool(re.search(r"\b(?:official|officially|national)\b", words))

    def read(t: str) -> Claim | None:
        t = re.sub(r" language$", "", t)
        return (
            customs.language(t, sole, official or "speaking" in words, t.title()) if t in customs.languages() else None
        )

    return several(text, read)


@cache
def _currencies() -> frozenset[str]:
    """What money is called, with the country's name and without."""
    lands = atlas().countries.values()
    own = {plain(word) for land in lands for word in (land.currency, land.currency.split()[-1])}
    return frozenset(own | {"pound", "yuan", "renminbi", "ruble"})


def ask_currency(m: Match) -> Query | None:
    text = slot(m).replace("usa ", "us ").replace("american dollar", "us dollar").replace("british pound", "pound")
    known = _currencies()

    def read(t: str) -> Claim | None:
        t = re.sub(r"^(.+?[^s])s$", r"\1", t) if t not in known else t
        t = {"ruble": "rouble", "quid": "pound", "us dollar": "us dollar"}.get(t, t)
        return customs.currency(t, f"the {t.replace('us ', 'US ')}") if t in known else None

    return several(text, read)


def ask_religion(m: Match) -> Query | None:
    of_land = m.string.startswith("N ") or " N" in m.string or "country" in m.string
    claim = customs.religion if of_land else customs.local_religion
    return several(slot(m), lambda t: claim(t) if t in customs.FAITHS else None)


def ask_flag(m: Match) -> Query | None:
    return _colours(slot(m))


def ask_ruled(m: Match) -> Query | None:
    def read(t: str) -> Claim | None:
        t = re.sub(r"^(?:former |under |by |of )+", "", re.sub(r" (?:crown|people|empire rule|colonial)$", "", t))
        for kind, row in atlas().more["ruled"].items():
            if t in row["words"].split("|"):
                return past.ruled(kind)
        return None

    return several(slot(m), read)


def ask_founded(m: Match) -> Query | None:
    n = number(re.sub(r"(?:st|nd|rd|th)$", "", slot(m, "n"))) if slot(m, "n") else None
    if n is None:
        return None
    if m["c"]:
        low, high = 100 * (n - 1), 100 * n
        return Asked((past.founded(low, high, f"my city [was|was not] founded in the {n:g}th century"),))
    before = slot(m, "s") == "before"
    return Asked(
        (
            past.founded(-9000, n, f"my city [was|was not] founded before {n:g}")
            if before
            else past.founded(n, 2030, f"my city [was|was not] founded after {n:g}"),
        )
    )


def ask_aged(m: Match) -> Query | None:
    n = number(slot(m, "n"))
    if n is None:
        return None
    old = past.founded(-9000, 2026 - n, f"my city [is|is not] more than {n:g} years old")
    return Asked(
        (
            opposite(old, f"my city [is|is not] less than {n:g} years old")
            if re.match(UNDER, slot(m, "s")) or slot(m, "s") == "younger than"
            else old,
        )
    )


def ask_rule(m: Match) -> Query | None:
    text = slot(m)
    return several(re.sub(r"^(?:rule of |part of |control of )", "", text), _power) if text else None


def _power(text: str) -> Claim | None:
    for kind, row in atlas().more["ruled"].items():
        if text in row["words"].split("|"):
            return past.ruled(kind)
    return None


def ask_ancient(m: Match) -> Query | None:
    if "ancient" in m[0] or "antiq" in m[0] or "antique" in m[0] or "oldest" in m[0]:
        return Asked(
            (
                Claim(
                    "history",
                    lambda c: None if c.age is None or c.age == "medieval" else c.age == "ancient",
                    "my city [is|is not] an ancient one",
                ),
            )
        )
    return Asked((past.founded(-9000, 1500, "my city [is|is not] an old one"),))


def ask_drive(m: Match) -> Query | None:
    return Asked((customs.drives(slot(m)),))


def ask_faithful(m: Match) -> Query | None:
    word = slot(m)
    claim = customs.religion if " N" in m.string else customs.local_religion
    return one(claim(word)) if word in customs.FAITHS else None


def ask_flagged(m: Match) -> Query | None:
    found = _colours(slot(m))
    if isinstance(found, Asked) and found.how != "any" and re.match(r"is (?:N (?:is |'s )?)?flag\b", m.string):
        return Asked((_whole_flag(found.claims),))
    return found


def _whole_flag(claims: tuple[Claim, ...]) -> Claim:
    """ "Is the flag red and white": whether it has the colours; where it has more, a person would argue."""

    def truth(c: City) -> Truth:
        found = all_of(claim.truth(c) for claim in claims)
        return None if found and len(c.land.flag or ()) > len(claims) else found

    named = " and ".join(claim.words.rsplit("]", 1)[1].removesuffix(" in it").strip() for claim in claims)
    return Claim("flag", truth, f"our flag [is|is not] {named}")


def _colours(text: str) -> Query | None:
    colours = {"red", "white", "blue", "green", "yellow", "black", "orange", "purple", "light blue"}

    def read(t: str) -> Claim | None:
        t = re.sub(r"(?: (?:stripes?|colou?r|part|bands?|bars?))+$", "", re.sub(r"^colou?rs? ", "", t))
        if t in colours:
            return _colour(t)
        what = re.sub(r"^(?:big|crescent and|large|maple|moon and|animal|crescent moon and) |s$", "", t)
        what = {"white cros": "white cross", "yellow cros": "yellow cross"}.get(what, what)
        what = {"crescent moon": "crescent", "moon": "crescent", "leave": "leaf", "cros": "cross"}.get(what, what)
        return _emblem(what) if what in _EMBLEMS else None

    stripes = {"stripes", "stripe", "bands"}
    return Asked((_emblem("stripe"),)) if text in stripes else several(text, read)


_PLAIN_FLAGS = frozenset(
    [
        "FR",
        "IT",
        "DE",
        "BE",
        "NL",
        "IE",
        "RO",
        "RU",
        "HU",
        "BG",
        "AT",
        "PL",
        "UA",
        "LT",
        "LV",
        "EE",
        "AM",
        "LU",
        "ID",
        "MC",
        "NG",
        "ML",
        "GN",
        "CI",
        "TD",
        "SL",
        "TH",
        "MG",
        "CO",
        "MU",
        "YE",
        "AE",
        "KW",
        "SD",
    ]
)
"""Stripes only."""
_EMBLEMS = {
    "star": "US CN TR AU NZ CU CL BR VN SO GH SN CM MA PK DZ TN AZ UZ TM SY MM SG MY KP IL PH PR PA VE ET JO",
    "crescent": "TR TN DZ PK AZ UZ TM MY SG MV MR LY",
    "cross": "GB DK SE NO FI IS CH GR GE AU NZ DO TO",
    "white cross": "DK CH GR DO",
    "yellow cross": "SE",
    "leaf": "CA",
    "sun": "JP AR UY PH KZ MK AG KI MW RW NE NP TW",
    "stripe": "FR IT DE BE NL IE RO RU HU BG AT PL UA LT LV EE US TH CR CO AR UY CU GR NG ML GN CI IN EG IQ SY ID",
    "circle": "JP BD KR IN NE LA PW",
    "eagle": "MX EG AL KZ ZM",
    "union jack": "GB AU NZ FJ TV",
}
"""What is on a flag -> the countries that have it. Of others it is known only where the flag is stripes alone."""


def _emblem(t: str) -> Claim:
    having = frozenset(_EMBLEMS[t].split())
    return Claim(
        "flag",
        lambda c: True if c.land.code in having else False if c.land.code in _PLAIN_FLAGS and t != "stripe" else None,
        f"our flag [has|does not have] a {t} on it",
    )


def _colour(t: str) -> Claim:
    def truth(c: City) -> Truth:
        return None if c.land.flag is None else t in c.land.flag or (t == "blue" and "light blue" in c.land.flag)

    return Claim("flag", truth, f"our flag [has|does not have] {t} in it")
