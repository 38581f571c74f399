"""Years that words stand for: "the 19th century", "between the world wars", "the reign of Queen Victoria".

Ours. People have years of birth and death, events of start and end, other things sometimes a year in which they began;
of those whose years are known only roughly, and of inventions, `envs/data/twenty_questions_scales.txt` has ranges.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from sonde.people.language.numbers import amount

from .english import base
from .scales import blocks, other_rows, pairs, ranged, topic_rows
from .topics import Known, knowledge, name_key
from .wordlists import word_list, word_set

NOW, SLACK = 2025, 3


class Span(NamedTuple):
    """Years, both included."""

    first: float
    last: float

    def __str__(self) -> str:
        return f"{self.first:g}" if self.first == self.last else f"{self.first:g} to {self.last:g}"


_ORDINALS = {word: n for n, word in enumerate(word_list("years.ordinals"), 1)}
_AGES = {
    "middle age": Span(500, 1500),
    "medieval time": Span(500, 1500),
    "world war ii": Span(1939, 1945),
    "world war 2": Span(1939, 1945),
    "second world war": Span(1939, 1945),
    "world war two": Span(1939, 1945),
    "world war i": Span(1914, 1918),
    "first world war": Span(1914, 1918),
    "world war 1": Span(1914, 1918),
    "world war one": Span(1914, 1918),
    "cold war": Span(1947, 1991),
    "renaissance": Span(1400, 1600),
    "victorian era": Span(1837, 1901),
    "victorian time": Span(1837, 1901),
    "ancient time": Span(-9999, 476),
    "antiquity": Span(-9999, 476),
    "christ": Span(1, 1),
    "modern time": Span(1900, NOW),
    "modern era": Span(1900, NOW),
    "this century": Span(2001, NOW),
    "current century": Span(2001, NOW),
    "present century": Span(2001, NOW),
    "this millennium": Span(2001, NOW),
    "interwar": Span(1919, 1939),
    "interwar period": Span(1919, 1939),
}
_DECADES = {
    word: 1900 + 10 * n
    for n, word in enumerate(("twenties", "thirties", "forties", "fifties", "sixties", "seventies", "eighties"), 2)
} | {"nineties": 1990}


EMPTY = word_set("spans.empty")
"""Words that say nothing beside a time."""


def span(words: Sequence[str]) -> Span | None:
    """The years that "1900", "the 19th century", "the 1960s", "World War II" stand for."""
    found = _moments().get(_bare(words))
    if found is not None:
        return found
    words = [w for w in words if w not in ("the", "year", "years", "ad", "ce", "era") or w == "era"]
    bc = bool(words) and words[-1] in ("bc", "bce")
    words = words[:-1] if bc else words
    early_late = (
        words[0] if words and words[0] in ("early", "late", "mid", "middle") and words[:2] != ["middle", "ages"] else ""
    )
    if early_late:
        words = words[1:]
    if not words:
        return None
    found = _span(words) or _recent(words) or _part_of(words) or _time_of(words)
    if found is None:
        return None
    if bc:
        return Span(-found.last, -found.first)
    third = (found.last - found.first + 1) / 3
    cut = {"early": Span(found.first, found.first + third), "late": Span(found.last - third, found.last)}
    return cut.get(early_late, found)


@cache
def _moments() -> Mapping[str, Span]:
    """Well-known moments and ages -> their years."""
    rows = (pair for line in blocks()["moments"] for pair in pairs(line))
    return {_bare(name.split()): Span(*ranged(value)) for name, value in rows}


def _bare(words: Sequence[str]) -> str:
    return " ".join(w for w in words if w not in EMPTY)


def _span(words: Sequence[str]) -> Span | None:
    first = words[0]
    if len(words) == 2 and words[1] in ("century", "centuries"):
        n = _ORDINALS.get(first) or (int(first[:-2]) if first[:-2].isdecimal() and len(first) < 5 else None)
        return None if n is None else Span(100 * n - 99, 100 * n)
    if len(words) == 1 and first.isdecimal() and len(first) <= 4:
        return Span(int(first), int(first))
    if len(words) == 1 and first[:-1].isdecimal() and first.endswith("s") and len(first) == 5:
        return Span(int(first[:-1]), int(first[:-1]) + (99 if first.endswith("00s") else 9))
    if words[-1] in _DECADES and (len(words) == 1 or words[:-1] == ["nineteen"]):
        return Span(_DECADES[words[-1]], _DECADES[words[-1]] + 9)
    return _AGES.get(" ".join(base(w) for w in words)) or _AGES.get(" ".join(words))


_LENGTHS = {"years": 1, "decade": 10, "decades": 10, "century": 100, "centuries": 100, "millennium": 1000}


def _recent(words: Sequence[str]) -> Span | None:
    """As in "last 200 years", "past century"; "last century" is the twentieth."""
    if words[0] not in ("last", "past") or len(words) < 2:
        return None
    if list(words) == ["last", "century"]:
        return Span(1901, 2000)
    unit = _LENGTHS.get(words[-1], 1)
    many = words[1:-1] if words[-1] in _LENGTHS else words[1:]
    many = many[1:] if many[:1] in (["few"], ["couple"]) else many
    n = amount(many) if many else 1.0
    return Span(NOW - n * unit, NOW) if n is not None and (words[-1] in _LENGTHS or n >= 20) else None


def _part_of(words: Sequence[str]) -> Span | None:
    """As in "between the world wars", "from 1800 to 1900", "end of the war", "death of Napoleon", "time of Caesar"."""
    for word in ("and", "to", "until"):
        if word in words[1:-1]:
            at = words.index(word)
            first, last = span(words[:at]), span(words[at + 1 :])
            return Span(first.first, last.last) if first is not None and last is not None else None
    if len(words) < 3 or words[1] != "of":
        return None
    return _side(words[0], words[2:])


def _side(part: str, words: Sequence[str]) -> Span | None:
    whole = span(words) if part in ("end", "start", "beginning", "outbreak", "time") else None
    if whole is not None:
        return whole if part == "time" else Span(*[whole.last if part == "end" else whole.first] * 2)
    if part == "reign":
        return reign_of(words)
    born, died = year_of("born", words), year_of("died", words)
    if part in ("birth", "death"):
        return born if part == "birth" else died
    if part in ("time", "days", "lifetime", "age", "life") and born is not None:
        return Span(born.first, (died or Span(NOW, NOW)).last)
    if part in ("invention", "founding", "discovery", "construction", "building"):
        return year_of("start", words)
    return None


def person_named(words: Sequence[str]) -> int:
    """The famous people whom the words name."""
    words = list(words)
    while words and words[-1] in _TAIL:
        words = words[:-1]
    found = knowledge().lookup.get(name_key(" ".join(words)), 0) & knowledge().roots["person"] if words else 0
    return found or (_surnames().get(words[-1], 0) if len(words) == 1 else 0)


@cache
def _surnames() -> Mapping[str, int]:
    """The last names of people, where only one of them has it."""
    found: dict[str, int] = {}
    for i, name in enumerate(knowledge().names):
        if knowledge().roots["person"] >> i & 1 and " " in name:
            last = name_key(name).split()[-1]
            found[last] = found.get(last, 0) | 1 << i
    return {last: topics for last, topics in found.items() if topics.bit_count() == 1}


_TAIL = word_set("spans.tail")


def year_of(field: str, words: Sequence[str]) -> Span | None:
    """The year of birth or death of a person who is named, or in which a thing that is named began."""
    people = knowledge().roots["person"]
    name = name_key(" ".join(w for w in words if w not in ("the", "a", "an")))
    if field == "start" and name in _founded():
        return _founded()[name]
    topics = knowledge().lookup.get(name, 0) & ~people if field == "start" else person_named(words)
    held = [Span(y, y) for y in [knowledge().number_of(field, topics)] if topics and y is not None]
    held += [Span(*value) for i, value in rough(field).items() if topics >> i & 1]
    return held[0] if len(held) == 1 else None


def reign_of(words: Sequence[str]) -> Span | None:
    """The years in which a person who is named ruled or was in office."""
    topics = person_named(words)
    held = [Span(terms[0][0], terms[-1][1]) for i, terms in reigns().items() if topics >> i & 1]
    return held[0] if len(held) == 1 else None


@cache
def _founded() -> Mapping[str, Span]:
    """When what is no topic, or has no year of its own, began."""
    return {name: Span(*ranged(value)) for name, value in other_rows(blocks()["start"]).items()}


@cache
def reigns() -> Mapping[int, Sequence[tuple[float, float]]]:
    """Who ruled, or was in office -> from when to when, each time."""
    rows = topic_rows(blocks()["reigns"]).items()
    return {i: [ranged(term) for term in value.split("+")] for i, value in rows}


@cache
def rough(field: str) -> Mapping[int, tuple[float, float]]:
    """Years that are known only roughly, or of things that are no events."""
    exact = knowledge().numbers(field, lambda n: True).yes
    rows = topic_rows(blocks()[field]) if field in blocks() else {}
    return {i: ranged(value) for i, value in rows.items() if not exact >> i & 1}


@cache
def _rough_years(field: str) -> Sequence[tuple[int, Sequence[int]]]:
    return [(i, _between(int(low), int(high))) for i, (low, high) in rough(field).items()]


def numbers(field: str, holds: Callable[[int], bool | None]) -> Known:
    """Of which topics a condition on a year is true and false, rough years included where each of them agrees."""
    yes, no = knowledge().numbers(field, holds)
    for i, years in _rough_years(field):
        found = {holds(year) for year in years}
        if len(found) == 1 and None not in found:
            yes, no = (yes | 1 << i, no) if found.pop() else (yes, no | 1 << i)
    return Known(yes, no)


def _between(low: int, high: int) -> Sequence[int]:
    return (*range(low, high, max(1, (high - low) // 4)), high)


def _time_of(words: Sequence[str]) -> Span | None:
    """The years of a topic: "the French Revolution", "Napoleon was born", "World War I had ended"."""
    verb = words[-1] if words[-1] in _POINTS else ""
    names = [w for w in words if w not in ("was", "had", "were", "has", "did", verb)]
    knows, topics = knowledge(), knowledge().lookup.get(name_key(" ".join(names)), 0)
    field = _POINTS.get(verb, "")
    age = _AGES.get(" ".join(base(w) for w in names)) if verb else None
    if age is not None:
        return Span(age.last, age.last) if _POINTS[verb] == "end" else Span(age.first, age.first)
    if verb and field in ("born", "died", "start") and (found := year_of(field, names)) is not None:
        return found
    if not topics or (bool(topics & knows.roots["person"]) != (field in ("born", "died")) and verb):
        return None
    if not verb and not topics & knows.roots["event"]:
        return None
    first = knows.number_of("start" if field in ("", "end") else field, topics)
    last = knows.number_of("end", topics) or first
    if first is None or last is None:
        return None
    return Span(last, last) if field == "end" else Span(first, first) if field else Span(first, last)


_POINTS = {
    **dict.fromkeys(
        ("began", "begun", "started", "start", "begin", "happened", "invented", "built", "founded"), "start"
    ),
    **dict.fromkeys(("ended", "end", "over"), "end"),
    **dict.fromkeys(("born",), "born"),
    **dict.fromkeys(("died", "dead"), "died"),
}
"""Verbs behind the name of a topic -> the year that is meant."""

_TIMES = tuple(
    (re.compile(pattern), to)
    for pattern, to in (
        (r"\b(?:any )?(?:earlier|sooner) than\b|\bprior to\b|\bby the time(?: that| of)?\b", "before"),
        (r"\blater than\b|\bfollowing\b", "after"),
        (r"\b(?:at|in|around|during) the (?:same )?time (?:of|as)\b", "in days of"),
        (r"\b(?:with|over|inside)?in the (?=last|past)|\bover the (?=last|past)", "in "),
        (r"\b(?:in )?between (?:the )?(?:two |first and second )?(?:world )?wars\b", "in interwar"),
        (r"\b(?:sometime |some time |at a time |somewhere |anytime )?between\b", "in"),
        (r"\bas early as\b|\bback in\b|\bduring\b|\bthroughout\b|\bsome time in\b|\bsometime in\b", "in"),
        (r"\bby (?=\d{3,4}$)", "before "),
        (r"\bfrom (?=.* (?:to|until) )", "in "),
        (r"(?<=\d) (?:to|until) (?=\d)|(?<=s) (?:to|until) (?=the \d)", " and "),
    )
)


def plain_time(words: Sequence[str]) -> list[str]:
    """Words of time in plain form: "earlier than" as "before", "within the last" as "in the last"."""
    text = " ".join(words)
    for pattern, to in _TIMES:
        text = pattern.sub(to, text)
    return text.split()
