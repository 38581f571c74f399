"""Questions about the letters and words of the name: "does it start with an A", "has it more than five letters".

Ours. Only the topic's own name counts, not its other names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

from sonde.people.language.numbers import amount

from ..partition import bits
from .english import base
from .queries import Query, atom
from .sizes import comparer
from .topics import Known, knowledge


def name_part(part: str, words: Sequence[str]) -> Query | None:
    """As in "the surname starts with a C": `part` is "first" or "last", and `words` what it does."""
    words = [w for w in words if w not in ("the", "a", "an", "letter", "with", "in", "by", "is")]
    if len(words) != 2 or base(words[0]) not in ("start", "begin") or len(words[1]) != 1:
        return None
    return atom(f"{part} name {words[1]}", _initial(part, words[1]))


@lru_cache(maxsize=64)
def _initial(part: str, letter: str) -> Known:
    """People whose first or last name has this initial; of those with one name, or a name with small words, nothing."""
    knows, yes, no = knowledge(), 0, 0
    for i in bits(knows.known("person").yes):
        names = knows.names[i].split()
        if len(names) == 2 and all(n[0].isupper() and n.isalpha() for n in names):
            same = names[0 if part == "first" else 1][0].casefold() == letter
            yes, no = (yes | 1 << i, no) if same else (yes, no | 1 << i)
    return Known(yes, no)


def letters(words: Sequence[str]) -> Query | None:
    """As in "start with the letter A", "have four letters", "consist of two words": what follows "the name does"."""
    words = [w for w in words if w not in ("the", "a", "an", "letter", "exactly", "its", "their", "at", "in")] or [""]
    first, rest = base(words[0]), words[1:]
    if (first in ("start", "begin", "end") and rest[:1] in (["with"], ["in"], ["by"])) or (
        first == "end" and len(rest) == 1
    ):
        return _edge(first, rest[-1])
    if first in ("contain", "have", "include") and len(rest) == 1 and len(rest[0]) == 1 and rest[0].isalpha():
        return atom(f"contains {rest[0]}", _where("in", rest[0]))
    if first in ("have", "contain", "consist", "be", "make"):
        return _counted([w for w in rest if w not in ("of", "up", "made", "long", "only", "just")])
    return None


def _edge(side: str, letter: str) -> Query | None:
    at = -1 if side == "end" else 0
    if letter in ("vowel", "consonant"):
        return atom(f"{'last' if at else 'first'} {letter}", _where(side, letter))
    if len(letter) != 1 or not letter.isalpha():
        return None
    return atom(f"{'last' if at else 'first'} {letter}", _where(side, letter))


@lru_cache(maxsize=256)
def _where(side: str, letter: str) -> Known:
    """Names with this letter, or this sort of letter, at their start, their end, or anywhere."""

    def holds(name: str) -> bool:
        text = name.casefold()
        if side == "in":
            return letter in text
        edge = text[-1 if side == "end" else 0]
        return (edge in "aeiou") == (letter == "vowel") if len(letter) > 1 else edge == letter

    return knowledge().where(holds)


def _counted(words: Sequence[str]) -> Query | None:
    """As in "more than five letters", "one word"."""
    unit = base(words[-1]) if words else ""
    if unit not in ("letter", "word", "syllable") or unit == "syllable":
        return None
    found, words = comparer(words), words[:-1]
    more, rest, at_least = (found[0], found[1][:-1], found[2]) if found else (None, words, False)
    n = amount([w for w in rest if w != "or"]) if rest[-2:-1] != ["or"] else None
    if rest == ["multiple"] or rest == ["several"]:
        more, n = True, 1
    if n is None:
        return None

    return atom(
        f"{unit}s {'=' if more is None else '>' if more else '<'}{'=' if at_least else ''}{n:g}",
        _of_length(unit, more, at_least, n),
    )


@lru_cache(maxsize=256)
def _of_length(unit: str, more: bool | None, at_least: bool, n: float) -> Known:
    """Names of n letters or words, of more, or of fewer."""
    yes = every = 0
    for size, topics in _by_length(unit).items():
        every |= topics
        if size == n:
            yes |= topics if more is None or at_least else 0
        elif more is not None and (size > n) == more:
            yes |= topics
    return Known(yes, every & ~yes)


@cache
def _by_length(unit: str) -> Mapping[int, int]:
    found: dict[int, int] = {}
    for i, name in enumerate(knowledge().names):
        size = len(name.replace("-", " ").split()) if unit == "word" else sum(c.isalpha() for c in name)
        found[size] = found.get(size, 0) | 1 << i
    return found
