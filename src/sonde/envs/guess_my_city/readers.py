"""Slots of phrasings: read places, cities, languages, numbers and letters, and claim what they ask.

Ours. `SLOTS` reads words into values, `COLUMNS` turns a value into a claim; `data/phrases.txt` names both.
Numbers are known within limits, so a comparison between the limits is unknown; a name counts in every way to write it
in full.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from .._shared.english.letters import plain_words
from .._shared.english.lexicon import PREPOSITIONS
from .._shared.english.numbers import Interval, interval, measure
from .._shared.english.times import Times
from .._shared.english.words import singular
from .atlas import City, Truth, atlas, kilometres
from .known import (
    NOW,
    Known,
    attribute,
    certain,
    declared,
    edge,
    expressed,
    side_of_land,
    spoken,
    where,
    within,
    word_list,
)

Words = Sequence[str]


def text_of(words: Words) -> str:
    """Words without articles and commas, and without a preposition of place before them."""
    return " ".join(w for w in _bare(words) if w != ",")


def _bare(words: Words) -> list[str]:
    words = words[1:] if words and PREPOSITIONS.get(words[0]) == "" else words
    return [w for w in words if w not in ("the", "a", "an")]


def _parts(words: Words) -> tuple[str, list[str]]:
    """The text before a comma, and the words behind it."""
    head, _, tail = " ".join(_bare(words)).partition(" , ")
    return head, tail.split()


# --- places ----------------------------------------------------------------------------------------------------------


@cache
def named(kind: str) -> Mapping[str, Known]:
    """Map the names of a section to the cities that they stand for.

    >>> [named("seas")["adriatic"].yes & atlas().named(name) > 0 for name in ("Venice", "Vienna")]
    [True, False]
    """
    rows = (line.partition(" = ") for line in declared()[kind].splitlines())
    return {name: known for names, _, text in rows for known in [expressed(text)] for name in names.split("|")}


@cache
def areas() -> Mapping[str, Known]:
    """Plain name of a part of the world, of a country or its people -> the cities there."""
    lands = {**atlas().peoples, **atlas().lands}
    return {**{name: certain(atlas().within(codes)) for name, codes in lands.items()}, **named("places")}


def area(words: Words) -> Known | None:
    """A part of the world, with the country behind a comma or without."""
    head, tail = _parts(words)
    found = _area(head)
    if not tail:
        return found
    within = area(tail)
    return None if found is None or within is None else found & within


def _area(name: str) -> Known | None:
    found = _looked_up(areas(), name, "place")
    return found or named("islands").get(name) or _part(name.split())


def _looked_up(known: Mapping[str, Known], name: str, kind: str) -> Known | None:
    """Look a name up, with or without words around it ("the state of", "region")."""
    head, of, rest = name.partition(" of ")
    name = rest if of and head in word_list(f"before_{kind}") else name
    bare, _, last = name.rpartition(" ")
    return known.get(name) or (known.get(bare) if last in word_list(f"behind_{kind}") else None)


def _named(section: str) -> Callable[[Words], Known | None]:
    """A reader of the names of a section."""
    return lambda words: _looked_up(named(section), text_of(words), "name")


def _part(words: Words) -> Known | None:
    """As in "northern india", "north of spain", "south western france"."""
    at = next((i for i, w in enumerate(words) if w not in _directions()), 0)
    rest = " ".join(w for w in words[at:] if w not in ("of", "part"))
    towards = " ".join(_directions()[w] for w in words[:at])
    if not towards:
        return None
    if rest in atlas().lands:
        return areas()[rest] & where(lambda c: side_of_land(c, towards))
    return areas().get(f"{towards} {rest}")


@cache
def _directions() -> Mapping[str, str]:
    """Map words for a direction to its name: "northern" -> "north", "southeast" -> "south east"."""
    found = dict.fromkeys(("central", "middle", "center", "centre", "mid", "interior"), "center")
    for y in ("", "north", "south"):
        for x in ("", "east", "west"):
            found |= {f"{y}{x}{end}": f"{y} {x}".strip() for end in ("", "ern", "ernmost") if y + x}
    return found


def side(words: Words) -> str | None:
    """A direction or two: "northern", "south western", "southeast"."""
    found = [_directions().get(w, "") for w in words if w not in ("or", "-", "the")]
    return " ".join(found) if all(found) and found else None


def land(words: Words) -> frozenset[str] | None:
    """A country, by its name or by its people."""
    name = text_of(words)
    return atlas().lands.get(name) or atlas().peoples.get(name)


def town(words: Words) -> City | None:
    """A city of the list, by a name that only one has, or the biggest that has it."""
    name, behind = _parts(words)
    mask = atlas().by_name.get(name.removeprefix("city of "), 0)
    if behind and (within := area(behind)) is not None:
        mask &= within.yes
    held = (c for c in atlas().cities if mask >> c.id & 1)
    return max(held, key=lambda c: (c.people or (0, 0, 0))[1], default=None)


def spot(words: Words) -> City | frozenset[str] | None:
    """Read what others are north or south of: a city, a country, or the equator (no country at all)."""
    return town(words) or land(words) or (frozenset() if text_of(words) == "equator" else None)


class Away(NamedTuple):
    """Some kilometres from a city."""

    km: Interval
    city: City


def away(words: Words) -> Away | None:
    """As in "500 kilometres of Paris"."""
    at = next((i for i, w in enumerate(words) if w in ("of", "from")), 0)
    found = measure(words[:at], _KILOMETRES)
    city = town(words[at + 1 :])
    if found is None or city is None:
        return None
    return Away(Interval(0.0, found.high) if found.low == found.high else found, city)


# --- people ----------------------------------------------------------------------------------------------------------


def language(words: Words) -> frozenset[str] | None:
    """A language by its names, or a family of languages."""
    name = text_of([w for w in words if w not in ("language", "languages", "speaking")])
    more = atlas().more
    if name in more["families"]:
        return frozenset(more["families"][name].split("; "))
    found = frozenset(more["same_language"].get(name, name).split("; "))
    return found if found & _languages() else None


@cache
def _languages() -> frozenset[str]:
    beside = (name for names in atlas().more["beside"].values() for name in names.split("; "))
    return frozenset([*beside, *(plain_words(name) for c in atlas().cities for name in spoken(c))])


def money(words: Words) -> str | None:
    """A currency, or a kind of currency: "euro", "US dollar", "pesos"."""
    name = singular(text_of(words))
    name = atlas().more["same_money"].get(name, name)
    return name if name in _currencies() else None


@cache
def _currencies() -> frozenset[str]:
    """All parts of a currency's name: "us dollar", "dollar"."""
    names = [plain_words(x.currency).split() for x in atlas().countries.values()]
    parts = (" ".join(words[i:j]) for words in names for i in range(len(words)) for j in range(i + 1, len(words) + 1))
    return frozenset(parts) - {"and"}


# --- letters and colours ---------------------------------------------------------------------------------------------


class Some(NamedTuple):
    """Several values that are asked together: all of them, any of them, or exactly these."""

    values: tuple[str, ...]
    how: str


_MARKS = frozenset(
    [
        "and",
        "or",
        ",",
        "only",
        "just",
        "both",
        "either",
        "with",
        "the",
        "a",
        "an",
        "letter",
        "letters",
        "any",
        "some",
        "color",
        "colour",
        "colors",
        "colours",
    ]
)


def _some(words: Words, one: Callable[[str], str | None]) -> Some | None:
    """As in "red and white", "s or l", "only red"."""
    found = [one(w) for w in words if w not in word_list("marks") or (w == "a" and len(words) == 1)]
    values = tuple(v for v in found if v is not None)
    how = "any" if "or" in words else "only" if "only" in words or "just" in words else "all"
    return Some(values, how) if values and len(values) == len(found) else None


def colours(words: Words) -> Some | None:
    return _some(
        ["yellow" if w in ("gold", "golden") else w for w in words], lambda w: w if w in word_list("colours") else None
    )


_LETTERS = {"vowel": "a/e/i/o/u", "consonant": "b/c/d/f/g/h/j/k/l/m/n/p/q/r/s/t/v/w/x/z"}


def letter(words: Words) -> Some | None:
    """Read letters, "vowel" and "consonant"."""
    if words[-1:] == ("a",) and "letter" in words[:-1]:
        return Some(("a",), "all")
    return _some(words, lambda w: _LETTERS.get(w) or (w if len(w) == 1 and w.isalpha() else None))


_METRES = {
    "m": 1, "meter": 1, "meters": 1, "metre": 1, "metres": 1, "km": 1000, "kilometers": 1000, "kilometres": 1000,
    "feet": 0.3048, "ft": 0.3048, "foot": 0.3048,
}  # fmt: skip
_KILOMETRES = {"km": 1, "kilometers": 1, "kilometres": 1, "miles": 1.609, "mi": 1.609}

SLOTS: Mapping[str, Callable[[Words], Any]] = {
    "place": area,
    "side": side,
    "land": land,
    "town": town,
    "language": language,
    "money": money,
    "colours": colours,
    "letter": letter,
    "spot": spot,
    "away": away,
    "amount": interval,
    "length": lambda words: measure(words, _METRES),
    "time": Times(NOW).read,
    "sea": _named("seas"),
    "land_sea": _named("coasts"),
    "water": _named("waters"),
    "range": _named("ranges"),
    "island": _named("islands"),
    "faith": _named("faiths"),
    "ruler": _named("powers"),
}


def _number(name: str, unit: float = 1.0) -> Callable[[Interval], Known]:
    return lambda asked: within(name, asked, unit)


def _aged(asked: Interval) -> Known:
    return _number("founded")(Interval(NOW - asked.high, NOW - asked.low))


# --- people ----------------------------------------------------------------------------------------------------------


@cache
def _tongues(c: City) -> Sequence[str]:
    return [plain_words(x) for x in spoken(c)]


def _speaks(asked: frozenset[str]) -> Known:
    """Whether one of the languages is spoken; that a country has it beside its official ones is not known of its
    cities."""
    beside: Mapping[str, str] = atlas().more["beside"]

    def test(c: City) -> Truth:
        if asked & {*_tongues(c)}:
            return True
        return (
            None if asked & {*map(plain_words, c.land.languages), *beside.get(c.land.code, "").split("; ")} else False
        )

    return where(test)


def _mainly(asked: frozenset[str]) -> Known:
    """Whether the main language is one of them; of a city with several it is the first one, if any."""
    return where(lambda c: _tongues(c)[0] in asked or (None if asked & {*_tongues(c)} else False))


# --- places ----------------------------------------------------------------------------------------------------------


def _near(city: City) -> Known:
    return where(
        lambda c: None if c is city else True if (km := kilometres(c, city)) < 120 else None if km < 450 else False
    )


def _away(asked: Away) -> Known:
    """Whether the distance is such; places are rounded, so that it is known to a few kilometres."""

    def test(c: City) -> Truth:
        km = kilometres(c, asked.city)
        return None if c is asked.city else asked.km.holds(km * 0.97 - 15, km * 1.03 + 15)

    return where(test)


def _beyond(direction: str) -> Callable[[City | frozenset[str]], Known]:
    """North (south, east, west) of a city or country, or of the equator."""
    sign = 1 if direction in ("north", "east") else -1
    field = "lat" if direction in ("north", "south") else "lon"

    def claim(asked: City | frozenset[str]) -> Known:
        edges = [getattr(asked, field)] if isinstance(asked, City) else [edge(code, direction) for code in asked]
        if None in edges:
            return Known(0, 0)
        line = max((sign * e for e in edges if e is not None), default=0.0)
        gap = 0.3 if edges else 0.15
        return where(lambda c: None if abs(away := getattr(c, field) * sign - line) < gap else away > 0)

    return claim


def _compared(sign: int) -> Callable[[City], Known]:
    """The cities that surely have more people than one, or, with the other sign, fewer."""

    def claim(than: City) -> Known:
        low, _, high = than.people or (0, 0, math.inf)
        more = within("people", Interval(math.nextafter(high, math.inf), math.inf)).yes
        fewer = within("people", Interval(-math.inf, math.nextafter(low, -math.inf))).yes
        return Known(more, fewer | 1 << than.id) if sign > 0 else Known(fewer, more | 1 << than.id)

    return claim


def _borders(codes: frozenset[str]) -> Known:
    names = {atlas().countries[code].name for code in codes}
    return where(lambda c: None if c.land.code in codes else not names.isdisjoint(c.land.neighbours))


def _capital_of(asked: Known) -> Known:
    """The capital of a country; of a part of one, the seat of its government. All other cities are not."""
    whole = not asked.yes or asked.yes in atlas().by_code.values()
    kind = attribute("capital_known" if whole else "seat_known") or certain(0)
    return Known(kind.yes & asked.yes, asked.no | kind.no)


def _biggest_of(asked: Known) -> Known:
    """The most populous of the cities that are surely there; where two may be, of them it is not known."""
    if asked.yes in atlas().by_code.values():
        first = attribute("biggest_in_land") or certain(0)
        return Known(first.yes & asked.yes, asked.no | first.no)
    held = {c: c.people for c in atlas().cities if c.people and not asked.no >> c.id & 1}
    least = max((low for low, _, _ in held.values()), default=0)
    mask = sum(1 << c.id for c, (_, _, high) in held.items() if high >= least)
    return certain(mask & asked.yes if mask.bit_count() == 1 else 0, mask)


# --- names and flags -------------------------------------------------------------------------------------------------


def _name(test: Callable[[str], bool]) -> Known:
    return where(lambda c: c.agreed(test))


def _holds(asked: Some, held: Sequence[str]) -> bool:
    """Whether letters or colours are among those of a name or a flag; a value of several letters stands for any."""
    found = [any(y in held for y in x.split("/")) for x in asked.values]
    return any(found) if asked.how == "any" else all(found) and (asked.how == "all" or len(found) == len(held))


COLUMNS: Mapping[str, Callable[[Any], Known]] = {
    **dict.fromkeys(("in", "ruled", "believes"), lambda asked: asked),
    "part": lambda asked: where(lambda c: side_of_land(c, asked)),
    "people": _number("people", 1e3),
    "land_people": _number("population", 1e6),
    "land_area": _number("area", 1e3),
    "height": _number("elevation"),
    "founded": _number("founded"),
    "age": _aged,
    "independent": _number("independent"),
    "neighbours": _number("neighbours"),
    "flag_colours": _number("flag_colours"),
    "speaks": _speaks,
    "official": lambda asked: where(lambda c: not asked.isdisjoint(map(plain_words, c.land.languages))),
    "mainly": _mainly,
    "pays": lambda asked: where(lambda c: f" {asked} " in f" {plain_words(c.land.currency)} "),
    "flag": lambda asked: where(lambda c: None if c.land.flag is None else _holds(asked, c.land.flag)),
    "near": _near,
    "distance": _away,
    **{side: _beyond(side) for side in ("north", "south", "east", "west")},
    "bigger": _compared(1),
    "smaller": _compared(-1),
    "same_land": lambda asked: certain(atlas().by_code[asked.land.code]),
    "land_is": lambda asked: certain(atlas().within(asked)),
    "borders": _borders,
    "capital_of": _capital_of,
    "biggest_of": _biggest_of,
    "begins": lambda asked: _name(lambda name: any(name[0] in x for x in asked.values)),
    "ends": lambda asked: _name(lambda name: any(name[-1] in x for x in asked.values)),
    "spelt": lambda asked: _name(lambda name: _holds(asked, name)),
    "land_begins": lambda asked: where(
        lambda c: plain_words(c.land.name).removeprefix("the ")[0] in "".join(asked.values)
    ),
    "letters": _number("letters"),
    "words": _number("words"),
}
