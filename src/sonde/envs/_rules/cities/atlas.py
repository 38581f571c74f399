"""The cities of guess_my_city: what is known about them, by name, place and country.

Facts: `envs/data/cities.json` (built by `data/build/cities.py`) and `envs/data/cities_more.toml` (by hand: regions,
rulers, memberships, wealth, Olympic hosts, metro systems, states). A fact that is not certain is None or among the
"unsure": whoever asks hears that it is not known. Loaded when first used.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from ..checks import plain

Truth = bool | None
"""Yes, no, or not known."""

_VAGUE = frozenset(("America", "US", "U.S.", "the States", "CAR"))


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


@dataclass(frozen=True, kw_only=True, eq=False)
class City:
    """A row of `cities`; `land` is its country, `id` its place in the list, `state` one of the United States."""

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
    climate: str | None
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
    state: str | None

    @property
    def title(self) -> str:
        """ "City, Country", as a guess names it."""
        return f"{self.name}, {self.land.name}"

    @cached_property
    def secrets(self) -> tuple[str, ...]:
        """The names of the city and of its country, but those that are also words for something else."""
        names = (self.name, *self.aliases, self.land.name, *self.land.aliases)
        return tuple(name for name in names if name not in _VAGUE)

    @cached_property
    def stems(self) -> tuple[str, ...]:
        """Beginnings of words that would give the city or its country away, people and derivatives included."""
        names = (self.name, *self.aliases, self.land.name, *self.land.aliases, *self.land.people)
        bare = [plain(name) for name in names]
        return tuple(f" {name[:-1] if len(name) > 5 else name if len(name) > 3 else name + ' '}" for name in bare)

    def reveals(self, phrase: str) -> bool:
        """Whether a phrase names the city, its country or its people, or has a word that begins like them."""
        words = f" {plain(phrase)} "
        return any(stem in words for stem in self.stems)


class Atlas:
    """All cities and countries, and every way to look them up."""

    def __init__(self) -> None:
        source = files("sonde.envs").joinpath("data")
        raw: dict[str, Any] = json.loads(source.joinpath("cities.json").read_text("ascii"))
        self.more: dict[str, Any] = tomllib.loads(source.joinpath("cities_more.toml").read_text("ascii"))
        self.climates: Mapping[str, Sequence[Any]] = raw["climates"]
        self.countries: dict[str, Country] = {k: Country(code=k, **row) for k, row in raw["countries"].items()}
        names, states = raw["fields"], self.more["states"]
        rows = [dict(zip(names, row, strict=True)) for row in raw["cities"]]
        self.cities: tuple[City, ...] = tuple(self._city(i, row, states) for i, row in enumerate(rows))

    def _city(self, i: int, row: dict[str, Any], states: Mapping[str, str]) -> City:
        code = row.pop("country")
        more = self.more["names"].get(row["name"], "")
        known = {plain(name) for name in (row["name"], *row["aliases"])}
        aliases = [*row.pop("aliases"), *(a for a in listed(more) if plain(a) not in known)]
        state = states.get(row["name"]) if code == "US" else None
        people, sea_km = row.pop("people"), row.pop("sea_km")
        return City(
            id=i,
            aliases=aliases,
            land=self.countries[code],
            state=state,
            people=people and (people[0], people[1], people[2]),
            sea_km=sea_km and (sea_km[0], sea_km[1]),
            **row,
        )

    # --- by name -----------------------------------------------------------------------------------------------------

    @cached_property
    def by_name(self) -> Mapping[str, tuple[int, ...]]:
        """Plain name -> cities. A name that is the proper one of a city stands for that city and its namesakes."""
        found: dict[str, list[int]] = {}
        for city in self.cities:
            for name in {plain(n) for n in (city.name, *city.aliases)}:
                for form in {name, bare(name), name.replace("saint ", "st ")}:
                    found.setdefault(form, []).append(city.id)
        return {name: tuple(ids) for name, ids in found.items()}

    @cached_property
    def lands(self) -> Mapping[str, frozenset[str]]:
        """Plain name or alias of a country -> codes."""
        found: dict[str, set[str]] = {}
        for land in self.countries.values():
            for name in (land.name, *land.aliases):
                for form in {plain(name).removeprefix("the "), bare(plain(name))}:
                    found.setdefault(form, set()).add(land.code)
        for name, code in (("nation of georgia", "GE"), ("republic of georgia", "GE"), ("burma", "MM")):
            found.setdefault(name, set()).add(code)
        return {name: frozenset(codes) for name, codes in found.items()}

    @cached_property
    def peoples(self) -> Mapping[str, frozenset[str]]:
        """Adjective of a country ("french") -> codes. Those of this table that are no demonym in the file are ours."""
        found: dict[str, set[str]] = {}
        for land in self.countries.values():
            for name in land.people:
                found.setdefault(plain(name), set()).add(land.code)
        ours = (
            "english:GB scottish:GB welsh:GB british:GB french:FR spanish:ES polish:PL turkish:TR danish:DK swedish:SE "
            "finnish:FI dutch:NL swiss:CH irish:IE chinese:CN japanese:JP argentine:AR philippine:PH american:US"
        )
        for pair in ours.split():
            word, code = pair.split(":")
            found.setdefault(word, set()).add(code)
        return {name: frozenset(codes) for name, codes in found.items()}

    @cached_property
    def longest_name(self) -> int:
        """Words of the longest city name."""
        return max(len(name.split()) for name in self.by_name)

    @cached_property
    def states(self) -> Mapping[str, str]:
        """Plain name -> name of every state of the United States, whether or not it has a city in the list."""
        names = {*self.more["states"].values(), *listed(self.more["parts"]["other_states"])}
        return {plain(name): name for name in names} | {"dc": "District of Columbia", "d c": "District of Columbia"}

    @cached_property
    def provinces(self) -> Mapping[str, str]:
        """Plain name of a province -> code of the country it is in."""
        found: dict[str, str] = {}
        for code, names in self.more["provinces"].items():
            found |= {name: str(code) for name in listed(names)}
        return found

    def group(self, name: str) -> frozenset[str]:
        """A group of countries of the table `lands`."""
        return self._groups[name]

    @cached_property
    def _groups(self) -> Mapping[str, frozenset[str]]:
        return {name: frozenset(codes.split()) for name, codes in self.more["lands"].items()}

    def chosen(self, text: str) -> frozenset[int]:
        """Cities of a list such as "Vienna; London/GB"."""
        if text not in self._chosen:
            self._chosen[text] = self._listed(text)
        return self._chosen[text]

    @cached_property
    def _chosen(self) -> dict[str, frozenset[int]]:
        return {}

    def _listed(self, text: str) -> frozenset[int]:
        found: set[int] = set()
        for item in listed(text):
            name, _, code = item.partition("/")
            found |= {c.id for c in self.cities if c.name == name and code in ("", c.land.code)}
        return frozenset(found)

    @cached_property
    def metro(self) -> tuple[frozenset[int], frozenset[int]]:
        """Cities with a metro, and those that are unsure."""
        more = self.more["cities"]
        return self.chosen(more["metro"]), self.chosen(more["metro_unsure"])

    @cached_property
    def metro_none(self) -> frozenset[int]:
        """Bigger cities that have none, in countries that have some."""
        return self.chosen(self.more["cities"]["metro_none"])

    @cached_property
    def olympics(self) -> Mapping[int, Sequence[str]]:
        """City -> the games it hosted: "s1992" in summer, "w1988" in winter."""
        return {i: years.split() for name, years in self.more["olympics"].items() for i in self.chosen(name)}

    @cached_property
    def olympics_unsure(self) -> frozenset[int]:
        return self.chosen(self.more["cities"]["olympics_unsure"])

    # --- regions -----------------------------------------------------------------------------------------------------

    @cached_property
    def regions(self) -> Mapping[str, Region]:
        """Name -> region: those of the file and those of the table `unions`."""
        found: dict[str, Region] = {}
        named = {name for land in self.countries.values() for name in land.regions}
        for name in sorted(named - {"North America", "South America", "Oceania", "Arctic", "North Atlantic"}):
            found[name] = self._region(name, {})
        for name, row in self.more["unions"].items():
            found[name] = self._region(name, row)
        return found

    def _region(self, name: str, row: Mapping[str, str]) -> Region:
        inside = set(row.get("add", "").split())
        for land in self.countries.values():
            if name in land.regions or row.get("of") in land.regions:
                inside.add(land.code)
        unsure = frozenset(row.get("unsure", "").split()) - inside
        return Region(name, frozenset(inside), unsure, _CONTINENT_OF.get(name.rsplit(maxsplit=1)[-1]))

    @cached_property
    def region_words(self) -> Mapping[str, str]:
        """Plain words for a region -> its name."""
        found: dict[str, str] = {plain(name): name for name in self.regions}
        for name, row in self.more["unions"].items():
            found |= dict.fromkeys(listed(row.get("words", ""), "|"), str(name))
        return found

    # --- distances and ranks -----------------------------------------------------------------------------------------

    @cached_property
    def siblings(self) -> Mapping[str, tuple[City, ...]]:
        """Code of a country -> its cities, the most populous first; those of unknown size last."""
        found: dict[str, list[City]] = {}
        for city in self.cities:
            found.setdefault(city.land.code, []).append(city)
        return {code: tuple(sorted(rows, key=lambda c: -size(c))) for code, rows in found.items()}

    @cached_property
    def by_size(self) -> tuple[City, ...]:
        """All cities, the most populous first."""
        return tuple(sorted(self.cities, key=lambda c: -size(c)))


_CONTINENT_OF = {
    "Europe": "Europe", "Balkans": "Europe", "Scandinavia": "Europe", "Benelux": "Europe", "Asia": "Asia",
    "Peninsula": None, "Africa": "Africa",
}  # fmt: skip


@dataclass(frozen=True)
class Region:
    """Codes of the countries in it and of those of which it is arguable; the continent that its cities are on."""

    name: str
    inside: frozenset[str]
    unsure: frozenset[str]
    continent: str | None

    def holds(self, city: City) -> Truth:
        """Whether the city is in it. A city on another continent than the rest of its country may be argued about."""
        code = city.land.code
        if code in self.unsure:
            return None
        if code not in self.inside:
            return False
        if self.continent and self.continent not in city.continents:
            return False if code == "RU" else None
        return None if self.continent and len(city.continents) > 1 and code == "ES" else True


_ARTICLES = frozenset(("the", "a", "an"))


def bare(name: str) -> str:
    """A plain name without articles, as it stands in a question in its one form: "xi an" is "xi" there."""
    return " ".join(w for w in name.split() if w not in _ARTICLES)


def size(city: City) -> int:
    """Thousands of people, 0 where not known."""
    return city.people[1] if city.people else 0


def listed(text: str, mark: str = ";") -> list[str]:
    return [part.strip() for part in text.split(mark) if part.strip()]


def kilometres(a: City, b: City) -> float:
    """The great-circle distance; the places are rounded to about 10 km."""
    p, q = math.radians(a.lat), math.radians(b.lat)
    cosine = math.sin(p) * math.sin(q) + math.cos(p) * math.cos(q) * math.cos(math.radians(a.lon - b.lon))
    return 6371.0 * math.acos(max(-1.0, min(1.0, cosine)))


def all_of(truths: Iterable[Truth]) -> Truth:
    """Kleene's "and".

    >>> all_of([True, None]), all_of([None, False]), all_of([True, True])
    (None, False, True)
    """
    found = tuple(truths)
    return False if False in found else None if None in found else True


def any_of(truths: Iterable[Truth]) -> Truth:
    """Kleene's "or"."""
    return negation(all_of(negation(t) for t in truths))


def negation(truth: Truth) -> Truth:
    return None if truth is None else not truth


@cache
def atlas() -> Atlas:
    """The only one; loaded when first asked for."""
    return Atlas()
