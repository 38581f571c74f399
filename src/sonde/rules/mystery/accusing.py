"""Who is accused: by what a sentence states and whom it names, in whatever frame.

A sentence that speaks of guilt accuses the only person whom it names and does not deny, report, or suppose; a suspicion
("it may be X"), a condition, a report ("they say that X did it") and a question accuse nobody. Source: ours; PAPRIKA,
appendix B.4.4, has the detective announce an accusation, "merely confronting" is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sonde.people.language.acts import skip_preamble
from sonde.people.language.lists import word_set

from .names import Sentence, mentioned, spoken
from .phrases import listed_as, says, spots


def accused(said: Iterable[Sentence]) -> list[str]:
    """The ids of all whom a message accuses."""
    people = list(dict.fromkeys(p for s in said for p in mentioned(s.words, "p")))
    found: dict[str, None] = {}
    for sentence in said:
        if _speaks(sentence):
            found |= dict.fromkeys(_stated(sentence.words, people))
    return list(found)


def _supposed(words: tuple[str, ...]) -> bool:
    """Whether a sentence doubts, supposes or reports."""
    plain = list(words)
    for spot in spots("sure", words):
        plain[spot.start : spot.end] = ["i"] * (spot.end - spot.start)
    return says("doubt", tuple(plain)) or says("hearsay", tuple(plain))


_SOMEBODY = frozenset(("he", "she", "they", "him", "her", "them", "you", "that", "this", "who"))
_PARTS = frozenset((",", "but", "because", "since", "so", "therefore", "while", "whose"))


def _stated(words: tuple[str, ...], everybody: Sequence[str]) -> list[str]:
    """Whose guilt a sentence states: the clause that speaks of it, without those that deny or describe."""
    words = words[: words.index("because")] if "because" in words else words
    if not mentioned(words[: words.index(",")] if "," in words else words, "p"):
        words = tuple(skip_preamble(words))
    if _supposed(words):
        return []
    parts: list[tuple[str, ...]] = [()]
    for word in words:
        parts = [*parts, ()] if word in _PARTS else [*parts[:-1], (*parts[-1], word)]
    parts = [part for part in parts if part and not says("deny", part)]
    guilty = [i for i, part in enumerate(parts) if says("guilt", part)]
    more = [i + 1 for i in guilty[-1:] if i + 1 < len(parts) and parts[i + 1][0][:2] == "@p"]
    if not guilty or not all(_read(parts[i]) for i in guilty + more):
        return []
    own, near = guilty + more, [j for i in guilty for j in (i + 1, i - 1) if 0 <= j < len(parts) and _read(parts[j])]
    for where in (own, near):
        if found := list(dict.fromkeys(p for i in where for p in mentioned(parts[i], "p"))):
            return found
    meant = any(not _SOMEBODY.isdisjoint(parts[i]) for i in guilty) and len(everybody) == 1
    return list(everybody) if meant else []


def _read(part: tuple[str, ...]) -> bool:
    """Whether every word of a clause belongs to an accusation: "the killer's cousin" is somebody else."""
    inside = {i for spot in spots("guilt", part) for i in range(spot.start, spot.end)}
    own = listed_as("accusing")
    return all(i in inside or w[0] == "@" or w in own or w.endswith("ly") for i, w in enumerate(part))


def _speaks(sentence: Sentence) -> bool:
    """Whether a sentence speaks of guilt and asks nothing."""
    return not sentence.asks and sentence.words[0] not in word_set("aux") and says("guilt", sentence.words)


def _open(sentence: Sentence) -> bool:
    """Whether a sentence speaks of guilt and neither asks, denies, reports nor supposes."""
    return _speaks(sentence) and not _supposed(sentence.words) and not says("deny", sentence.words)


def may_accuse(said: Iterable[Sentence]) -> bool:
    """Whether a message that is not understood states somebody's guilt."""
    return any(_open(s) and bool(mentioned(s.words, "p")) for s in said)


def is_accusation(said: str) -> bool:
    """Whether a message accuses somebody, in a case of which nothing is known but the words.

    >>> is_accusation("I accuse the janitor."), is_accusation("Is Akiko the murderer?")
    (True, False)
    """
    return any(map(_open, spoken(said)))
