"""Superlatives: "the largest country in the world", "the second planet from the sun", "the darkest of all colours".

Ours. `[records]` in `envs/data/twenty_questions_scales.txt` has a line `superlatives | nouns | scopes | holder` with
`TOPIC?` for what some would name as well. A record is false of all other topics but those that are a word for more
than the holder.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from .english import singular
from .facts import topics
from .queries import Query, atom
from .scales import blocks
from .topics import Known, knowledge

Words = Sequence[str]

_EVERYWHERE = frozenset(
    (
        *("", "world", "of world", "earth", "planet", "of all", "alive", "alive today", "that exists", "ever", "globe"),
        *(
            "by area",
            "by size",
            "by land area",
            "by population",
            "known",
            "we know",
            "living today",
            "today",
            "universe",
        ),
        *("in existence", "known to man", "there is"),
    )
)


@cache
def _lines() -> Mapping[str, Sequence[Sequence[Sequence[str]]]]:
    """The lines of the table by the first word of their superlatives."""
    found: dict[str, list[Sequence[Sequence[str]]]] = {}
    for line in blocks()["records"]:
        row = [tuple(part.strip() for part in field.split(",")) for field in line.split(" | ")[:3]]
        holders = tuple(part.strip() for part in line.split(" | ")[3].split(" + "))
        for first in {text.split()[0] for text in row[0]}:
            found.setdefault(first, []).append((*row, holders))
    return found


def superlative(words: Words) -> Query | None:
    """What is asked of a superlative and a noun."""
    rest = [w for w in words if w not in ("known", "single", "very", "currently")]
    while len(rest) > 2 and rest[0] in ("the", "our", "world", "actually"):
        rest = rest[1:]
    if len(rest) < 2 or rest[0] not in _lines():
        return None
    for most, nouns, scopes, holders in _lines()[rest[0]]:
        for text in most:
            n = len(text.split())
            if " ".join(rest[:n]) == text and _asked(rest[n:], nouns, scopes):
                return _held(f"{text} {nouns[0]} {scopes[0]}", holders)
    return None


def _asked(words: Words, nouns: Words, scopes: Words) -> bool:
    """Whether a noun and a scope of the line follow."""
    plain = [w for w in words if w != ","]
    rest = [w for w in plain if w not in ("the", "our", "all", "whole", "entire")]
    rest = rest[1:] if rest[:1] == ["of"] and len(rest) > 1 else rest
    for noun in nouns:
        n = len(noun.split())
        if " ".join([*rest[: n - 1], singular(rest[n - 1]) if len(rest) >= n else ""]) == noun:
            return _in_scope(" ".join(rest[n:]), scopes)
    return False


def _in_scope(text: str, scopes: Words) -> bool:
    bare = re.sub(r"^(?:in|on|of|within|to|from) ", "", text)
    if "world" in scopes and (bare in _EVERYWHERE or text in _EVERYWHERE):
        return True
    return any(text == scope or bare == scope for scope in scopes if scope != "world")


def _held(text: str, holders: Words) -> Query:
    knows, yes, unsure = knowledge(), 0, 0
    for name in holders:
        item = name.removesuffix("?")
        found = topics(item) if item.startswith("#") or item in knows.index or item == "-" else 0
        yes, unsure = (yes, unsure | found) if name.endswith("?") else (yes | found, unsure)
    unsure |= knows.above(yes)
    return atom(text, Known(yes, knows.all & ~yes & ~unsure))
