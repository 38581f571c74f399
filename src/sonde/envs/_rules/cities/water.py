"""Claims on seas, lakes, rivers and islands (see `claims.py`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from ..checks import plain
from .atlas import City, Truth, atlas, kilometres, negation
from .claims import Claim

# --- water -----------------------------------------------------------------------------------------------------------


def _on_sea(c: City) -> Truth:
    return None if c.shore is None or _inland_sea(c) else c.shore == "sea"


def _inland_sea(c: City) -> bool:
    """Whether what it lies on is a lake that is called a sea."""
    return c.shore == "lake" and (c.water or "").endswith(" Sea")


def _near_sea(c: City) -> Truth:
    if c.shore == "sea":
        return True
    if c.sea_km is None or _inland_sea(c):
        return None
    low, high = c.sea_km
    return True if high is not None and high <= 15 else False if low >= 50 else None


COAST = Claim("coast", _on_sea, "my city [is|is not] on the sea")

NEAR_SEA = Claim("coast", _near_sea, "my city [is|is not] near the sea")

INLAND = Claim("coast", lambda c: negation(_on_sea(c)), "my city [lies inland|is on the sea]")

_NO_OCEANS = frozenset(("mediterranean", "black", "baltic", "red", "adriatic", "aegean", "marmara", "bosporus"))
"""Seas that nobody takes for an ocean."""


def _on_ocean(c: City) -> Truth:
    if c.shore != "sea":
        return _on_sea(c)
    words = plain(c.water or "").split()
    return True if "ocean" in words else False if _NO_OCEANS & set(words) else None


OCEAN = Claim("coast", _on_ocean, "my city [is|is not] on an ocean")


def _near_ocean(c: City) -> Truth:
    return _on_ocean(c) if c.shore == "sea" else False if _near_sea(c) is False else None


NEAR_OCEAN = Claim("coast", _near_ocean, "my city [is|is not] near an ocean")


def _ocean_country(c: City) -> Truth:
    """Whether the country has a coast on one of the three great oceans; of the arms of oceans it is not known."""
    if "landlocked" in c.land.traits:
        return False
    rows = (atlas().more["coasts"][name]["yes"].split() for name in ("atlantic", "pacific", "indian"))
    return True if any(c.land.code in row for row in rows) else None


COUNTRY_OCEAN = Claim("coast", _ocean_country, "my country [has|does not have] a coast on an ocean")

BEACH = Claim("coast", lambda c: True if c.shore == "sea" else None, "my city [is|is not] on the sea")
"""Rivers and lakes may have beaches too."""

LANDLOCKED = Claim("coast", lambda c: "landlocked" in c.land.traits, "my country [is landlocked|has a coast]")

COUNTRY_COAST = Claim(
    "coast",
    lambda c: None if c.land.code in ("AZ", "KZ", "TM") else "landlocked" not in c.land.traits,
    "my country [has a coast|is landlocked]",
)
"""The Caspian is a sea to some."""

LAKE = Claim("coast", lambda c: True if c.shore == "lake" else None, "my city [is|is not] on a lake")

_GREAT_LAKES = ("Lake Superior", "Lake Michigan", "Lake Huron", "Lake Erie", "Lake Ontario")
GREAT_LAKE = Claim(
    "coast",
    lambda c: c.water in _GREAT_LAKES if c.shore in ("lake", "sea") else None,
    "my city [is|is not] on one of the Great Lakes",
)

PORT = Claim(
    "industry",
    lambda c: (
        True
        if (c.shore == "sea" and (c.people or (0, 0))[1] >= 400)
        or c.id in atlas().chosen(atlas().more["cities"]["ports"])
        else False
        if c.shore == "inland" and not c.river and (c.sea_km or (0,))[0] >= 50
        else None
    ),
    "my city [has|does not have] a port",
)

_OCEANS: Mapping[str, str] = {
    "atlantic": "atlantic ocean|north atlantic",
    "mediterranean": "mediterranean sea|adriatic sea part of the mediterranean",
    "pacific": "pacific ocean|coral sea",
    "adriatic": "adriatic sea part of the mediterranean",
    "indian": "indian ocean|arabian sea|bay of bengal",
}

_ARGUABLE: Mapping[str, str] = {
    "atlantic": "english channel|north sea|irish sea|caribbean|mexico|norwegian|gibraltar|barents|magellan",
    "pacific": "china|japan|yellow|java|tasman|thailand|timor|malacca|magellan|andaman",
    "mediterranean": "bosporus|black|gibraltar",
    "indian": "red sea|persian|aden|oman|andaman|malacca|timor|java|tasman|southern",
    "southern": "tasman",
    "arctic": "barents|norwegian",
    "tyrrhenian": "mediterranean",
    "aegean": "mediterranean",
    "ionian": "mediterranean",
    "ligurian": "mediterranean",
    "marmara": "bosporus",
    "bosporus": "bosporus",
    "arabian": "oman|aden",
    "celtic": "atlantic|irish",
    "norwegian": "atlantic",
    "bohai": "yellow",
    "bering": "pacific",
    "china": "china|gulf of thailand|pacific",
    "philippine": "china|pacific",
    "japan": "pacific",
    "caribbean": "mexico",
    "mexico": "caribbean|atlantic",
    "english": "north sea|atlantic",
    "aden": "red",
    "red": "aden",
    "persian": "oman",
    "oman": "persian|arabian",
    "thailand": "china|andaman",
    "java": "java",
    "labrador": "atlantic",
    "guinea": "atlantic",
    "guayaquil": "pacific",
    "finland": "baltic",
    "bothnia": "baltic",
    "bengal": "andaman",
    "alboran": "mediterranean",
    "levantine": "mediterranean",
    "east": "china|japan",
    "biscay": "atlantic",
    "irish": "atlantic",
    "north": "baltic|north atlantic",
    "wadden": "north sea",
    "azov": "black",
    "andaman": "malacca",
}

_ALSO = {"aegean": "Izmir; Thessaloniki", "tyrrhenian": "Naples; Palermo", "ligurian": "Genoa"}
"""Cities on a part of the sea that they are told to be on."""

_SEA_NAMES = """
adriatic; aegean; alboran; andaman sea; arabian gulf; arabian sea; arctic ocean; atlantic; baltic;
barents sea; bay of bengal; bay of biscay; black sea; bohai; bosporus; bothnia; caribbean; caspian;
celtic sea; coral sea; east china sea; english channel; gulf of aden; gulf of finland; gulf of guinea;
gulf of mexico; gulf of oman; gulf of thailand; indian ocean; ionian; irish sea; japan sea; java sea;
levantine; ligurian; marmara; mediterranean; north sea; norwegian sea; pacific; persian gulf; philippine sea;
red sea; sea of azov; sea of japan; sea of marmara; south china sea; southern ocean; strait of gibraltar;
strait of magellan; strait of malacca; tasman sea; timor sea; tyrrhenian; yellow sea
"""

SEAS = frozenset(" ".join(name.split()) for name in _SEA_NAMES.split(";"))

"""Plain names of seas; some without "sea", as they are often said."""


def sea(name: str) -> Claim:
    """On a sea, by its plain name without "sea" or "ocean". Arms of it are not known."""
    key = re.sub(r"^(?:gulf|bay|strait|sea) of | (?:sea|ocean|channel|gulf|coast)$|^(?:south|east) (?=china)", "", name)
    key = "persian" if name == "arabian gulf" else key
    full = "persian gulf" if name == "arabian gulf" else name if " " in name else key
    arms = [a for a in _OCEANS.get(key, "").split("|") if a]
    row = atlas().more["coasts"].get(name.removesuffix(" ocean").removesuffix(" sea") if name != "north sea" else name)
    coasts = frozenset(f"{row['yes']} {row['unsure']}".split()) if row else frozenset[str]()
    also = atlas().chosen(_ALSO.get(key, ""))
    arguable = [a for a in _ARGUABLE.get(key, "").split("|") if a]

    def truth(c: City) -> Truth:
        water = plain(c.water or "")
        if c.id in also:
            return True
        if full in water or water in arms:
            return True if c.shore in ("sea", "lake") else None
        if coasts and c.land.code not in coasts:
            return False
        if not water:
            return False if _near_sea(c) is False and key != "caspian" else None
        return None if any(a in water for a in arguable) or c.name in ("Panama City", "Istanbul") else False

    return Claim("coast", truth, f"my city [is|is not] on the {_sea_label(name)}")


def _sea_label(name: str) -> str:
    label = name.title().replace(" Of ", " of ")
    return label if " " in name else f"{label} {'Ocean' if name in ('atlantic', 'pacific') else 'Sea'}"


def country_sea(claim: Claim, name: str = "") -> Claim:
    """Of a country: by the table of coasts; for other seas true if of one of its cities, false if it has no coast."""
    row = atlas().more["coasts"].get(name)

    def truth(c: City) -> Truth:
        if row is not None:
            return (
                True if c.land.code in row["yes"].split() else None if c.land.code in row["unsure"].split() else False
            )
        if any(claim.truth(x) for x in atlas().siblings[c.land.code]):
            return True
        return False if "landlocked" in c.land.traits else None

    return Claim("coast", truth, claim.words.replace("my city", "my country"))


# --- islands, rivers -------------------------------------------------------------------------------------------------

ISLAND = Claim(
    "island", lambda c: None if c.island is None else c.island is not False, "my city [is|is not] on an island"
)

ISLAND_STATE = Claim("island", lambda c: "island state" in c.land.traits, "my country [is|is not] made of islands")

MAINLAND = Claim(
    "island", lambda c: None if c.island is None else c.island is False, "my city [is on the mainland|is on an island]"
)


@cache
def island_names() -> Mapping[str, str]:
    return {plain(c.island): c.island for c in atlas().cities if isinstance(c.island, str)}


def on_island(name: str) -> Claim:
    def truth(c: City) -> Truth:
        return None if c.island is True or c.island is None else c.island == name

    return Claim("island", truth, f"my city [is|is not] on the island {name}")


@cache
def rivers() -> Mapping[str, tuple[City, ...]]:
    """Plain name of a river -> the cities on it."""
    found: dict[str, tuple[City, ...]] = {}
    for c in atlas().cities:
        if c.river:
            key = plain(c.river).removesuffix(" river")
            found[key] = (*found.get(key, ()), c)
    for name, row in atlas().more["rivers"].items():
        more = tuple(atlas().cities[i] for i in sorted(atlas().chosen(row["yes"])))
        found[name] = (*found.get(name, ()), *more)
    return found


_OTHER_RIVERS = {
    "dnipro": "dnieper",
    "st lawrence": "saint lawrence",
    "rio de la plata": "rio de la plata",
    "river plate": "rio de la plata",
    "ganga": "ganges",
}


def river_name(text: str) -> str | None:
    """The plain name of a river that some city is known to lie on."""
    bare = re.sub(r"^river | river$|^rivers ", "", text)
    bare = _OTHER_RIVERS.get(bare, bare)
    return bare if bare in rivers() else None


def on_river(name: str) -> Claim:
    """On a river: of great rivers all cities on them are told; of others it is not known of cities within 1500 km of
    them that are not told to be there, since they may be."""
    places = rivers()[name]
    ids, row = frozenset(c.id for c in places), atlas().more["rivers"].get(name)
    unsure = atlas().chosen(row["unsure"]) if row else frozenset[int]()

    def truth(c: City) -> Truth:
        if c.id in ids:
            return True
        if row:
            return None if c.id in unsure else False
        return False if min(kilometres(c, place) for place in places) > 1500 else None

    label = next((c.river for c in places if c.river), name.title())
    return Claim("river", truth, f"my city [is|is not] on the {label}")


ON_A_RIVER = Claim("river", lambda c: True if c.river else None, "my city [is|is not] on a river")
