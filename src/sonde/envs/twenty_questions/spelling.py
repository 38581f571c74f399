"""The letters and words of a topic's name: "does it start with an A", "has it more than five letters".

Ours. Only the topic's own name counts, not its other names.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache

from .._shared.english.claims import Claim
from .._shared.english.columns import Numbers
from .._shared.english.numbers import Interval
from .knowledge import knowledge


def _where(text: str, holds: Callable[[str], bool]) -> Claim:
    names = knowledge().names
    yes = sum(1 << i for i, name in enumerate(names) if holds(name.casefold()))
    return Claim(text, yes, knowledge().all & ~yes)


@lru_cache(maxsize=128)
def edge(letter: str, at: int) -> Claim:
    """Names that start (0) or end (-1) with this letter, or with a vowel or consonant."""
    if len(letter) > 1:
        return _where(f"{letter} {at}", lambda name: (name[at] in "aeiou") == (letter == "vowel"))
    return _where(f"{letter} {at}", lambda name: name[at] == letter)


@lru_cache(maxsize=128)
def inside(letter: str) -> Claim:
    return _where(f"contains {letter}", lambda name: letter in name)


def long(asked: Interval, unit: str) -> Claim:
    """Names of so many letters or words."""
    return _sizes(unit).within(asked, f"{unit}s")


@cache
def _sizes(unit: str) -> Numbers:
    def size(name: str) -> float:
        return float(len(name.replace("-", " ").split()) if unit == "word" else sum(c.isalpha() for c in name))

    return Numbers({i: (size(name), size(name)) for i, name in enumerate(knowledge().names)})
