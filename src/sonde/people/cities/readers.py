"""What may stand in a slot of a phrasing, and what a column says of it: places, other cities, languages, numbers.

Ours. `SLOTS` reads words into values, `COLUMNS` makes claims of them; both are named in `envs/data/city_phrases.txt`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from ..language.numbers import Interval, interval, measure
from ..language.times import Times
from . import places
from .atlas import City, Truth, atlas, kilometres, plain
from .sets import Known, height, land_area, land_people, sets

Words = Sequence[str]
_ARTICLES = frozenset(("the", "a", "an"))
_TIMES = Times(2026)


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


_PREFIXES = ("state of ", "province of ", "region of ", "country of ", "continent of ", "island of ", "islands of ", "nation of ")
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
    found = {"central": "center", "middle": "center", "center": "center", "centre": "center", "mid": "center", "interior": "center"}
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


_FAITHS = {
    "islam": "islam", "muslim": "islam", "muslims": "islam", "islamic": "islam", "moslem": "islam", "christianity": "christian",
    "christian": "christian", "christians": "christian", "catholic": "catholic", "catholicism": "catholic", "roman catholic": "catholic",
    "roman catholicism": "catholic", "catholics": "catholic", "catholic church": "catholic", "protestant": "protestant",
    "protestantism": "protestant", "protestants": "protestant", "lutheran": "protestant", "orthodox": "orthodox",
    "eastern orthodox": "orthodox", "orthodoxy": "orthodox", "orthodox christianity": "orthodox", "orthodox christian": "orthodox",
    "eastern orthodoxy": "orthodox", "eastern orthodox christianity": "orthodox", "orthodox church": "orthodox", "buddhism": "buddhist",
    "buddhist": "buddhist", "buddhists": "buddhist", "hinduism": "hindu", "hindu": "hindu", "hindus": "hindu", "judaism": "jewish",
    "jewish": "jewish", "jews": "jewish", "shinto": "shinto", "shintoism": "shinto", "sikhism": "sikh", "sikh": "sikh", "sikhs": "sikh",
    "taoism": "taoist", "daoism": "taoist", "shia islam": "shia", "shia": "shia", "shia muslim": "shia", "sunni islam": "sunni",
    "sunni": "sunni", "sunni muslim": "sunni", "no religion": "unbelieving",
}  # fmt: skip


def faith(words: Words) -> str | None:
    return _FAITHS.get(text_of(words))


def money(words: Words) -> str | None:
    """A currency, or a kind of currency: "euro", "US dollar", "peso"."""
    name = text_of(words)
    name = name if name in ("swiss", "us") else name.removesuffix("s") if name.endswith(("os", "rs", "ds", "es")) else name
    same = {"sterling": "pound sterling", "british pound": "pound sterling", "yuan": "renminbi yuan", "ruble": "rouble", "rmb": "renminbi yuan",
            "american dollar": "us dollar", "united states dollar": "us dollar", "rupiahs": "rupiah", "shekel": "new shekel", "cfa franc": "cfa franc"}  # fmt: skip
    name = same.get(name, name)
    return name if any(f" {name} " in f" {plain(x.currency)} " for x in atlas().countries.values()) and name != "and" else None


_COLOURS = frozenset("red blue green white black yellow orange brown purple maroon pink".split())
_SAME_COLOUR = {"gold": "yellow", "golden": "yellow"}


class Some(NamedTuple):
    """Several values that are asked together: all of them, one of them, or they and no others."""

    values: tuple[str, ...]
    how: str


def _some(words: Words, one: Callable[[str], str | None]) -> Some | None:
    """As in "red and white", "s or l", "only red"."""
    marks = ("and", "or", ",", "only", "just", "both", "either", "with", "the", "a", "an", "letter", "letters", "any", "some", "color", "colour", "colors", "colours")
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
    found = measure(words[:at], {"km": 1, "kilometers": 1, "kilometres": 1, "miles": 1.609, "mi": 1.609}) if at else None
    city = town(words[at + 1 :]) if found else None
    if found is None or city is None:
        return None
    return Away(Interval(0.0, found.high) if found.low == found.high else found, city)


def ruler(words: Words) -> str | None:
    """Who once ruled other countries: a key of the table `ruled`."""
    name = text_of(words)
    for suffix in ("", " empire", " rule", " crown", " colonial empire"):
        bare = name.removesuffix(suffix)
        for key, row in atlas().more["ruled"].items():
            if bare in row["words"].split("|") or name in row["words"].split("|"):
                return key
    return None


_METRES = {"m": 1, "meter": 1, "meters": 1, "metres": 1, "metre": 1, "feet": 0.3048, "ft": 0.3048, "foot": 0.3048, "km": 1000, "kilometers": 1000}

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
    "water": lambda words: _names(words, {**places.rivers(), **places.lakes()}),
    "range": lambda words: _names(words, places.ranges()),
    "island": lambda words: _names(words, places.islands()),
}


def _names(words: Words, known: Mapping[str, Known]) -> Known | None:
    name = text_of(words)
    for prefix in ("coast of ", "shore of ", "shores of ", "banks of ", "bank of "):
        name = name.removeprefix(prefix)
    return known.get(name) or known.get(name.removesuffix(" mountains").removesuffix(" mountain range"))


# --- columns: a value -> the cities of which it is true --------------------------------------------------------------


def within(held: Callable[[City], tuple[float, float] | None], asked: Interval) -> Known:
    """The cities whose number is in an interval."""

    def test(c: City) -> Truth:
        own = held(c)
        return None if own is None else asked.holds(*own)

    return places.where(test)


_FOUNDED = {"ancient": (-3000.0, 500.0), "medieval": (500.0, 1500.0), "early modern": (1500.0, 1800.0), "19th century": (1800.0, 1900.0),
            "20th century or later": (1900.0, 2020.0)}  # fmt: skip


def founded(c: City) -> tuple[float, float] | None:
    return None if c.age is None else _FOUNDED[c.age]


@cache
def independence() -> Mapping[str, int]:
    rows = (row.split() for row in atlas().more["tables"]["independence"].split(";"))
    return {code: int(year) for code, year in rows}


def _independent(c: City) -> tuple[float, float] | None:
    year = independence().get(c.land.code)
    return None if year is None else (year - 0.5, year + 0.5)


def _speaks(asked: frozenset[str]) -> Known:
    """Whether one of the languages is spoken; that a country has it beside its official ones is not known of its cities."""

    def test(c: City) -> Truth:
        if asked & set(spoken(c)):
            return True
        beside = {plain(x) for x in c.land.languages} | set(atlas().more["beside"].get(c.land.code, "").split("; "))
        return None if asked & beside else False

    return places.where(test)


def _official(asked: frozenset[str]) -> Known:
    return places.where(lambda c: bool(asked & {plain(x) for x in c.land.languages}))


def _mainly(asked: frozenset[str]) -> Known:
    """Whether the main language is one of them; of a country with several it is the first one, if any."""

    def test(c: City) -> Truth:
        names = spoken(c)
        return names[0] in asked if len(names) == 1 or names[0] in asked else None if asked & set(names) else False

    return places.where(test)


def _pays(name: str) -> Known:
    return places.where(lambda c: f" {name} " in f" {plain(c.land.currency)} ")


def _near(city: City) -> Known:
    return places.where(lambda c: None if c is city else True if (km := kilometres(c, city)) < 120 else None if km < 450 else False)


def _away(asked: Away) -> Known:
    """Whether the distance is such; places are rounded, so that it is known to a few kilometres."""

    def test(c: City) -> Truth:
        km = kilometres(c, asked.city)
        return None if c is asked.city else asked.km.holds(km * 0.97 - 15, km * 1.03 + 15)

    return places.where(test)


def beyond(direction: str) -> Callable[[Spot], Known]:
    """North (south, east, west) of a city or country, or of the equator."""
    sign = 1 if direction in ("north", "east") else -1

    def claim(asked: Spot) -> Known:
        city, codes = asked
        if city is None and not codes:
            return places.where(lambda c: None if abs(c.lat) < 0.15 else c.lat * sign > 0)
        edges = [places.lies(code, direction) for code in codes] if city is None else []
        if None in edges:
            return Known(0, 0)
        line = max(sign * e for e in edges if e is not None) if edges else sign * (0.0 if city is None else _at(city, direction))
        return places.where(lambda c: None if c is city or abs(gap := _at(c, direction) * sign - line) < 0.3 else gap > 0)

    return claim


def _at(c: City, direction: str) -> float:
    return c.lat if direction in ("north", "south") else c.lon


def _bigger(than: City, sign: int) -> Known:
    low, _, high = than.people or (0, 0, 0)

    def test(c: City) -> Truth:
        if c.people is None or not high or c is than:
            return False if c is than else None
        bigger = True if c.people[0] > high else False if c.people[2] < low else None
        return bigger if bigger is None or sign > 0 else not bigger

    return places.where(test)


def _borders(codes: frozenset[str]) -> Known:
    names = {atlas().countries[code].name for code in codes}
    return places.where(lambda c: None if c.land.code in codes else bool(names & set(c.land.neighbours)))


def _ruled(key: str) -> Known:
    row = atlas().more["ruled"][key]
    return places.certain(atlas().within(set(row["yes"].split())), atlas().within(set(row["unsure"].split())))


@cache
def spellings(c: City) -> tuple[str, ...]:
    """The ways to write the name in full: with article and "city", or without."""
    name = plain(c.name)
    if name in ("mexico city", "vatican city"):
        return (name,)
    more = {name.removeprefix("the "), name.removesuffix(" city"), name.replace("st ", "saint ") if name.startswith("st ") else name}
    return tuple({name, *more})


def _name(test: Callable[[str], bool]) -> Known:
    """What holds of the name however it is written; not known where that makes a difference."""

    def agreed(c: City) -> Truth:
        found = {test(name) for name in spellings(c)}
        return found.pop() if len(found) == 1 else None

    return places.where(agreed)


def _holds(asked: Some, held: Sequence[str]) -> bool:
    """Whether letters or colours are among those of a name or a flag."""
    found = [any(y in held for y in x) if len(x) > 8 else x in held for x in asked.values]
    return any(found) if asked.how == "any" else all(found) and (asked.how == "all" or len(found) == len(held))


def _first_of(asked: Known, cities: int) -> Known:
    """The cities of a part of the world that are of a kind there, such as its capital; all others are not."""
    kind = sets().attribute("capital_known" if cities else "seat_known") or Known(0, 0)
    return Known(kind.yes & asked.yes, asked.no | kind.no)


def _capital_of(asked: Known) -> Known:
    return _first_of(asked, asked.yes in atlas().by_code.values() or asked.yes.bit_count() == 0)


def _biggest_of(asked: Known) -> Known:
    """The most populous of the cities that are surely there; where two may be, of them it is not known."""
    if asked.yes in atlas().by_code.values():
        first = sets().attribute("biggest_in_land") or Known(0, 0)
        return Known(first.yes & asked.yes, asked.no | first.no)
    held = [c for c in atlas().cities if not asked.no >> c.id & 1 and c.people]
    least = max((c.people[0] for c in held if c.people), default=0)
    best = [c for c in held if c.people and c.people[2] >= least]
    mask = sum(1 << c.id for c in best)
    sure = best[0] if len(best) == 1 and asked.yes >> best[0].id & 1 else None
    return Known(mask if sure else 0, atlas().all & ~mask)


def _counted(size: Callable[[str], int]) -> Callable[[Interval], Known]:
    return lambda asked: _name(lambda name: bool(asked.holds(size(name), size(name))))


COLUMNS: Mapping[str, Callable[[Any], Known]] = {
    "in": lambda asked: asked,
    "part": lambda asked: places.where(lambda c: places.side_of_land(c, asked)),
    "people": lambda asked: within(lambda c: c.people and (c.people[0] * 1e3, c.people[2] * 1e3), asked),
    "land_people": lambda asked: within(lambda c: (own := land_people(c)) and (own[0] * 1e6, own[1] * 1e6), asked),
    "land_area": lambda asked: within(lambda c: (own := land_area(c)) and (own[0] * 1e3, own[1] * 1e3), asked),
    "height": lambda asked: within(height, asked),
    "founded": lambda asked: within(founded, asked),
    "age": lambda asked: within(lambda c: (own := founded(c)) and (2026 - own[1], 2026 - own[0]), asked),
    "independent": lambda asked: within(_independent, asked),
    "speaks": _speaks,
    "official": _official,
    "mainly": _mainly,
    "believes": lambda asked: Known(*(sets().attribute(asked) or (0, 0))),
    "pays": _pays,
    "flag": lambda asked: places.where(lambda c: None if c.land.flag is None else _holds(asked, c.land.flag)),
    "flag_colours": lambda asked: within(lambda c: c.land.flag and (float(len(c.land.flag)),) * 2, asked),
    "sea": lambda asked: asked,
    "near": _near,
    "distance": _away,
    "north": beyond("north"),
    "south": beyond("south"),
    "east": beyond("east"),
    "west": beyond("west"),
    "bigger": lambda asked: _bigger(asked, 1),
    "smaller": lambda asked: _bigger(asked, -1),
    "same_land": lambda asked: places.certain(atlas().by_code[asked.land.code]),
    "land_is": lambda asked: places.certain(atlas().within(asked)),
    "borders": _borders,
    "capital_of": _capital_of,
    "biggest_of": _biggest_of,
    "neighbours": lambda asked: within(lambda c: (float(len(c.land.neighbours)),) * 2, asked),
    "ruled": _ruled,
    "begins": lambda asked: _name(lambda name: any(name[0] in x for x in asked.values)),
    "ends": lambda asked: _name(lambda name: any(name[-1] in x for x in asked.values)),
    "spelt": lambda asked: _name(lambda name: _holds(asked, name)),
    "land_begins": lambda asked: places.where(lambda c: plain(c.land.name).removeprefix("the ")[0] in "".join(asked.values)),
    "letters": _counted(lambda name: sum(ch.isalpha() for ch in name)),
    "words": _counted(lambda name: len(name.split())),
}
