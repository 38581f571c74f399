"""The hand-written lists of cities and countries for ``compile.py``: how they are read; that no phrase names its city.

The fields are explained in ``compile.py`` and at the head of ``countries.txt``; every line that does not fit them
is an error. The classes of climate and their words are here too.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent

CONTINENTS = ("africa", "americas", "asia", "europe", "oceania")
COUNTRY = ("name", "aliases", "people", "continents", "regions", "languages", "currency", "drives", "religion", "food")
LISTS = {"aliases": ",", "people": ",", "continents": ",", "regions": ",", "languages": ",", "food": ";", "flag": ","}


@dataclass
class City:
    """A line of the lists."""

    name: str
    aliases: list[str]
    country: str
    people: int | None
    age: str
    options: dict[str, str]
    river: str
    known: list[str]
    food: list[str]
    more: dict[str, str] = field(default_factory=dict[str, str])


def read_lines(name: str) -> Iterator[str]:
    lines = (HERE / name).read_text(encoding="ascii").splitlines()
    return (line for line in lines if line and not line.startswith("#"))


def items(text: str, mark: str) -> list[str]:
    return [part.strip() for part in text.split(mark) if part.strip() not in ("", "-")]


def read_countries() -> dict[str, dict[str, Any]]:
    """Code -> facts."""
    found: dict[str, dict[str, Any]] = {}
    for line in read_lines("countries.txt"):
        code, *values = line.split("|")
        *values, flag, tags = values
        row: dict[str, Any] = dict(zip(COUNTRY, values, strict=True)) | {"flag": flag}
        row = {k: items(v, LISTS[k]) if k in LISTS else None if v == "-" else v for k, v in row.items()}
        row["flag"] = row["flag"] or None
        words = {"EU": "EU member", "LL": "landlocked", "MON": "monarchy", "ISL": "island state"}
        found[code] = row | {"traits": [words[tag] for tag in tags.split()]}
    return found


def read_cities() -> Iterator[City]:
    for continent in CONTINENTS:
        country = ""
        for line in read_lines(f"{continent}.txt"):
            if line.startswith("["):
                country = line.strip("[]")
            else:
                yield read_city(line, country)


def read_city(line: str, country: str) -> City:
    fields = [part.strip() for part in f"{line} ".split("|")]
    if len(fields) not in (5, 6):
        raise ValueError(f"{country}: {len(fields)} fields in {line!r}")
    names, marks, river, known, food, more = (*fields, "")[:6]
    name, _, aliases = names.partition(" = ")
    people, age, options = read_marks(marks)
    extra = dict(part.split(": ", 1) for part in items(more, ";"))
    return City(
        name, items(aliases, ","), country, people, age, options, river, items(known, ";"), items(food, ";"), extra
    )


def read_marks(text: str) -> tuple[int | None, str, dict[str, str]]:
    """People, age and options; an option's value may hold spaces."""
    people, age, rest = (*text.split(" ", 2), "")[:3]
    options = dict(re.findall(r"\b([icCez]):(.+?)(?=$| [icCez]:)", rest))
    if not re.fullmatch(r"-|\d+", people) or not re.fullmatch(r"(-c?|[ament]c?)-?", age):
        raise ValueError(f"people and age expected in {text!r}")
    return (None if people == "-" else int(people)), ("-" if age.endswith("-") else age), options


def read_seas(known: set[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """(city or code, code) -> sea. A line: ``sea: CC; City CC; ...``."""
    found: dict[tuple[str, str], str] = {}
    for line in read_lines("seas.txt"):
        sea, _, places = line.partition(": ")
        for place in items(places, ";"):
            name, _, code = place.rpartition(" ")
            key = (name or code, code)
            if key not in known or key in found:
                raise ValueError(f"seas.txt: {place!r} is unknown or given twice")
            found[key] = sea
    return found


# --- no names in phrases ---------------------------------------------------------------------------------------------

GENERIC = {
    "city", "saint", "port", "fort", "new", "san", "santa", "santo", "des", "las", "los", "the", "and",
    "south", "north",
    "republic", "central", "islands", "united", "states", "state", "el", "la", "le", "de", "del", "of",
    "guinea", "hill",
    "salt", "lake", "key", "west", "rock", "little", "spring", "springs", "gold", "coast", "great", "town", "falls",
    "democratic", "arab", "east", "high", "people", "big", "apple", "cape", "kingdom", "america", "river", "orleans",
    "white", "addis", "belo", "rio", "porto", "buenos", "ciudad", "kong", "the states", "western", "holy see",
}  # fmt: skip


def refuse_leaks(city: City, country: dict[str, Any]) -> None:
    """A phrase that names the city, its country or its people is an error: mend the list by hand."""
    phrases = [city.river, *city.known, *city.food, *city.more.values()]
    if found := leaks(city, country, phrases):
        raise ValueError(f"{city.name} ({city.country}): {found}")


def refuse_country_leaks(country: dict[str, Any]) -> None:
    """The food of a country must not name it either."""
    nowhere = City(country["name"], [], "", None, "-", {}, "", [], [])
    if found := leaks(nowhere, country, country["food"]):
        raise ValueError(f"{country['name']}: {found}")


def leaks(city: City, country: dict[str, Any], phrases: Iterable[str]) -> list[str]:
    stems = sorted(forbidden(city, country))
    pattern = re.compile(r"\b(?:" + "|".join(map(re.escape, stems)) + ")")
    return [f"{phrase!r}: {m.group()!r}" for phrase in phrases if (m := pattern.search(fold(phrase)))]


def forbidden(city: City, country: dict[str, Any]) -> Iterator[str]:
    """Beginnings of words that give the city or its country away."""
    whole = [city.name, *city.aliases, country["name"], *country["aliases"], *country["people"]]
    for name in map(fold, whole):
        words = {name, *re.split(r"[\s\-']+", name)} - GENERIC
        yield from (word[:-1] if len(word) > 5 else rf"{word}" for word in words if len(word) > 3)


def fold(text: str) -> str:
    """Lower case without accents."""
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c)).lower()


# Koppen-Geiger class (H, HC and BWn are ours): plain words; hot summers, cold winters (None: not clear), rain.
CLIMATES: dict[str, tuple[str, bool | None, bool | None, str]] = {
    "Af": ("tropical rainforest: hot and humid all year", True, False, "rain all year"),
    "Am": ("tropical monsoon: hot all year with a very wet season", True, False, "heavy rain in one season"),
    "Aw": ("tropical savanna: hot or warm all year with a wet and a dry season", True, False, "a wet and a dry season"),
    "As": ("tropical savanna: hot or warm all year with a wet and a dry season", True, False, "a wet and a dry season"),
    "BWh": ("hot desert", True, False, "hardly any rain"),
    "BWk": ("cool desert", None, None, "hardly any rain"),
    "BSh": ("hot semi-arid: warm and rather dry", True, False, "little rain"),
    "BSk": ("cool semi-arid: rather dry", None, None, "little rain"),
    "Csa": ("Mediterranean: hot dry summers and mild wet winters", True, False, "rain mostly in winter"),
    "Csb": ("Mediterranean with warm dry summers and mild wet winters", None, False, "rain mostly in winter"),
    "Cwa": ("humid subtropical: hot rainy summers and mild dry winters", True, False, "rain mostly in summer"),
    "Cwb": ("subtropical highland: mild all year with a dry season", False, False, "a wet and a dry season"),
    "Cfa": ("humid subtropical: hot humid summers, cool or mild winters", True, None, "rain all year"),
    "Cfb": ("oceanic: mild summers and cool winters", False, None, "rain all year"),
    "Cfc": ("subpolar oceanic: cool summers and cold winters", False, True, "rain all year"),
    "Dsa": ("continental: hot dry summers and cold winters", True, True, "rain and snow mostly in winter"),
    "Dsb": ("continental: warm dry summers and cold winters", None, True, "rain and snow mostly in winter"),
    "Dwa": ("continental: hot rainy summers and cold dry winters", True, True, "rain mostly in summer"),
    "Dwb": ("continental: warm rainy summers and cold dry winters", None, True, "rain mostly in summer"),
    "Dwc": ("subarctic: short summers and very cold dry winters", False, True, "rain mostly in summer"),
    "Dfa": ("humid continental: hot summers and cold winters", True, True, "rain or snow all year"),
    "Dfb": ("humid continental: warm summers and cold winters", None, True, "rain or snow all year"),
    "Dfc": ("subarctic: short cool summers and long cold winters", False, True, "rain or snow all year"),
    "Dfd": ("subarctic with extremely cold winters", None, True, "little rain or snow"),
    "H": ("tropical highland: mild all year", False, False, "a wet and a dry season"),
    "HC": ("cold tropical highland: cool all year with cold nights", False, None, "a wet and a dry season"),
    "BWn": ("mild coastal desert: often foggy, seldom hot", False, False, "hardly any rain"),
    "ET": ("polar tundra: cool even in summer", False, True, "little rain or snow"),
}
