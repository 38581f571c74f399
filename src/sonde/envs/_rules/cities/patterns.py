"""The patterns of the questions about a city (`envs/data/city_patterns.txt`), with the builders that their names mean.

The sections `being` and `having` match "C rest" and "N rest", `whole` the whole text, and `open` the open questions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from ..lazy import Lazy, fitting, head, opened
from . import (
    customs,
    globe,
    letters,
    matters,
    measures,
    nature,
    past,
    people,
    sides,
    sights,
    versus,
    water,
    ways,
    weather,
    where,
)
from .claims import Claim, both, either, opposite
from .facts import OPEN, of_land
from .replies import Query, Told
from .slots import Built, choice, fixed, group, metro, one
from .words import NUMBER, UNIT, group_eu

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
def _table(section: str) -> tuple[tuple[Lazy, Built], ...]:
    made = builders()
    return tuple((Lazy(pattern), made[name]) for name, pattern in _sections()[section])


@cache
def _opening() -> tuple[tuple[Lazy, Told], ...]:
    return tuple((Lazy(pattern), OPEN[name]) for name, pattern in _sections()["open"])


@cache
def _heads(section: str) -> tuple[str, ...]:
    return tuple(head(pattern) for _, pattern in _sections()[section])


def built(section: str, text: str) -> Query | None:
    """What the first pattern of a section comes to that fits the text and whose slots are understood."""
    rows = _table(section)
    for i in fitting(_heads(section), opened(text)):
        pattern, build = rows[i]
        if pattern.may_fit(text) and (m := pattern.compiled.fullmatch(text)) and (found := build(m)) is not None:
            return found
    return None


def opening(text: str) -> Query | None:
    """The fact that answers an open question."""
    rows = (_opening()[i] for i in fitting(_heads("open"), opened(text)))
    fits = (told for pattern, told in rows if pattern.may_fit(text) and pattern.compiled.fullmatch(text))
    found = next(fits, None)
    return None if found is None else of_land(found, text)


def _both(topic: str, words: str, *claims: Claim) -> Built:
    return fixed(both(topic, claims, words))


@cache
def builders() -> Mapping[str, Built]:
    """Name -> what makes a query of a match."""
    return {
        "capital": fixed(where.CAPITAL),
        "seat": fixed(where.SEAT),
        "government": fixed(where.GOVERNMENT),
        "one-capital": fixed(where.ONE_CAPITAL),
        "near-border": fixed(where.NEAR_BORDER),
        "far-from-equator": fixed(nature.FAR_FROM_EQUATOR),
        "state-capital": matters.ask_state_capital,
        "capital_of": matters.ask_capital_of,
        "capital_here": matters.ask_capital_here,
        "capital-and-biggest": _both(
            "capital",
            "my city [is both|is not both] the capital and the biggest city of its country",
            where.CAPITAL,
            people.BIGGEST,
        ),
        "biggest-in-world": fixed(
            Claim(
                "population",
                lambda c: False if c.people and c.people[1] < 25000 else None,
                "my city [is|is not] the biggest in the world",
            )
        ),
        "among-world": fixed(people.AMONG_WORLD),
        "big_in": matters.ask_big_in,
        "biggest_in": matters.ask_biggest_in,
        "second": fixed(people.SECOND),
        "big": fixed(people.big(2000, 350, "my city [is|is not] big")),
        "major": fixed(people.big(3000, 100, "my city [is|is not] a major one")),
        "a-megacity": fixed(people.people(10000000, 1000000000000.0, "my city [is|is not] a megacity")),
        "a-metropolis": fixed(people.big(2000, 350, "my city [is|is not] a metropolis")),
        "small": fixed(people.big(100, 900, "my city [is|is not] small")),
        "of-middle-size": fixed(people.people(200000, 1000000, "my city [is|is not] of middle size")),
        "big-or-small": choice(people.big(2000, 350, "my city is big"), people.big(100, 900, "my city is small")),
        "bigger": matters.ask_bigger,
        "over": matters.ask_over,
        "under": matters.ask_under,
        "eu": fixed(group_eu()),
        "in-nato": fixed(where.group("nato", "region", "my country [is|is not] in NATO")),
        "in-asean": fixed(where.group("asean", "region", "my country [is|is not] in ASEAN")),
        "in-the-commonwealth": fixed(
            where.group("commonwealth", "history", "my country [is|is not] in the Commonwealth")
        ),
        "in-the-g20": fixed(where.group("g20", "wealth", "my country [is|is not] in the G20")),
        "in-the-g7": fixed(where.group("g7", "wealth", "my country [is|is not] in the G7")),
        "the-schengen-area": fixed(where.group("schengen", "region", "my country [is|is not] in the Schengen area")),
        "hemispheres": globe.ask_hemispheres,
        "equator": globe.ask_equator,
        "north-or-south": choice(nature.HEMISPHERES["northern"], nature.HEMISPHERES["southern"]),
        "near-equator": fixed(nature.EQUATOR),
        "on-equator": fixed(nature.ON_EQUATOR),
        "tropics": fixed(nature.TROPICS),
        "arctic": fixed(nature.ARCTIC),
        "parallel": globe.ask_parallel,
        "parallel_of": globe.ask_parallel_of,
        "meridian": globe.ask_meridian,
        "greenwich": globe.ask_greenwich,
        "direction_any": measures.ask_direction_any,
        "closer": measures.ask_closer,
        "within": measures.ask_within,
        "near": measures.ask_near,
        "long_way": measures.ask_long_way,
        "landlocked": fixed(water.LANDLOCKED),
        "country-coast": measures.ask_country_coast,
        "inland": fixed(water.INLAND),
        "coast": measures.ask_coast,
        "beach": fixed(water.BEACH),
        "near-sea": measures.ask_near_sea,
        "body-of-water": fixed(
            either("coast", (water.COAST, water.LAKE, water.ON_A_RIVER), "my city [is|is not] next to a body of water")
        ),
        "coast-or-inland": choice(water.COAST, water.INLAND),
        "port": fixed(water.PORT),
        "lake": fixed(water.LAKE),
        "great-lake": fixed(water.GREAT_LAKE),
        "sea": measures.ask_sea,
        "sea_word": measures.ask_sea_word,
        "on-a-river": fixed(water.ON_A_RIVER),
        "water": measures.ask_water,
        "mainland": fixed(water.MAINLAND),
        "mainland_of": measures.ask_mainland,
        "island": fixed(water.ISLAND),
        "island-state": fixed(water.ISLAND_STATE),
        "on_island": measures.ask_island,
        "nothing": lambda match: None,
        "higher": measures.ask_higher,
        "mile": measures.ask_mile,
        "high": fixed(nature.HIGH),
        "highest": fixed(nature.HIGHEST),
        "sea-level": fixed(nature.SEA_LEVEL),
        "low": fixed(nature.LOW),
        "mountains": fixed(nature.MOUNTAINS),
        "range": measures.ask_range,
        "hot-or-cold": choice(nature.climate("warm"), nature.climate("cold")),
        "desert": weather.ask_desert,
        "climate": weather.ask_climate,
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
        "warm": fixed(nature.climate("warm")),
        "religion": ways.ask_religion,
        "language": ways.ask_language,
        "richest": fixed(
            Claim(
                "wealth",
                lambda c: True if c.land.code in group("richest") else None if c.land.code in group("rich") else False,
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
        "a-monarchy": fixed(where.trait("monarchy", "history", "my country [is|is not] a monarchy")),
        "a-republic": fixed(opposite(where.trait("monarchy", "history", ""), "my country [is|is not] a republic")),
        "rule": ways.ask_rule,
        "colony": fixed(past.COLONY),
        "founded": ways.ask_founded,
        "aged": ways.ask_aged,
        "ancient": ways.ask_ancient,
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
        "neighbours": matters.ask_neighbours,
        "known": sights.ask_known,
        "olympics": sights.ask_olympics,
        "zone": globe.ask_zone,
        "offset": globe.ask_offset,
        "clock": globe.ask_clock,
        "in": matters.ask_in,
        "people": matters.ask_people,
        "between": matters.ask_between,
        "a-large-population": fixed(people.big(2000, 350, "my city [has|does not have] a large population")),
        "a-small-population": fixed(people.big(100, 900, "my city [has|does not have] a small population")),
        "has-borders": fixed(where.HAS_BORDERS),
        "a-monarch": fixed(where.trait("monarchy", "history", "my country [has|does not have] a monarch")),
        "crowned": lambda m: one(where.crowned(m["x"])),
        "euro": lambda m: one(customs.currency("euro", "the euro")),
        "currency": ways.ask_currency,
        "flag": ways.ask_flag,
        "metro": fixed(nature.METRO),
        "airport": fixed(nature.AIRPORT),
        "big-airport": fixed(nature.BIG_AIRPORT),
        "university": fixed(nature.UNIVERSITY),
        "neighbour_of": matters.ask_neighbour_of,
        "border_count": matters.ask_border_count,
        "several-languages": fixed(
            Claim(
                "language",
                lambda c: len(c.land.languages) > 1,
                "several languages [are|are not] official or widely spoken",
            )
        ),
        "drive": ways.ask_drive,
        "left-or-right": choice(customs.drives("left"), customs.drives("right")),
        "faithful": ways.ask_faithful,
        "flagged": ways.ask_flagged,
        "more_people": matters.ask_more_people,
        "fewer_people": matters.ask_fewer_people,
        "ruled": ways.ask_ruled,
        "letter": letters.ask_letter,
        "contained": letters.ask_contained,
        "vowels": letters.ask_vowels,
        "lengths": letters.ask_lengths,
        "single": letters.ask_single,
        "alphabet": letters.ask_alphabet,
        "flows": measures.ask_flows,
        "see_mountains": measures.ask_mountains,
        "highers": measures.ask_highers,
        "snow": fixed(nature.climate("snow")),
        "snowy": weather.ask_snowy,
        "rainy": fixed(nature.climate("rainy")),
        "cold": fixed(nature.climate("cold")),
        "hot": fixed(nature.climate("hot")),
        "seasons": fixed(nature.climate("seasons")),
        "latitude": globe.ask_latitude,
        "universities": sights.ask_universities,
        "games": sights.ask_games,
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
        "capitals": matters.ask_capitals,
        "sight": sights.ask_sight,
        "side": sides.ask_side,
        "eaten": sights.ask_eaten,
        "origin": sights.ask_origin,
        "side_of": versus.ask_side_of,
        "other_bigger": versus.ask_other_bigger,
        "only_neighbour": versus.ask_only_neighbour,
        "once_capital": versus.ask_once_capital,
        "out-of-euro": fixed(
            opposite(customs.currency("euro", ""), "my country [stays|does not stay] out of the euro")
        ),
        "own-currency": fixed(versus.own_currency()),
    }
