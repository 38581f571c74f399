"""How many of something a thing has: "more than four strings", "fewer wheels than a car", "do people have two of them".

Ours. `[counts]` in `envs/data/twenty_questions_scales.txt` has a line `nouns | attribute without any | topic: number`
per part; legs are counted by the attributes as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from sonde.people.language.numbers import amount

from .queries import Query, atom
from .scales import Range, blocks, pairs, ranged
from .topics import Known, knowledge, name_key

Words = Sequence[str]
_LEGS = {"two_legs": 2, "four_legs": 4, "six_legs": 6, "eight_legs": 8}
_PERSON = "of a person"


@cache
def _table() -> Mapping[str, Mapping[int, Range]]:
    """Noun -> how many of it topics have."""
    found: dict[str, Mapping[int, Range]] = {}
    for line in blocks()["counts"]:
        nouns, without, row = (field.strip() for field in line.split(" | "))
        rows = {knowledge().index[name]: ranged(value) for name, value in pairs(row) if name in knowledge().index}
        for noun in nouns.split(", "):
            found[noun] = {**_counted(noun, without), **rows}
    return found


def _counted(noun: str, without: str) -> Mapping[int, Range]:
    """What the attributes say: none of it, or so many legs."""
    knows, found = knowledge(), dict[int, Range]()
    none = knows.known(without).no if noun == "wheel" else knows.known(without).yes if noun == "leg" else 0
    for i in range(len(knows.names)):
        if none >> i & 1:
            found[i] = (0, 0)
        for name, n in _LEGS.items() if noun == "leg" else ():
            if knows.known(name).yes >> i & 1:
                found[i] = (n, n)
    return found


_NUMBERED = re.compile(
    r"(?:(more than|over|at least|fewer than|less than|under|at most|up to|exactly|just|only|no more than) )?"
    r"(an? |\w+)(?: (pairs?) of)? ([a-z]+)(?: (?:on|in|for|per|to|at) (?:(?:a|an|each|every|one|either|the"
    r"|its) )?(?:team|side)| each| per team| per side)?"
)
_THAN = re.compile(
    r"(more|fewer|less|as many|the same number of) ([a-z]+) (?:than|as) (?:a |an |the |our )?(.+?)(?: has| have"
    r"| does| do)?"
)


def counted(words: Words) -> Query | None:
    """What follows "it has"; the noun last, or compared with another thing."""
    if len(words) < 2 or words[0] not in ("have", "contain", "last", "need", "involve"):
        return None
    text = " ".join(words[1:])
    row = _THAN.fullmatch(text)
    if row is not None:
        return _than(row[1], name_key(row[2]), row[3])
    row = _NUMBERED.fullmatch(text)
    noun = name_key(row[4]) if row is not None else ""
    if row is None or noun not in _table():
        return None
    if row[2].strip() in ("any", "some", "a", "an") and not row[1]:
        return _held(noun, "at least", 1) if noun == "moon" else None
    n = amount(row[2].split()) if row[2].strip() not in ("a", "an") else 1
    return None if n is None else _held(noun, row[1] or "exactly", n * (2 if row[3] else 1))


def _than(how: str, noun: str, name: str) -> Query | None:
    rows = _table().get(noun, {})
    topics = knowledge().lookup.get(name_key(name), 0)
    held = [value for i, value in rows.items() if topics >> i & 1]
    if len(set(held)) != 1:
        return None
    low, high = held[0]
    if how in ("as many", "the same number of"):
        return _held(noun, "exactly", low) if low == high else None
    yes = no = 0
    for i, (least, most) in rows.items():
        more, fewer = least > high, most < low
        same = least == most == low == high
        wanted, other = (more, fewer) if how == "more" else (fewer, more)
        yes, no = yes | (1 << i if wanted else 0), no | (1 << i if other or same else 0)
    return atom(f"{how} {noun} than {name}", Known(yes, no))


def _holds(how: str, n: float, low: float, high: float) -> bool | None:
    if how in ("more than", "over"):
        return True if low > n else False if high <= n else None
    if how == "at least":
        return True if low >= n else False if high < n else None
    if how in ("fewer than", "less than", "under"):
        return True if high < n else False if low >= n else None
    if how in ("at most", "up to", "no more than"):
        return True if high <= n else False if low > n else None
    return True if low == high == n else False if n < low or n > high else None


def _held(noun: str, how: str, n: float) -> Query:
    yes = no = 0
    for i, (low, high) in _table()[noun].items():
        found = _holds(how, n, low, high)
        yes, no = yes | (1 << i if found else 0), no | (1 << i if found is False else 0)
    return atom(f"{how} {n:g} {noun}", Known(yes, no))


_OURS = re.compile(
    r"(?:(?:a|an|the|most|every|all|each|normal|healthy|average|typical|usual) )*(?:person|people|human|humans"
    r"|human being|human beings|you|we|body|human body|adult|man) "
    r"(?:usually |normally |typically )?(?:have|has|got|has got) "
    r"(?:(more than|at least|fewer than|less than|exactly|just|only) )?(\w+)(?: pairs?)? of (?:them|these|it"
    r"|this|those)"
)


def of_people(words: Words) -> Query | None:
    """As in "(do) most people have two of them", said of a part of the body."""
    row = _OURS.fullmatch(" ".join(words)) if words[-2:-1] in (["of"], ("of",)) else None
    n = amount([row[2]]) if row is not None and row[2] not in ("a", "an") else None
    return None if row is None or n is None else _held(_PERSON, row[1] or "exactly", n)
