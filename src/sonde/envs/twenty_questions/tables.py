"""Measures of single topics: lengths, heights, speeds, counts of parts, approximate years, units, and letters.

Ours. `data/scales.txt` has a block per table and explains its lines; it is loaded at the first comparison. Questions
about letters and words ("does it start with an A") concern only the topic's own name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple, TypeVar

from .._shared.english.claims import Claim, Numbers, Range
from .._shared.english.tokens import Interval, name_key
from .knowledge import data_blocks, topic_knowledge

_HEAD = 4
"""Lines of a scale before its rows."""
_LEGS = {"two_legs": 2, "four_legs": 4, "six_legs": 6, "eight_legs": 8}
_K = TypeVar("_K", int, str)


def parse_range(text: str) -> Range:
    """A value, or a range `a~b`.

    >>> parse_range("5~7"), parse_range("-3")
    ((5.0, 7.0), (-3.0, -3.0))
    """
    low, _, high = text.partition("~")
    return float(low), float(high or low)


def parse_ranges(rows: Mapping[_K, str]) -> dict[_K, Range]:
    return {name: parse_range(value) for name, value in rows.items()}


class ScaleTable(NamedTuple):
    """The rows of a block: values by topic, and values by names that are no topics."""

    topics: Mapping[int, str]
    others: Mapping[str, str]


@cache
def load_table(name: str) -> ScaleTable:
    lines, index = data_blocks("scales").get(name, ()), topic_knowledge().index
    rows = [(line[0] == "=", *pair) for line in lines[_HEAD * is_scale(name) :] for pair in _split_pairs(line)]
    topics = {index[thing]: value for other, thing, value in rows if not other}
    return ScaleTable(topics, {thing: value for other, thing, value in rows if other})


def _split_pairs(line: str) -> list[tuple[str, str]]:
    """The `name: value` pairs of a line."""
    rows = (row.rpartition(": ") for row in line.removeprefix("= ").split("; "))
    return [(name.strip(), value.strip()) for name, _, value in rows]


@cache
def ranges_by_name(name: str) -> Mapping[str, Range]:
    """Values by names that are no topics, in the form of `name_key`."""
    return {name_key(thing, common=True): parse_range(value) for thing, value in load_table(name).others.items()}


class Scale(NamedTuple):
    """Values by topic; `more` and `less` are its comparatives, `below` pairs of a size step and the limit that all
    topics up to that size stay under."""

    name: str
    more: Sequence[str]
    less: Sequence[str]
    numbers: Numbers
    below: Sequence[tuple[int, float]]


def is_scale(name: str) -> bool:
    """Whether a block of the file is one, with words for more and less of it."""
    return data_blocks("scales").get(name, [""])[0].startswith("more:")


@cache
def load_scale(name: str) -> Scale:
    """Load a scale of the data file; population adds the lists of places, sizes and weights add those of topics."""
    more, less, doubt, below = (line.partition(":")[2].strip() for line in data_blocks("scales")[name][:_HEAD])
    rows = {**parse_ranges(load_table(name).topics), **topic_knowledge().numbers.get(name, {})}
    for places in ("countries", "cities") if name == "population" else ():
        rows |= {i: parse_range(value.split()[-1]) for i, value in load_table(places).topics.items()}
    steps = [(int(step), float(limit)) for step, _, limit in (pair.partition("=") for pair in below.split())]
    return Scale(name, more.split("; "), less.split("; "), Numbers(rows, float(doubt)), steps)


@cache
def scales_by_comparative() -> Mapping[str, Sequence[tuple[str, bool]]]:
    """The words of a comparative -> the scales that it may be on, in the order of the file, and whether it is more."""
    found: dict[str, list[tuple[str, bool]]] = {}
    for name in filter(is_scale, data_blocks("scales")):
        for more in (True, False):
            for text in load_scale(name).more if more else load_scale(name).less:
                found.setdefault(text, []).append((name, more))
    return found


@cache
def compass_ranges(axis: str) -> Mapping[int, Range]:
    """`north`: from which to which latitude a country or city lies; `east`: longitude."""
    low, high, at = (0, 1, 0) if axis == "north" else (2, 3, 1)
    boxes = {i: value.split() for i, value in load_table("countries").topics.items()}
    points = {i: float(value.split()[at]) for i, value in load_table("cities").topics.items()}
    return {i: (float(box[low]), float(box[high])) for i, box in boxes.items()} | {i: (n, n) for i, n in points.items()}


@cache
def year_numbers(field: str) -> Numbers:
    """Load `born`, `died`, `start` or `end`: exact years, and ranges where they are known approximately."""
    return Numbers({**parse_ranges(load_table(field).topics), **topic_knowledge().numbers[field]})


@cache
def part_counts() -> Mapping[str, Numbers]:
    """Noun -> how many of it topics have."""
    found: dict[str, Numbers] = {}
    for line in data_blocks("scales")["counts"]:
        nouns, without, row = (field.strip() for field in line.split(" | "))
        index = topic_knowledge().index
        rows = {index[name]: parse_range(value) for name, value in _split_pairs(row) if name in index}
        for noun in nouns.split(", "):
            found[noun] = Numbers({**_counted_ranges(noun, without), **rows})
    return found


def _counted_ranges(noun: str, without: str) -> Mapping[int, Range]:
    """Return the counts that follow from the attributes: none, or so many legs."""
    knows, found = topic_knowledge(), dict[int, Range]()
    none = (
        knows.known_topics(without).no if noun == "wheel" else knows.known_topics(without).yes if noun == "leg" else 0
    )
    legs = {name: knows.known_topics(name).yes for name in _LEGS} if noun == "leg" else {}
    for i in range(len(knows.names)):
        if none >> i & 1:
            found[i] = (0, 0)
        for name, topics in legs.items():
            if topics >> i & 1:
                found[i] = (_LEGS[name], _LEGS[name])
    return found


def _names_where(text: str, holds: Callable[[str], bool]) -> Claim:
    names = topic_knowledge().names
    yes = sum(1 << i for i, name in enumerate(names) if holds(name.casefold()))
    return Claim(text, yes, topic_knowledge().all & ~yes)


@lru_cache(maxsize=128)
def claim_edge_letter(letter: str, at: int) -> Claim:
    """Names that start (0) or end (-1) with this letter, or with a vowel or consonant."""
    if len(letter) > 1:
        return _names_where(f"{letter} {at}", lambda name: (name[at] in "aeiou") == (letter == "vowel"))
    return _names_where(f"{letter} {at}", lambda name: name[at] == letter)


@lru_cache(maxsize=128)
def claim_inside_letter(letter: str) -> Claim:
    return _names_where(f"contains {letter}", lambda name: letter in name)


def claim_name_length(asked: Interval, unit: str) -> Claim:
    """Names of so many letters or words."""
    return _name_sizes(unit).claim_within(asked, f"{unit}s")


@cache
def _name_sizes(unit: str) -> Numbers:
    def size(name: str) -> float:
        return float(len(name.replace("-", " ").split()) if unit == "word" else sum(c.isalpha() for c in name))

    return Numbers({i: (size(name), size(name)) for i, name in enumerate(topic_knowledge().names)})
