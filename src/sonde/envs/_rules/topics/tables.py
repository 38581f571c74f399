"""What single topics measure: lengths, heights, speeds, numbers of parts, years known roughly, records.

Ours. `envs/data/twenty_questions_scales.txt` has a block per table; it explains its lines. Nothing is read before a
comparison is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from sonde.people.language.words import name_key
from sonde.people.meaning.columns import Numbers, Range

from .knowledge import knowledge

_LEGS = {"two_legs": 2, "four_legs": 4, "six_legs": 6, "eight_legs": 8}
MEASURES = (
    "length",
    "height",
    "sun",
    "diameter",
    "population",
    "speed",
    "hardness",
    "alcohol",
    "value",
    "order",
    "weekday",
)
"""Scales of which the file has a block each, in the order in which a comparative looks for one."""


class Scale(NamedTuple):
    """Values by topic and by other names; `more` and `less` are its comparatives, `below` (size step, limit) what all
    topics up to that size are under."""

    name: str
    more: Sequence[str]
    less: Sequence[str]
    numbers: Numbers
    others: Mapping[str, Range]
    below: Sequence[tuple[int, float]]


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


def _pairs(line: str) -> list[tuple[str, str]]:
    """The `name: value` pairs of a line."""
    rows = (row.rpartition(": ") for row in line.removeprefix("= ").split("; "))
    return [(name.strip(), value.strip()) for name, _, value in rows]


def topic_rows(lines: Sequence[str]) -> dict[int, str]:
    """Values by topic."""
    index = knowledge().index
    return {index[name]: value for line in lines if line[0] != "=" for name, value in _pairs(line)}


def other_rows(lines: Sequence[str]) -> dict[str, str]:
    """Values by names of what is no topic."""
    return {name_key(name): value for line in lines if line[0] == "=" for name, value in _pairs(line)}


@cache
def scale(name: str) -> Scale:
    """A scale of the data file; population also has what the lists of places say."""
    more, less, doubt, below, *lines = blocks()[name]
    rows = {i: ranged(value) for i, value in topic_rows(lines).items()}
    if name == "population":
        rows |= {i: ranged(value.split()[-1]) for i, value in topic_rows(blocks()["countries"]).items()}
        rows |= {i: ranged(value.split()[-1]) for i, value in topic_rows(blocks()["cities"]).items()}
    steps = [step.split("=") for step in below.partition(":")[2].split()]
    return Scale(
        name,
        _listed(more),
        _listed(less),
        Numbers(rows, float(doubt.partition(":")[2])),
        {other: ranged(value) for other, value in other_rows(lines).items()},
        [(int(step), float(limit)) for step, limit in steps],
    )


def _listed(line: str) -> Sequence[str]:
    return [words.strip() for words in line.partition(":")[2].split(";")]


@cache
def comparatives() -> Mapping[str, Sequence[tuple[str, bool]]]:
    """The words of a comparative -> the scales that it may be on, and whether it is more."""
    found: dict[str, list[tuple[str, bool]]] = {}
    for name in MEASURES:
        for more in (True, False):
            for text in scale(name).more if more else scale(name).less:
                found.setdefault(text, []).append((name, more))
    return found


@cache
def compass(axis: str) -> Mapping[int, Range]:
    """`north`: from which to which latitude a country or city lies; `east`: longitude."""
    at, rows = (0, 1) if axis == "north" else (2, 3), dict[int, Range]()
    for i, value in topic_rows(blocks()["countries"]).items():
        box = value.split()
        rows[i] = float(box[at[0]]), float(box[at[1]])
    for i, value in topic_rows(blocks()["cities"]).items():
        point = float(value.split()[0 if axis == "north" else 1])
        rows[i] = point, point
    return rows


@cache
def years(field: str) -> Numbers:
    """`born`, `died`, `start`, `end`: exact years, and ranges where they are known roughly."""
    rows = {i: ranged(value) for i, value in topic_rows(blocks().get(field, ())).items()}
    return Numbers({**rows, **knowledge().numbers[field]})


@cache
def counts() -> Mapping[str, Numbers]:
    """Noun -> how many of it topics have."""
    found: dict[str, Numbers] = {}
    for line in blocks()["counts"]:
        nouns, without, row = (field.strip() for field in line.split(" | "))
        index = knowledge().index
        rows = {index[name]: ranged(value) for name, value in _pairs(row) if name in index}
        for noun in nouns.split(", "):
            found[noun] = Numbers({**_counted(noun, without), **rows})
    return found


def _counted(noun: str, without: str) -> Mapping[int, Range]:
    """What the attributes say: none of it, or so many legs."""
    knows, found = knowledge(), dict[int, Range]()
    none = knows.known(without).no if noun == "wheel" else knows.known(without).yes if noun == "leg" else 0
    legs = {name: knows.known(name).yes for name in _LEGS} if noun == "leg" else {}
    for i in range(len(knows.names)):
        if none >> i & 1:
            found[i] = (0, 0)
        for name, topics in legs.items():
            if topics >> i & 1:
                found[i] = (_LEGS[name], _LEGS[name])
    return found
