"""What somebody tells of where a city lies, how big it is, and its weather: a sentence for each, or None.

Ours. See `facts.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from . import places
from .atlas import City, atlas, plain
from .sets import land_people, sets

Fact = Callable[[City], "str | None"]


def joined(items: Sequence[str]) -> str:
    """ "a, b and c"."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def safe(c: City, phrase: str | None) -> str | None:
    """The phrase, unless it reveals the city or country."""
    return None if not phrase or c.reveals(phrase) else phrase


def listing(c: City, items: Iterable[str], words: str, most: int = 4) -> str | None:
    held = [x for x in items if not c.reveals(x)][:most]
    return words.format(joined(held)) if held else None


def true_of(c: City, names: str) -> list[str]:
    """Those of the attributes that are true of a city."""
    return [name for name in names.split() if (found := sets().attribute(name)) and found.yes >> c.id & 1]


# --- places ----------------------------------------------------------------------------------------------------------


def named_safely(c: City, names: Iterable[str]) -> list[str]:
    """The parts of the world that may be told: those whose name does not hold the country's."""
    return [name for name in names if f" {plain(c.land.name)} " not in f" {plain(name)} "]


def continent(c: City) -> str | None:
    names = named_safely(c, c.continents)
    return f"My city is in {joined(names)}" if names else None


def region(c: City) -> str | None:
    names = [r for r in named_safely(c, c.land.regions) if r.endswith("America") or not c.reveals(r)]
    return f"My city is in this part of the world: {joined(names)}" if names else continent(c)


def part(c: City) -> str | None:
    held = [side for side in ("north", "south", "east", "west") if places.side_of_land(c, side)]
    if not held:
        return "My city is in the middle of its country" if places.side_of_land(c, "center") else None
    return f"My city is in the {'-'.join(held)} of its country"


def hemisphere(c: City) -> str | None:
    if abs(c.lat) < 0.2 or abs(c.lon) < 0.2:
        return None
    north, east = "northern" if c.lat > 0 else "southern", "eastern" if c.lon > 0 else "western"
    return f"My city is in the {north} and {east} hemisphere"


def latitude(c: City) -> str | None:
    low = int(abs(c.lat)) // 10 * 10
    return f"My city is between {low} and {low + 10} degrees {'north' if c.lat > 0 else 'south'}"


def longitude(c: City) -> str | None:
    low = int(abs(c.lon)) // 20 * 20
    return f"My city is between {low} and {low + 20} degrees {'east' if c.lon > 0 else 'west'}"


def timezone(c: City) -> str | None:
    if c.utc == 0:
        return "In winter our clocks are on Greenwich time"
    hours = f"{abs(c.utc):g} hour{'' if abs(c.utc) == 1 else 's'}"
    return f"Our standard time is {hours} {'ahead of' if c.utc > 0 else 'behind'} Greenwich time"


def neighbours(c: City) -> str | None:
    names = [n for n in named_safely(c, c.land.neighbours) if not c.reveals(n)]
    if not c.land.neighbours:
        return "My country has no land borders"
    if not names:
        return f"My country has a land border with {len(c.land.neighbours)} other"
    more = " and another whose name would tell too much" if len(names) < len(c.land.neighbours) else ""
    return f"My country borders {joined(names)}{more}"


def coast(c: City) -> str | None:
    water = safe(c, c.water)
    if c.shore == "sea":
        return f"My city is on the {water}" if water else "My city is on the sea"
    if c.shore == "lake":
        return f"My city is on a lake, {water}" if water else "My city is on a lake"
    if c.shore == "inland" and c.sea_km and c.sea_km[0] >= 50:
        return f"My city lies inland, at least {c.sea_km[0]} km from the sea"
    return (
        "My city lies inland"
        if c.shore == "inland"
        else "My city lies close to the sea"
        if c.shore is None and true_of(c, "near_sea")
        else None
    )


def island(c: City) -> str | None:
    name = safe(c, c.island) if isinstance(c.island, str) else None
    if c.island is None:
        return None
    return f"My city is on the island {name}" if name else f"My city is {'on' if c.island else 'not on'} an island"


def elevation(c: City) -> str | None:
    if c.elevation is None:
        return None
    for most, words in (
        (0, "below sea level"),
        (60, "close to sea level"),
        (250, "about 100 to 200 metres above sea level"),
    ):
        if c.elevation < most:
            return f"My city lies {words}"
    step = 250 if c.elevation < 1000 else 500
    low = c.elevation // step * step
    return f"My city lies roughly {low} to {low + step} metres above sea level"


def river(c: City) -> str | None:
    if not c.river:
        found = sets().attribute("by_river")
        return "No river runs through my city" if found is not None and found.no >> c.id & 1 else None
    name = safe(c, c.river)
    return f"My city is on the {name}" if name else "My city is on a river whose name would tell too much"


# --- air -------------------------------------------------------------------------------------------------------------


def climate(c: City) -> str | None:
    return (
        " or ".join(
            f"{'The climate is ' if not i else ''}{atlas().climates[code][0]}" for i, code in enumerate(c.climate)
        )
        or None
    )


def season(name: str, yes: str, no: str, between: str) -> Fact:
    def fact(c: City) -> str | None:
        found = sets().attribute(name)
        return None if found is None else yes if found.yes >> c.id & 1 else no if found.no >> c.id & 1 else between

    return fact


# --- size ------------------------------------------------------------------------------------------------------------

_BANDS = (
    (0, 60),
    (30, 120),
    (60, 250),
    (120, 500),
    (250, 1000),
    (500, 2000),
    (1000, 4000),
    (2000, 8000),
    (4000, 16000),
    (8000, 32000),
    (16000, 64000),
)


def population(c: City) -> str | None:
    if c.people is None:
        return None
    low, _, high = c.people
    least, most = next((a, b) for a, b in _BANDS if a <= low and high <= b)
    if not least:
        return f"Fewer than {_thousands(most)} people live in my city"
    return f"Between {_thousands(least)} and {_thousands(most)} people live in my city and its suburbs"


def _thousands(n: int) -> str:
    return f"{n // 1000} million" if n >= 1000 and n % 1000 == 0 else f"{n},000" if n < 1000 else f"{n:,},000"


def land_population(c: City) -> str | None:
    found = land_people(c)
    if found is None:
        return None
    limits = (0.1, 0.5, 1, 3, 10, 20, 50, 100, 200, 500, 2000)
    at = next(i for i, n in enumerate(limits) if found[1] <= n)
    return (
        f"Between {limits[at - 1]:g} and {limits[at]:g} million people live in my country"
        if at
        else "Fewer than 100,000 people live in my country"
    )


def capital(c: City) -> str | None:
    if c.capital is None:
        return None
    if c.capital:
        return atlas().more["capitals"].get(c.name, "My city is the capital of its country")
    part = isinstance(c.seat, str)
    return (
        "My city is the capital of a part of its country, not of the country"
        if part
        else "My city is not the capital of its country"
    )
