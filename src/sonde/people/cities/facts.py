"""The open questions: what somebody tells of a city, a sentence for each, or None where it is not known.

Ours. How one asks for a fact is declared in `envs/data/city_phrases.txt`, section [open]. No sentence holds a name of
the city, of its country or its people (languages aside): where a fact cannot be told without one, it is told with
less, or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

from . import places
from .atlas import City, atlas, listed, plain
from .columns import founded, independence, spellings
from .sets import land_people, script, sets

Fact = Callable[[City], "str | None"]


def joined(items: Sequence[str]) -> str:
    """ "a, b and c"."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def _safe(c: City, phrase: str | None) -> str | None:
    """The phrase, unless it reveals the city or country."""
    return None if not phrase or c.reveals(phrase) else phrase


def _list(c: City, items: Iterable[str], words: str, most: int = 4) -> str | None:
    held = [x for x in items if not c.reveals(x)][:most]
    return words.format(joined(held)) if held else None


def _true(c: City, names: str) -> list[str]:
    """Those of the attributes that are true of a city."""
    return [name for name in names.split() if (found := sets().attribute(name)) and found.yes >> c.id & 1]


# --- places ----------------------------------------------------------------------------------------------------------


def _named(c: City, names: Iterable[str]) -> list[str]:
    """The parts of the world that may be told: those whose name does not hold the country's."""
    return [name for name in names if f" {plain(c.land.name)} " not in f" {plain(name)} "]


def _continent(c: City) -> str | None:
    names = _named(c, c.continents)
    return f"My city is in {joined(names)}" if names else None


def _region(c: City) -> str | None:
    names = [r for r in _named(c, c.land.regions) if r.endswith("America") or not c.reveals(r)]
    return f"My city is in this part of the world: {joined(names)}" if names else _continent(c)


def _part(c: City) -> str | None:
    held = [side for side in ("north", "south", "east", "west") if places.side_of_land(c, side)]
    if not held:
        return "My city is in the middle of its country" if places.side_of_land(c, "center") else None
    return f"My city is in the {'-'.join(held)} of its country"


def _hemisphere(c: City) -> str | None:
    if abs(c.lat) < 0.2 or abs(c.lon) < 0.2:
        return None
    north, east = "northern" if c.lat > 0 else "southern", "eastern" if c.lon > 0 else "western"
    return f"My city is in the {north} and {east} hemisphere"


def _latitude(c: City) -> str | None:
    low = int(abs(c.lat)) // 10 * 10
    return f"My city is between {low} and {low + 10} degrees {'north' if c.lat > 0 else 'south'}"


def _longitude(c: City) -> str | None:
    low = int(abs(c.lon)) // 20 * 20
    return f"My city is between {low} and {low + 20} degrees {'east' if c.lon > 0 else 'west'}"


def _timezone(c: City) -> str | None:
    if c.utc == 0:
        return "In winter our clocks are on Greenwich time"
    hours = f"{abs(c.utc):g} hour{'' if abs(c.utc) == 1 else 's'}"
    return f"Our standard time is {hours} {'ahead of' if c.utc > 0 else 'behind'} Greenwich time"


def _neighbours(c: City) -> str | None:
    names = [n for n in _named(c, c.land.neighbours) if not c.reveals(n)]
    if not c.land.neighbours:
        return "My country has no land borders"
    if not names:
        return f"My country has a land border with {len(c.land.neighbours)} other"
    more = " and another whose name would tell too much" if len(names) < len(c.land.neighbours) else ""
    return f"My country borders {joined(names)}{more}"


def _coast(c: City) -> str | None:
    water = _safe(c, c.water)
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
        if c.shore is None and _true(c, "near_sea")
        else None
    )


def _island(c: City) -> str | None:
    name = _safe(c, c.island) if isinstance(c.island, str) else None
    if c.island is None:
        return None
    return f"My city is on the island {name}" if name else f"My city is {'on' if c.island else 'not on'} an island"


def _elevation(c: City) -> str | None:
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


def _river(c: City) -> str | None:
    if not c.river:
        found = sets().attribute("by_river")
        return "No river runs through my city" if found is not None and found.no >> c.id & 1 else None
    name = _safe(c, c.river)
    return f"My city is on the {name}" if name else "My city is on a river whose name would tell too much"


# --- air -------------------------------------------------------------------------------------------------------------


def _climate(c: City) -> str | None:
    return (
        " or ".join(
            f"{'The climate is ' if not i else ''}{atlas().climates[code][0]}" for i, code in enumerate(c.climate)
        )
        or None
    )


def _season(name: str, yes: str, no: str, between: str) -> Fact:
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


def _population(c: City) -> str | None:
    if c.people is None:
        return None
    low, _, high = c.people
    least, most = next((a, b) for a, b in _BANDS if a <= low and high <= b)
    if not least:
        return f"Fewer than {_thousands(most)} people live in my city"
    return f"Between {_thousands(least)} and {_thousands(most)} people live in my city and its suburbs"


def _thousands(n: int) -> str:
    return f"{n // 1000} million" if n >= 1000 and n % 1000 == 0 else f"{n},000" if n < 1000 else f"{n:,},000"


def _land_people(c: City) -> str | None:
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


def _capital(c: City) -> str | None:
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


# --- people ----------------------------------------------------------------------------------------------------------


def _language(c: City) -> str | None:
    own = atlas().more["spoken"].get(c.name)
    names = [
        x
        for x in (own.split("; ") if own else c.land.languages)
        if not set(plain(x).split()) & set(plain(" ".join(c.secrets)).split())
    ]
    return f"People speak {joined(names)}" if names else None


def _official(c: City) -> str | None:
    names = [x for x in c.land.languages if not set(plain(x).split()) & set(plain(" ".join(c.secrets)).split())]
    return f"Official in my country: {joined(names)}" if names else None


def _script(c: City) -> str | None:
    found = script(c)
    if found == "its own":
        return "Our language has a script of its own"
    return f"We write in {found} letters" if not c.reveals(found) else "We write in letters of our own"


def _currency(c: City) -> str | None:
    money = c.land.currency
    if not c.reveals(money):
        return f"People pay with the {money}"
    last = money.split()[-1]
    return None if c.reveals(last) or " and " in money else f"People pay with a kind of {last}"


def _cuisine(c: City) -> str | None:
    own = list(c.food)
    return _list(c, [*own, *(d for d in c.land.food if not any(d.startswith(x) for x in own))], "Typical food: {}")


def _table(name: str, words: str) -> Fact:
    """A table of the countries, from `cities_more.toml`."""

    def fact(c: City) -> str | None:
        rows = (row.strip().partition(" ") for row in atlas().more["tables"][name].split(";"))
        found = next((text for code, _, text in rows if code == c.land.code), None)
        return words.format(found) if found and not c.reveals(found) else None

    return fact


def _sport(c: City) -> str | None:
    own = _safe(c, c.sport)
    popular = _table("sport", "The most popular sport here: {}")(c) or (
        "The most popular sport here: football" if _true(c, "football_land") else None
    )
    return f"In sport my city is known for this: {own}" if own else popular


_POWERS = "british french spanish portuguese dutch belgian german italian american japanese russian ottoman habsburg"


def _rulers(c: City) -> str | None:
    """Who ruled the country, of those of whom it is certain."""
    table = atlas().more["ruled"]
    held = [kind for kind in _POWERS.split() if c.land.code in table[kind]["yes"].split()]
    names = [kind.title() for kind in held if not c.reveals(table[kind]["words"].replace("|", " "))]
    if names:
        return f"My country was once under {joined(names)} rule"
    return "My country was never a colony" if _true(c, "never_colonised") else None


def _history(c: City) -> str | None:
    if founded(c) is None:
        return None
    when = {
        "ancient": "in ancient times",
        "medieval": "in the Middle Ages",
        "early modern": "between 1500 and 1800",
        "19th century": "in the 19th century",
    }
    return (
        f"My city was founded {when.get(str(c.age), 'after 1900')}{', by colonists from Europe' if c.colonial else ''}"
    )


def _independence(c: City) -> str | None:
    year = independence().get(c.land.code)
    if year is None:
        return "My country was never a colony" if _true(c, "never_colonised") else None
    return f"My country became independent {'in the 18th century' if year < 1800 else f'in the {year // 10 * 10}s'}"


# --- kinds -----------------------------------------------------------------------------------------------------------


def _kinds(name: str) -> Fact:
    """The kinds of a table `told` that are true of a city: they say of what sort it is, and not which it is."""
    row = atlas().more["told"][name]
    kinds = dict(item.split(": ") for item in listed(row["kinds"]))

    def fact(c: City) -> str | None:
        held = [kinds[attribute] for attribute in _true(c, " ".join(kinds))][: row["most"]]
        return row["say"].format(joined(held)) if held else row.get("none")

    return fact


def _either(*facts: Fact) -> Fact:
    """The first of some facts that is known."""
    return lambda c: next((text for fact in facts if (text := fact(c)) is not None), None)


def _religion_of_land(c: City) -> str | None:
    found = c.land.religion
    return f"The main religion: {found}" if found and found != "Islam" else None


def _own_industry(c: City) -> str | None:
    return f"My city is known for {c.industry}" if _safe(c, c.industry) else None


def _no_metro(c: City) -> str | None:
    found = sets().attribute("metro")
    return "People use buses and cars" if found is not None and found.no >> c.id & 1 else None


# --- fame ------------------------------------------------------------------------------------------------------------


def _festivals(c: City) -> str | None:
    held = [
        k
        for k in c.known
        if any(
            f" {word} " in f" {plain(k)} "
            for word in ("festival", "carnival", "fair", "parade", "fallas", "oktoberfest")
        )
    ]
    return _list(c, held, "A festival here: {}", 1) or (
        "There is a well-known festival" if _true(c, "carnival") else None
    )


def _nickname(c: City) -> str | None:
    found = atlas().more["nicknames"].get(c.name)
    return f"People call it {found}" if found and not c.reveals(found) else None


def _culture(c: City) -> str | None:
    held = [x for x in (_language(c), _either(_kinds("faith"), _religion_of_land)(c)) if x]
    return ". ".join(held) or None


def _geography(c: City) -> str | None:
    held = [x for x in (_coast(c), _river(c), _elevation(c)) if x]
    return ". ".join(held) or None


def _letters(size: Callable[[str], object], words: str) -> Fact:
    """What holds of the name however it is written."""

    def fact(c: City) -> str | None:
        found = {size(name) for name in spellings(c)}
        return words.format(found.pop()) if len(found) == 1 else None

    return fact


def _word_count(c: City) -> str | None:
    found = {len(name.split()) for name in spellings(c)}
    n = found.pop()
    return None if found else f"The name has {n} word{'' if n == 1 else 's'}"


@cache
def facts() -> Mapping[str, Fact]:
    """Name of a fact, as the phrasings have it -> what is told."""
    return {
        "continent": _continent, "region": _region, "part": _part, "hemisphere": _hemisphere, "latitude": _latitude,
        "longitude": _longitude, "timezone": _timezone, "neighbours": _neighbours, "coast": _coast, "island":
        _island, "elevation": _elevation, "river": _river, "climate": _climate, "population": _population,
        "land_people": _land_people, "capital": _capital, "language": _language, "official": _official, "script":
        _script, "currency": _currency, "cuisine": _cuisine, "sport": _sport, "rulers": _rulers, "history":
        _history, "independence": _independence, "festivals": _festivals, "nickname": _nickname, "culture":
        _culture, "geography": _geography,
        "terrain": _either(_kinds("ground"), _elevation),
        "border": _kinds("border"),
        "winter": _season("snow", "Winters are cold, with snow", "There is no snow in winter", "Winters are cool, with snow now and then"),
        "summer": _season("hot_summer", "Summers are hot", "Summers are mild", "Summers are warm"),
        "religion": _either(_kinds("faith"), _religion_of_land),
         "government": _kinds("government"),
        "wealth": _kinds("wealth"),
        "export": _table("export", "My country sells {} above all"),
        "dress": _table("dress", "People wear {}"),
        "university": lambda c: f"My city has this: {c.university}" if _safe(c, c.university) else None,
        "flag": lambda c: f"The colours of our flag: {joined(list(c.land.flag))}" if c.land.flag else None,
        "drives": lambda c: f"People drive on the {c.land.drives}",
        "fame": _kinds("fame"),
        "sights": _kinds("sights"),
        "visit": _kinds("visit"),  "industry": _either(_own_industry, _kinds("work")),
        "transport": _either(_kinds("ways"), _no_metro),
        "architecture": _kinds("architecture"),

        "letters": _letters(lambda name: sum(ch.isalpha() for ch in name), "The name has {} letters"),
        "words": _word_count,
        "initial": _letters(lambda name: name[0].upper(), "The name begins with the letter {}"),
        "final": _letters(lambda name: name[-1].upper(), "The name ends with the letter {}"),
        "place": lambda c: ". ".join(x for x in (_continent(c), _coast(c)) if x) or None,
    }  # fmt: skip


@cache
def told(name: str) -> Mapping[str, int]:
    """What is said of a fact -> the cities of which it is, as a mask."""
    found: dict[str, int] = {}
    fact = facts()[name]
    for city in atlas().cities:
        text = fact(city)
        if text is not None:
            found[f"{text}."] = found.get(f"{text}.", 0) | 1 << city.id
    return found
