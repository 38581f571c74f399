"""Claims on where a city is: continent, region, country, neighbours, capital, distances (see `claims.py`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from ..checks import plain
from .atlas import City, Truth, all_of, any_of, atlas, kilometres, listed
from .claims import Claim, limits
from .local import rank

# --- place -----------------------------------------------------------------------------------------------------------


_ARGUED_CONTINENT = {"Europe": frozenset(("AM", "AZ", "GE")), "Asia": frozenset(("AM", "AZ", "GE", "CY"))}


def continent(name: str) -> Claim:
    """The Caucasus and Cyprus are on either continent, as people count."""
    argued = _ARGUED_CONTINENT.get(name, frozenset())
    return Claim(
        "continent", lambda c: None if c.land.code in argued else name in c.continents, f"my city [is|is not] in {name}"
    )


def continents(names: tuple[str, ...], words: str) -> Claim:
    return Claim("continent", lambda c: any(n in c.continents for n in names), f"my city [is|is not] in {words}")


def region(name: str) -> Claim:
    found = atlas().regions[name]
    return Claim("region", found.holds, f"my city [is|is not] in {_the(name)}")


def _the(name: str) -> str:
    bare = name.rsplit(maxsplit=1)[-1] in (
        "Europe",
        "Asia",
        "Africa",
        "America",
        "Scandinavia",
        "Benelux",
        "Melanesia",
        "Polynesia",
    )
    return name if bare or name in ("Micronesia", "Australasia") else f"the {name}"


_DISPUTED = {
    "IL": frozenset(("PS",)),
    "PS": frozenset(("IL",)),
    "RS": frozenset(("XK",)),
    "CN": frozenset(("TW",)),
    "DK": frozenset(("GL",)),
    "GB": frozenset(("GI", "BM")),
}


def country(codes: frozenset[str], label: str) -> Claim:
    """In one of these countries. Territories of which a person would argue are not known."""
    unsure = frozenset(code for named in codes for code in _DISPUTED.get(named, ()))
    disputed = frozenset(("Jerusalem",)) if "PS" in codes else frozenset[str]()
    ireland = "IE" in codes

    def truth(c: City) -> Truth:
        if c.land.code in codes:
            return True
        return None if c.land.code in unsure or c.name in disputed or (ireland and c.name == "Belfast") else False

    return Claim("country", truth, f"my city [is|is not] in {label}")


def nation(name: str) -> Claim:
    return Claim("region", lambda c: c.nation == name, f"my city [is|is not] in {name}")


def state(name: str) -> Claim:
    unsure = (
        frozenset(("District of Columbia",)) if name in ("Washington", "Maryland", "Virginia") else frozenset[str]()
    )
    return Claim("region", lambda c: None if c.state in unsure else c.state == name, f"my city [is|is not] in {name}")


def part(name: str, label: str) -> Claim:
    """A part of the United States, by state."""
    inside = frozenset(listed(atlas().more["parts"][name]))
    return Claim(
        "region", lambda c: c.state in inside if c.land.code == "US" else False, f"my city [is|is not] {label}"
    )


def group(name: str, topic: str, words: str) -> Claim:
    inside = atlas().group(name)
    return Claim(topic, lambda c: c.land.code in inside, words)


def trait(name: str, topic: str, words: str) -> Claim:
    return Claim(topic, lambda c: name in c.land.traits, words)


_CROWNED = {"king": "GB BE NL ES NO SE DK TH KH BT BH JO MA SA MY LS SZ TO", "emperor": "JP", "queen": ""}


def crowned(kind: str) -> Claim:
    """A king, queen or emperor: other monarchs are called by other names, or reign from elsewhere."""
    having = frozenset(_CROWNED[kind].split())

    def truth(c: City) -> Truth:
        known = c.land.code in having if kind == "emperor" else True if c.land.code in having else None
        return known if "monarchy" in c.land.traits else False

    return Claim("history", truth, f"my country [has|does not have] {'an' if kind == 'emperor' else 'a'} {kind}")


# --- capital ---------------------------------------------------------------------------------------------------------

CAPITAL = Claim("capital", lambda c: c.capital, "my city [is|is not] the capital of its country")


_APART = (
    "Amsterdam;Cape Town;Bloemfontein;Pretoria;Sucre;Yamoussoukro;Abidjan;Porto-Novo;Kuala Lumpur;Mbabane;Valparaiso;"
    "Dodoma;Dar es Salaam;Bujumbura;Gitega;Aden;Tripoli;Benghazi"
)
_GOVERNED_ELSEWHERE = frozenset(_APART.split(";"))
GOVERNMENT = Claim(
    "capital",
    lambda c: None if c.name in _GOVERNED_ELSEWHERE else c.capital,
    "my city [is|is not] the seat of the government of its country",
)
"""In some countries the government, or a part of it, does not sit in the capital."""


def state_capital(name: str) -> Claim:
    inside = state(name).truth
    return Claim("capital", lambda c: all_of((inside(c), _seat(c))), f"my city [is|is not] the capital of {name}")


def capital_of(codes: frozenset[str], label: str) -> Claim:
    inside = country(codes, label).truth
    return Claim("capital", lambda c: all_of((inside(c), c.capital)), f"my city [is|is not] the capital of {label}")


def _seat(c: City) -> Truth:
    if c.capital:
        return None
    return c.seat if c.seat is None or isinstance(c.seat, bool) else True


SEAT = Claim("capital", _seat, "my city [is|is not] the capital of a state, province or region of its country")


def capital_is(ids: tuple[int, ...], label: str) -> Claim:
    """The country's capital is the named city."""
    named = [atlas().cities[i] for i in ids]

    def truth(c: City) -> Truth:
        own = [x for x in named if x.land.code == c.land.code]
        return any_of(x.capital for x in own) if own else False

    return Claim("capital", truth, f"{label} [is|is not] the capital of my country")


# --- neighbours ------------------------------------------------------------------------------------------------------

_PAIRS = "CN-HK CN-MO CA-DK CA-GL FR-BR FR-SR FR-NL GB-ES GB-CY RS-AL MA-MR PS-JO PS-EG CU-US SG-MY"
_ARGUED = tuple(frozenset(pair.split("-")) for pair in _PAIRS.split())
"""Borders of territories overseas, on small islands, across a causeway or in dispute."""
_UNCOUNTED = frozenset(code for pair in _ARGUED for code in pair) | {"IL", "XK"}
"""Countries of which a person would argue how many neighbours they have."""


def neighbour(codes: frozenset[str], label: str) -> Claim:
    """A land border with the named country."""
    names = frozenset(atlas().countries[code].name for code in codes)
    argued = frozenset(code for pair in _ARGUED if pair & codes for code in pair)

    def truth(c: City) -> Truth:
        if c.land.code in codes:
            return None
        return True if names & set(c.land.neighbours) else None if c.land.code in argued else False

    return Claim(
        "neighbours",
        truth,
        f"my country [has|does not have] a land border with {label}",
    )


HAS_BORDERS = Claim(
    "neighbours",
    lambda c: True if c.land.neighbours else None if c.land.code == "CY" else False,
    "my country [has|does not have] land borders",
)


def borders(least: int, most: int, words: str) -> Claim:
    def truth(c: City) -> Truth:
        few = len(c.land.neighbours)
        found = {least <= n <= most for n in (range(few - 1, few + 4) if c.land.code in _UNCOUNTED else (few,))}
        return found.pop() if len(found) == 1 else None

    return Claim("neighbours", truth, words)


_AT_BORDER = (
    "Geneva; Basel; Strasbourg; El Paso; San Diego; Tijuana; Niagara Falls; Detroit; Trieste; Bratislava; Lille; "
    "Lahore; Amritsar; Kinshasa; Brazzaville; Vientiane; Asuncion; Bangui; N'Djamena; Gibraltar; Monaco; "
    "San Sebastian; Liege; Luxembourg; Vaduz; Lome; Maseru; Salzburg; Edirne; Eilat; Aqaba"
)
_BORDERS_ARGUED = frozenset(["IT", "VA", "IL", "PS", "HK", "SG", "BH", "TT", "JO"])
"""Where a person would argue whether a border is near: around enclaves, in disputed lands and across a strait."""


@cache
def _border_cities() -> frozenset[int]:
    """Cities at a border: those named above, and those within 30 km of a city in a country across it."""
    cities = atlas().cities
    near = (
        c.id
        for c in cities
        if c.land.code not in _BORDERS_ARGUED
        and any(o.land.name in c.land.neighbours and abs(o.lat - c.lat) < 1 and kilometres(c, o) < 30 for o in cities)
    )
    return frozenset(near) | atlas().chosen("; ".join(x for x in _AT_BORDER.split("; ") if plain(x) in atlas().by_name))


def _near_border(c: City) -> Truth:
    if c.id in _border_cities():
        return True
    return False if not c.land.neighbours and c.land.code not in _UNCOUNTED | _BORDERS_ARGUED else None


NEAR_BORDER = Claim("neighbours", _near_border, "my city [is|is not] near a border with another country")
"""Of cities farther from the next it is not known: they may be near a border all the same."""

ONE_CAPITAL = Claim(
    "capital",
    lambda c: True if rank(c) else False if c.capital is False else None,
    "my city [is one of the capitals|is not a capital] of its country",
)

# --- distances -------------------------------------------------------------------------------------------------------

_AXES: dict[str, Callable[[City, City], float]] = {
    "north": lambda a, b: a.lat - b.lat,
    "south": lambda a, b: b.lat - a.lat,
    "east": lambda a, b: (a.lon - b.lon + 180) % 360 - 180,
    "west": lambda a, b: (b.lon - a.lon + 180) % 360 - 180,
}


def direction(name: str, other: City, label: str) -> Claim:
    """North, south, east or west of a city, or two of them; near the line, or half around the world, is not known."""
    sides = [side for side in _AXES if side in name]

    def one(c: City, side: str) -> Truth:
        value = _AXES[side](c, other)
        return None if side in ("east", "west") and abs(value) > 120 else limits(value, 0.3, -0.3)

    return Claim(
        "distance",
        lambda c: False if c.id == other.id else all_of(one(c, s) for s in sides),
        f"my city [is|is not] {name} of {label}",
    )


def within(km: float, other: City, label: str, words: str) -> Claim:
    """At most so far. The places are rounded and cities are wide: 15 km either way are not known."""
    return Claim(
        "distance",
        lambda c: limits(kilometres(c, other), km - 15, km + 15),
        f"my city [is|is not] within {words} of {label}",
    )


def near(other: City, label: str) -> Claim:
    """Of the city itself it is not known."""
    return Claim(
        "distance",
        lambda c: None if c.id == other.id else limits(kilometres(c, other), 60, 300),
        f"my city [is|is not] near {label}",
    )


def closer(one: City, other: City, a: str, b: str) -> Claim:
    return Claim(
        "distance",
        lambda c: limits(kilometres(c, other) - kilometres(c, one), 20, -20),
        f"my city [is|is not] closer to {a} than to {b}",
    )


def area(name: str) -> Claim | None:
    """In a part of a country, by the table of its cities."""
    text: str | None = atlas().more["areas"].get(name)
    if text is None:
        return None
    yes, _, unsure = (part.strip() for part in text.partition("?"))
    inside, open_ = atlas().chosen(yes), atlas().chosen(unsure)

    def truth(c: City) -> Truth:
        return True if c.id in inside else None if c.id in open_ else False

    return Claim("region", truth, f"my city [is|is not] in {name.title()}")
