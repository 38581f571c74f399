"""What a column says of a value: the claims that stand behind a slot, named in `data/phrases.txt`.

Ours. Numbers are known within limits, so that of a comparison between them it is not known; a name is spelt as in all
the ways to write it in full.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from .._shared.english.numbers import Interval
from .atlas import City, Truth, atlas, kilometres, plain
from .known import NOW, Known, attribute, certain, edge, side_of_land, spoken, where, within
from .readers import Away, Some


def _number(name: str, unit: float = 1.0) -> Callable[[Interval], Known]:
    return lambda asked: within(name, asked, unit)


def _aged(asked: Interval) -> Known:
    return _number("founded")(Interval(NOW - asked.high, NOW - asked.low))


# --- people ----------------------------------------------------------------------------------------------------------


@cache
def _tongues(c: City) -> Sequence[str]:
    return [plain(x) for x in spoken(c)]


def _speaks(asked: frozenset[str]) -> Known:
    """Whether one of the languages is spoken; that a country has it beside its official ones is not known of its
    cities."""
    beside: Mapping[str, str] = atlas().more["beside"]

    def test(c: City) -> Truth:
        if asked & {*_tongues(c)}:
            return True
        return None if asked & {*map(plain, c.land.languages), *beside.get(c.land.code, "").split("; ")} else False

    return where(test)


def _mainly(asked: frozenset[str]) -> Known:
    """Whether the main language is one of them; of a city with several it is the first one, if any."""
    return where(lambda c: _tongues(c)[0] in asked or (None if asked & {*_tongues(c)} else False))


# --- places ----------------------------------------------------------------------------------------------------------


def _near(city: City) -> Known:
    return where(
        lambda c: None if c is city else True if (km := kilometres(c, city)) < 120 else None if km < 450 else False
    )


def _away(asked: Away) -> Known:
    """Whether the distance is such; places are rounded, so that it is known to a few kilometres."""

    def test(c: City) -> Truth:
        km = kilometres(c, asked.city)
        return None if c is asked.city else asked.km.holds(km * 0.97 - 15, km * 1.03 + 15)

    return where(test)


def _beyond(direction: str) -> Callable[[City | frozenset[str]], Known]:
    """North (south, east, west) of a city or country, or of the equator."""
    sign = 1 if direction in ("north", "east") else -1
    field = "lat" if direction in ("north", "south") else "lon"

    def claim(asked: City | frozenset[str]) -> Known:
        edges = [getattr(asked, field)] if isinstance(asked, City) else [edge(code, direction) for code in asked]
        if None in edges:
            return Known(0, 0)
        line = max((sign * e for e in edges if e is not None), default=0.0)
        gap = 0.3 if edges else 0.15
        return where(lambda c: None if abs(away := getattr(c, field) * sign - line) < gap else away > 0)

    return claim


def _compared(sign: int) -> Callable[[City], Known]:
    """The cities that surely have more people than one, or, with the other sign, fewer."""

    def claim(than: City) -> Known:
        low, _, high = than.people or (0, 0, math.inf)
        more = within("people", Interval(math.nextafter(high, math.inf), math.inf)).yes
        fewer = within("people", Interval(-math.inf, math.nextafter(low, -math.inf))).yes
        return Known(more, fewer | 1 << than.id) if sign > 0 else Known(fewer, more | 1 << than.id)

    return claim


def _borders(codes: frozenset[str]) -> Known:
    names = {atlas().countries[code].name for code in codes}
    return where(lambda c: None if c.land.code in codes else not names.isdisjoint(c.land.neighbours))


def _capital_of(asked: Known) -> Known:
    """The capital of a country; of a part of one, the seat of its government. All other cities are not."""
    whole = not asked.yes or asked.yes in atlas().by_code.values()
    kind = attribute("capital_known" if whole else "seat_known") or certain(0)
    return Known(kind.yes & asked.yes, asked.no | kind.no)


def _biggest_of(asked: Known) -> Known:
    """The most populous of the cities that are surely there; where two may be, of them it is not known."""
    if asked.yes in atlas().by_code.values():
        first = attribute("biggest_in_land") or certain(0)
        return Known(first.yes & asked.yes, asked.no | first.no)
    held = {c: c.people for c in atlas().cities if c.people and not asked.no >> c.id & 1}
    least = max((low for low, _, _ in held.values()), default=0)
    mask = sum(1 << c.id for c, (_, _, high) in held.items() if high >= least)
    return certain(mask & asked.yes if mask.bit_count() == 1 else 0, mask)


# --- names and flags -------------------------------------------------------------------------------------------------


def _name(test: Callable[[str], bool]) -> Known:
    return where(lambda c: c.agreed(test))


def _holds(asked: Some, held: Sequence[str]) -> bool:
    """Whether letters or colours are among those of a name or a flag; a value of several letters stands for any."""
    found = [any(y in held for y in x.split("/")) for x in asked.values]
    return any(found) if asked.how == "any" else all(found) and (asked.how == "all" or len(found) == len(held))


COLUMNS: Mapping[str, Callable[[Any], Known]] = {
    **dict.fromkeys(("in", "ruled", "believes"), lambda asked: asked),
    "part": lambda asked: where(lambda c: side_of_land(c, asked)),
    "people": _number("people", 1e3),
    "land_people": _number("population", 1e6),
    "land_area": _number("area", 1e3),
    "height": _number("elevation"),
    "founded": _number("founded"),
    "age": _aged,
    "independent": _number("independent"),
    "neighbours": _number("neighbours"),
    "flag_colours": _number("flag_colours"),
    "speaks": _speaks,
    "official": lambda asked: where(lambda c: not asked.isdisjoint(map(plain, c.land.languages))),
    "mainly": _mainly,
    "pays": lambda asked: where(lambda c: f" {asked} " in f" {plain(c.land.currency)} "),
    "flag": lambda asked: where(lambda c: None if c.land.flag is None else _holds(asked, c.land.flag)),
    "near": _near,
    "distance": _away,
    **{side: _beyond(side) for side in ("north", "south", "east", "west")},
    "bigger": _compared(1),
    "smaller": _compared(-1),
    "same_land": lambda asked: certain(atlas().by_code[asked.land.code]),
    "land_is": lambda asked: certain(atlas().within(asked)),
    "borders": _borders,
    "capital_of": _capital_of,
    "biggest_of": _biggest_of,
    "begins": lambda asked: _name(lambda name: any(name[0] in x for x in asked.values)),
    "ends": lambda asked: _name(lambda name: any(name[-1] in x for x in asked.values)),
    "spelt": lambda asked: _name(lambda name: _holds(asked, name)),
    "land_begins": lambda asked: where(lambda c: plain(c.land.name).removeprefix("the ")[0] in "".join(asked.values)),
    "letters": _number("letters"),
    "words": _number("words"),
}
