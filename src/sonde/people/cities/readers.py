"""What may stand in a slot of a phrasing: places, other cities, languages, numbers, letters.

Ours. `SLOTS` reads words into values; what a value means is in `columns.py`. Both are named in
`envs/data/city_phrases.txt`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from ..language.numbers import Interval, interval, measure
from ..language.times import Times
from . import places
from .atlas import City, atlas, listed, plain
from .sets import Known

Words = Sequence[str]
_ARTICLES = frozenset(("the", "a", "an"))
NOW = 2026
_TIMES = Times(NOW)


def text_of(words: Words) -> str:
    """Words without articles and commas."""
    return " ".join(w for w in words if w not in _ARTICLES and w != ",")


# --- slots: words -> a value, or None --------------------------------------------------------------------------------


def area(words: Words) -> Known | None:
    """A part of the world, with the country behind a comma or without."""
    head, _, tail = " ".join(w for w in words if w not in _ARTICLES).partition(" , ")
    found = _area(head)
    if not tail:
        return found
    within = area(tail.split())
    return None if found is None or within is None else Known(found.yes & within.yes, found.no | within.no)


_PREFIXES = (
    "state of ",
    "province of ",
    "region of ",
    "country of ",
    "continent of ",
    "island of ",
    "islands of ",
    "nation of ",
)
_SUFFIXES = (" region", " state", " province", " peninsula", " country", " area", " itself", " continent", " countries")


def _area(name: str) -> Known | None:
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    found = places.areas().get(name)
    for suffix in _SUFFIXES:
        found = found or places.areas().get(name.removesuffix(suffix))
    if found is None and (codes := atlas().peoples.get(name)) is not None:
        found = places.certain(atlas().within(codes))
    return found or places.islands().get(name) or _part(name)


def _part(name: str) -> Known | None:
    """As in "northern india", "north of spain", "south western france"."""
    words = name.replace(" part of ", " of ").split()
    side, at = "", 0
    while at < len(words) and (word := _directions().get(words[at])) is not None:
        side, at = f"{side} {word}".strip(), at + 1
    rest = " ".join(w for w in words[at:] if w != "of")
    within = places.areas().get(rest) if side and rest in atlas().lands else None
    if within is None:
        return places.areas().get(f"{side} {rest}") if side and rest in ("africa", "europe", "america") else None
    inside = places.where(lambda c: places.side_of_land(c, side))
    return Known(within.yes & inside.yes, within.no | within.yes & inside.no)


@cache
def _directions() -> Mapping[str, str]:
    found = {
        "central": "center",
        "middle": "center",
        "center": "center",
        "centre": "center",
        "mid": "center",
        "interior": "center",
    }
    for side in ("north", "south", "east", "west"):
        found |= dict.fromkeys((side, f"{side}ern", f"{side}ernmost"), side)
    for y in ("north", "south"):
        for x in ("east", "west"):
            found |= dict.fromkeys((f"{y}{x}", f"{y}{x}ern"), f"{y} {x}")
    return found


def side(words: Words) -> str | None:
    """A direction or two: "northern", "south western", "southeast"."""
    found = [_directions().get(w) for w in words if w not in ("or", "-", "the")]
    return " ".join(x for x in found if x) if found and None not in found else None


def land(words: Words) -> frozenset[str] | None:
    """A country, by its name or by its people."""
    name = text_of(words)
    return atlas().lands.get(name) or atlas().peoples.get(name)


def town(words: Words) -> City | None:
    """A city of the list, by a name that only one has, or the biggest that has it."""
    name, _, behind = " ".join(w for w in words if w not in _ARTICLES).removeprefix("city of ").partition(" , ")
    mask = atlas().by_name.get(name, 0)
    if behind and (within := area(behind.split())) is not None:
        mask &= within.yes
    held = sorted((c for c in atlas().cities if mask >> c.id & 1), key=lambda c: -(c.people or (0, 0, 0))[1])
    return held[0] if held else None


def language(words: Words) -> frozenset[str] | None:
    """A language by its names, or a family of languages."""
    name = text_of([w for w in words if w not in ("language", "languages", "speaking")])
    families: Mapping[str, str] = atlas().more["families"]
    if name in families:
        return frozenset(families[name].split("; "))
    same: Mapping[str, str] = atlas().more["same_language"]
    found = frozenset(same[name].split("; ")) if name in same else frozenset([name])
    return found if found & _languages() else None


@cache
def _languages() -> frozenset[str]:
    return frozenset(name for c in atlas().cities for name in spoken(c)) | frozenset(
        name for names in atlas().more["beside"].values() for name in names.split("; ")
    )


def spoken(c: City) -> Sequence[str]:
    """The languages of a city, the main one first: its own, else those of its country."""
    own = atlas().more["spoken"].get(c.name)
    return [plain(x) for x in (own.split("; ") if own else c.land.languages)]


@cache
def _faiths() -> Mapping[str, str]:
    """A word for a faith or for those who have it -> its attribute."""
    return {word: name for name, words in atlas().more["faiths"].items() for word in listed(words)}


def faith(words: Words) -> str | None:
    return _faiths().get(text_of(words))


def money(words: Words) -> str | None:
    """A currency, or a kind of currency: "euro", "US dollar", "peso"."""
    name = text_of(words)
    name = (
        name if name in ("swiss", "us") else name.removesuffix("s") if name.endswith(("os", "rs", "ds", "es")) else name
    )
    same: Mapping[str, str] = atlas().more["same_money"]
    name = same.get(name, name)
    return name if name in _currencies() else None


@cache
def _currencies() -> frozenset[str]:
    """All that a part of a currency's name may be: "us dollar", "dollar"."""
    names = [plain(x.currency).split() for x in atlas().countries.values()]
    parts = (" ".join(words[i:j]) for words in names for i in range(len(words)) for j in range(i + 1, len(words) + 1))
    return frozenset(parts) - {"and"}


_COLOURS = frozenset(
    ["red", "blue", "green", "white", "black", "yellow", "orange", "brown", "purple", "maroon", "pink"]
)
_SAME_COLOUR = {"gold": "yellow", "golden": "yellow"}


class Some(NamedTuple):
    """Several values that are asked together: all of them, one of them, or they and no others."""

    values: tuple[str, ...]
    how: str


def _some(words: Words, one: Callable[[str], str | None]) -> Some | None:
    """As in "red and white", "s or l", "only red"."""
    marks = (
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
    )
    found = [one(w.strip("'\"")) for w in words if w not in marks or (w == "a" and len(words) == 1)]
    values = tuple(v for v in found if v is not None)
    how = "any" if "or" in words else "only" if "only" in words or "just" in words else "all"
    return Some(values, how) if values and len(values) == len(found) else None


def colours(words: Words) -> Some | None:
    return _some(words, lambda w: same if (same := _SAME_COLOUR.get(w, w)) in _COLOURS else None)


def letter(words: Words) -> Some | None:
    """Letters; "vowel" and "consonant" stand for theirs."""
    kinds = {"vowel": "aeiou", "consonant": "bcdfghjklmnpqrstvwxz"}
    if words and words[-1] == "a" and "letter" in words[:-1]:
        return Some(("a",), "all")
    return _some(words, lambda w: kinds.get(w) or (w if len(w) == 1 and w.isalpha() else None))


class Spot(NamedTuple):
    """A city, or the country of some cities, that others are north or south of."""

    city: City | None
    codes: frozenset[str]


def spot(words: Words) -> Spot | None:
    city = town(words)
    codes = land(words)
    if text_of(words) == "equator":
        return Spot(None, frozenset())
    return Spot(city, codes or frozenset()) if city or codes else None


class Away(NamedTuple):
    """Some kilometres from a city."""

    km: Interval
    city: City


def away(words: Words) -> Away | None:
    """As in "500 kilometres of Paris"."""
    at = next((i for i, w in enumerate(words) if w in ("of", "from")), 0)
    found = (
        measure(words[:at], {"km": 1, "kilometers": 1, "kilometres": 1, "miles": 1.609, "mi": 1.609}) if at else None
    )
    city = town(words[at + 1 :]) if found else None
    if found is None or city is None:
        return None
    return Away(Interval(0.0, found.high) if found.low == found.high else found, city)


def ruler(words: Words) -> str | None:
    """Who once ruled other countries: a key of the table `ruled`."""
    name = text_of(words)
    for suffix in ("", " empire", " rule", " crown", " colonial empire"):
        bare = name.removesuffix(suffix)
        if bare in _powers():
            return _powers()[bare]
    return None


@cache
def _powers() -> Mapping[str, str]:
    return {word: key for key, row in atlas().more["ruled"].items() for word in row["words"].split("|")}


_METRES = {
    "m": 1,
    "meter": 1,
    "meters": 1,
    "metres": 1,
    "metre": 1,
    "feet": 0.3048,
    "ft": 0.3048,
    "foot": 0.3048,
    "km": 1000,
    "kilometers": 1000,
}

SLOTS: Mapping[str, Callable[[Words], Any]] = {
    "place": area,
    "side": side,
    "land": land,
    "town": town,
    "language": language,
    "faith": faith,
    "money": money,
    "colours": colours,
    "letter": letter,
    "spot": spot,
    "away": away,
    "ruler": ruler,
    "amount": interval,
    "length": lambda words: measure(words, _METRES),
    "time": _TIMES.read,
    "sea": lambda words: _names(words, places.seas()),
    "land_sea": lambda words: _names(words, places.land_coasts()),
    "water": lambda words: _names(words, places.waters()),
    "range": lambda words: _names(words, places.ranges()),
    "island": lambda words: _names(words, places.islands()),
}


def _names(words: Words, known: Mapping[str, Known]) -> Known | None:
    name = text_of(words)
    for prefix in ("coast of ", "shore of ", "shores of ", "banks of ", "bank of "):
        name = name.removeprefix(prefix)
    return known.get(name) or known.get(name.removesuffix(" mountains").removesuffix(" mountain range"))
