"""Parts of the world that are named: which cities are in them, and of which one may argue.

Continents, regions, countries and their parts, seas and rivers, each as a claim over bit masks. Tables:
`envs/data/cities_more.toml` (`unions`, `areas`, `parts`, `states`, `coasts`, `rivers`, `ranges`, `boxes`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from .atlas import Atlas, City, Truth, atlas, forms, kilometres, listed, plain
from .sets import Known

_CONTINENT_OF = {"Europe": "Europe", "Balkans": "Europe", "Scandinavia": "Europe", "Asia": "Asia", "Africa": "Africa"}
"""The last word of a region's name -> the continent on which all of it is."""


def where(test: Callable[[City], Truth]) -> Known:
    """The cities of which a test is true, and those of which it is false."""
    yes = no = 0
    for city in atlas().cities:
        found = test(city)
        yes |= (found is True) << city.id
        no |= (found is False) << city.id
    return Known(yes, no)


def either(parts: Iterable[Known]) -> Known:
    yes, no = 0, atlas().all
    for part in parts:
        yes, no = yes | part.yes, no & part.no
    return Known(yes, no)


def certain(mask: int, unsure: int = 0) -> Known:
    return Known(mask, atlas().all & ~mask & ~unsure)


def _two_lists(text: str) -> Known:
    """The cities of "a; b ? those of which one may argue"."""
    inside, _, unsure = text.partition("?")
    return certain(atlas().chosen(inside), atlas().chosen(unsure))


@cache
def areas() -> Mapping[str, Known]:
    """Plain name of a part of the world -> the cities in it."""
    world = atlas()
    found: dict[str, Known] = {}
    for name in ("Africa", "Asia", "Europe", "North America", "South America", "Oceania", "Antarctica"):
        found[plain(name)] = where(lambda c, name=name: None if _split(c, name) else name in c.continents)
    adjectives = {
        "african": "africa",
        "european": "europe",
        "asian": "asia",
        "north american": "north america",
        "south american": "south america",
    }
    found |= {word: found[name] for word, name in adjectives.items()}
    found["america"] = found["americas"] = either((found["north america"], found["south america"]))
    found["eurasia"] = either((found["europe"], found["asia"]))
    found |= _regions(world) | _states(world)
    found |= {plain(k): _two_lists(v) for k, v in world.more["areas"].items() if k not in world.lands}
    for name, codes in world.lands.items():
        if name not in found or len(name) > 3:
            found[name] = _country(world, name, codes)
    for name in ("England", "Scotland", "Wales", "Northern Ireland"):
        found[plain(name)] = where(lambda c, name=name: c.nation == name)
    return found


def _split(c: City, continent: str) -> bool:
    """Whether a city is on two continents, or of it one may argue."""
    return len(c.continents) > 1 and continent in c.continents


def _country(world: Atlas, name: str, codes: frozenset[str]) -> Known:
    beside = codes & set(world.more["words"]["dependent"].split())
    inside, unsure = world.within(codes - beside), world.within(beside)
    if len(codes - beside) > 1:
        return Known(0, world.all & ~inside)
    states = {plain(s): s for s in {*world.more["states"].values(), *listed(world.more["parts"]["other_states"])}}
    if name in states:
        return Known(0, world.all & ~inside & ~_of_states(world, [states[name]]))
    return certain(inside, unsure)


def _of_states(world: Atlas, names: Iterable[str]) -> int:
    wanted = set(names)
    return sum(1 << c.id for c in world.cities if c.state in wanted)


def _states(world: Atlas) -> dict[str, Known]:
    """The United States: states, and parts of the country."""
    more = world.more
    found = {
        plain(s): certain(_of_states(world, [s]))
        for s in {*more["states"].values(), *listed(more["parts"]["other_states"])}
    }
    found |= {
        plain(k): certain(_of_states(world, listed(v)))
        for k, v in more["parts"].items()
        if k not in ("other_states", "South")
    }
    for side in ("east", "west"):
        found[f"{side} coast of united states"] = found[f"{side} coast in united states"] = found[f"{side} coast"]
    for name in ("dc", "d c", "washington dc", "washington d c"):
        found[name] = found["district of columbia"]
    provinces = ((name, code) for code, names in more["provinces"].items() for name in listed(names))
    for name, code in provinces:
        found.setdefault(name, Known(0, world.all & ~world.within({str(code)})))
    return found


def _regions(world: Atlas) -> dict[str, Known]:
    found: dict[str, Known] = {}
    unions: Mapping[str, Any] = world.more["unions"]
    named = {name for land in world.countries.values() for name in land.regions} - {
        "Arctic",
        "North Atlantic",
        "Northern America",
    }
    for name in sorted(named | set(unions)):
        row = unions.get(name, {})
        inside = set(row.get("add", "").split())
        inside |= {x.code for x in world.countries.values() if name in x.regions or row.get("of") in x.regions}
        region = _region(name, inside, set(row.get("unsure", "").split()) - inside)
        for word in (plain(name), *listed(row.get("words", ""), "|")):
            if word not in ("north america", "south america", "oceania"):
                found[word] = region
    return found


def _region(name: str, inside: set[str], unsure: set[str]) -> Known:
    """A city on another continent than the rest of its country may be argued about."""
    continent = _CONTINENT_OF.get(name.rsplit(maxsplit=1)[-1])

    def test(c: City) -> Truth:
        code = c.land.code
        if code in unsure:
            return None
        if code not in inside:
            return False
        if continent and continent not in c.continents:
            return False if code == "RU" else None
        return True

    return where(test)


@cache
def ranges() -> Mapping[str, Known]:
    """Mountains -> the cities in or at the foot of them; those more than 1000 km away from all of these are not
    near."""
    found: dict[str, Known] = {}
    for name, text in atlas().more["ranges"].items():
        mask = atlas().chosen(text)
        near = [c for c in atlas().cities if mask >> c.id & 1]
        far = where(lambda c, near=near: min(kilometres(c, p) for p in near) <= 1000)
        word = plain(name)
        for form in {word, word.removesuffix(" mountains"), f"{word} mountains", word.removesuffix("s")}:
            found[form] = Known(mask, far.no)
    for other, name in (
        ("rockies", "rocky mountains"),
        ("himalayan", "himalayas"),
        ("andean", "andes"),
        ("alpine", "alps"),
    ):
        found[other] = found[name]
    return found


@cache
def seas() -> Mapping[str, Known]:
    """Seas and oceans -> the cities on them. A city on a sea that is part of another is on that, too."""
    found: dict[str, Known] = {}
    for name in {c.water for c in atlas().cities if c.water and c.shore == "sea"}:
        for word in _waters(name):
            known = where(lambda c, word=word: _on_sea(c, word))
            found |= dict.fromkeys((word, f"{word} sea", f"{word} ocean", f"{word} coast"), known)
    return found


@cache
def _waters(name: str) -> frozenset[str]:
    """The seas of an entry such as "Adriatic Sea (part of the Mediterranean)", in plain words."""
    parts = name.replace("(", " and ").replace(" or ", " and ").split(" and ")
    bare = (plain(part.strip(" )").removeprefix("part of the ")) for part in parts)
    return frozenset(part.removesuffix(" sea").removesuffix(" ocean") for part in bare)


def _on_sea(c: City, word: str) -> Truth:
    if c.shore in ("inland", "lake"):
        return False
    if c.shore is None or c.water is None:
        return None if c.land.code in _coasts().get(word, frozenset([c.land.code])) else False
    if word in _waters(c.water):
        return True
    return None if c.land.code in _coasts().get(word, frozenset()) else False


@cache
def _coasts() -> Mapping[str, frozenset[str]]:
    """A sea -> the countries on it, those included of which one may argue."""
    rows = atlas().more["coasts"].items()
    return {name.removesuffix(" sea"): frozenset(f"{row['yes']} {row['unsure']}".split()) for name, row in rows}


@cache
def land_coasts() -> Mapping[str, Known]:
    """A sea -> the cities of the countries that have a coast on it."""
    found: dict[str, Known] = {}
    for name, row in atlas().more["coasts"].items():
        known = certain(atlas().within(set(row["yes"].split())), atlas().within(set(row["unsure"].split())))
        word = name.removesuffix(" sea")
        found |= dict.fromkeys((word, f"{word} sea", f"{word} ocean"), known)
    return found


@cache
def rivers() -> Mapping[str, Known]:
    """Rivers -> the cities on them; of a city of which no river is told, great ones nearby are not known."""
    found: dict[str, Known] = {}
    more: Mapping[str, Any] = atlas().more["rivers"]
    for name in {c.river for c in atlas().cities if c.river}:
        word = plain(name).removesuffix(" river")
        row = more.get(word, {"yes": "", "unsure": ""})
        mask = sum(1 << c.id for c in atlas().cities if c.river == name) | atlas().chosen(row["yes"])
        lands = {c.land.code for c in atlas().cities if mask >> c.id & 1}
        near = sum(1 << c.id for c in atlas().cities if c.land.code in lands and not c.river) if word not in more else 0
        known = certain(mask, atlas().chosen(row["unsure"]) | near)
        found |= dict.fromkeys((word, f"{word} river", f"river {word}"), known)
    return found


@cache
def lakes() -> Mapping[str, Known]:
    """Lakes -> the cities on them."""
    names = {c.water for c in atlas().cities if c.water and c.shore == "lake"}
    found = {plain(n): certain(sum(1 << c.id for c in atlas().cities if c.water == n)) for n in names}
    great = either(found[name] for name in ("lake michigan", "lake erie", "lake ontario"))
    return found | dict.fromkeys(("great lakes", "great lake", "one of great lakes"), great)


@cache
def waters() -> Mapping[str, Known]:
    """Rivers and lakes."""
    return {**rivers(), **lakes()}


@cache
def islands() -> Mapping[str, Known]:
    """Islands -> the cities on them."""
    names = {c.island for c in atlas().cities if isinstance(c.island, str)}
    return {
        form: where(
            lambda c, n=name: c.island == n if isinstance(c.island, str) else None if c.island is not False else False
        )
        for name in names
        for form in forms(name)
    }


_SIDES: Mapping[str, Callable[[float, float], Truth]] = {
    "north": lambda y, x: True if y > 0.64 else False if y < 0.52 else None,
    "south": lambda y, x: True if y < 0.36 else False if y > 0.48 else None,
    "east": lambda y, x: True if x > 0.64 else False if x < 0.52 else None,
    "west": lambda y, x: True if x < 0.36 else False if x > 0.48 else None,
    "center": lambda y, x: (
        True if 0.3 < y < 0.7 and 0.3 < x < 0.7 else None if 0.2 < y < 0.8 and 0.2 < x < 0.8 else False
    ),
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


def lies(code: str, direction: str) -> float | None:
    """The edge of a country that somebody must be beyond to be north (south, east, west) of it."""
    box = _boxes().get(code)
    return None if box is None else box[("south", "north", "west", "east").index(direction)]
