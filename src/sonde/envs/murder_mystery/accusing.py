"""Find the accusations in a detective's message: the people whose guilt it states.

A sentence about guilt accuses the only person whom it names without denying, reporting or supposing. A suspicion ("it
may be X"), a condition, a report ("they say that X did it") and a question accuse nobody (in PAPRIKA, arXiv:2502.17543,
appendix B.4.4, the detective announces an accusation; "merely confronting" is not one).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .._shared.english.sentences import skip_preamble
from .._shared.english.tokens import word_set
from .names import Sentence, declared_words, find_spots, has_meaning, mentioned_ids, split_message


def find_accused(said: Iterable[Sentence]) -> list[str]:
    """The ids of all people whom a message accuses."""
    people = list(dict.fromkeys(p for s in said for p in mentioned_ids(s.words, "p")))
    found: dict[str, None] = {}
    for sentence in said:
        if _states_guilt(sentence):
            found |= dict.fromkeys(_list_accused(sentence.words, people))
    return list(found)


def _is_supposed(words: tuple[str, ...]) -> bool:
    """Whether a sentence doubts, supposes or reports."""
    plain = list(words)
    for spot in find_spots("sure", words):
        plain[spot.start : spot.end] = ["i"] * (spot.end - spot.start)
    return has_meaning("doubt", tuple(plain)) or has_meaning("hearsay", tuple(plain))


_SOMEBODY = frozenset(("he", "she", "they", "him", "her", "them", "you", "that", "this", "who"))
_PARTS = frozenset((",", "but", "because", "since", "so", "therefore", "while", "whose"))


def _list_accused(words: tuple[str, ...], everybody: Sequence[str]) -> list[str]:
    """The people whose guilt a sentence states, judged by the clause about it, without clauses that deny or
    describe."""
    words = words[: words.index("because")] if "because" in words else words
    if not mentioned_ids(words[: words.index(",")] if "," in words else words, "p"):
        words = tuple(skip_preamble(words))
    if _is_supposed(words):
        return []
    parts: list[tuple[str, ...]] = [()]
    for word in words:
        parts = [*parts, ()] if word in _PARTS else [*parts[:-1], (*parts[-1], word)]
    parts = [part for part in parts if part and not has_meaning("deny", part)]
    guilty = [i for i, part in enumerate(parts) if has_meaning("guilt", part)]
    more = [i + 1 for i in guilty[-1:] if i + 1 < len(parts) and parts[i + 1][0][:2] == "@p"]
    if not guilty or not all(_is_accusing_clause(parts[i]) for i in guilty + more):
        return []
    own, near = (
        guilty + more,
        [j for i in guilty for j in (i + 1, i - 1) if 0 <= j < len(parts) and _is_accusing_clause(parts[j])],
    )
    for where in (own, near):
        if found := list(dict.fromkeys(p for i in where for p in mentioned_ids(parts[i], "p"))):
            return found
    meant = any(not _SOMEBODY.isdisjoint(parts[i]) for i in guilty) and len(everybody) == 1
    return list(everybody) if meant else []


def _is_accusing_clause(part: tuple[str, ...]) -> bool:
    """Whether every word of a clause belongs to an accusation: "the killer's cousin" is somebody else."""
    inside = {i for spot in find_spots("guilt", part) for i in range(spot.start, spot.end)}
    own = declared_words("accusing")
    return all(i in inside or w[0] == "@" or w in own or w.endswith("ly") for i, w in enumerate(part))


def _states_guilt(sentence: Sentence) -> bool:
    """Whether a sentence speaks of guilt and asks nothing."""
    return not sentence.asks and sentence.words[0] not in word_set("aux") and has_meaning("guilt", sentence.words)


def _is_open_accusation(sentence: Sentence) -> bool:
    """Whether a sentence speaks of guilt and neither asks, denies, reports nor supposes."""
    return _states_guilt(sentence) and not _is_supposed(sentence.words) and not has_meaning("deny", sentence.words)


def may_accuse(said: Iterable[Sentence]) -> bool:
    """Whether a message that is not understood states somebody's guilt."""
    return any(_is_open_accusation(s) and bool(mentioned_ids(s.words, "p")) for s in said)


def is_accusation(said: str) -> bool:
    """Whether a message accuses somebody, judged by its words alone, without the frame of a case.

    >>> is_accusation("I accuse the janitor."), is_accusation("Is Akiko the murderer?")
    (True, False)
    """
    return any(map(_is_open_accusation, split_message(said)))
