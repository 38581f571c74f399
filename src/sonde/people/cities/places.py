"""Parts of the world that are named: which cities are in them, and of which one may argue.

Ours. What words in a slot stand for is declared in `envs/data/resident.txt`, a section for each kind of name: parts of
the world, seas, rivers, mountains, islands, and, as it is the same, faiths and former rulers. Where in its country a
city lies follows from the edges of the country (`boxes` in `envs/data/cities_more.toml`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from .atlas import City, Truth, atlas
from .known import Known, certain, declared, expressed


@cache
def named(kind: str) -> Mapping[str, Known]:
    """The names of a section -> the cities that they stand for.

    >>> bin(named("seas")["adriatic"].yes & atlas().chosen("Venice; Vienna")).count("1")
    1
    """
    rows = (line.partition(" = ") for line in declared()[kind].splitlines())
    return {name: known for names, _, text in rows for known in [expressed(text)] for name in names.split("|")}


@cache
def areas() -> Mapping[str, Known]:
    """Plain name of a part of the world, of a country or its people -> the cities there."""
    lands = {**atlas().peoples, **atlas().lands}
    return {**{name: certain(atlas().within(codes)) for name, codes in lands.items()}, **named("places")}


# --- where in a country ----------------------------------------------------------------------------------------------


def _beyond(share: float) -> Truth:
    """Whether a place is in the far part of a country, by the share of the way there."""
    return True if share > 0.64 else False if share < 0.52 else None


def _close_by(share: float) -> Truth:
    return True if share < 0.2 else None if share < 0.3 else False


_SIDES: Mapping[str, Callable[[float, float], Truth]] = {
    "north": lambda y, x: _beyond(y),
    "south": lambda y, x: _beyond(1 - y),
    "east": lambda y, x: _beyond(x),
    "west": lambda y, x: _beyond(1 - x),
    "center": lambda y, x: _close_by(max(abs(y - 0.5), abs(x - 0.5))),
}


def side_of_land(c: City, side: str) -> Truth:
    """Whether a city is in the north (south, east, west, center) of its country, by where that lies."""
    box = _boxes().get(c.land.code)
    if box is None:
        return None
    south, north, west, east = box
    y, x = (c.lat - south) / (north - south), (c.lon - west) / (east - west)
    parts = [_SIDES[part](y, x) for part in side.split()]
    return False if False in parts else None if None in parts else True


@cache
def _boxes() -> Mapping[str, tuple[float, ...]]:
    return {code: tuple(map(float, text.split())) for code, text in atlas().more["boxes"].items()}


def edge(code: str, direction: str) -> float | None:
    """The edge of a country that somebody must be beyond to be north (south, east, west) of it."""
    box = _boxes().get(code)
    return None if box is None else box[("south", "north", "west", "east").index(direction)]
