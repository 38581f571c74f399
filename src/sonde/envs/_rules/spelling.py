"""Questions about the letters and words of the name: "does it start with an A", "has it more than five letters".

Ours. Only the topic's own name counts, not its other names.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from .english import base, number
from .queries import Query, atom
from .sizes import comparer
from .topics import Known, knowledge


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
        wanted = letter == "vowel"
        return atom(
            f"{'last' if at else 'first'} {letter}",
            knowledge().where(lambda n: (n[at].casefold() in "aeiou") == wanted),
        )
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
    n = number([w for w in rest if w != "or"]) if rest[-2:-1] != ["or"] else None
    if rest == ["multiple"] or rest == ["several"]:
        more, n = True, 1
    if n is None:
        return None

    def holds(name: str) -> bool:
        size = len(name.replace("-", " ").split()) if unit == "word" else sum(c.isalpha() for c in name)
        if more is None:
            return size == n
        return (size == n and at_least) or ((size > n) == more and size != n)

    return atom(
        f"{unit}s {'=' if more is None else '>' if more else '<'}{'=' if at_least else ''}{n:g}",
        knowledge().where(holds),
    )
