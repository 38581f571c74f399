"""Comparisons by what is measured of single topics: "longer than the Nile", "further north than Italy", "over 300 m".

Ours. `envs/data/twenty_questions_scales.txt` has a scale per measure, with a value or a range for each topic of which
it is known. A comparison is answered where the ranges are apart by more than the scale's doubt. Nothing is read before
a comparison is asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from sonde.people.language.numbers import amount

from . import sizes
from .queries import Query, atom
from .topics import Known, knowledge, name_key
from .wordlists import word_set

Words = Sequence[str]
Range = tuple[float, float]


class Scale(NamedTuple):
    """Rows by topic and by other names; `below`: (size step, limit) that all topics up to that size are under."""

    name: str
    more: Sequence[str]
    less: Sequence[str]
    doubt: float
    below: Sequence[tuple[int, float]]
    rows: Mapping[int, Range]
    others: Mapping[str, Range]


@cache
def blocks() -> Mapping[str, Sequence[str]]:
    """The lines of the data file under each heading."""
    text = files("sonde.envs").joinpath("data", "twenty_questions_scales.txt").read_text("utf-8")
    found = (block.partition("]\n") for block in text.split("\n[")[1:])
    return {name: [line for line in body.splitlines() if line] for name, _, body in found}


def ranged(text: str) -> Range:
    """A value, or a range `a~b`.

    >>> ranged("5~7"), ranged("-3")
    ((5.0, 7.0), (-3.0, -3.0))
    """
    low, _, high = text.partition("~")
    return float(low), float(high or low)


def pairs(line: str) -> list[tuple[str, str]]:
    """The `name: value` pairs of a line."""
    rows = (row.rpartition(": ") for row in line.removeprefix("= ").split("; "))
    return [(name.strip(), value.strip()) for name, _, value in rows]


def topic_rows(lines: Sequence[str]) -> dict[int, str]:
    """Values by topic."""
    return {knowledge().index[name]: value for line in lines if line[0] != "=" for name, value in pairs(line)}


def other_rows(lines: Sequence[str]) -> dict[str, str]:
    """Values by names of what is no topic."""
    return {name_key(name): value for line in lines if line[0] == "=" for name, value in pairs(line)}


@cache
def scale(name: str) -> Scale:
    """A scale of the data file; population, latitude and longitude also have what the lists of places say."""
    if name in _PLACED:
        return _placed(name)
    more, less, doubt, below, *lines = blocks()[name]
    steps = (step.split("=") for step in below.removeprefix("below:").split())
    return Scale(
        name,
        _listed(more),
        _listed(less),
        float(doubt.partition(":")[2]),
        [(int(step), float(limit)) for step, limit in steps],
        {i: ranged(value) for i, value in topic_rows(lines).items()},
        {other: ranged(value) for other, value in other_rows(lines).items()},
    )


def _listed(line: str) -> Sequence[str]:
    return tuple(words.strip() for words in line.partition(":")[2].split(";"))


_MEASURES = ("length", "height", "sun", "diameter", "population", "speed", "hardness", "shade", "alcohol", "lasting")
_ORDERED = (*_MEASURES, "value", "order", "weekday", "north", "east", "cities")
_PLACED = ("population", "north", "east", "cities")
_GIVEN = {
    "population": (("more populous", "more heavily populated"), ("less populous", "less heavily populated")),
    "north": (("north", "northerly", "northern"), ("south", "southerly", "southern")),
    "east": (("east", "easterly", "eastern"), ("west", "westerly", "western")),
    "cities": (("bigger", "larger"), ("smaller",)),
}


@cache
def _placed(name: str) -> Scale:
    """What the lists of countries and cities say."""
    more, less = _GIVEN[name]
    rows: dict[int, Range] = {}
    if name == "population":
        rows = {i: ranged(value) for i, value in topic_rows(blocks()["population"][4:]).items()}
    for i, values in topic_rows(blocks()["countries"]).items() if name != "cities" else ():
        s, n, w, e, people = values.split()
        boxes = {"north": (float(s), float(n)), "east": (float(w), float(e)), "population": ranged(people)}
        rows[i] = boxes[name]
    for i, values in topic_rows(blocks()["cities"]).items():
        lat, lon, people = values.split()
        rows[i] = ranged({"north": lat, "east": lon}.get(name, people))
    lines = {other: ranged(value.split()[0]) for other, value in other_rows(blocks()["cities"]).items()}
    return Scale(name, more, less, 1.1, (), rows, lines if name == "north" else {})


@cache
def _by_words() -> Mapping[tuple[str, ...], Sequence[tuple[str, bool]]]:
    """The words of a comparative -> the scales that it may be on, and whether it is more."""
    found: dict[tuple[str, ...], list[tuple[str, bool]]] = {}
    for name in _ORDERED:
        for more in (True, False):
            for text in scale(name).more if more else scale(name).less:
                found.setdefault(tuple(text.split()), []).append((name, more))
    return found


_GRADING = word_set("scales.grading")
_FURTHER = ("further", "farther", "more")
_HOW = word_set("scales.how")
_TAIL = word_set("scales.tail")
_OURS = {
    **dict.fromkeys(("planet that we live on", "planet we live on", "our planet", "our own planet"), "earth"),
    **dict.fromkeys(("our own", "our world", "our home planet", "world"), "earth"),
}
_TITLES = ("the", "a", "an", "planet", "city", "country", "of", "river", "mount", "our", "average", "state", "island")


def compared(words: Words) -> Query | None:
    """As in "longer than the Nile", "further north than Italy", "as tall as the Eiffel Tower", "north of France"."""
    words = [w for i, w in enumerate(words) if w not in _GRADING or i > 2]
    if len(words) < 3 or not {"than", "of", "as", "from"} & set(words):
        return None
    return _over(words) or _north_of(words) or _as_much(words)


def _over(words: Words) -> Query | None:
    """With "than": a comparative, what it is measured in, and what it is compared with."""
    if "than" not in words:
        return None
    at = list(words).index("than")
    head, rest = tuple(words[:at]), words[at + 1 :]
    if head[:1] and head[0] in _FURTHER and len(head) > 1 and head[1] in COMPASS:
        head = head[1:]
    for n in range(min(len(head), 5), 0, -1):
        senses = _by_words().get(head[:n])
        if senses is not None and _HOW.issuperset(head[n:]):
            return next((q for name, more in senses if (q := beside(name, more, rest)) is not None), None)
    return None


COMPASS = {"north": True, "south": False, "east": True, "west": False}


def beside(name: str, more: bool, words: Words) -> Query | None:
    """More or less on a scale than what the words name."""
    limit = limit_of(name, words)
    against = limit or reference(scale(name), words)
    return None if against is None else compare(scale(name), against, more)


def _north_of(words: Words) -> Query | None:
    """As in "north of France", "closer to the sun than us" apart: all of it is beyond the other's border."""
    words = words[1:] if words[0] in _FURTHER else words
    if len(words) < 3 or words[0] not in COMPASS or words[1] != "of":
        return None
    name, more = "north" if words[0] in ("north", "south") else "east", COMPASS[words[0]]
    against = reference(scale(name), words[2:])
    if against is None:
        return None
    low, high = against

    def holds(value: Range) -> bool | None:
        past = value[0] >= high - 2 if more else value[1] <= low + 2
        short = value[1] <= (low + high) / 2 if more else value[0] >= (low + high) / 2
        return True if past and not short else False if short and not past else None

    known = _known(scale(name), holds)
    return atom(f"{words[0]} of {low:g} to {high:g}", known if name == "north" else Known(0, 0))


_AS = {
    **dict.fromkeys(("tall", "high"), "height"),
    **dict.fromkeys(("fast", "quick"), "speed"),
    **dict.fromkeys(("long",), "length"),
    **dict.fromkeys(("hard",), "hardness"),
    **dict.fromkeys(("big", "large"), "diameter"),
    **dict.fromkeys(("populous",), "population"),
    **dict.fromkeys(("strong",), "alcohol"),
}


def _as_much(words: Words) -> Query | None:
    """As in "as tall as the Eiffel Tower": at least as much."""
    if words[0] != "as" or words[2:3] != ["as"] or words[1] not in _AS:
        return None
    name = _AS[words[1]]
    against = reference(scale(name), words[3:])
    if against is None:
        comparative = _SIZED.get(words[1])
        return sizes.compared([comparative, "than", *words[3:]]) if comparative is not None else None
    return compare(scale(name), against, True)


_SIZED = {"big": "bigger", "large": "larger", "tall": "taller", "long": "longer"}


def before(fine: Query | None, coarse: Query | None) -> Query | None:
    """What the scales say, and what the steps of size say where they say nothing."""
    if fine is None or coarse is None:
        return fine or coarse
    known = Known(fine.yes | coarse.yes & ~fine.no, fine.no | coarse.no & ~fine.yes)
    return atom(f"{fine.text} else {coarse.text}", known)


def reference(on: Scale, words: Words) -> Range | None:
    """The value of what is compared with."""
    words = list(words)
    while words and words[-1] in _TAIL:
        words = words[:-1]
    while words and words[0] in ("the", "a", "an", "that"):
        words = words[1:]
    text = " ".join(words)
    while words:
        name = name_key(_OURS.get(text, " ".join(words)))
        topics = knowledge().lookup.get(name, 0)
        held = [value for i, value in on.rows.items() if topics >> i & 1] if topics else []
        if len(held) == 1 or name in on.others:
            return held[0] if held else on.others[name]
        words = words[1:] if words[0] in _TITLES else []
    return None


def compare(on: Scale, against: Range, more: bool) -> Query:
    """What is more, or less, than a value."""
    order = _moved if on.name in ("north", "east") else _wholly if on.name in ("population", "cities") else _apart

    def holds(value: Range) -> bool | None:
        found = order(on, value, against)
        return None if found is None else found == more

    yes, no = _known(on, holds)
    small = _below(on, against[0])
    yes, no = (yes, no | small) if more else (yes | small, no)
    low = f"{against[0]:g}" if against[0] == against[1] else f"{against[0]:g} to {against[1]:g}"
    return atom(f"{on.name} {'>' if more else '<'} {low}", Known(yes, no))


def _known(on: Scale, holds: Callable[[Range], bool | None]) -> Known:
    yes = no = 0
    for i, value in on.rows.items():
        found = holds(value)
        yes, no = (yes | 1 << i, no) if found else (yes, no | (1 << i if found is False else 0))
    return Known(yes, no)


def _apart(on: Scale, value: Range, other: Range) -> bool | None:
    """Whether a range is beyond another; None where they may meet."""
    if value[0] > other[1] * on.doubt:
        return True
    return False if value[1] * on.doubt < other[0] else None


def _wholly(on: Scale, value: Range, other: Range) -> bool | None:
    """By both ends, which are reckoned alike: people in the city, and with all around it."""
    ends = list(zip(value, other, strict=True))
    if all(a > b * on.doubt for a, b in ends):
        return True
    return False if all(a * on.doubt < b for a, b in ends) else None


def _moved(on: Scale, value: Range, other: Range) -> bool | None:
    """By both borders and the middle, in degrees; on the other side of the globe there is no east and west."""
    middle = sum(value) / 2 - sum(other) / 2
    if on.name == "east" and (abs(middle) > 120 or value[1] - value[0] > 180 or other[1] - other[0] > 180):
        return None
    if abs(middle) < 1:
        return None
    if middle > 0:
        return True if value[0] >= other[0] and value[1] >= other[1] else None
    return False if value[0] <= other[0] and value[1] <= other[1] else None


def _below(on: Scale, limit: float) -> int:
    """The topics that are too small to come near a limit, and what has none of it."""
    step = max((step for step, least in on.below if least <= limit), default=-1)
    found = knowledge().numbers("size", lambda n: n <= step).yes & ~knowledge().roots["concept"] if step >= 0 else 0
    if on.name == "alcohol" and limit > 0:
        found = knowledge().known("drink").yes & knowledge().known("alcoholic").no
    for i in on.rows:
        found &= ~(1 << i)
    if on.name == "height":
        found &= ~(knowledge().roots["natural_feature"] | knowledge().roots["place"] | knowledge().known("can_fly").yes)
    return found


# --- limits in units --------------------------------------------------------------------------------------------------

_UNITS: Mapping[str, Mapping[str, float]] = {
    "height": {"m": 1, "metre": 1, "meter": 1, "foot": 0.3048, "feet": 0.3048, "ft": 0.3048, "km": 1000, "mile": 1609},
    "length": {"m": 0.001, "metre": 0.001, "meter": 0.001, "km": 1, "kilometre": 1, "kilometer": 1, "mile": 1.609},
    "population": {"people": 1e-6, "inhabitant": 1e-6, "resident": 1e-6, "": 1e-6},
    "speed": {"km h": 1, "kmh": 1, "kph": 1, "mph": 1.609, "kilometre per hour": 1, "mile per hour": 1.609},
}
_LONG = {"long": "length", "in length": "length", "tall": "height", "high": "height", "in height": "height"}


def limit_of(name: str, words: Words) -> Range | None:
    """A number with a unit of the scale."""
    units = _UNITS.get(name, {})
    for n in range(len(words), 0, -1):
        unit = " ".join(words[n:])
        found = _amount(words[:n]) if unit in units or unit.removesuffix("s") in units else None
        if found is not None and (unit or name == "population"):
            value = found * units.get(unit, units.get(unit.removesuffix("s"), 1))
            return value, value
    return None


def _amount(words: Words) -> float | None:
    """A number, or as in "hundreds of": two of these at least."""
    many = {"hundreds": 200.0, "thousands": 2000.0, "millions": 2e6, "tens thousands": 20000.0}
    words = [w for w in words if w != "of"]
    return many.get(" ".join(words)) or amount(words)


_COMPARER = re.compile(
    r"(more than|over|at least|above|upwards of|less than|under|fewer than|below|at most|thousands of|hundreds of) (.+)"
)


def measured(words: Words) -> Query | None:
    """As in "over 300 metres tall", "thousands of kilometres long"."""
    text = " ".join(words)
    end = next((end for end in _LONG if text.endswith(" " + end)), None)
    row = _COMPARER.fullmatch(text.removesuffix(end).strip()) if end is not None else None
    if end is None or row is None:
        return None
    many = row[1].endswith("s of")
    limit = limit_of(_LONG[end], (text if many else row[2]).removesuffix(end).split())
    more = many or row[1] in ("more than", "over", "at least", "above", "upwards of")
    return None if limit is None else compare(scale(_LONG[end]), limit, more)
