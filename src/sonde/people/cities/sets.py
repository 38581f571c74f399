"""What is true of which cities: the attributes of `envs/data/city_sets.txt` as claims over bit masks.

Ours. The file's head says how an attribute is written. Each is decided for every city: yes, no, or explicitly not
known; a test of a column that is empty for a city is not known of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from .atlas import Atlas, City, Truth, atlas, plain


class Known(NamedTuple):
    """Of which cities something is true, and of which it is false."""

    yes: int
    no: int


_CODES = re.compile(r"[A-Z]{2}(?: [A-Z]{2})*")
_COMPARED = re.compile(r"(\w+) ([<>~]) (-?[\d.]+)")


class Sets:
    """See the module.

    >>> sets().attribute("landlocked").yes & atlas().named("Lisbon")
    0
    """

    def __init__(self, world: Atlas) -> None:
        self._world = world
        text = files("sonde.envs").joinpath("data", "city_sets.txt").read_text("utf-8")
        rows = (line.split(" = ", 1) for line in text.splitlines() if " = " in line and not line.startswith("#"))
        self._texts: Mapping[str, str] = dict(rows)
        self._known: dict[str, Known] = {}
        self._tested: dict[str, Known] = {}

    @property
    def names(self) -> Sequence[str]:
        return tuple(self._texts)

    def attribute(self, name: str) -> Known | None:
        """What the attribute of that name says; None where there is none."""
        if name not in self._known and name in self._texts:
            self._known[name] = self._line(self._texts[name])
        return self._known.get(name)

    def _line(self, text: str) -> Known:
        if " ! " in f" {text}":
            yes, _, no = f" {text}".partition(" ! ")
            found, other = self._union(yes), self._union(no)
            return Known(found.yes, other.yes & ~found.yes)
        yes, _, maybe = f" {text}".partition(" ? ")
        found, other = self._union(yes), self._union(maybe)
        return Known(found.yes, found.no & other.no)

    def _union(self, text: str) -> Known:
        yes, no = 0, self._world.all
        for part in text.split(";"):
            if part.strip():
                found = self._all_of(part)
                yes, no = yes | found.yes, no & found.no
        return Known(yes, no)

    def _all_of(self, text: str) -> Known:
        yes, no = self._world.all, 0
        for part in text.split(" & "):
            term = part.strip()
            found = self._term(term.removeprefix("not "))
            found = Known(found.no, found.yes) if term.startswith("not ") else found
            yes, no = yes & found.yes, no | found.no
        return Known(yes, no)

    def _term(self, text: str) -> Known:
        if text.startswith("@"):
            found = self.attribute(text[1:])
            if found is None:
                raise KeyError(f"city_sets.txt: {text!r} is no attribute")
            return found
        if _CODES.fullmatch(text):
            return self._certain(self._world.within(set(text.split())))
        if (compared := _COMPARED.fullmatch(text)) is not None:
            column, how, value = compared.groups()
            return self._where(lambda c: _compared(_RANGES[column](c), how, float(value)))
        word, _, rest = text.partition(" ")
        if word in _TESTS and rest:
            if text not in self._tested:
                self._tested[text] = self._where(lambda c: _TESTS[word](c, rest))
            return self._tested[text]
        return self._certain(self._listed(text, word, rest))

    def _listed(self, text: str, word: str, rest: str) -> int:
        """The cities of a table of `cities_more.toml`, or the one that is named."""
        if word == "group":
            return self._world.within(set(self._world.more["lands"][rest].split()))
        if word == "cities":
            return self._world.chosen(self._world.more["cities"][rest])
        if word == "olympics":
            rows = self._world.more["olympics"].items()
            return self._world.chosen(";".join(name for name, years in rows if rest in years))
        mask = self._world.named(text)
        if not mask:
            raise KeyError(f"city_sets.txt: {text!r} is no city, no country, no attribute and no test")
        return mask

    def _certain(self, mask: int) -> Known:
        return Known(mask, self._world.all & ~mask)

    def _where(self, test: Callable[[City], Truth]) -> Known:
        yes = no = 0
        for city in self._world.cities:
            found = test(city)
            yes |= (found is True) << city.id
            no |= (found is False) << city.id
        return Known(yes, no)


_Range = tuple[float, float] | None


@cache
def _nations() -> Mapping[str, tuple[float, float]]:
    """Code of a country -> people in millions and area in thousands of square kilometres."""
    rows = (row.split() for row in atlas().more["nations"]["sizes"].split(";") if row.strip())
    return {row[0]: (float(row[1]), float(row[2])) for row in rows}


def land_people(c: City) -> _Range:
    found = _nations().get(c.land.code)
    return found and (found[0] * 0.95, found[0] * 1.06)


def land_area(c: City) -> _Range:
    found = _nations().get(c.land.code)
    return found and (found[1] * 0.98, found[1] * 1.02)


def height(c: City) -> _Range:
    """The height of a city in metres; it is known to a tenth, and to 15 m at best."""
    gap = max(15.0, abs(c.elevation or 0) * 0.1)
    return None if c.elevation is None else (c.elevation - gap, c.elevation + gap)


_RANGES: Mapping[str, Callable[[City], _Range]] = {
    "people": lambda c: c.people and (c.people[0], c.people[2]),
    "population": land_people,
    "area": land_area,
    "elevation": height,
    "lat": lambda c: (abs(c.lat) - 0.1, abs(c.lat) + 0.1),
    "latitude": lambda c: (c.lat - 0.1, c.lat + 0.1),
    "lon": lambda c: (c.lon - 0.1, c.lon + 0.1),
}


def _compared(held: _Range, how: str, value: float) -> Truth:
    """Whether a range is above or below a number; "~" asks whether the number is inside."""
    if held is None:
        return None
    low, high = held
    if how == "~":
        return low <= value <= high
    above = True if low > value else False if high <= value else None
    return above if how == ">" or above is None else not above


@cache
def _words_of(c: City) -> str:
    rows = (*c.known, *c.food, c.sport or "", c.industry or "", c.university or "")
    return f" {' '.join(plain(row) for row in rows)} "


def _worded(words: str, text: str) -> bool:
    """Whether a text has one of the words; an underline parts the words of a phrase."""
    return any(word in text for word in _apart(words))


@cache
def _apart(words: str) -> tuple[str, ...]:
    return tuple(f" {plain(word.replace('_', ' '))} " for word in words.split("/"))


def _climate(c: City, codes: str) -> Truth:
    found = {code in codes.split() for code in c.climate}
    return found.pop() if len(found) == 1 else None


def _column(c: City, name: str) -> Truth:
    return _COLUMN[name](c)


def _close_to_sea(c: City) -> Truth:
    return c.shore == "sea" or (c.sea_km is not None and c.sea_km[1] is not None and c.sea_km[1] <= 20)


@cache
def _of_list(name: str) -> int:
    return atlas().chosen(atlas().more["cities"][name])


def _biggest(c: City) -> Truth:
    """Whether no city of the country has more people: by the list, or because another surely has more."""
    first, no = (_of_list(name) for name in ("biggest", "biggest_not"))
    if first >> c.id & 1:
        return True
    siblings = atlas().by_code[c.land.code]
    larger = any(o.people and c.people and o.people[0] > c.people[2] for o in atlas().cities if siblings >> o.id & 1)
    return False if no >> c.id & 1 or siblings & first or larger else None


def _second(c: City) -> Truth:
    second = _of_list("second")
    if second >> c.id & 1:
        return True
    return False if atlas().by_code[c.land.code] & second or _biggest(c) else None


def script(c: City) -> str:
    """The script of a city's main language."""
    own = atlas().more["spoken"].get(c.name)
    main = plain(own.split("; ")[0] if own else c.land.languages[0])
    rows: Mapping[str, str] = atlas().more["scripts"]
    return next((name for name, names in rows.items() if main in names.split("; ")), "Latin")


_COLUMN: Mapping[str, Callable[[City], Truth]] = {
    "capital": lambda c: c.capital,
    "seat": lambda c: None if c.seat is None else bool(c.seat),
    "inland": lambda c: None if c.shore is None else c.shore == "inland",
    "close_to_sea": _close_to_sea,
    "far_from_sea": lambda c: bool(c.sea_km and c.sea_km[0] >= 50),
    "biggest": _biggest,
    "second": _second,
    "river": lambda c: bool(c.river),
    "on_island": lambda c: None if c.island is None else bool(c.island),
    "island": lambda c: bool(c.island),
    "university": lambda c: bool(c.university),
    "aliased": lambda c: bool(c.aliases),
    "nickname": lambda c: c.name in atlas().more["nicknames"],
    "many_languages": lambda c: len(c.land.languages) > 1,
}


def _script(c: City, name: str) -> Truth:
    found = script(c)
    return None if found == "Cyrillic or Latin" else found == name


def _ruled(c: City, powers: str) -> Truth:
    """Whether one of the powers once ruled the country."""
    rows = [atlas().more["ruled"][power] for power in powers.split()]
    if any(c.land.code in row["yes"].split() for row in rows):
        return True
    return None if any(c.land.code in row["unsure"].split() for row in rows) else False


_TESTS: Mapping[str, Callable[[City, str], Truth]] = {
    "climate": _climate,
    "known": lambda c, words: _worded(words, _words_of(c)),
    "industry": lambda c, words: bool(c.industry) and _worded(words, f" {plain(c.industry or '')} "),
    "age": lambda c, word: None if c.age is None else c.age.startswith(word),
    "shore": lambda c, word: None if c.shore is None else c.shore == word,
    "column": _column,
    "trait": lambda c, word: any(trait.startswith(word) for trait in c.land.traits),
    "drives": lambda c, side: c.land.drives == side,
    "continent": lambda c, name: name in c.continents,
    "founded": lambda c, word: c.colonial,
    "pays": lambda c, name: name in c.land.currency,
    "script": _script,
    "ruled": _ruled,
}


@cache
def sets() -> Sets:
    """The only one; loaded when first asked for."""
    return Sets(atlas())
