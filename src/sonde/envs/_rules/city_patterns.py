"""The patterns of the questions about a city (`envs/data/city_patterns.txt`), with the builders that their names mean.

`being` and `having` match "C rest" and "N rest", `whole` matches the whole text, and `opening` the open questions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from . import city_claims as k
from . import city_matters as b
from . import city_measures as m
from . import city_nature as nat
from .city_claims import Claim
from .city_replies import OPEN, Query
from .city_slots import Built, Table, choice, fixed, group, metro
from .city_words import NUMBER, UNIT, group_eu

_WORDS = r"[A-Za-z][A-Za-z0-9', ]*?"


@cache
def _sections() -> Mapping[str, Sequence[tuple[str, str]]]:
    """Section -> its names and patterns, macros filled in."""
    text = files("sonde.envs").joinpath("data", "city_patterns.txt").read_text("ascii")
    found: dict[str, list[tuple[str, str]]] = {}
    rows: list[tuple[str, str]] = []
    macros = {"X": f"(?P<x>{_WORDS})", "N": f"(?P<n>{NUMBER})", "NUMBER": NUMBER, "UNIT": UNIT}
    macros |= {f"X{i}": f"(?P<x{i}>{_WORDS})" for i in range(2, 6)}
    for line in text.splitlines():
        if line.startswith("["):
            rows = found.setdefault(line.strip("[]"), [])
        elif line and line[0] != "#":
            name, _, pattern = line.partition(": ")
            filled = re.sub(r"<([A-Z]+\d?)>", lambda found: macros[found[1]], pattern)
            if "macros" in found and len(found) == 1:
                macros[name] = filled
            rows.append((name, filled))
    return found


@cache
def _table(section: str) -> Table:
    made = builders()
    return tuple((re.compile(pattern), made[name]) for name, pattern in _sections()[section])


def being() -> Table:
    """What the city or the country is."""
    return _table("being")


def having() -> Table:
    """What the city or the country has."""
    return _table("having")


def whole() -> Table:
    """Whole questions."""
    return _table("whole")


@cache
def opening() -> tuple[tuple[re.Pattern[str], Query], ...]:
    """Open questions, and the facts that answer them."""
    return tuple((re.compile(pattern), OPEN[name]) for name, pattern in _sections()["open"])


def _both(topic: str, words: str, *claims: Claim) -> Built:
    return fixed(k.both(topic, claims, words))


@cache
def builders() -> Mapping[str, Built]:
    """Name -> what makes a query of a match."""
    return {
        "capital": fixed(k.CAPITAL),
        "seat": fixed(k.SEAT),
        "capital_of": b.ask_capital_of,
        "capital_here": b.ask_capital_here,
        "capital-and-biggest": _both(
            "capital",
            "my city [is both|is not both] the capital and the biggest city of its country",
            k.CAPITAL,
            k.BIGGEST,
        ),
        "biggest-in-world": fixed(
            Claim(
                "population",
                lambda c: False if c.people and c.people[1] < 25000 else None,
                "my city [is|is not] the biggest in the world",
            )
        ),
        "among-world": fixed(k.AMONG_WORLD),
        "big_in": b.ask_big_in,
        "biggest_in": b.ask_biggest_in,
        "second": fixed(k.SECOND),
        "big": fixed(k.big(2000, 350, "my city [is|is not] big")),
        "major": fixed(k.big(3000, 100, "my city [is|is not] a major one")),
        "a-megacity": fixed(k.people(10000000, 1000000000000.0, "my city [is|is not] a megacity")),
        "a-metropolis": fixed(k.big(2000, 350, "my city [is|is not] a metropolis")),
        "small": fixed(k.big(100, 900, "my city [is|is not] small")),
        "of-middle-size": fixed(k.people(200000, 1000000, "my city [is|is not] of middle size")),
        "big-or-small": choice(k.big(2000, 350, "my city is big"), k.big(100, 900, "my city is small")),
        "bigger": b.ask_bigger,
        "over": b.ask_over,
        "under": b.ask_under,
        "eu": fixed(group_eu()),
        "in-nato": fixed(k.group("nato", "region", "my country [is|is not] in NATO")),
        "in-asean": fixed(k.group("asean", "region", "my country [is|is not] in ASEAN")),
        "in-the-commonwealth": fixed(k.group("commonwealth", "history", "my country [is|is not] in the Commonwealth")),
        "in-the-g20": fixed(k.group("g20", "wealth", "my country [is|is not] in the G20")),
        "in-the-g7": fixed(k.group("g7", "wealth", "my country [is|is not] in the G7")),
        "the-schengen-area": fixed(k.group("schengen", "region", "my country [is|is not] in the Schengen area")),
        "hemispheres": m.ask_hemispheres,
        "equator": m.ask_equator,
        "north-or-south": choice(nat.HEMISPHERES["northern"], nat.HEMISPHERES["southern"]),
        "near-equator": fixed(nat.EQUATOR),
        "tropics": fixed(nat.TROPICS),
        "arctic": fixed(nat.ARCTIC),
        "parallel": m.ask_parallel,
        "parallel_of": m.ask_parallel_of,
        "meridian": m.ask_meridian,
        "greenwich": m.ask_greenwich,
        "direction_any": m.ask_direction_any,
        "closer": m.ask_closer,
        "within": m.ask_within,
        "near": m.ask_near,
        "long_way": m.ask_long_way,
        "landlocked": fixed(nat.LANDLOCKED),
        "country-coast": fixed(k.opposite(nat.LANDLOCKED, "my country [has a coast|is landlocked]")),
        "inland": fixed(nat.INLAND),
        "coast": fixed(nat.COAST),
        "near-sea": fixed(nat.NEAR_SEA),
        "body-of-water": fixed(
            k.either("coast", (nat.COAST, nat.LAKE, nat.ON_A_RIVER), "my city [is|is not] next to a body of water")
        ),
        "coast-or-inland": choice(nat.COAST, nat.INLAND),
        "port": fixed(nat.PORT),
        "lake": fixed(nat.LAKE),
        "sea": m.ask_sea,
        "sea_word": m.ask_sea_word,
        "on-a-river": fixed(nat.ON_A_RIVER),
        "water": m.ask_water,
        "mainland": fixed(nat.MAINLAND),
        "mainland_of": m.ask_mainland,
        "island": fixed(nat.ISLAND),
        "island-state": fixed(nat.ISLAND_STATE),
        "on_island": m.ask_island,
        "nothing": lambda match: None,
        "higher": m.ask_higher,
        "mile": m.ask_mile,
        "high": fixed(nat.HIGH),
        "highest": fixed(nat.HIGHEST),
        "sea-level": fixed(nat.SEA_LEVEL),
        "low": fixed(nat.LOW),
        "mountains": fixed(nat.MOUNTAINS),
        "range": m.ask_range,
        "hot-or-cold": choice(nat.climate("warm"), nat.climate("cold")),
        "desert": m.ask_desert,
        "climate": m.ask_climate,
        "hot-and-dry": fixed(
            Claim(
                "climate",
                lambda c: (
                    True
                    if c.climate in ("Csa", "BWh", "BSh", "Dsa")
                    else False
                    if c.climate in ("Af", "Am", "Cwa", "Dwa", "Cfc", "ET")
                    else None
                ),
                "summers in my city [are|are not] hot and dry",
            )
        ),
        "warm": fixed(nat.climate("warm")),
        "religion": b.ask_religion,
        "language": b.ask_language,
        "richest": fixed(
            Claim(
                "wealth",
                lambda c: (
                    True
                    if c.land.code in group("richest")
                    else None
                    if c.land.code in group("rich")
                    else False
                    if c.land.code in group("not_rich")
                    else None
                ),
                "my country [is|is not] among the richest in the world",
            )
        ),
        "poor": fixed(
            Claim(
                "wealth",
                lambda c: (
                    True
                    if c.land.code in group("poor")
                    else False
                    if c.land.code in group("not_poor") or c.land.code in group("rich")
                    else None
                ),
                "my country [is|is not] one of the poor ones",
            )
        ),
        "rich": fixed(
            Claim(
                "wealth",
                lambda c: True if c.land.code in group("rich") else False if c.land.code in group("not_rich") else None,
                "my country [is|is not] a rich one",
            )
        ),
        "developed": fixed(
            Claim(
                "wealth",
                lambda c: (
                    True if c.land.code in group("developed") else False if c.land.code in group("not_rich") else None
                ),
                "my country [is|is not] a developed one",
            )
        ),
        "developing": fixed(
            Claim(
                "wealth",
                lambda c: (
                    False if c.land.code in group("developed") else True if c.land.code in group("not_rich") else None
                ),
                "my country [is|is not] a developing one",
            )
        ),
        "a-monarchy": fixed(k.trait("monarchy", "history", "my country [is|is not] a monarchy")),
        "a-republic": fixed(k.opposite(k.trait("monarchy", "history", ""), "my country [is|is not] a republic")),
        "rule": b.ask_rule,
        "colony": fixed(k.COLONY),
        "founded": b.ask_founded,
        "aged": b.ask_aged,
        "ancient": b.ask_ancient,
        "the-middle-ages": fixed(
            Claim(
                "history",
                lambda c: None if c.age is None else c.age == "medieval",
                "my city [dates|does not date] from the Middle Ages",
            )
        ),
        "a-modern-foundation": fixed(
            Claim(
                "history",
                lambda c: (
                    True
                    if c.age == "20th century or later"
                    else False
                    if c.age in ("ancient", "medieval", "early modern")
                    else None
                ),
                "my city [is|is not] a modern foundation",
            )
        ),
        "by-european-colonists": fixed(
            Claim("history", lambda c: c.colonial, "my city [was|was not] founded by European colonists")
        ),
        "neighbours": b.ask_neighbours,
        "known": b.ask_known,
        "olympics": b.ask_olympics,
        "zone": m.ask_zone,
        "offset": m.ask_offset,
        "clock": m.ask_clock,
        "in": b.ask_in,
        "people": b.ask_people,
        "between": b.ask_between,
        "a-large-population": fixed(k.big(2000, 350, "my city [has|does not have] a large population")),
        "a-small-population": fixed(k.big(100, 900, "my city [has|does not have] a small population")),
        "has-borders": fixed(k.HAS_BORDERS),
        "a-monarch": fixed(k.trait("monarchy", "history", "my country [has|does not have] a monarch")),
        "euro": lambda m: b.one(k.currency("euro", "the euro")),
        "currency": b.ask_currency,
        "flag": b.ask_flag,
        "metro": fixed(nat.METRO),
        "airport": fixed(nat.AIRPORT),
        "big-airport": fixed(nat.BIG_AIRPORT),
        "university": fixed(nat.UNIVERSITY),
        "neighbour_of": b.ask_neighbour_of,
        "border_count": b.ask_border_count,
        "several-languages": fixed(
            Claim(
                "language",
                lambda c: len(c.land.languages) > 1,
                "several languages [are|are not] official or widely spoken",
            )
        ),
        "drive": b.ask_drive,
        "left-or-right": choice(k.drives("left"), k.drives("right")),
        "faithful": b.ask_faithful,
        "flagged": b.ask_flagged,
        "more_people": b.ask_more_people,
        "fewer_people": b.ask_fewer_people,
        "ruled": b.ask_ruled,
        "letter": m.ask_letter,
        "contained": m.ask_contained,
        "vowels": m.ask_vowels,
        "lengths": m.ask_lengths,
        "single": m.ask_single,
        "alphabet": m.ask_alphabet,
        "flows": m.ask_flows,
        "see_mountains": m.ask_mountains,
        "highers": m.ask_highers,
        "snow": fixed(nat.climate("snow")),
        "snowy": m.ask_snowy,
        "rainy": fixed(nat.climate("rainy")),
        "cold": fixed(nat.climate("cold")),
        "hot": fixed(nat.climate("hot")),
        "seasons": fixed(nat.climate("seasons")),
        "latitude": m.ask_latitude,
        "universities": b.ask_universities,
        "games": b.ask_games,
        "trains": fixed(
            Claim(
                "transport",
                lambda c: True if c.id in metro() and c.name != "Singapore" else None,
                "trains [connect|do not connect] my city to others",
            )
        ),
        "world-cup-won": fixed(
            Claim(
                "sport",
                lambda c: None if c.land.code == "GB" else c.land.code in group("world_cup_won"),
                "my country [has|has not] won the football World Cup",
            )
        ),
        "world-cup-hosted": fixed(
            Claim(
                "sport",
                lambda c: c.land.code in group("world_cup_hosted"),
                "my country [has|has not] hosted the football World Cup",
            )
        ),
        "capitals": b.ask_capitals,
        "sight": b.ask_sight,
        "origin": b.ask_origin,
    }
