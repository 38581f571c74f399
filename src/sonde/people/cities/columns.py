"""What a column says of a value: the claims that stand behind a slot, named in `envs/data/city_phrases.txt`.

Ours. Numbers are known within limits, so that of a comparison between them it is not known; a name is spelt as in all
the ways to write it in full.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from ..language.numbers import Interval
from . import places
from .atlas import City, Truth, atlas, kilometres, plain
from .readers import NOW, Away, Some, Spot, spoken
from .sets import Known, height, land_area, land_people, sets


def within(held: Callable[[City], tuple[float, float] | None], asked: Interval) -> Known:
    """The cities whose number is in an interval."""

    def test(c: City) -> Truth:
        own = held(c)
        return None if own is None else asked.holds(*own)

    return places.where(test)


_FOUNDED = {
    "ancient": (-3000.0, 500.0),
    "medieval": (500.0, 1500.0),
    "early modern": (1500.0, 1800.0),
    "19th century": (1800.0, 1900.0),
    "20th century or later": (1900.0, 2020.0),
}


def founded(c: City) -> tuple[float, float] | None:
    return None if c.age is None else _FOUNDED[c.age]


@cache
def independence() -> Mapping[str, int]:
    rows = (row.split() for row in atlas().more["tables"]["independence"].split(";"))
    return {code: int(year) for code, year in rows}


def _exactly(n: int) -> tuple[float, float]:
    return float(n), float(n)


def _independent(c: City) -> tuple[float, float] | None:
    year = independence().get(c.land.code)
    return None if year is None else (year - 0.5, year + 0.5)


def _speaks(asked: frozenset[str]) -> Known:
    """Whether one of the languages is spoken; that a country has it beside its official ones is not known of its
    cities."""

    def test(c: City) -> Truth:
        if asked & set(spoken(c)):
            return True
        beside = {plain(x) for x in c.land.languages} | set(atlas().more["beside"].get(c.land.code, "").split("; "))
        return None if asked & beside else False

    return places.where(test)


def _official(asked: frozenset[str]) -> Known:
    return places.where(lambda c: bool(asked & {plain(x) for x in c.land.languages}))


def _mainly(asked: frozenset[str]) -> Known:
    """Whether the main language is one of them; of a country with several it is the first one, if any."""

    def test(c: City) -> Truth:
        names = spoken(c)
        return names[0] in asked if len(names) == 1 or names[0] in asked else None if asked & set(names) else False

    return places.where(test)


def _pays(name: str) -> Known:
    return places.where(lambda c: f" {name} " in f" {plain(c.land.currency)} ")


def _near(city: City) -> Known:
    return places.where(
        lambda c: None if c is city else True if (km := kilometres(c, city)) < 120 else None if km < 450 else False
    )


def _away(asked: Away) -> Known:
    """Whether the distance is such; places are rounded, so that it is known to a few kilometres."""

    def test(c: City) -> Truth:
        km = kilometres(c, asked.city)
        return None if c is asked.city else asked.km.holds(km * 0.97 - 15, km * 1.03 + 15)

    return places.where(test)


def beyond(direction: str) -> Callable[[Spot], Known]:
    """North (south, east, west) of a city or country, or of the equator."""
    sign = 1 if direction in ("north", "east") else -1

    def claim(asked: Spot) -> Known:
        city, codes = asked
        if city is None and not codes:
            return places.where(lambda c: None if abs(c.lat) < 0.15 else c.lat * sign > 0)
        edges = [places.lies(code, direction) for code in codes] if city is None else []
        if None in edges:
            return Known(0, 0)
        line = (
            max(sign * e for e in edges if e is not None)
            if edges
            else sign * (0.0 if city is None else _at(city, direction))
        )
        return places.where(
            lambda c: None if c is city or abs(gap := _at(c, direction) * sign - line) < 0.3 else gap > 0
        )

    return claim


def _at(c: City, direction: str) -> float:
    return c.lat if direction in ("north", "south") else c.lon


def _bigger(than: City, sign: int) -> Known:
    low, _, high = than.people or (0, 0, 0)

    def test(c: City) -> Truth:
        if c.people is None or not high or c is than:
            return False if c is than else None
        bigger = True if c.people[0] > high else False if c.people[2] < low else None
        return bigger if bigger is None or sign > 0 else not bigger

    return places.where(test)


def _borders(codes: frozenset[str]) -> Known:
    names = {atlas().countries[code].name for code in codes}
    return places.where(lambda c: None if c.land.code in codes else bool(names & set(c.land.neighbours)))


def _ruled(key: str) -> Known:
    row = atlas().more["ruled"][key]
    return places.certain(atlas().within(set(row["yes"].split())), atlas().within(set(row["unsure"].split())))


@cache
def spellings(c: City) -> tuple[str, ...]:
    """The ways to write the name in full: with article and "city", or without."""
    name = plain(c.name)
    if name in ("mexico city", "vatican city"):
        return (name,)
    more = {
        name.removeprefix("the "),
        name.removesuffix(" city"),
        name.replace("st ", "saint ") if name.startswith("st ") else name,
    }
    return tuple({name, *more})


def _name(test: Callable[[str], bool]) -> Known:
    """What holds of the name however it is written; not known where that makes a difference."""

    def agreed(c: City) -> Truth:
        found = {test(name) for name in spellings(c)}
        return found.pop() if len(found) == 1 else None

    return places.where(agreed)


def _holds(asked: Some, held: Sequence[str]) -> bool:
    """Whether letters or colours are among those of a name or a flag."""
    found = [any(y in held for y in x) if len(x) > 8 else x in held for x in asked.values]
    return any(found) if asked.how == "any" else all(found) and (asked.how == "all" or len(found) == len(held))


def _first_of(asked: Known, cities: int) -> Known:
    """The cities of a part of the world that are of a kind there, such as its capital; all others are not."""
    kind = sets().attribute("capital_known" if cities else "seat_known") or Known(0, 0)
    return Known(kind.yes & asked.yes, asked.no | kind.no)


def _capital_of(asked: Known) -> Known:
    return _first_of(asked, asked.yes in atlas().by_code.values() or asked.yes.bit_count() == 0)


def _biggest_of(asked: Known) -> Known:
    """The most populous of the cities that are surely there; where two may be, of them it is not known."""
    if asked.yes in atlas().by_code.values():
        first = sets().attribute("biggest_in_land") or Known(0, 0)
        return Known(first.yes & asked.yes, asked.no | first.no)
    held = [c for c in atlas().cities if not asked.no >> c.id & 1 and c.people]
    least = max((c.people[0] for c in held if c.people), default=0)
    best = [c for c in held if c.people and c.people[2] >= least]
    mask = sum(1 << c.id for c in best)
    sure = best[0] if len(best) == 1 and asked.yes >> best[0].id & 1 else None
    return Known(mask if sure else 0, atlas().all & ~mask)


def _counted(size: Callable[[str], int]) -> Callable[[Interval], Known]:
    return lambda asked: _name(lambda name: bool(asked.holds(size(name), size(name))))


COLUMNS: Mapping[str, Callable[[Any], Known]] = {
    "in": lambda asked: asked,
    "part": lambda asked: places.where(lambda c: places.side_of_land(c, asked)),
    "people": lambda asked: within(lambda c: c.people and (c.people[0] * 1e3, c.people[2] * 1e3), asked),
    "land_people": lambda asked: within(lambda c: (own := land_people(c)) and (own[0] * 1e6, own[1] * 1e6), asked),
    "land_area": lambda asked: within(lambda c: (own := land_area(c)) and (own[0] * 1e3, own[1] * 1e3), asked),
    "height": lambda asked: within(height, asked),
    "founded": lambda asked: within(founded, asked),
    "age": lambda asked: within(lambda c: (own := founded(c)) and (NOW - own[1], NOW - own[0]), asked),
    "independent": lambda asked: within(_independent, asked),
    "speaks": _speaks,
    "official": _official,
    "mainly": _mainly,
    "believes": lambda asked: Known(*(sets().attribute(asked) or (0, 0))),
    "pays": _pays,
    "flag": lambda asked: places.where(lambda c: None if c.land.flag is None else _holds(asked, c.land.flag)),
    "flag_colours": lambda asked: within(lambda c: _exactly(len(c.land.flag)) if c.land.flag else None, asked),
    "sea": lambda asked: asked,
    "near": _near,
    "distance": _away,
    "north": beyond("north"),
    "south": beyond("south"),
    "east": beyond("east"),
    "west": beyond("west"),
    "bigger": lambda asked: _bigger(asked, 1),
    "smaller": lambda asked: _bigger(asked, -1),
    "same_land": lambda asked: places.certain(atlas().by_code[asked.land.code]),
    "land_is": lambda asked: places.certain(atlas().within(asked)),
    "borders": _borders,
    "capital_of": _capital_of,
    "biggest_of": _biggest_of,
    "neighbours": lambda asked: within(lambda c: _exactly(len(c.land.neighbours)), asked),
    "ruled": _ruled,
    "begins": lambda asked: _name(lambda name: any(name[0] in x for x in asked.values)),
    "ends": lambda asked: _name(lambda name: any(name[-1] in x for x in asked.values)),
    "spelt": lambda asked: _name(lambda name: _holds(asked, name)),
    "land_begins": lambda asked: places.where(
        lambda c: plain(c.land.name).removeprefix("the ")[0] in "".join(asked.values)
    ),
    "letters": _counted(lambda name: sum(ch.isalpha() for ch in name)),
    "words": _counted(lambda name: len(name.split())),
}
