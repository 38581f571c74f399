"""What can be claimed about a city: a truth for every city, and the sentence that says so.

Ours. A claim is true, false or not known (see `cities.py`). Its words hold the two ways to say it: "my city [is|is not]
in Europe". What a phrase such as "a big city" or "near" means is a pair of limits with a gap between them, in which
the answer is not known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

from .checks import plain
from .cities import City, Country, Truth, all_of, any_of, atlas, kilometres, listed, negation, size

_EITHER = re.compile(r"\[([^|\]]*)\|([^\]]*)\]")


@dataclass(frozen=True)
class Claim:
    """A statement about the city: its topic, when it is true, and its words."""

    topic: str
    truth: Callable[[City], Truth]
    words: str
    label: str = ""
    """Of a thing that the city may be known for: its plain name."""

    def say(self, truth: bool) -> str:
        """The claim or its contrary as a clause.

        >>> Claim("coast", lambda city: True, "my city [is|is not] on the sea").say(False)
        'my city is not on the sea'
        """
        return _EITHER.sub(r"\1" if truth else r"\2", self.words)


def limits(value: float | None, yes: float, no: float) -> Truth:
    """True from `yes` on, False up to `no`, not known between; `yes` may be the lower one."""
    if value is None:
        return None
    if yes >= no:
        return True if value >= yes else False if value <= no else None
    return True if value <= yes else False if value >= no else None


# --- place -----------------------------------------------------------------------------------------------------------


def continent(name: str) -> Claim:
    return Claim("continent", lambda c: name in c.continents, f"my city [is|is not] in {name}")


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


# --- capital ---------------------------------------------------------------------------------------------------------

CAPITAL = Claim("capital", lambda c: c.capital, "my city [is|is not] the capital of its country")


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


# --- people ----------------------------------------------------------------------------------------------------------


def people(low: float, high: float, words: str) -> Claim:
    """Between `low` and `high` people in the urban area."""

    def truth(c: City) -> Truth:
        if c.people is None:
            return None
        least, _, most = (1000 * n for n in c.people)
        return True if least > low and most < high else False if most < low or least > high else None

    return Claim("population", truth, words)


def big(yes: float, no: float, words: str) -> Claim:
    """By thousands of people in the urban area."""
    return Claim("population", lambda c: limits(c.people and c.people[1], yes, no), words)


def bigger(other: City, label: str, sign: int) -> Claim:
    def truth(c: City) -> Truth:
        if c.people is None or other.people is None or c.id == other.id:
            return False if c.id == other.id else None
        a, b = (c, other) if sign > 0 else (other, c)
        assert a.people and b.people
        return limits(a.people[1] / b.people[1], 1.4, 1 / 1.4)

    kind = "bigger" if sign > 0 else "smaller"
    return Claim("population", truth, f"my city [is|is not] {kind} than {label}")


def _biggest(c: City) -> Truth:
    rows = [x for x in atlas().siblings[c.land.code] if x.id != c.id]
    if c.people is None or len(rows) < 2:
        return False if c.people and rows and size(rows[0]) > 1.9 * c.people[1] else None
    return limits(c.people[1] / max(1, size(rows[0])), 1.4, 1 / 1.4)


BIGGEST = Claim("population", _biggest, "my city [is|is not] the biggest city of its country")


def _second(c: City) -> Truth:
    rows = [size(x) for x in atlas().siblings[c.land.code] if x.id != c.id]
    if c.people is None or len(rows) < 4 or not all(rows[:2]):
        return None
    over, under = limits(rows[0] / c.people[1], 1.4, 1 / 1.4), limits(c.people[1] / rows[1], 1.4, 1 / 1.4)
    return all_of((over, under))


SECOND = Claim("population", _second, "my city [is|is not] the second biggest city of its country")


def _among(c: City) -> Truth:
    rows = atlas().siblings[c.land.code]
    if c.people is None:
        return None
    ahead = sum(size(x) > 1.2 * c.people[1] for x in rows)
    return True if len(rows) >= 6 and ahead <= 2 else False if ahead >= 10 else None


AMONG_OWN = Claim("population", _among, "my city [is|is not] among the biggest of its country")
AMONG_WORLD = big(9000, 3500, "my city [is|is not] among the biggest in the world")


def among_continent(name: str) -> Claim:
    rows = [x for x in atlas().by_size if name in x.continents]
    few, many = size(rows[min(9, len(rows) - 1)]), size(rows[min(40, len(rows) - 1)])

    def truth(c: City) -> Truth:
        return limits(c.people and c.people[1], few, many) if name in c.continents else False

    return Claim("population", truth, f"my city [is|is not] among the biggest in {name}")


# --- language, money, roads, religion --------------------------------------------------------------------------------


@cache
def _speech(name: str) -> str:
    """The plain name of a language in brackets' stead: "Chinese (Cantonese)" is both."""
    return plain(name)


_SAME = {
    "mandarin": "mandarin|chinese",
    "chinese": "mandarin|chinese cantonese",
    "cantonese": "chinese cantonese",
    "farsi": "persian",
    "tagalog": "filipino",
    "pilipino": "filipino",
    "bahasa indonesia": "indonesian",
    "bahasa": "indonesian|malay",
    "bangla": "bengali",
    "kiswahili": "swahili",
    "gaelic": "irish",
    "flemish": "dutch",
    "castilian": "spanish",
    "valencian": "catalan",
    "slovenian": "slovene",
    "burmese": "burmese",
    "creole": "creole|haitian creole",
    "te reo": "maori",
    "serbo croatian": "serbian|croatian|bosnian|montenegrin",
    "bahasa malaysia": "malay",
    "brazilian portuguese": "portuguese",
    "mandarin chinese": "mandarin",
    "english language": "english",
    "modern hebrew": "hebrew",
    "hindustani": "hindi|urdu",
}


def languages() -> frozenset[str]:
    """Plain names of all languages, other names included."""
    return frozenset({_speech(x) for land in atlas().countries.values() for x in land.languages}) | frozenset(_SAME)


_MORE_SPEECH = {
    "ES": "catalan basque galician",
    "IN": "bengali tamil urdu punjabi",
    "LK": "tamil",
    "IL": "arabic",
    "US": "spanish",
}


def language(name: str, sole: bool, official: bool, label: str) -> Claim:
    """Spoken (official, or `sole`: the main one). That a language is not spoken at all is claimed only where neither a
    neighbour nor a former ruler speaks it, since some will speak it there."""
    wanted = frozenset(_SAME.get(name, name).split("|"))
    world = name in ("english", "french", "russian", "hindi", "mandarin", "chinese", "arabic", "spanish")

    def of_land(land: Country) -> Truth:
        own = {_speech(x) for x in land.languages}
        if wanted & own:
            return None if sole and len(own) > 1 else True
        if name in _MORE_SPEECH.get(land.code, ""):
            return None
        return False if sole or official or not (world or _near_speech(land, wanted)) else None

    truths = {code: of_land(land) for code, land in atlas().countries.items()}

    def truth(c: City) -> Truth:
        return truths[c.land.code]

    how = "the main language" if sole else "an official language" if official else "spoken"
    return Claim("language", truth, f"{label} [is|is not] {how} in my city")


def _near_speech(land: Country, wanted: frozenset[str]) -> bool:
    names = set(land.neighbours)
    return any(x.name in names and wanted & set(map(_speech, x.languages)) for x in atlas().countries.values())


def currency(word: str, label: str) -> Claim:
    """The currency is the euro, or some kind of dollar, or the Danish krone."""
    wanted = set(plain(word).split())

    def truth(c: City) -> Truth:
        own = set(plain(c.land.currency).split())
        if len(wanted) == 1 and len(own) > 1 and next(iter(wanted)) in own and c.land.code not in ("ZW", "PA"):
            return True
        if wanted <= own:
            return True
        return None if "dollar" in wanted and c.land.code in ("ZW", "PA", "KH", "LB", "CU", "VE") else False

    return Claim("currency", truth, f"people in my city [pay|do not pay] with {label}")


def drives(side: str) -> Claim:
    return Claim(
        "drives_on", lambda c: c.land.drives == side, f"people in my country [drive|do not drive] on the {side}"
    )


_FAITHS = {
    "islam": "islam",
    "muslim": "islam",
    "muslims": "islam",
    "islamic": "islam",
    "christianity": "christian",
    "christian": "christian",
    "christians": "christian",
    "catholicism": "catholic",
    "catholic": "catholic",
    "catholics": "catholic",
    "roman catholic": "catholic",
    "roman catholicism": "catholic",
    "protestant": "protestant",
    "protestantism": "protestant",
    "protestants": "protestant",
    "orthodox": "orthodox",
    "orthodox christian": "orthodox",
    "eastern orthodox": "orthodox",
    "orthodox christianity": "orthodox",
    "buddhism": "buddhis",
    "buddhist": "buddhis",
    "buddhists": "buddhis",
    "hinduism": "hindu",
    "hindu": "hindu",
    "hindus": "hindu",
    "judaism": "judaism",
    "jewish": "judaism",
    "jews": "judaism",
    "shia islam": "shia",
    "shia": "shia",
    "shinto": "shinto",
    "taoism": "taois",
    "shintoism": "shinto",
    "sunni islam": "sunni",
    "sunni": "sunni",
    "sikhism": "sikh",
    "sikh": "sikh",
    "lutheran": "lutheran",
}
_FAITH_NAMES = {
    "islam": "Islam",
    "christian": "Christianity",
    "catholic": "Roman Catholicism",
    "protestant": "Protestantism",
    "orthodox": "Orthodox Christianity",
    "buddhis": "Buddhism",
    "hindu": "Hinduism",
    "judaism": "Judaism",
    "shia": "Shia Islam",
    "shinto": "Shinto",
    "taois": "Taoism",
    "sunni": "Sunni Islam",
    "sikh": "Sikhism",
    "lutheran": "Lutheranism",
}
FAITHS = frozenset(_FAITHS)
_BRANCHES = {
    "catholic": "christian",
    "protestant": "christian",
    "orthodox": "christian",
    "shia": "islam",
    "sunni": "islam",
    "lutheran": "christian",
}


def religion(word: str) -> Claim:
    """The main religion of the country. A branch is known where the file names it."""
    kind = _FAITHS[word]

    def truth(c: City) -> Truth:
        text = plain(c.land.religion or "")
        if not text:
            return None
        if text.startswith("no religion") or " and " in text or " with " in text:
            return False if kind not in text and _BRANCHES.get(kind, kind) not in text else None
        if kind in text:
            return True
        return (
            None
            if _BRANCHES.get(kind, "-") in text
            and not any(k in text for k in ("catholic", "orthodox", "shia", "protestant"))
            else False
        )

    return Claim("religion", truth, f"{_FAITH_NAMES[kind]} [is|is not] the main religion of my country")


# --- neighbours ------------------------------------------------------------------------------------------------------


def neighbour(codes: frozenset[str], label: str) -> Claim:
    """A land border with the named country."""
    names = frozenset(atlas().countries[code].name for code in codes)
    return Claim(
        "neighbours",
        lambda c: None if c.land.code in codes else bool(names & set(c.land.neighbours)),
        f"my country [has|does not have] a land border with {label}",
    )


HAS_BORDERS = Claim("neighbours", lambda c: bool(c.land.neighbours), "my country [has|does not have] land borders")


def borders(least: int, most: int, words: str) -> Claim:
    return Claim("neighbours", lambda c: least <= len(c.land.neighbours) <= most, words)


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
    return Claim("distance", lambda c: limits(kilometres(c, other), 60, 300), f"my city [is|is not] near {label}")


def closer(one: City, other: City, a: str, b: str) -> Claim:
    return Claim(
        "distance",
        lambda c: limits(kilometres(c, other) - kilometres(c, one), 20, -20),
        f"my city [is|is not] closer to {a} than to {b}",
    )


# --- name ------------------------------------------------------------------------------------------------------------


def named(test: Callable[[str], bool], words: str) -> Claim:
    """What holds of the name, however it is written in full; not known where that makes a difference."""
    return Claim("letters", lambda c: _agreed(test(n) for n in spellings(c)), words)


@cache
def spellings(c: City) -> tuple[str, ...]:
    name = plain(c.name)
    more = (
        {name.removeprefix("the "), name.removesuffix(" city")}
        if name not in ("mexico city", "vatican city")
        else {name}
    )
    more |= (
        {"washington dc"}
        if name == "washington"
        else {name.replace("st ", "saint ")}
        if name.startswith("st ")
        else set[str]()
    )
    return tuple({name, *more})


def _agreed(truths: Iterable[bool]) -> Truth:
    found = set(truths)
    return found.pop() if len(found) == 1 else None


# --- history ---------------------------------------------------------------------------------------------------------


def ruled(kind: str) -> Claim:
    """The country was once ruled by a power."""
    row = atlas().more["ruled"][kind]
    yes, unsure = frozenset(row["yes"].split()), frozenset(row["unsure"].split())
    words = _RULE_WORDS.get(kind, f"my country [was|was not] once under {kind.title()} rule")
    return Claim("history", lambda c: True if c.land.code in yes else None if c.land.code in unsure else False, words)


_RULE_WORDS = {
    "soviet": "my country [was|was not] part of the Soviet Union",
    "yugoslav": "my country [was|was not] part of Yugoslavia",
    "ottoman": "my country [was|was not] part of the Ottoman Empire",
    "habsburg": "my country [was|was not] part of Austria-Hungary",
    "british": "my country [was|was not] once under British rule",
}
_POWERS = ("british", "french", "spanish", "portuguese", "dutch", "belgian", "german", "italian")


def _colony(c: City) -> Truth:
    code, more = c.land.code, atlas().more["ruled"]
    if any(code in more[power]["yes"].split() for power in _POWERS):
        return True
    return False if code in atlas().group("never_colony") else None


COLONY = Claim("history", _colony, "my country [was|was not] once ruled by a European power overseas")

_AGES = ("ancient", "medieval", "early modern", "19th century", "20th century or later")
_YEARS = ((-9000, 500), (500, 1500), (1500, 1800), (1800, 1900), (1900, 2030))


def founded(low: float, high: float, words: str) -> Claim:
    """Founded between two years, by the age of the city."""

    def truth(c: City) -> Truth:
        if c.age is None:
            return None
        first, last = _YEARS[_AGES.index(c.age)]
        return True if low <= first and last <= high else False if last <= low or first >= high else None

    return Claim("history", truth, words)


def opposite(claim: Claim, words: str) -> Claim:
    """The contrary, in words of its own."""
    return Claim(claim.topic, lambda c: negation(claim.truth(c)), words)


def either(topic: str, claims: Iterable[Claim], words: str) -> Claim:
    rows = tuple(claims)
    return Claim(topic, lambda c: any_of(x.truth(c) for x in rows), words)


def both(topic: str, claims: Iterable[Claim], words: str) -> Claim:
    rows = tuple(claims)
    return Claim(topic, lambda c: all_of(x.truth(c) for x in rows), words)
