"""Cities and countries of guess_my_city: facts and names.

Facts: `data/cities.json` and `data/cities_more.toml`. A fact that is not certain is None or "unsure".
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from sonde._util.folders import data_file

from .._shared.english.claims import union_masks
from .._shared.english.tokens import name_key, plain_words

Truth = bool | None
"""Yes, no, or not known."""

_VAGUE = frozenset(("America", "US", "U.S.", "the States", "CAR"))
"""Names of countries that are also words for something else."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Country:
    """A row of `countries`; the fields are those of the file."""

    code: str
    name: str
    aliases: Sequence[str]
    people: Sequence[str]
    continents: Sequence[str]
    regions: Sequence[str]
    languages: Sequence[str]
    currency: str
    drives: str
    religion: str | None
    food: Sequence[str]
    flag: Sequence[str] | None
    traits: Sequence[str]
    neighbours: Sequence[str]

    @property
    def names(self) -> Sequence[str]:
        return (self.name, *self.aliases)


@dataclass(frozen=True, kw_only=True, eq=False)
class City:
    """A row of `cities`; `land` is its country, `id` its place in the list."""

    id: int
    name: str
    aliases: Sequence[str]
    land: Country = field(repr=False)
    nation: str | None
    continents: Sequence[str]
    lat: float
    lon: float
    people: tuple[int, int, int] | None
    capital: Truth
    seat: str | bool | None
    shore: str | None
    water: str | None
    sea_km: tuple[int, int | None] | None
    island: str | bool | None
    elevation: int | None
    climate: tuple[str, ...]
    river: str | None
    age: str | None
    colonial: Truth
    utc: float
    known: Sequence[str]
    food: Sequence[str]
    sport: str | None
    industry: str | None
    university: str | None
    split: str
    lmrl: bool

    @property
    def names(self) -> Sequence[str]:
        return (self.name, *self.aliases)

    @property
    def title(self) -> str:
        """ "City, Country", as a guess names it."""
        return f"{self.name}, {self.land.name}"

    @cached_property
    def secret_names(self) -> tuple[str, ...]:
        """The names of the city and of its country, except those that are also words for something else."""
        return tuple(name for name in (*self.names, *self.land.names) if name not in _VAGUE)

    @cached_property
    def leaking_names(self) -> tuple[str, ...]:
        """Words that a resident must not say: the names, and the people of the city and the country; a word that is
        also a language ("French") only in the form that means people."""
        own = [f"{self.name}{end}" for end in ("er", "ian", "ite", "ese") if len(self.name) > 3]
        spoken = {plain_words(x) for x in self.land.languages}
        people = [f"{x}s" if plain_words(x) in spoken else x for x in self.land.people if x not in _VAGUE]
        return (*self.secret_names, *own, *people)

    @cached_property
    def spellings(self) -> Sequence[str]:
        """The ways to write the name in full: with article and "city", or without."""
        name = plain_words(self.name)
        if name in ("mexico city", "vatican city"):
            return [name]
        saint = f"saint {name[3:]}" if name.startswith("st ") else name
        return list(dict.fromkeys((name, name.removeprefix("the "), name.removesuffix(" city"), saint)))

    def agreed_value(self, size: Callable[[str], Any]) -> Any:
        """Return the value that all spellings of the name share; None where they differ."""
        found = {size(name) for name in self.spellings}
        return found.pop() if len(found) == 1 else None

    @cached_property
    def _revealing_stems(self) -> tuple[str, ...]:
        """Beginnings of words that would give the city or its country away, people and derivatives included."""
        bare = [plain_words(name) for name in (*self.names, *self.land.names, *self.land.people)]
        return tuple(f" {name[:-1] if len(name) > 5 else name if len(name) > 3 else name + ' '}" for name in bare)

    def is_revealed_by(self, phrase: str) -> bool:
        """Whether a phrase names the city, its country or its people, or has a word that begins like them."""
        words = f" {plain_words(phrase)} "
        return any(stem in words for stem in self._revealing_stems)


class Atlas:
    """All cities and countries."""

    def __init__(self) -> None:
        raw: dict[str, Any] = json.loads(data_file("guess_my_city", "cities.json").read_text("ascii"))
        self.more: dict[str, Any] = tomllib.loads(data_file("guess_my_city", "cities_more.toml").read_text("ascii"))
        self.climates: Mapping[str, Sequence[Any]] = raw["climates"]
        self.countries: dict[str, Country] = {k: Country(code=k, **row) for k, row in raw["countries"].items()}
        names = raw["fields"]
        rows = [dict(zip(names, row, strict=True)) for row in raw["cities"]]
        self.cities: tuple[City, ...] = tuple(self._make_city(i, row) for i, row in enumerate(rows))
        self.all = (1 << len(self.cities)) - 1

    def _make_city(self, i: int, row: dict[str, Any]) -> City:
        code, name = row.pop("country"), row["name"]
        known = {plain_words(n) for n in (name, *row["aliases"])}
        more = split_list(self.more["names"].get(name, ""))
        people, sea_km = row.pop("people"), row.pop("sea_km")
        return City(
            id=i,
            aliases=[*row.pop("aliases"), *(a for a in more if plain_words(a) not in known)],
            land=self.countries[code],
            people=people and (people[0], people[1], people[2]),
            sea_km=sea_km and (sea_km[0], sea_km[1]),
            climate=tuple((row.pop("climate") or self.more["climates"].get(name, "")).split()),
            **row,
        )

    @cached_property
    def by_name(self) -> Mapping[str, int]:
        """Plain name of a city -> the cities that have it, as a mask."""
        return group_masks((name, c) for c in self.cities for name in _lookup_forms(c.names))

    @cached_property
    def by_code(self) -> Mapping[str, int]:
        """Code of a country -> its cities, as a mask."""
        return group_masks((c.land.code, c) for c in self.cities)

    @cached_property
    def _cities_by_entry(self) -> Mapping[str, int]:
        return group_masks((key, c) for c in self.cities for key in (c.name, f"{c.name}/{c.land.code}"))

    @cached_property
    def countries_by_name(self) -> Mapping[str, frozenset[str]]:
        """Plain name of a country -> codes."""
        return _codes_by_word(
            ((x, _lookup_forms(x.names)) for x in self.countries.values()), self.more["words"]["lands"]
        )

    @cached_property
    def countries_by_people(self) -> Mapping[str, frozenset[str]]:
        """Adjective of a country ("french") -> codes."""
        return _codes_by_word(
            ((x, map(plain_words, x.people)) for x in self.countries.values()), self.more["words"]["peoples"]
        )

    def cities_of_countries(self, codes: Iterable[str]) -> int:
        """The cities of some countries, as a mask."""
        return union_masks(self.by_code.get(code, 0) for code in codes)

    def city_of_entry(self, text: str) -> int:
        """Return the city of a list entry such as "Vienna" or "London/GB" as a mask; 0 if there is none."""
        return self._cities_by_entry.get(text, 0)


def group_masks(rows: Iterable[tuple[str, City]]) -> Mapping[str, int]:
    """The cities of each key, as a mask."""
    found: dict[str, int] = {}
    for key, city in rows:
        found[key] = found.get(key, 0) | 1 << city.id
    return found


def _codes_by_word(rows: Iterable[tuple[Country, Iterable[str]]], more: str) -> Mapping[str, frozenset[str]]:
    """Word -> the codes of the countries that have it; `more` are words with a code."""
    found: dict[str, frozenset[str]] = {}
    pairs = [(word, land.code) for land, words in rows for word in words]
    for word, code in [*pairs, *((word, code) for item in split_list(more) for word, code in [item.split(":")])]:
        found[word] = found.get(word, frozenset()) | {code}
    return found


def name_forms(name: str) -> set[str]:
    """The plain forms of a name: with and without articles, "saint" and "st".

    >>> sorted(name_forms("The Hague")), sorted(name_forms("St. Louis"))
    (['hague', 'the hague'], ['saint louis', 'st louis'])
    """
    text = plain_words(name)
    bare = " ".join(w for w in text.split() if w not in ("the", "a", "an"))
    words = bare.split()
    other = {"st": "saint", "saint": "st"}.get(words[0] if words else "")
    return {text, bare, *([" ".join([other, *words[1:]])] if other else [])}


def _lookup_forms(names: Iterable[str]) -> set[str]:
    """All ways in which names may be looked up."""
    return {form for name in names for form in (*name_forms(name), name_key(name))}


def split_list(text: str, mark: str = ";") -> list[str]:
    return [part.strip() for part in text.split(mark) if part.strip()]


def distance_km(a: City, b: City) -> float:
    """The great-circle distance; the places are rounded to about 10 km."""
    p, q = math.radians(a.lat), math.radians(b.lat)
    cosine = math.sin(p) * math.sin(q) + math.cos(p) * math.cos(q) * math.cos(math.radians(a.lon - b.lon))
    return 6371.0 * math.acos(max(-1.0, min(1.0, cosine)))


@cache
def load_atlas() -> Atlas:
    """The atlas, loaded once per process."""
    return Atlas()
