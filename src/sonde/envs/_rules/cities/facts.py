"""The open questions: what the resident tells of a city, a fact in words or None where it is not known.

Ours. No fact holds a name of the city, of its country or its people (languages aside); see `replies.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from ..checks import mentions, plain
from .atlas import City, atlas, kilometres
from .customs import of_country, told_faith
from .letters import spellings
from .local import closest, rank, spoken
from .replies import Asked, Query, Told


def joined(items: list[str]) -> str:
    """ "a, b and c"."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def safe(city: City, phrase: str | None) -> str | None:
    """The phrase, unless it reveals the city or country."""
    return None if not phrase or city.reveals(phrase) else phrase


def _unnamed(city: City, text: str) -> str | None:
    """The sentence, unless a name of the city or country is in it."""
    return None if mentions(text, city.secrets) else text


def _continent(c: City) -> str | None:
    return _unnamed(c, f"My city is in {joined(list(c.continents))}")


def _region(c: City) -> str | None:
    if len(c.continents) > 1 or c.continents[0] not in c.land.continents:
        return _continent(c)
    names = [r for r in c.land.regions if r.endswith("America") or not c.reveals(r)]
    return f"My city is in this part of the world: {joined(names)}" if names else _continent(c)


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


def _capital(c: City) -> str | None:
    if c.capital is None:
        return None
    if c.capital:
        kind = rank(c)
        return "My city is the capital of its country" if kind is None else kind[:1].upper() + kind[1:]
    return (
        "My city is the capital of a part of its country, not of the country"
        if isinstance(c.seat, str)
        else "My city is not the capital of its country"
    )


def _language(c: City) -> str | None:
    return _speaking(c, spoken(c) or c.land.languages)


def _speaking(c: City, languages: Sequence[str]) -> str | None:
    names = [name for name in languages if not mentions(name, c.secrets)]
    return f"People speak {joined(names)}" if names else None


def _currency(c: City) -> str | None:
    money = c.land.currency
    if not c.reveals(money):
        return f"People pay with the {money}"
    last = money.split()[-1]
    return None if c.reveals(last) or " and " in money else f"People pay with a kind of {last}"


def _religion(c: City) -> str | None:
    return told_faith(c)


def _religion_of_land(c: City) -> str | None:
    return None if c.land.religion is None else f"The main religion of my country: {c.land.religion}"


def _neighbours(c: City) -> str | None:
    names = [n for n in c.land.neighbours if not c.reveals(n) and not _inside(n, c)]
    if not c.land.neighbours:
        return "My country has no land borders"
    if not names:
        return f"My country has a land border with {len(c.land.neighbours)} other"
    more = " and another whose name would tell too much" if len(names) < len(c.land.neighbours) else ""
    return f"My country borders {joined(names)}{more}"


def _inside(name: str, c: City) -> bool:
    return f" {plain(name)} " in f" {plain(c.land.name)} "


def _coast(c: City) -> str | None:
    water = safe(c, c.water)
    if c.shore == "sea":
        return f"My city is on the {water}" if water else "My city is on the sea"
    if c.shore == "lake":
        return f"My city is on a lake, {water}" if water else "My city is on a lake"
    if c.shore == "inland" and c.sea_km and c.sea_km[0] >= 50:
        return f"My city lies inland, at least {c.sea_km[0]} km from the sea"
    return "My city lies inland" if c.shore == "inland" else None


def _island(c: City) -> str | None:
    if c.island is None:
        return None
    name = safe(c, c.island) if isinstance(c.island, str) else None
    return (
        f"My city is on the island {name}"
        if name
        else "My city is on an island"
        if c.island
        else "My city is not on an island"
    )


_HEIGHTS = (
    (-400, 0, "below sea level"),
    (0, 60, "close to sea level"),
    (60, 250, "about 100 to 200 metres above sea level"),
)


def _elevation(c: City) -> str | None:
    if c.elevation is None:
        return None
    for low, high, words in _HEIGHTS:
        if low <= c.elevation < high:
            return f"My city lies {words}"
    step = 250 if c.elevation < 1000 else 500
    low = c.elevation // step * step
    return f"My city lies roughly {low} to {low + step} metres above sea level"


def _climate(c: City) -> str | None:
    return None if c.climate is None else f"The climate is {atlas().climates[c.climate][0]}"


def _river(c: City) -> str | None:
    if not c.river:
        return None
    name = safe(c, c.river)
    return f"My city is on the {name}" if name else "My city is on a river whose name would tell too much"


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
    hours = f"{abs(c.utc):g} hour{'' if abs(c.utc) == 1 else 's'}"
    where = "on Greenwich time" if c.utc == 0 else f"{hours} {'ahead of' if c.utc > 0 else 'behind'} Greenwich time"
    return f"In winter our clocks are {where}" if c.utc == 0 else f"Our standard time is {where}"


def _cuisine(c: City) -> str | None:
    dishes = [d for d in c.food if not c.reveals(d)]
    dishes += [d for d in c.land.food if not c.reveals(d) and not any(d.startswith(own) for own in dishes)]
    return f"Typical food: {joined(dishes[:4])}" if dishes else None


def _meals(c: City) -> str | None:
    """Asked of one meal: the food is told, not that it is eaten then."""
    told = _cuisine(c)
    return told and told.replace("Typical food: ", "Typical food, at whatever time of the day: ")


def _known(c: City) -> str | None:
    return f"What my city is known for: {'; '.join(c.known)}"


def _history(c: City) -> str | None:
    if c.age is None:
        return None
    when = {
        "ancient": "in ancient times",
        "medieval": "in the Middle Ages",
        "early modern": "between 1500 and 1800",
        "19th century": "in the 19th century",
    }
    return f"My city was founded {when.get(c.age, 'after 1900')}{', by colonists from Europe' if c.colonial else ''}"


_POWERS = "british french spanish portuguese dutch belgian german italian american japanese russian ottoman habsburg"


def _rulers(c: City) -> str | None:
    """Who ruled the country, of those of whom it is certain."""
    table = atlas().more["ruled"]
    held = [kind for kind in _POWERS.split() if c.land.code in table[kind]["yes"].split()]
    names = [kind.title() for kind in held if not c.reveals(table[kind]["words"].replace("|", " "))]
    return f"My country was once under {joined(names)} rule" if names else None


def _sport(c: City) -> str | None:
    return None if not c.sport else f"In sport my city is known for this: {c.sport}"


def _industry(c: City) -> str | None:
    return None if not c.industry else f"My city is known for {c.industry}"


def _university(c: City) -> str | None:
    return None if not c.university else f"My city has this: {c.university}"


def _flag(c: City) -> str | None:
    return None if not c.land.flag else f"The colours of our flag: {joined(list(c.land.flag))}"


def _wealth(c: City) -> str | None:
    code, lands = c.land.code, atlas().group
    kind = (
        "a rich country" if code in lands("rich") else "one of the poorest countries" if code in lands("poor") else ""
    )
    return f"My country is {kind}" if kind else None


def _transport(c: City) -> str | None:
    return "People use a metro, among other things" if c.id in atlas().metro[0] else None


def _geography(c: City) -> str | None:
    found = [s for s in (_coast(c), _river(c), _elevation(c)) if s]
    return (
        "; ".join(
            [found[0], *(f"it lies {s.removeprefix('My city lies ').removeprefix('My city is ')}" for s in found[1:])]
        )
        if found
        else None
    )


def _culture(c: City) -> str | None:
    return ". ".join(
        [*filter(None, [_language(c), told_faith(c)]), f"What my city is known for: {'; '.join(c.known[:2])}"]
    )


def _drives(c: City) -> str | None:
    return f"People drive on the {c.land.drives}"


def _letters(c: City) -> str | None:
    counts = {sum(ch.isalpha() for ch in s) for s in spellings(c)}
    return f"The name has {counts.pop()} letters" if len(counts) == 1 else None


def _words(c: City) -> str | None:
    counts = {len(s.split()) for s in spellings(c)}
    n = counts.pop() if len(counts) == 1 else None
    return None if n is None else f"The name has {n} word{'' if n == 1 else 's'}"


def _initial(c: City) -> str | None:
    found = {s[0] for s in spellings(c)}
    return f"The name begins with the letter {found.pop().upper()}" if len(found) == 1 else None


def _final(c: City) -> str | None:
    found = {s[-1] for s in spellings(c)}
    return f"The name ends with the letter {found.pop().upper()}" if len(found) == 1 else None


OPEN: dict[str, Told] = {
    "continent": Told("continent", _continent),
    "region": Told("region", _region),
    "population": Told("population", _population),
    "capital": Told("capital", _capital),
    "language": Told("language", _language),
    "currency": Told("currency", _currency),
    "religion": Told("religion", _religion),
    "neighbours": Told("neighbours", _neighbours),
    "closest": Told("neighbours", closest),
    "coast": Told("coast", _coast),
    "island": Told("island", _island),
    "elevation": Told("elevation", _elevation),
    "climate": Told("climate", _climate),
    "river": Told("river", _river),
    "hemisphere": Told("hemisphere", _hemisphere),
    "latitude": Told("latitude", _latitude),
    "longitude": Told("longitude", _longitude),
    "timezone": Told("timezone", _timezone),
    "cuisine": Told("cuisine", _cuisine),
    "meals": Told("cuisine", _meals),
    "landmarks": Told("landmarks", _known),
    "history": Told("history", _history),
    "rulers": Told("history", _rulers),
    "sport": Told("sport", _sport),
    "industry": Told("industry", _industry),
    "university": Told("university", _university),
    "flag": Told("flag", _flag),
    "wealth": Told("wealth", _wealth),
    "transport": Told("transport", _transport),
    "geography": Told("elevation", _geography),
    "culture": Told("culture", _culture),
    "drives_on": Told("drives_on", _drives),
    "letters": Told("letters", _letters),
    "words": Told("letters", _words),
    "initial": Told("letters", _initial),
    "final": Told("letters", _final),
}

_OF_LAND = {
    OPEN["language"]: Told("language", lambda c: _speaking(c, c.land.languages)),
    OPEN["religion"]: Told("religion", _religion_of_land),
}
_WIDE = re.compile(r"\b(?:N|official|national|country|nation|inN)\b")


def of_land(told: Told, text: str) -> Told:
    """The fact of the whole country, where a text in the one form asks of that."""
    return _OF_LAND.get(told, told) if _WIDE.search(text) else told


_NATION = re.compile(r"(?<!part of the )(?<!part of your )\b(?:country|nation|national|official)\b", re.I)


def nationwide(spoken: str) -> bool:
    """Whether a message speaks of the country.

    >>> nationwide("Are most people in your country Catholic?"), nationwide("Are most people there Catholic?")
    (True, False)
    """
    return _NATION.search(spoken) is not None


def widened(found: Query) -> Query:
    """What has been read as asked of the city, asked of the country."""
    if isinstance(found, Asked):
        return Asked(tuple(map(of_country, found.claims)), found.how, found.negated)
    return of_land(found, "inN") if isinstance(found, Told) else found


@cache
def far_from(place: int, label: str) -> Told:
    """How far a named city is, in words."""
    other = atlas().cities[place]

    def fact(c: City) -> str | None:
        km = kilometres(c, other)
        if c.id == other.id or km < 60:
            return None
        step = 100 if km < 1000 else 500
        low = int(km // step * step)
        return f"It is about {low} to {low + step} km to {label}"

    return Told("distance", fact)
