"""Yes/no questions about people and their country: builders from a match to claims (see `city_patterns.py`).

A builder returns None where a slot holds something that it does not know; then the next pattern is tried.
"""

from __future__ import annotations

import re
from functools import cache

from . import city_claims as k
from . import city_fame as fame
from . import city_nature as nat
from .checks import plain
from .cities import City, Truth, atlas
from .city_claims import Claim
from .city_replies import Asked, Query
from .city_slots import UNDER, Match, count, of, one, several, slot
from .city_words import land_label, lands, number, place, town


def ask_in(m: Match) -> Query | None:
    lands_only = m.string.startswith(("N ", "does N "))
    found = several(slot(m), lambda t: of_land(place(t)) if lands_only else place(t))
    if found is None and " , " in slot(m):
        head, _, tail = slot(m).partition(" , ")
        a, b = place(head), place(tail.removeprefix("in "))
        return None if a is None or b is None else Asked((k.both(a.topic, (a, b), a.words),))
    return found


def ask_people(m: Match) -> Query | None:
    """french city, asian country, spanish or italian city"""
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
    spread = _ASTRIDE if claim.topic == "hemisphere" else _SPREAD

    def truth(c: City) -> Truth:
        found = claim.truth(c)
        return None if c.land.code in spread and (found is False or claim.topic == "hemisphere") else found

    return Claim(claim.topic, truth, claim.words.replace("my city", "my country"))


def ask_capital_of(m: Match) -> Query | None:
    x = slot(m)
    if x in (
        "country",
        "N",
        "sovereign state",
        "state" if False else "nation",
        "sovereign country",
        "independent country",
    ):
        return Asked((k.CAPITAL,))
    codes = lands(x)
    if codes:
        return Asked((k.capital_of(codes, land_label(x)),))
    area = place(x, True)
    if area is None or area.topic not in ("region", "continent", "country"):
        return None
    words = f"my city [is a capital|is not a capital] and [is|or is not] in {x.title()}"
    return Asked((k.both("capital", (k.CAPITAL, area), re.sub(r"\[is\|or is not\]", "[is|not]", words)),))


def ask_capital_here(m: Match) -> Query | None:
    """capital of a country in Europe; a European capital"""
    area = place(slot(m), True)
    return None if area is None else Asked((k.CAPITAL, area), "all")


def _population(text: str, sign: str, amount: str, top: str = "") -> Query | None:
    n = number(amount)
    if n is None or n < 500:
        return None
    if sign == "over":
        return Asked((k.people(n, 1e12, f"my city [has|does not have] more than {count(n)} people"),))
    if sign == "under":
        return Asked((k.people(0, n, f"my city [has|does not have] fewer than {count(n)} people"),))
    high = number(top)
    if high is not None and n < 500_000 and high < 500 <= n:
        return None
    return (
        None
        if high is None or high <= n
        else Asked((k.people(n, high, f"my city [has|does not have] {count(n)} to {count(high)} people"),))
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
    sign = -1 if re.search(r"\b(?:smaller|less populous|less populated)\b", m[0]) else 1
    return several(slot(m), lambda t: of(town(t), lambda c: k.bigger(c, c.name, sign)))


def ask_big_in(m: Match) -> Query | None:
    x = slot(m) or "N"
    if x in ("world", "globe", "earth", "planet"):
        return Asked((k.AMONG_WORLD,))
    if x in ("N", "country"):
        return Asked((k.AMONG_OWN,))
    claim = place(x, False)
    if (
        claim is not None
        and claim.topic == "continent"
        and x.title() in ("Europe", "Asia", "Africa", "North America", "South America")
    ):
        return Asked((k.among_continent(x.title()),))
    codes = lands(x)
    return Asked((k.country(codes, land_label(x)), k.AMONG_OWN), "all") if codes else None


def ask_biggest_in(m: Match) -> Query | None:
    x = slot(m)
    if not x or x in ("N", "country"):
        return Asked((k.BIGGEST,))
    codes = lands(x)
    return Asked((k.country(codes, land_label(x)), k.BIGGEST), "all") if codes else None


def ask_neighbours(m: Match) -> Query | None:
    return several(
        re.sub(r" by land$| directly$", "", slot(m)),
        lambda t: None if lands(t) is None else k.neighbour(lands(t) or frozenset(), land_label(t)),
    )


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
        return k.language(t, sole, official or "speaking" in words, t.title()) if t in k.languages() else None

    return several(text, read)


def ask_currency(m: Match) -> Query | None:
    text = slot(m).replace("usa ", "us ").replace("american dollar", "us dollar").replace("british pound", "pound")
    known = {plain(w) for land in atlas().countries.values() for w in (land.currency, land.currency.split()[-1])} | {
        "pound",
        "yuan",
        "renminbi",
        "ruble",
    }

    def read(t: str) -> Claim | None:
        t = re.sub(r"^(.+?[^s])s$", r"\1", t) if t not in known else t
        t = {"ruble": "rouble", "quid": "pound", "us dollar": "us dollar"}.get(t, t)
        return k.currency(t, f"the {t.replace('us ', 'US ')}") if t in known else None

    return several(text, read)


def ask_religion(m: Match) -> Query | None:
    return several(slot(m), lambda t: k.religion(t) if t in k.FAITHS else None)


def ask_flag(m: Match) -> Query | None:
    return _colours(slot(m))


def ask_ruled(m: Match) -> Query | None:
    def read(t: str) -> Claim | None:
        t = re.sub(r"^(?:former |under |by |of )+", "", re.sub(r" (?:crown|people|empire rule|colonial)$", "", t))
        for kind, row in atlas().more["ruled"].items():
            if t in row["words"].split("|"):
                return k.ruled(kind)
        return None

    return several(slot(m), read)


def ask_founded(m: Match) -> Query | None:
    n = number(re.sub(r"(?:st|nd|rd|th)$", "", slot(m, "n"))) if slot(m, "n") else None
    if n is None:
        return None
    if m["c"]:
        low, high = 100 * (n - 1), 100 * n
        return Asked((k.founded(low, high, f"my city [was|was not] founded in the {n:g}th century"),))
    before = slot(m, "s") == "before"
    return Asked(
        (
            k.founded(-9000, n, f"my city [was|was not] founded before {n:g}")
            if before
            else k.founded(n, 2030, f"my city [was|was not] founded after {n:g}"),
        )
    )


def ask_aged(m: Match) -> Query | None:
    n = number(slot(m, "n"))
    if n is None:
        return None
    old = k.founded(-9000, 2026 - n, f"my city [is|is not] more than {n:g} years old")
    return Asked(
        (
            k.opposite(old, f"my city [is|is not] less than {n:g} years old")
            if re.match(UNDER, slot(m, "s")) or slot(m, "s") == "younger than"
            else old,
        )
    )


def ask_olympics(m: Match) -> Query | None:
    kind = slot(m, "w").strip()
    return Asked((nat.olympics(kind[:1], f"{kind.title()} " if kind else ""),))


def ask_known(m: Match) -> Query | None:
    """What it is known for, by the words of the phrases about it."""
    return _known_for(slot(m))


_TOO_WIDE = frozenset(
    (
        "not",
        "if",
        "when",
        "who",
        "how",
        "than",
        "c",
        "n",
        "p",
        "name",
        "or",
        "like",
        "place",
        "thing",
        "people",
        "person",
        "anything",
        "something",
        "s",
    )
)


_TOPICS = (
    (
        "sport",
        (
            "football basketball baseball olympic sport club hockey team stadium cricket tennis marathon "
            "formula race rugby boxing league"
        ),
    ),
    (
        "industry",
        (
            "car oil steel textile software bank film diamond gold mining coal port shipyard tech technology "
            "industry electronics gas aircraft wine tea copper silver cotton cigar gambling insurance"
        ),
    ),
    ("university", "university college"),
    (
        "cuisine",
        (
            "food dish cuisine beer chocolate cheese pizza seafood noodle coffee sausage sandwich curry soup "
            "rice bread kebab dessert pastry wine"
        ),
    ),
    (
        "culture",
        (
            "music jazz festival carnival opera theater ballet reggae tango fashion poet composer writer "
            "painter art literature dance samba blues fado flamenco mariachi bollywood band singer"
        ),
    ),
    ("religion", "pilgrim pilgrimage holy shrine pope"),
    (
        "history",
        (
            "earthquake battle war siege massacre treaty bomb emperor empire revolution assassination capital "
            "king president invasion fire explosion tsunami hurricane"
        ),
    ),
)


def topic_of(words: frozenset[str]) -> str:
    for topic, known in _TOPICS:
        if words & set(known.split()):
            return topic
    return "landmarks"


def ask_rule(m: Match) -> Query | None:
    text = slot(m)
    return several(re.sub(r"^(?:rule of |part of |control of )", "", text), _power) if text else None


def _power(text: str) -> Claim | None:
    for kind, row in atlas().more["ruled"].items():
        if text in row["words"].split("|"):
            return k.ruled(kind)
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
    return Asked((k.founded(-9000, 1500, "my city [is|is not] an old one"),))


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
        (k.borders(least, most, f"my country [borders|does not border] {words} other{'' if n == 1 else 's'}"),)
    )


def ask_drive(m: Match) -> Query | None:
    return Asked((k.drives(slot(m)),))


def ask_faithful(m: Match) -> Query | None:
    word = slot(m)
    return one(k.religion(word)) if word in k.FAITHS else None


def ask_flagged(m: Match) -> Query | None:
    return _colours(slot(m))


def _colours(text: str) -> Query | None:
    colours = {"red", "white", "blue", "green", "yellow", "black", "orange", "purple", "light blue"}

    def read(t: str) -> Claim | None:
        t = re.sub(r"(?: (?:stripes?|colou?r|part|bands?|bars?))+$", "", re.sub(r"^colou?rs? ", "", t))
        return _colour(t) if t in colours else None

    return several(text, read)


def _colour(t: str) -> Claim:
    def truth(c: City) -> Truth:
        return None if c.land.flag is None else t in c.land.flag or (t == "blue" and "light blue" in c.land.flag)

    return Claim("flag", truth, f"our flag [has|does not have] {t} in it")


def ask_more_people(m: Match) -> Query | None:
    return _population("", "over", slot(m, "n"))


def ask_fewer_people(m: Match) -> Query | None:
    return _population("", "under", slot(m, "n"))


def ask_universities(m: Match) -> Query | None:
    return None if "famous" in m[0] else Asked((nat.UNIVERSITY,))


def ask_games(m: Match) -> Query | None:
    return None if "first" in m[0] else ask_olympics(m)


def ask_capitals(m: Match) -> Query | None:
    ids = atlas().by_name.get(plain(slot(m)))
    return None if ids is None else Asked((k.capital_is(ids, atlas().cities[ids[0]].name),))


def ask_sight(m: Match) -> Query | None:
    text = slot(m)
    if re.match(r"(?:C|N|NAME|P)\b|.*\b(?:C|N|NAME|P)\b", text):
        return None
    return _known_for(text)


def ask_origin(m: Match) -> Query | None:
    return _known_for(slot(m))


def _known_for(text: str) -> Query | None:
    text = re.sub(r"^(?:its |their |having |there )+", "", text)
    words = fame.content(text)
    if not words or len(words) > 4 or words & _TOO_WIDE or not words & _vocabulary():
        return None
    return Asked((fame.known_for(words, plain(text.removeprefix("the ")), topic_of(words)),))


@cache
def _vocabulary() -> frozenset[str]:
    """Every word of the phrases about the cities."""
    return frozenset(w for c in atlas().cities for phrase in fame.told(c.id) for w in phrase)


def ask_neighbour_of(m: Match) -> Query | None:
    return ask_neighbours(m)
