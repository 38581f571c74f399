"""Slots of phrasings: read places, cities, languages, numbers and letters, and claim what they ask.

Ours. `SLOTS` reads words into values, `COLUMNS` turns a value into a claim; `data/phrases.txt` names both. A number of
a city is known within limits, so a comparison with a number between these limits is unknown. A claim about letters or
words of a name must hold for every full spelling of the name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from .._shared.english.lexicon import PREPOSITIONS
from .._shared.english.times import Times
from .._shared.english.tokens import Interval, parse_interval, parse_measure, plain_words, singular_form
from .atlas import City, Truth, distance_km, load_atlas
from .attributes import (
    NOW,
    KnownCities,
    cities_within,
    country_edge,
    declared_sections,
    evaluate_expression,
    known_mask,
    lookup_attribute,
    section_words,
    side_of_land,
    spoken_languages,
    test_cities,
)

Words = Sequence[str]


def words_text(words: Words) -> str:
    """Words without articles and commas, and without a preposition of place before them."""
    return " ".join(w for w in _bare_words(words) if w != ",")


def _bare_words(words: Words) -> list[str]:
    words = words[1:] if words and PREPOSITIONS.get(words[0]) == "" else words
    return [w for w in words if w not in ("the", "a", "an")]


def _split_parts(words: Words) -> tuple[str, list[str]]:
    """The text before a comma, and the words behind it."""
    head, _, tail = " ".join(_bare_words(words)).partition(" , ")
    return head, tail.split()


# --- places ----------------------------------------------------------------------------------------------------------


@cache
def known_by_name(kind: str) -> Mapping[str, KnownCities]:
    """Map the names of a section to the cities that they stand for.

    >>> [known_by_name("seas")["adriatic"].yes & load_atlas().city_of_entry(name) > 0 for name in ("Venice", "Vienna")]
    [True, False]
    """
    rows = (line.partition(" = ") for line in declared_sections()[kind].splitlines())
    return {
        name: known for names, _, text in rows for known in [evaluate_expression(text)] for name in names.split("|")
    }


@cache
def area_names() -> Mapping[str, KnownCities]:
    """Plain name of a part of the world, of a country or its people -> the cities there."""
    lands = {**load_atlas().countries_by_people, **load_atlas().countries_by_name}
    return {
        **{name: known_mask(load_atlas().cities_of_countries(codes)) for name, codes in lands.items()},
        **known_by_name("places"),
    }


def read_area(words: Words) -> KnownCities | None:
    """A part of the world, with the country behind a comma or without."""
    head, tail = _split_parts(words)
    found = _lookup_area(head)
    if not tail:
        return found
    within = read_area(tail)
    return None if found is None or within is None else found & within


def _lookup_area(name: str) -> KnownCities | None:
    found = _read_from_table(area_names(), name, "place")
    return found or known_by_name("islands").get(name) or _read_part(name.split())


def _read_from_table(known: Mapping[str, KnownCities], name: str, kind: str) -> KnownCities | None:
    """Look a name up, with or without words around it ("the state of", "region")."""
    head, of, rest = name.partition(" of ")
    name = rest if of and head in section_words(f"before_{kind}") else name
    bare, _, last = name.rpartition(" ")
    return known.get(name) or (known.get(bare) if last in section_words(f"behind_{kind}") else None)


def _read_named(section: str) -> Callable[[Words], KnownCities | None]:
    """A reader of the names of a section."""
    return lambda words: _read_from_table(known_by_name(section), words_text(words), "name")


def _read_part(words: Words) -> KnownCities | None:
    """As in "northern india", "north of spain", "south western france"."""
    at = next((i for i, w in enumerate(words) if w not in _direction_words()), 0)
    rest = " ".join(w for w in words[at:] if w not in ("of", "part"))
    towards = " ".join(_direction_words()[w] for w in words[:at])
    if not towards:
        return None
    if rest in load_atlas().countries_by_name:
        return area_names()[rest] & test_cities(lambda c: side_of_land(c, towards))
    return area_names().get(f"{towards} {rest}")


@cache
def _direction_words() -> Mapping[str, str]:
    """Map words for a direction to its name: "northern" -> "north", "southeast" -> "south east"."""
    found = dict.fromkeys(("central", "middle", "center", "centre", "mid", "interior"), "center")
    for y in ("", "north", "south"):
        for x in ("", "east", "west"):
            found |= {f"{y}{x}{end}": f"{y} {x}".strip() for end in ("", "ern", "ernmost") if y + x}
    return found


def read_side(words: Words) -> str | None:
    """A direction or two: "northern", "south western", "southeast"."""
    found = [_direction_words().get(w, "") for w in words if w not in ("or", "-", "the")]
    return " ".join(found) if all(found) and found else None


def read_country(words: Words) -> frozenset[str] | None:
    """A country, by its name or by its people."""
    name = words_text(words)
    return load_atlas().countries_by_name.get(name) or load_atlas().countries_by_people.get(name)


def read_city(words: Words) -> City | None:
    """A city of the list, by a name that only one has, or the biggest that has it."""
    name, behind = _split_parts(words)
    mask = load_atlas().by_name.get(name.removeprefix("city of "), 0)
    if behind and (within := read_area(behind)) is not None:
        mask &= within.yes
    held = (c for c in load_atlas().cities if mask >> c.id & 1)
    return max(held, key=lambda c: (c.people or (0, 0, 0))[1], default=None)


def read_place(words: Words) -> City | frozenset[str] | None:
    """Read what others are north or south of: a city, a country, or the equator (no country at all)."""
    return read_city(words) or read_country(words) or (frozenset() if words_text(words) == "equator" else None)


class Away(NamedTuple):
    """Some kilometres from a city."""

    km: Interval
    city: City


def read_distance(words: Words) -> Away | None:
    """As in "500 kilometres of Paris"."""
    at = next((i for i, w in enumerate(words) if w in ("of", "from")), 0)
    found = parse_measure(words[:at], _KILOMETRES)
    city = read_city(words[at + 1 :])
    if found is None or city is None:
        return None
    return Away(Interval(0.0, found.high) if found.low == found.high else found, city)


# --- people ----------------------------------------------------------------------------------------------------------


def read_language(words: Words) -> frozenset[str] | None:
    """A language by its names, or a family of languages."""
    name = words_text([w for w in words if w not in ("language", "languages", "speaking")])
    more = load_atlas().more
    if name in more["families"]:
        return frozenset(more["families"][name].split("; "))
    found = frozenset(more["same_language"].get(name, name).split("; "))
    return found if found & _known_languages() else None


@cache
def _known_languages() -> frozenset[str]:
    beside = (name for names in load_atlas().more["beside"].values() for name in names.split("; "))
    return frozenset([*beside, *(plain_words(name) for c in load_atlas().cities for name in spoken_languages(c))])


def read_currency(words: Words) -> str | None:
    """A currency, or a kind of currency: "euro", "US dollar", "pesos"."""
    name = singular_form(words_text(words))
    name = load_atlas().more["same_money"].get(name, name)
    return name if name in _known_currencies() else None


@cache
def _known_currencies() -> frozenset[str]:
    """All parts of a currency's name: "us dollar", "dollar"."""
    names = [plain_words(x.currency).split() for x in load_atlas().countries.values()]
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


def _read_some(words: Words, one: Callable[[str], str | None]) -> Some | None:
    """As in "red and white", "s or l", "only red"."""
    found = [one(w) for w in words if w not in section_words("marks") or (w == "a" and len(words) == 1)]
    values = tuple(v for v in found if v is not None)
    how = "any" if "or" in words else "only" if "only" in words or "just" in words else "all"
    return Some(values, how) if values and len(values) == len(found) else None


def read_colours(words: Words) -> Some | None:
    return _read_some(
        ["yellow" if w in ("gold", "golden") else w for w in words],
        lambda w: w if w in section_words("colours") else None,
    )


_LETTERS = {"vowel": "a/e/i/o/u", "consonant": "b/c/d/f/g/h/j/k/l/m/n/p/q/r/s/t/v/w/x/z"}


def read_letter(words: Words) -> Some | None:
    """Read letters, "vowel" and "consonant"."""
    if words[-1:] == ("a",) and "letter" in words[:-1]:
        return Some(("a",), "all")
    return _read_some(words, lambda w: _LETTERS.get(w) or (w if len(w) == 1 and w.isalpha() else None))


_METRES = {
    "m": 1, "meter": 1, "meters": 1, "metre": 1, "metres": 1, "km": 1000, "kilometers": 1000, "kilometres": 1000,
    "feet": 0.3048, "ft": 0.3048, "foot": 0.3048,
}  # fmt: skip
_KILOMETRES = {"km": 1, "kilometers": 1, "kilometres": 1, "miles": 1.609, "mi": 1.609}

SLOTS: Mapping[str, Callable[[Words], Any]] = {
    "place": read_area,
    "side": read_side,
    "land": read_country,
    "town": read_city,
    "language": read_language,
    "money": read_currency,
    "colours": read_colours,
    "letter": read_letter,
    "spot": read_place,
    "away": read_distance,
    "amount": parse_interval,
    "length": lambda words: parse_measure(words, _METRES),
    "time": Times(NOW).parse_time,
    "sea": _read_named("seas"),
    "land_sea": _read_named("coasts"),
    "water": _read_named("waters"),
    "range": _read_named("ranges"),
    "island": _read_named("islands"),
    "faith": _read_named("faiths"),
    "ruler": _read_named("powers"),
}


def _number_column(name: str, unit: float = 1.0) -> Callable[[Interval], KnownCities]:
    return lambda asked: cities_within(name, asked, unit)


def _age_column(asked: Interval) -> KnownCities:
    return _number_column("founded")(Interval(NOW - asked.high, NOW - asked.low))


# --- people ----------------------------------------------------------------------------------------------------------


@cache
def _language_words(c: City) -> Sequence[str]:
    return [plain_words(x) for x in spoken_languages(c)]


def _speaks_language(asked: frozenset[str]) -> KnownCities:
    """Whether one of the languages is spoken; that a country has it beside its official ones is not known of its
    cities."""
    beside: Mapping[str, str] = load_atlas().more["beside"]

    def test(c: City) -> Truth:
        if asked & {*_language_words(c)}:
            return True
        return (
            None if asked & {*map(plain_words, c.land.languages), *beside.get(c.land.code, "").split("; ")} else False
        )

    return test_cities(test)


def _speaks_mainly(asked: frozenset[str]) -> KnownCities:
    """Whether the main language is one of them; of a city with several it is the first one, if any."""
    return test_cities(lambda c: _language_words(c)[0] in asked or (None if asked & {*_language_words(c)} else False))


# --- places ----------------------------------------------------------------------------------------------------------


def _near_city(city: City) -> KnownCities:
    return test_cities(
        lambda c: None if c is city else True if (km := distance_km(c, city)) < 120 else None if km < 450 else False
    )


def _away_from_city(asked: Away) -> KnownCities:
    """Whether the distance is such; places are rounded, so that it is known to a few kilometres."""

    def test(c: City) -> Truth:
        km = distance_km(c, asked.city)
        return None if c is asked.city else asked.km.contains_range(km * 0.97 - 15, km * 1.03 + 15)

    return test_cities(test)


def _beyond_column(direction: str) -> Callable[[City | frozenset[str]], KnownCities]:
    """North (south, east, west) of a city or country, or of the equator."""
    sign = 1 if direction in ("north", "east") else -1
    field = "lat" if direction in ("north", "south") else "lon"

    def claim(asked: City | frozenset[str]) -> KnownCities:
        edges = (
            [getattr(asked, field)] if isinstance(asked, City) else [country_edge(code, direction) for code in asked]
        )
        if None in edges:
            return KnownCities(0, 0)
        line = max((sign * e for e in edges if e is not None), default=0.0)
        gap = 0.3 if edges else 0.15
        return test_cities(lambda c: None if abs(away := getattr(c, field) * sign - line) < gap else away > 0)

    return claim


def _population_column(sign: int) -> Callable[[City], KnownCities]:
    """The cities that surely have more people than one, or, with the other sign, fewer."""

    def claim(than: City) -> KnownCities:
        low, _, high = than.people or (0, 0, math.inf)
        more = cities_within("people", Interval(math.nextafter(high, math.inf), math.inf)).yes
        fewer = cities_within("people", Interval(-math.inf, math.nextafter(low, -math.inf))).yes
        return KnownCities(more, fewer | 1 << than.id) if sign > 0 else KnownCities(fewer, more | 1 << than.id)

    return claim


def _borders_country(codes: frozenset[str]) -> KnownCities:
    names = {load_atlas().countries[code].name for code in codes}
    return test_cities(lambda c: None if c.land.code in codes else not names.isdisjoint(c.land.neighbours))


def _capital_of(asked: KnownCities) -> KnownCities:
    """The capital of a country; of a part of one, the seat of its government. All other cities are not."""
    whole = not asked.yes or asked.yes in load_atlas().by_code.values()
    kind = lookup_attribute("capital_known" if whole else "seat_known") or known_mask(0)
    return KnownCities(kind.yes & asked.yes, asked.no | kind.no)


def _biggest_of(asked: KnownCities) -> KnownCities:
    """The most populous of the cities that are surely there; where two may be, of them it is not known."""
    if asked.yes in load_atlas().by_code.values():
        first = lookup_attribute("biggest_in_land") or known_mask(0)
        return KnownCities(first.yes & asked.yes, asked.no | first.no)
    held = {c: c.people for c in load_atlas().cities if c.people and not asked.no >> c.id & 1}
    least = max((low for low, _, _ in held.values()), default=0)
    mask = sum(1 << c.id for c, (_, _, high) in held.items() if high >= least)
    return known_mask(mask & asked.yes if mask.bit_count() == 1 else 0, mask)


# --- names and flags -------------------------------------------------------------------------------------------------


def _name_column(test: Callable[[str], bool]) -> KnownCities:
    return test_cities(lambda c: c.agreed_value(test))


def _contains_values(asked: Some, held: Sequence[str]) -> bool:
    """Whether letters or colours are among those of a name or a flag; a value of several letters stands for any."""
    found = [any(y in held for y in x.split("/")) for x in asked.values]
    return any(found) if asked.how == "any" else all(found) and (asked.how == "all" or len(found) == len(held))


COLUMNS: Mapping[str, Callable[[Any], KnownCities]] = {
    **dict.fromkeys(("in", "ruled", "believes"), lambda asked: asked),
    "part": lambda asked: test_cities(lambda c: side_of_land(c, asked)),
    "people": _number_column("people", 1e3),
    "land_people": _number_column("population", 1e6),
    "land_area": _number_column("area", 1e3),
    "height": _number_column("elevation"),
    "founded": _number_column("founded"),
    "age": _age_column,
    "independent": _number_column("independent"),
    "neighbours": _number_column("neighbours"),
    "flag_colours": _number_column("flag_colours"),
    "speaks": _speaks_language,
    "official": lambda asked: test_cities(lambda c: not asked.isdisjoint(map(plain_words, c.land.languages))),
    "mainly": _speaks_mainly,
    "pays": lambda asked: test_cities(lambda c: f" {asked} " in f" {plain_words(c.land.currency)} "),
    "flag": lambda asked: test_cities(lambda c: None if c.land.flag is None else _contains_values(asked, c.land.flag)),
    "near": _near_city,
    "distance": _away_from_city,
    **{side: _beyond_column(side) for side in ("north", "south", "east", "west")},
    "bigger": _population_column(1),
    "smaller": _population_column(-1),
    "same_land": lambda asked: known_mask(load_atlas().by_code[asked.land.code]),
    "land_is": lambda asked: known_mask(load_atlas().cities_of_countries(asked)),
    "borders": _borders_country,
    "capital_of": _capital_of,
    "biggest_of": _biggest_of,
    "begins": lambda asked: _name_column(lambda name: any(name[0] in x for x in asked.values)),
    "ends": lambda asked: _name_column(lambda name: any(name[-1] in x for x in asked.values)),
    "spelt": lambda asked: _name_column(lambda name: _contains_values(asked, name)),
    "land_begins": lambda asked: test_cities(
        lambda c: plain_words(c.land.name).removeprefix("the ")[0] in "".join(asked.values)
    ),
    "letters": _number_column("letters"),
    "words": _number_column("words"),
}
