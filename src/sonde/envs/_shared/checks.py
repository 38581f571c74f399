"""Checks on an agent's messages, against ways around the limit on turns.

Source: ΔBelief-RL, appendix B.2 (exact match, single inquiry, single hypothesis), and its code's string rules for
twenty questions (question form, length, mention). A check sees only the agent's words, nothing hidden, so its verdict
reveals nothing. Exact match is missing here: by our rules only naming the answer solves a game.

Departure: "single hypothesis" counts the proposed answers; the paper's code searches for the word "or", which also
forbids "Is it on a river or on the coast?".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from .english.tokens import plain_words, visible_readings

Candidates = Callable[[str], int]
Check = Callable[[str, int, Candidates], bool]

_MARKS = re.compile(r"[?？][?？!\s]*")


def is_too_long(said: str, longest: int, candidates: Candidates) -> bool:
    """Whether the message has more than `longest` characters, or fewer than two."""
    return len(said) > longest or len(said) < 2


def has_several_questions(said: str, longest: int, candidates: Candidates) -> bool:
    """Whether the message has more than one question mark; consecutive marks count once.

    >>> [has_several_questions(said, 500, lambda said: 0) for said in ("Is it big? Is it red?", "Big??")]
    [True, False]
    """
    return len(_MARKS.findall(said)) > 1


def has_several_hypotheses(said: str, longest: int, candidates: Candidates) -> bool:
    """Whether more than one answer is proposed."""
    return candidates(said) > 1


def is_no_question(said: str, longest: int, candidates: Candidates) -> bool:
    """Whether the message does not end with a question mark."""
    return not said.rstrip("\"'”’)* ").endswith(("?", "？"))


CHECKS: Mapping[str, Check] = {
    "length": is_too_long,
    "single_inquiry": has_several_questions,
    "single_hypothesis": has_several_hypotheses,
    "question_form": is_no_question,
}
"""Checks by name; each returns whether a message fails: `(message, longest allowed, counter of proposed answers)`."""


def mentions_name(text: str, names: Sequence[str]) -> bool:
    """Whether any of the names occurs in the text as whole words, as its plural, or letter by letter, ignoring case and
    accents.

    >>> mentions_name("We have two GUITARS here.", ["guitar"]), mentions_name("a guitarist", ["guitar"])
    (True, False)
    >>> mentions_name("It is spelt N-E-W Z-E-A-L-A-N-D.", ["New Zealand"])
    True
    """
    words = f" {plain_words(text)} "
    return any(map(words.__contains__, _mention_forms(tuple(names))))


def gives_name_away(reply: str, said: str, names: Sequence[str]) -> bool:
    """Whether a reply contains one of the names that was not said before, as written or in a disguise: with markup,
    invisible or look-alike letters in it, digits for letters, or, if it is long enough, in pieces. If the player has
    named the country, a reply still must not name the city.

    >>> gives_name_away("Lisbon is in Portugal.", "Is it in Portugal?", ["Lisbon", "Portugal"])
    True
    >>> gives_name_away("It is not in Portugal.", "Is it in Portugal?", ["Lisbon", "Portugal"])
    False
    >>> [gives_name_away(reply, "", ["Lisbon"]) for reply in ("L1sb0n!", "Lis\u200bbon", "Lis<b>bon</b>", "Lis-bon")]
    [True, True, True, True]
    """
    return any(not mentions_name(said, [n]) for n in _given_names(reply, tuple(names)))


@lru_cache(maxsize=4096)
def _given_names(reply: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names that a reply contains, as written or in a disguise."""
    readings = [(text, plain_words(text)) for text in visible_readings(reply)]
    return tuple(
        n
        for n in names
        if any(mentions_name(text, [n]) or _disguised_pattern(n).search(plain) for text, plain in readings)
    )


_DIGITS = {"a": "4", "b": "8", "e": "3", "g": "9", "i": "1", "l": "1", "o": "0", "s": "5", "t": "7"}
_SHORTEST_IN_PIECES = 6
"""The shortest name that is detected in pieces, in letters; the pieces of shorter ones may be ordinary words ("I
ran")."""


@lru_cache(maxsize=4096)
def _disguised_pattern(name: str) -> re.Pattern[str]:
    """A pattern for a name with digits for letters, and, for a long one, with blanks anywhere."""
    letters = plain_words(name).replace(" ", "")
    one = [f"[{c}{_DIGITS[c]}]" if c in _DIGITS else re.escape(c) for c in letters]
    return re.compile(rf"\b{(' ?' if len(one) >= _SHORTEST_IN_PIECES else '').join(one)}(?:e?s)?\b" if one else r"(?!)")


@lru_cache(maxsize=4096)
def _mention_forms(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names, their plurals and their letters, in the form that `mentions_name` searches for."""
    known = [name for name in map(plain_words, names) if name]
    letters = [name.replace(" ", "") for name in known]
    spelt = [" ".join(name) for name in letters if len(name) > 2]
    return tuple(f" {name}{end} " for name in (*known, *letters) for end in ("", "s", "es")) + tuple(
        f" {name} " for name in spelt
    )
