"""Attributes of cities in three-valued logic, as claims over bit masks.

Ours. Attributes are lines of `data/phrases.txt`, section [sets], which explains the format. Each has a value for every
city: yes, no, or explicitly unknown. A test of a field is unknown for the cities whose field is empty.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, reduce
from typing import Any, NamedTuple

from sonde._util.folders import data_file

from .._shared.english.tokens import Interval, parse_sections, plain_words
from .atlas import City, Truth, load_atlas, split_list

NOW = 2026
"""The year of the knowledge."""


class KnownCities(NamedTuple):
    """The cities of which something is true, and those of which it is false.

    >>> (KnownCities(0b001, 0b110) | ~KnownCities(0b100, 0b010)) & KnownCities(0b011, 0b100)
    KnownCities(yes=3, no=4)
    """

    yes: int
    no: int

    def __and__(self, other: KnownCities) -> KnownCities:
        return KnownCities(self.yes & other.yes, self.no | other.no)

    def __or__(self, other: KnownCities) -> KnownCities:
        return KnownCities(self.yes | other.yes, self.no & other.no)

    def __invert__(self) -> KnownCities:
        return KnownCities(self.no, self.yes)


def known_mask(mask: int, unsure: int = 0) -> KnownCities:
    """True of some cities, not known of those that are unsure, and false of all others."""
    return KnownCities(mask, load_atlas().all & ~mask & ~unsure)


def join_known(parts: Iterable[KnownCities]) -> KnownCities:
    return reduce(lambda one, other: one | other, parts, known_mask(0))


def test_cities(test: Callable[[City], Truth]) -> KnownCities:
    """The cities of which a test is true, and those of which it is false."""
    yes = no = 0
    for city in load_atlas().cities:
        found = test(city)
        yes |= (found is True) << city.id
        no |= (found is False) << city.id
    return KnownCities(yes, no)


@cache
def declared_sections() -> Mapping[str, str]:
    """The sections of the file."""
    return parse_sections(data_file("guess_my_city", "phrases.txt").read_text("utf-8"))


@cache
def section_words(name: str) -> frozenset[str]:
    """The words of a section."""
    return frozenset(declared_sections()[name].split())


# --- numbers ---------------------------------------------------------------------------------------------------------

Range = tuple[float, float] | None


@cache
def country_table(name: str) -> Mapping[str, str]:
    """Return a table of the countries, by their codes."""
    rows = (row.partition(" ") for row in split_list(load_atlas().more["tables"][name]))
    return {code: text for code, _, text in rows}


def _around(n: float | None, gap: float) -> Range:
    return None if n is None or math.isnan(n) else (n - gap, n + gap)


def _country_range(c: City, column: int, less: float, more: float) -> Range:
    found = country_table("sizes").get(c.land.code, "").split()
    return (float(found[column]) * less, float(found[column]) * more) if found else None


def _spelling_range(c: City, size: Callable[[str], int]) -> Range:
    found = [size(name) for name in c.spellings]
    return min(found), max(found)


RANGES: Mapping[str, Callable[[City], Range]] = {
    "people": lambda c: c.people and (c.people[0], c.people[2]),
    "population": lambda c: _country_range(c, 0, 0.95, 1.06),
    "area": lambda c: _country_range(c, 1, 0.98, 1.02),
    "elevation": lambda c: _around(c.elevation, max(15.0, abs(c.elevation or 0) * 0.1)),
    "lat": lambda c: _around(abs(c.lat), 0.1),
    "latitude": lambda c: _around(c.lat, 0.1),
    "lon": lambda c: _around(c.lon, 0.1),
    "sea_km": lambda c: c.sea_km and (c.sea_km[0], math.inf if c.sea_km[1] is None else c.sea_km[1]),
    "founded": lambda c: load_atlas().more["ages"][c.age]["years"] if c.age else None,
    "independent": lambda c: _around(float(country_table("independence").get(c.land.code, "nan")), 0.5),
    "languages": lambda c: _around(len(c.land.languages), 0),
    "neighbours": lambda c: _around(len(c.land.neighbours), 0),
    "letters": lambda c: _spelling_range(c, lambda name: sum(ch.isalpha() for ch in name)),
    "words": lambda c: _spelling_range(c, lambda name: len(name.split())),
    "flag_colours": lambda c: _around(len(c.land.flag), 0) if c.land.flag else None,
}
"""What is known of a number of a city: people in thousands (of its country in millions), metres, degrees, years."""


def cities_within(name: str, asked: Interval, unit: float = 1.0) -> KnownCities:
    """Return the cities whose number is in an interval; `unit` is the unit of the stored number."""

    def test(c: City) -> Truth:
        own = RANGES[name](c)
        return None if own is None else asked.contains_range(own[0] * unit, own[1] * unit)

    return test_cities(test)


# --- where in a country ----------------------------------------------------------------------------------------------


def _is_beyond(share: float) -> Truth:
    """Whether a place is in the far part of a country, by the share of the way there."""
    return True if share > 0.64 else False if share < 0.52 else None


def _is_close_by(share: float) -> Truth:
    return True if share < 0.2 else None if share < 0.3 else False


_SIDES: Mapping[str, Callable[[float, float], Truth]] = {
    "north": lambda y, x: _is_beyond(y),
    "south": lambda y, x: _is_beyond(1 - y),
    "east": lambda y, x: _is_beyond(x),
    "west": lambda y, x: _is_beyond(1 - x),
    "center": lambda y, x: _is_close_by(max(abs(y - 0.5), abs(x - 0.5))),
}


def side_of_land(c: City, side: str) -> Truth:
    """Whether a city is in the north (south, east, west, center) of its country, by where that lies."""
    box = _country_boxes().get(c.land.code)
    if box is None:
        return None
    south, north, west, east = box
    y, x = (c.lat - south) / (north - south), (c.lon - west) / (east - west)
    parts = [_SIDES[part](y, x) for part in side.split()]
    return False if False in parts else None if None in parts else True


@cache
def _country_boxes() -> Mapping[str, tuple[float, ...]]:
    return {code: tuple(map(float, text.split())) for code, text in load_atlas().more["boxes"].items()}


def country_edge(code: str, direction: str) -> float | None:
    """Return the edge of a country: beyond it one is north (south, east, west) of the country."""
    box = _country_boxes().get(code)
    return None if box is None else box[("south", "north", "west", "east").index(direction)]


# --- attributes ------------------------------------------------------------------------------------------------------


@cache
def declared_attributes() -> Mapping[str, str]:
    """Map the names of attributes to their declared expressions."""
    rows = (line.partition(" = ") for line in declared_sections()["sets"].splitlines())
    return {name: text for name, _, text in rows}


@cache
def lookup_attribute(name: str) -> KnownCities | None:
    """Evaluate an attribute: the cities of which it is true and false; None for an unknown name.

    >>> (lookup_attribute("landlocked") or known_mask(0)).yes & load_atlas().city_of_entry("Lisbon")
    0
    """
    text = declared_attributes().get(name)
    return None if text is None else evaluate_expression(text)


def evaluate_expression(text: str) -> KnownCities:
    """Evaluate an expression of attributes."""
    yes, mark, other = [*re.split(r"(?:^| )([?!]) ", text, maxsplit=1), "", ""][:3]
    found, beside = _evaluate_union(yes), _evaluate_union(other)
    return (
        KnownCities(found.yes, beside.yes & ~found.yes) if mark == "!" else KnownCities(found.yes, found.no & beside.no)
    )


def _evaluate_all(terms: Iterable[str]) -> KnownCities:
    """True where all of the terms are."""
    return reduce(lambda one, other: one & other, map(_evaluate_term, terms))


def _evaluate_union(text: str) -> KnownCities:
    return join_known(_evaluate_all(part.split(" & ")) for part in text.split(";") if part.strip())


_COMPARED = re.compile(r"(\w+) ([<>]) (-?[\d.]+)")
_CODES = re.compile(r"[A-Z]{2}(?: [A-Z]{2})*")


@cache
def _evaluate_term(text: str) -> KnownCities:
    text = text.strip()
    if text.startswith("not "):
        return ~_evaluate_term(text[4:])
    compared = _COMPARED.fullmatch(text)
    word, _, rest = text.partition(" ")
    if compared is not None:
        above = cities_within(compared[1], Interval(math.nextafter(float(compared[3]), math.inf), math.inf))
        return above if compared[2] == ">" else ~above
    if word in _TESTS:
        return test_cities(lambda c: _TESTS[word](c, rest))
    if _CODES.fullmatch(text):
        return known_mask(load_atlas().cities_of_countries(text.split()))
    mask = load_atlas().city_of_entry(text)
    found = known_mask(mask) if mask else lookup_attribute(text[1:]) if text[0] == "@" else None
    if found is None:
        raise KeyError(f"phrases.txt: got {text!r}, allowed: a city, a country, an attribute or a test")
    return found


@cache
def fame_phrases(c: City) -> Sequence[str]:
    """List what a city is known for, in plain words."""
    return [plain_words(x) for x in (*c.known, *c.food, c.sport, c.industry, c.university) if x]


def _has_words(texts: Iterable[str], words: str) -> bool:
    """Whether texts have one of the words "a/b"; an underline parts the words of a phrase."""
    held = f" {' '.join(texts)} "
    return any(f" {word.replace('_', ' ')} " in held for word in words.split("/"))


def _has_climate(c: City, codes: str) -> Truth:
    found = {code in codes.split() for code in c.climate}
    return found.pop() if len(found) == 1 else None


def spoken_languages(c: City) -> Sequence[str]:
    """The languages of a city, the main one first: its own, else those of its country."""
    own = load_atlas().more["spoken"].get(c.name)
    return own.split("; ") if own else c.land.languages


def _field_test(name: str, of: Callable[[City], Any]) -> Callable[[City, str], Truth]:
    """Whether a field holds a text, alone or in one of several."""

    def test(c: City, text: str) -> Truth:
        held = getattr(of(c), name)
        return None if held is None else any(text in x for x in ((held,) if isinstance(held, str) else held))

    return test


_TESTS: Mapping[str, Callable[[City, str], Truth]] = {
    "climate": _has_climate,
    "known": lambda c, words: _has_words(fame_phrases(c), words),
    "industry": lambda c, words: _has_words([plain_words(c.industry or "")], words),
    "begins": lambda c, letters: c.agreed_value(lambda name: name[0] in letters),
    "table": lambda c, name: c.name in load_atlas().more[name],
    "is": lambda c, field: None if (held := getattr(c, field)) is None else bool(held),
    "has": lambda c, field: bool(getattr(c, field)),
    **{name: _field_test(name, lambda c: c) for name in ("age", "shore", "continents")},
    **{name: _field_test(name, lambda c: c.land) for name in ("traits", "drives", "currency")},
}
