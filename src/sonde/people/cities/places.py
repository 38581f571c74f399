"""Parts of the world that are named: which cities are in them, and of which one may argue.

Continents, regions, countries and their parts, seas and rivers, each as a claim over bit masks. Tables:
`envs/data/cities_more.toml` (`unions`, `areas`, `parts`, `states`, `coasts`, `rivers`, `ranges`, `boxes`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from .atlas import Atlas, City, Truth, atlas, forms, kilometres, listed, plain
from .known import Known, any_of, certain, where

_CONTINENTS = ("Africa", "Asia", "Europe", "North America", "South America", "Oceania", "Antarctica")
_NATIONS = ("England", "Scotland", "Wales", "Northern Ireland")
_CONTINENT_OF = {"Europe": "Europe", "Balkans": "Europe", "Scandinavia": "Europe", "Asia": "Asia", "Africa": "Africa"}
"""The last word of a region's name -> the continent on which all of it is."""


def _two_lists(text: str) -> Known:
    """The cities of "a; b ? those of which one may argue"."""
    inside, _, unsure = text.partition("?")
    return certain(atlas().chosen(inside), atlas().chosen(unsure))


def _of_lands(row: Mapping[str, str]) -> Known:
    """The cities of the countries of a row."""
    return certain(atlas().within(row["yes"].split()), atlas().within(row["unsure"].split()))


def _having(field: str, *values: str) -> int:
    """The cities with one of some values in a field, as a mask."""
    return sum(1 << c.id for c in atlas().cities if getattr(c, field) in values)


@cache
def areas() -> Mapping[str, Known]:
    """Plain name of a part of the world -> the cities in it."""
    world = atlas()
    found, states = _regions(world), _states(world)
    found |= {plain(name): where(lambda c, name=name: _on_continent(c, name)) for name in _CONTINENTS}
    found |= states | {plain(k): _two_lists(v) for k, v in world.more["areas"].items() if k not in world.lands}
    lands = {name: _country(world, codes, states.get(name)) for name, codes in world.lands.items()}
    found |= {name: land for name, land in lands.items() if name not in found or len(name) > 3}
    found |= {plain(name): certain(_having("nation", name)) for name in _NATIONS}
    more: Mapping[str, str] = world.more["same_place"]
    return found | {word: any_of(found[name] for name in names.split("|")) for word, names in more.items()}


def _on_continent(c: City, name: str) -> Truth:
    """Of a city on two continents one may argue."""
    return name in c.continents and (len(c.continents) == 1 or None)


def _country(world: Atlas, codes: frozenset[str], state: Known | None) -> Known:
    """A country; of one that has its name from a state, or another country, one may argue."""
    beside = codes & set(world.more["words"]["dependent"].split())
    inside, unsure = world.within(codes - beside), world.within(beside)
    if len(codes - beside) > 1 or (state is not None and state.yes):
        return certain(0, inside | (state.yes if state else 0))
    return certain(inside, unsure)


def _states(world: Atlas) -> dict[str, Known]:
    """The United States: states, and parts of the country; names of provinces elsewhere only place a city there."""
    more = world.more
    states = {*more["states"].values(), *listed(more["parts"]["other_states"])}
    parts = {name: listed(text) for name, text in more["parts"].items() if name not in ("other_states", "South")}
    provinces = ((name, code) for code, names in more["provinces"].items() for name in listed(names))
    return {
        **{name: certain(0, world.within([code])) for name, code in provinces},
        **{plain(name): certain(_having("state", name)) for name in states},
        **{plain(name): certain(_having("state", *some)) for name, some in parts.items()},
    }


def _regions(world: Atlas) -> dict[str, Known]:
    found: dict[str, Known] = {}
    unions: Mapping[str, Any] = world.more["unions"]
    for name in sorted({name for land in world.countries.values() for name in land.regions} | set(unions)):
        row = unions.get(name, {})
        inside = set(row.get("add", "").split())
        inside |= {x.code for x in world.countries.values() if name in x.regions or row.get("of") in x.regions}
        region = _region(name, inside, set(row.get("unsure", "").split()) - inside)
        found |= dict.fromkeys((plain(name), *listed(row.get("words", ""), "|")), region)
    return found


def _region(name: str, inside: set[str], unsure: set[str]) -> Known:
    """A city on another continent than the rest of its country may be argued about."""
    continent = _CONTINENT_OF.get(name.rsplit(maxsplit=1)[-1])

    def test(c: City) -> Truth:
        code = c.land.code
        if code in inside and continent and continent not in c.continents:
            return False if code == "RU" else None
        return None if code in unsure else code in inside

    return where(test)


@cache
def ranges() -> Mapping[str, Known]:
    """Mountains -> the cities in or at the foot of them; those more than 1000 km away from all of these are not
    near."""
    found: dict[str, Known] = {}
    for names, text in atlas().more["ranges"].items():
        mask = atlas().chosen(text)
        near = [c for c in atlas().cities if mask >> c.id & 1]
        far = where(lambda c, near=near: min(kilometres(c, p) for p in near) <= 1000)
        for name in names.split("|"):
            word = plain(name)
            ways = {word, word.removesuffix(" mountains"), f"{word} mountains", word.removesuffix("s")}
            found |= dict.fromkeys(ways, Known(mask, far.no))
    return found


# --- waters ----------------------------------------------------------------------------------------------------------


def _sea_names(word: str) -> tuple[str, ...]:
    return word, f"{word} sea", f"{word} ocean", f"{word} coast"


@cache
def seas() -> Mapping[str, Known]:
    """Seas and oceans -> the cities on them. A city on a sea that is part of another is on that, too."""
    words = {word for c in atlas().cities if c.water and c.shore == "sea" for word in _waters(c.water)}
    known = {word: where(lambda c, word=word: _on_sea(c, word)) for word in words}
    return {name: known[word] for word in words for name in _sea_names(word)}


@cache
def _waters(name: str) -> frozenset[str]:
    """The seas of an entry such as "Adriatic Sea (part of the Mediterranean)", in plain words."""
    parts = name.replace("(", " and ").replace(" or ", " and ").split(" and ")
    bare = (plain(part.strip(" )").removeprefix("part of the ")) for part in parts)
    return frozenset(part.removesuffix(" sea").removesuffix(" ocean") for part in bare)


def _on_sea(c: City, word: str) -> Truth:
    """Where the sea of a city is not told, its country may at least have no coast on this one."""
    if c.shore in ("inland", "lake"):
        return False
    told = c.shore is not None and c.water is not None
    if told and word in _waters(c.water or ""):
        return True
    row = atlas().more["coasts"].get(word) or atlas().more["coasts"].get(f"{word} sea")
    on_it = c.land.code in f"{row['yes']} {row['unsure']}".split() if row else not told
    return None if on_it else False


@cache
def land_coasts() -> Mapping[str, Known]:
    """A sea -> the cities of the countries that have a coast on it."""
    rows = ((name.removesuffix(" sea"), _of_lands(row)) for name, row in atlas().more["coasts"].items())
    return {name: known for word, known in rows for name in _sea_names(word)}


@cache
def waters() -> Mapping[str, Known]:
    """Rivers and lakes -> the cities on them; of a city of which no river is told, great ones nearby are not known."""
    found: dict[str, Known] = {}
    more: Mapping[str, Any] = atlas().more["rivers"]
    for name in {c.river for c in atlas().cities if c.river}:
        word = plain(name).removesuffix(" river")
        row = more.get(word, {"yes": "", "unsure": ""})
        mask = _having("river", name) | atlas().chosen(row["yes"])
        lands = {c.land.code for c in atlas().cities if mask >> c.id & 1}
        near = 0 if word in more else sum(1 << c.id for c in atlas().cities if c.land.code in lands and not c.river)
        known = certain(mask, atlas().chosen(row["unsure"]) | near)
        found |= dict.fromkeys((word, f"{word} river", f"river {word}"), known)
    names = {c.water for c in atlas().cities if c.water and c.shore == "lake"}
    found |= {plain(name): certain(_having("water", name)) for name in names}
    great = any_of(found[name] for name in ("lake michigan", "lake erie", "lake ontario"))
    return found | dict.fromkeys(("great lakes", "great lake", "one of great lakes"), great)


@cache
def islands() -> Mapping[str, Known]:
    """Islands -> the cities on them; of a city on one without a name it is not known."""
    names = {c.island for c in atlas().cities if isinstance(c.island, str)}
    known = {n: where(lambda c, n=n: None if c.island in (None, True) else c.island == n) for n in names}
    return {form: known[name] for name in names for form in forms(name)}


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
