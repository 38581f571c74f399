"""Sights and dishes that a message of guess_my_city names (see `gist.py`).

Ours. `sight` finds the one phrase about cities whose words a message all has, and `vague` tells a question that no
phrase about any city answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from ..checks import plain
from . import fame
from .atlas import City, Truth, atlas
from .claims import Claim
from .replies import Asked, Query
from .sights import topic_of
from .words import capitalised

_ECHO = re.compile(
    r"(?: ,)? (?:is|are|was|were|does|do|did|has|have|would|will|can)(?: not)? (?:it|you|they|there|i|he)(?: not)?$"
)
_ENDS = re.compile(
    r"(?: ,)? (?:right|correct|yes|yeah|true|eh|or not|yes or no|presumably|perhaps|no|then|i guess|am i right)$"
)


def spoken_words(spoken: str) -> Sequence[str]:
    """The words in lower case, contractions spelled out, without a tag at the end."""
    text = re.sub(r"[^a-z0-9', ]", " ", spoken.lower().replace("-", " ").replace("isn't", "is not"))
    text = re.sub(r"n't\b", " not", text.replace("can't", "can not").replace("won't", "will not"))
    text = re.sub(r"'(?:s|re|ve|ll|d|m)\b", "", text).replace(",", " , ").replace("'", " ")
    text = " ".join(text.split()).strip(" ,")
    for _ in range(2):
        text = _ENDS.sub("", _ECHO.sub("", text)).strip(" ,")
    return text.split()


def grams(words: Sequence[str], longest: int = 3) -> Iterator[str]:
    """Every run of words without a comma, the longest first."""
    for n in range(longest, 0, -1):
        for i in range(len(words) - n + 1):
            if "," not in words[i : i + n]:
                yield " ".join(words[i : i + n])


@cache
def _phrases() -> Mapping[str, Sequence[tuple[frozenset[str], str]]]:
    """A word -> the phrases about cities with it, as sets of words, and as they are written."""
    found: dict[str, list[tuple[frozenset[str], str]]] = {}
    for city in atlas().cities:
        for phrase in (*city.known, *city.food):
            words = fame.content(phrase)
            for word in words:
                row = (words, plain(phrase.removeprefix("the ")))
                if row not in found.setdefault(word, []):
                    found[word].append(row)
    return found


def vague(query: Query) -> bool:
    """Whether a question is only whether the city is known for something that no city is known for."""
    if not isinstance(query, Asked) or not all(claim.label for claim in query.claims):
        return False
    return not any(fame.content(claim.label) <= row[0] for claim in query.claims for row in _rows(claim.label))


def _rows(label: str) -> Sequence[tuple[frozenset[str], str]]:
    return [row for word in fame.content(label) for row in _phrases().get(word, ())]


def sight(words: Sequence[str], spoken: str, allowed: frozenset[str]) -> Query | None:
    """A sight or a dish that the message names in full, and nothing else."""
    stems = fame.content(" ".join(w for w in words if w != ","))
    rows = {row for word in stems for row in _phrases().get(word, ()) if row[0] <= stems}
    rows = {row for row in rows if _distinct(*row, spoken)}
    rows = {row for row in rows if not any(row[0] < other[0] for other in rows)}
    if len({row[0] for row in rows}) != 1:
        return None
    meant, label = min(rows, key=lambda row: row[1])
    others = {w for w in words if w not in label.split() and fame.stem(w) not in meant}
    return (
        Asked((_in_full(meant, fame.known_for(meant, label, topic_of(meant))),)) if others <= allowed | _SEEN else None
    )


@cache
def _telling(meant: frozenset[str]) -> frozenset[int]:
    """The cities of which a phrase says just this."""
    return frozenset(c.id for c in atlas().cities if any(fame.content(p) == meant for p in (*c.known, *c.food)))


def _in_full(meant: frozenset[str], claim: Claim) -> Claim:
    """True only where a phrase says no more than is asked: early concerts of a band are not the band."""

    def truth(c: City) -> Truth:
        found = claim.truth(c)
        return None if found and c.id not in _telling(meant) else found

    return Claim(claim.topic, truth, claim.words, claim.label)


_SEEN = frozenset(
    ("see", "visit", "admire", "famous", "known", "buildings", "landmark", "sights", "inside", "limits", "able")
)


def _distinct(meant: frozenset[str], label: str, spoken: str) -> bool:
    """Whether the phrase is a name, or a dish: a common word may stand for anything."""
    names = [w for w in label.split() if len(w) > 2 and w not in ("the", "and", "of")]
    dish = len(meant) == 1 and bool(meant & fame.dishes())
    return dish or all(capitalised(spoken, w) for w in names if w[:1].isalpha())
