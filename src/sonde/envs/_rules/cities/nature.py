"""Claims on height, air, place on the globe, and what there is in a city (see `claims.py`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from ..checks import plain
from .atlas import City, Truth, atlas, kilometres
from .claims import Claim, limits

# --- height ----------------------------------------------------------------------------------------------------------


def higher(metres: float, words: str) -> Claim:
    """Above so many metres; the error is a tenth, and at least 15 m."""
    gap = max(15.0, metres * 0.1)
    return Claim(
        "elevation",
        lambda c: limits(c.elevation, metres + gap, metres - gap),
        f"my city [is|is not] more than {words} above sea level",
    )


HIGH = Claim("elevation", lambda c: limits(c.elevation, 1200, 500), "my city [is|is not] at a high altitude")

LOW = Claim("elevation", lambda c: limits(c.elevation, 100, 500), "my city [is|is not] low-lying")

SEA_LEVEL = Claim("elevation", lambda c: limits(c.elevation, 20, 120), "my city [is|is not] about at sea level")

HIGHEST = Claim(
    "elevation", lambda c: limits(c.elevation, 3000, 1500), "my city [is|is not] among the highest in the world"
)


@cache
def ranges() -> Mapping[str, str]:
    """Plain words for a range of mountains -> its name."""
    found = {plain(name): name for name in atlas().more["ranges"]}
    more = {
        "himalaya": "Himalayas",
        "rockies": "Rocky Mountains",
        "andean": "Andes",
        "ural mountains": "Urals",
        "atlas": "Atlas Mountains",
    }
    more |= {f"{k} mountains": v for k, v in found.items() if not k.endswith("mountains")} | {
        "caucasus mountains": "Caucasus Mountains"
    }
    return (
        found
        | more
        | {"himalayan mountains": "Himalayas", "andes mountains": "Andes", "appalachian mountains": "Appalachians"}
    )


def near_range(name: str) -> Claim:
    places = [atlas().cities[i] for i in atlas().chosen(atlas().more["ranges"][name])]
    ids = frozenset(c.id for c in places)

    def truth(c: City) -> Truth:
        return True if c.id in ids else False if min(kilometres(c, p) for p in places) > 1000 else None

    return Claim("elevation", truth, f"my city [is|is not] in or near the {name}")


@cache
def _mountain_cities() -> frozenset[int]:
    return frozenset(i for text in atlas().more["ranges"].values() for i in atlas().chosen(text))


MOUNTAINS = Claim(
    "elevation",
    lambda c: (
        True
        if c.id in _mountain_cities()
        or (c.elevation or 0) >= 1800
        or any("mountain" in plain(k).split() for k in c.known)
        else None
    ),
    "my city [is|is not] in or near mountains",
)


# --- air -------------------------------------------------------------------------------------------------------------


def _air(yes: str, no: str) -> tuple[frozenset[str], frozenset[str]]:
    return frozenset(yes.split()), frozenset(no.split())


_HOT = "Af Am Aw As BWh BSh Csa Cwa Cfa Dsa Dwa Dfa"

_CLIMATES: Mapping[str, tuple[str, tuple[frozenset[str], frozenset[str]]]] = {
    "tropical": (
        "[has|does not have] a tropical climate",
        _air("Af Am Aw As", "BWh BWk BSk Csa Csb Cfb Cfc Dsa Dsb Dwa Dwb Dwc Dfa Dfb Dfc Dfd ET Cfa Cwa BWn"),
    ),
    "desert": (
        "[has|does not have] a desert climate",
        _air("BWh BWk BWn", "Af Am Aw As Csa Csb Cwa Cwb Cfa Cfb Cfc Dsa Dsb Dwa Dwb Dwc Dfa Dfb Dfc Dfd H HC"),
    ),
    "mediterranean": (
        "[has|does not have] a Mediterranean climate",
        _air("Csa Csb", "Af Am Aw As BWh BWk Cwa Cwb Cfb Cfc Dwa Dwb Dwc Dfa Dfb Dfc Dfd H HC ET"),
    ),
    "temperate": (
        "[has|does not have] a temperate climate",
        _air("Cfb Csb Csa Cfa", "Af Am Aw As BWh BWk BSh Dfc Dfd Dwc ET"),
    ),
    "continental": (
        "[has|does not have] a continental climate",
        _air("Dfa Dfb Dwa Dwb Dsa Dsb", "Af Am Aw As BWh BSh Csa Csb Cwa Cwb Cfc H HC"),
    ),
    "subtropical": (
        "[has|does not have] a subtropical climate",
        _air("Cfa Cwa", "Dfa Dfb Dfc Dfd Dwa Dwb Dwc Cfc ET BWk Cfb"),
    ),
    "oceanic": (
        "[has|does not have] an oceanic climate",
        _air("Cfb Cfc", "Af Am Aw As BWh BWk BSh Dfa Dfb Dfc Dfd Dwa Dwb Dwc Cwa"),
    ),
    "hot": ("[is|is not] hot in summer", _air(_HOT, "Cfc Dfc Dwc ET HC H Cwb")),
    "warm": (
        "[is|is not] warm for most of the year",
        _air("Af Am Aw As BWh BSh", "Dfa Dfb Dfc Dfd Dwa Dwb Dwc ET Cfc"),
    ),
    "cold": (
        "[has|does not have] cold winters",
        _air("Dfa Dfb Dfc Dfd Dwa Dwb Dwc Dsa Dsb ET", "Af Am Aw As BWh BSh H Csa Cwb BWn"),
    ),
    "snow": ("[gets|does not get] snow in winter", _air("Dfa Dfb Dfc Dfd Dwa Dwb Dwc Dsa Dsb ET Cfc", "Af Am Aw As")),
    "dry": ("[has|does not have] a dry climate", _air("BWh BWk BSh BSk BWn", "Af Am Cfa Cfb Cfc Dfa Dfb Dfc Cwa")),
    "humid": ("[has|does not have] a humid climate", _air("Af Am Cfa Cwa", "BWh BWk BSh BSk Csa")),
    "rainy": ("[gets|does not get] much rain", _air("Af Am", "BWh BWk BWn BSh BSk")),
    "mild": (
        "[has|does not have] a mild climate",
        _air("Cfb Csb Cwb H", "BWh Dfa Dfb Dfc Dfd Dwa Dwb Dwc ET Af Am Aw"),
    ),
    "seasons": ("[has|does not have] four seasons", _air("Dfa Dfb Dwa Dwb Dsa Dsb", "Af Am Aw As")),
    "monsoon": ("[has|does not have] a monsoon", _air("Am", "BWh BWk Csa Csb Cfb Cfc Dfb Dfc ET")),
}

CLIMATE_WORDS = frozenset(_CLIMATES)


_TOLD = {
    "rainy": "Bergen; Glasgow; Galway; Vancouver; Manchester; Seattle; Limerick; Cork; Kuching; Douala; Freetown; "
    "Bilbao; Santiago de Compostela",
    "snow": "Boston; New York City; Philadelphia; Munich; Zurich; Bern; Innsbruck; Salzburg; Vienna; Prague; Berlin; "
    "Sofia; Denver; Salt Lake City; Kabul; Tehran; Leipzig; Dresden; Copenhagen; Belgrade; Pittsburgh; Cincinnati; "
    "Albany; Oslo; Chicago; Calgary; Yerevan; Ankara; Bishkek; Almaty; Urumqi; Hohhot; Lanzhou; Bergen; "
    "Gothenburg; Nuremberg; Srinagar",
    "cold": "Srinagar",
}
"""Cities of mixed climates that are known for it."""


def _never_snowy(c: City) -> bool:
    """Dry and hot, low, and in or next to the tropics."""
    return c.climate in ("BWh", "BSh") and abs(c.lat) <= 25.5 and c.elevation is not None and c.elevation < 400


def climate(kind: str) -> Claim:
    words, (yes, no) = _CLIMATES[kind]
    told = _TOLD.get(kind, "")

    def truth(c: City) -> Truth:
        if c.climate in yes or c.id in atlas().chosen(told):
            return True
        return False if c.climate in no or (kind == "snow" and _never_snowy(c)) else None

    return Claim("climate", truth, f"my city {words}")


# --- place on the globe ----------------------------------------------------------------------------------------------

HEMISPHERES = {
    "northern": Claim(
        "hemisphere", lambda c: limits(c.lat, 0.2, -0.2), "my city [is|is not] in the northern hemisphere"
    ),
    "southern": Claim(
        "hemisphere", lambda c: limits(-c.lat, 0.2, -0.2), "my city [is|is not] in the southern hemisphere"
    ),
    "eastern": Claim("hemisphere", lambda c: limits(c.lon, 0.2, -0.2), "my city [is|is not] in the eastern hemisphere"),
    "western": Claim(
        "hemisphere", lambda c: limits(-c.lon, 0.2, -0.2), "my city [is|is not] in the western hemisphere"
    ),
}

EQUATOR = Claim("latitude", lambda c: limits(abs(c.lat), 6, 15), "my city [is|is not] close to the equator")

ON_EQUATOR = Claim("latitude", lambda c: limits(abs(c.lat), 0.25, 3), "my city [is|is not] on the equator")

FAR_FROM_EQUATOR = Claim("latitude", lambda c: limits(abs(c.lat), 35, 12), "my city [is|is not] far from the equator")

TROPICS = Claim("latitude", lambda c: limits(abs(c.lat), 23.3, 23.6), "my city [is|is not] between the tropics")

ARCTIC = Claim("latitude", lambda c: limits(c.lat, 66.7, 66.4), "my city [is|is not] north of the Arctic Circle")


def parallel(degrees: float, side: str) -> Claim:
    sign = 1 if side == "north" else -1
    return Claim(
        "latitude",
        lambda c: limits(sign * c.lat, degrees + 0.2, degrees - 0.2),
        f"my city [is|is not] farther {side} than {degrees:g} degrees {side}",
    )


def meridian(degrees: float, side: str) -> Claim:
    sign = 1 if side == "east" else -1
    return Claim(
        "longitude",
        lambda c: limits(sign * c.lon, degrees + 0.2, degrees - 0.2),
        f"my city [is|is not] farther {side} than {degrees:g} degrees {side}",
    )


def clock(low: float, high: float, words: str) -> Claim:
    """Hours from Greenwich between two numbers."""
    return Claim("timezone", lambda c: low <= c.utc <= high, words)


# --- what there is ---------------------------------------------------------------------------------------------------


def _metro(c: City) -> Truth:
    yes, unsure = atlas().metro
    if c.id in yes:
        return True
    if c.id not in unsure and (c.land.code in atlas().group("no_metro") or c.id in atlas().metro_none):
        return False
    return None if c.id in unsure or c.people is None or c.people[1] > 300 else False


METRO = Claim("transport", _metro, "my city [has|does not have] a metro")

AIRPORT = Claim(
    "airport", lambda c: True if (c.people or (0, 0))[1] >= 600 else None, "there [is|is not] an airport at my city"
)

BIG_AIRPORT = Claim(
    "airport",
    lambda c: True if (c.people or (0, 0))[1] >= 3000 else False if c.people and c.people[1] < 60 else None,
    "my city [has|does not have] a big airport",
)

UNIVERSITY = Claim(
    "university",
    lambda c: True if (c.people or (0, 0))[1] >= 400 or c.university else None,
    "my city [has|does not have] a university",
)


def olympics(kind: str, word: str) -> Claim:
    """Hosted the games: "s" summer, "w" winter, "" either."""

    def truth(c: City) -> Truth:
        if c.id in atlas().olympics_unsure:
            return None
        return any(year.startswith(kind) for year in atlas().olympics.get(c.id, ()))

    return Claim("sport", truth, f"my city [has|has not] hosted the {word}Olympic Games")
