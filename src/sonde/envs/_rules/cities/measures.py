"""Yes/no questions on water, height and distances: from a match to claims (see `matters.py`)."""

from __future__ import annotations

import re

from . import nature, water, where
from .atlas import kilometres
from .claims import Claim, both, limits, opposite
from .replies import Asked, Query
from .slots import OVER, UNDER, Match, of, several, slot
from .words import metres, place, town


def ask_sea(m: Match) -> Query | None:
    def read(t: str) -> Claim | None:
        t = re.sub(
            r"^(?:coast|shores?|shoreline|edge|banks?) of ",
            "",
            re.sub(r"(?: (?:coast|coastline|shore|side|shoreline|port))+$", "", t),
        )
        t = re.sub(r"^(?:same )", "", t)
        bare = t.removesuffix(" sea").removesuffix(" ocean")
        if t not in water.SEAS and bare not in water.SEAS:
            return None
        if m.string[1:].startswith(" in ") and place(t) is not None:
            return None
        name = t if t in water.SEAS else bare
        claim = water.sea(name)
        if not re.search(r"\bN\b", m.string):
            return claim
        return water.country_sea(claim, name if name == "north sea" else name.split()[0])

    return several(slot(m), read)


_OCEAN = " proper ocean"
"""How "an ocean" is written in the one form (`phrasing.txt`)."""


def ask_coast(m: Match) -> Query | None:
    """On the sea, or on an ocean: "the ocean" is any sea to many, "an ocean" is not."""
    return Asked((water.OCEAN if _OCEAN in m.string else water.COAST,))


def ask_near_sea(m: Match) -> Query | None:
    return Asked((water.NEAR_OCEAN if _OCEAN in m.string else water.NEAR_SEA,))


def ask_country_coast(m: Match) -> Query | None:
    return Asked((water.COUNTRY_OCEAN if _OCEAN in m.string else water.COUNTRY_COAST,))


def ask_water(m: Match) -> Query | None:
    """on the Nile; by the Danube or the Rhine"""
    return several(
        slot(m),
        lambda t: of(water.river_name(re.sub(r"^(?:banks? of|shores? of) ", "", t)), water.on_river),
    )


def ask_island(m: Match) -> Query | None:
    return several(
        slot(m),
        lambda t: of(water.island_names().get(t.removeprefix("island of ").removesuffix(" island")), water.on_island),
    )


def ask_higher(m: Match) -> Query | None:
    words = slot(m, "n")
    length = metres(words, slot(m, "u"))
    if length is None:
        return None
    claim = nature.higher(length, f"{words} {m['u'].rstrip()}")
    if re.match(UNDER, slot(m, "s")):
        claim = opposite(claim, f"my city [is|is not] less than {words} {m['u']} above sea level")
    return Asked((claim,))


def ask_range(m: Match) -> Query | None:
    return several(slot(m), lambda t: of(nature.ranges().get(t), nature.near_range))


def ask_within(m: Match) -> Query | None:
    length = metres(slot(m, "n"), slot(m, "u"))
    if length is None:
        return None
    far = re.match(OVER, slot(m, "s")) is not None
    words = f"{m['n']} {m['u']}"

    def read(t: str) -> Claim | None:
        c = town(t)
        if c is None:
            return None
        near = where.within(length / 1000, c, c.name, words)
        return opposite(near, f"my city [is|is not] more than {words} from {c.name}") if far else near

    return several(slot(m), read)


def ask_near(m: Match) -> Query | None:
    return several(slot(m), lambda t: of(None if place(t) else town(t), lambda c: where.near(c, c.name)))


def ask_long_way(m: Match) -> Query | None:
    c = town(slot(m))
    if c is None:
        return None
    return Asked(
        (
            Claim(
                "distance",
                lambda x: limits(kilometres(x, c), 2500, 500),
                f"my city [is|is not] a long way from {c.name}",
            ),
        )
    )


def ask_closer(m: Match) -> Query | None:
    a, b = town(slot(m)), town(m["y"])
    return None if a is None or b is None else Asked((where.closer(a, b, a.name, b.name),))


def ask_direction_any(m: Match) -> Query | None:
    side = slot(m, "d").replace(" ", "")
    if " or " in slot(m):  # "north of Rome or Paris" may mean either or both
        return None
    return several(slot(m), lambda t: of(town(t), lambda c: where.direction(side, c, c.name)))


def ask_sea_word(m: Match) -> Query | None:
    name = m[0].split()[1]
    return Asked((water.sea(name),))


def ask_mainland(m: Match) -> Query | None:
    area = place(slot(m))
    return (
        None
        if area is None
        else Asked(
            (both(area.topic, (area, water.MAINLAND), f"my city [is|is not] on the mainland of {slot(m).title()}"),)
        )
    )


def ask_mile(m: Match) -> Query | None:
    mile = " mile" in m[0]
    return Asked((nature.higher(1609 if mile else 1000, "a mile" if mile else "a kilometre"),))


def ask_flows(m: Match) -> Query | None:
    name = water.river_name(slot(m))
    return None if name is None else Asked((water.on_river(name),))


def ask_mountains(m: Match) -> Query | None:
    return None if "volcano" in m[0] else Asked((nature.MOUNTAINS,))


def ask_highers(m: Match) -> Query | None:
    return ask_higher(m)
