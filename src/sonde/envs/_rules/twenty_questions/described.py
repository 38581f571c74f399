"""Guesses with a description beside the name: "the physicist Albert Einstein", "a jaguar, the animal".

Ours. The description picks among the topics of that name. Where it is false of the topic it is another thing that is
meant and nothing is won; where it is not understood, only a proper name still counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..partition import bits
from .english import base
from .nouns import DETERMINERS, guess_for
from .phrases import PREPOSITIONS, asked, key
from .queries import Query
from .subjects import PRONOUNS
from .topics import knowledge, name_key
from .wordlists import word_set

Words = Sequence[str]
Parse = Callable[[Words], "Query | None"]
_BE = ("is", "was", "are", "be", "could", "would", "might")
_TURNS = word_set("nouns.turns") | {"than", "like", "kind", "type", "without"}
_BEHIND = PREPOSITIONS.keys() | {"by", "the"}
_LONGEST = 10


def described(words: Words, parse: Parse) -> Query | None:
    """The guess in a text, or None; `parse` reads what follows "it is"."""
    rest = _guess(words)
    if not 1 < len(rest) <= _LONGEST or not _TURNS.isdisjoint(rest):
        return None
    return _apart(rest, parse) or _before(rest, parse) or _behind(rest, parse) or _compound(rest)


def _guess(words: Words) -> list[str]:
    """What is guessed: the words without "is it"; none where they are about something else, as in "is Paris there"."""
    rest = list(words)
    while rest and (rest[0] in _BE or rest[0] in PRONOUNS):
        rest = rest[1:]
    about = words[: len(words) - len(rest)]
    return [] if (about and PRONOUNS.isdisjoint(about)) or not PRONOUNS.isdisjoint(rest[1:]) else rest


def _apart(rest: list[str], parse: Parse) -> Query | None:
    """As in "Einstein, the physicist", "the Dane, Hamlet", "Paris, France"."""
    if rest.count(",") != 1:
        return None
    left, right = rest[: (at := rest.index(","))], rest[at + 1 :]
    if not left or not right:
        return None
    if both := _topics(left) & _topics(right):
        return guess_for(both)
    if (topics := _topics(left)) and right[0] in (*DETERMINERS, "the", "one"):
        return _won(topics, parse(right), sure=_proper(topics))
    if (place := _topics(left)) and _topics(right):
        return _won(place, parse(["in", *right]), sure=False)
    if topics := _topics(right):
        return _won(topics, parse(left), sure=_proper(topics) and left[0] in (*DETERMINERS, "the", "his", "her", "its"))
    return None


def _before(rest: list[str], parse: Parse) -> Query | None:
    """As in "the physicist Albert Einstein", "Disney's Mickey Mouse"."""
    for at in range(1, len(rest)):
        topics = _topics(rest[at:]) if rest[at] not in DETERMINERS else 0
        if topics and rest[at - 1] != "the" and _proper(topics):
            what = [w for w in rest[:at] if w != "the"] or [""]
            found = asked(f"mb:{key(what)}") or parse(what)
            owner = len(rest) - at > 1 and (bool(_topics(what)) or (found is not None and found.named > 0))
            found = None if found is not None and found.named else found
            return _won(topics, found, sure=owner) if found is not None or owner else None
    return None


def _behind(rest: list[str], parse: Parse) -> Query | None:
    """As in "the Colosseum in Rome", "Cleopatra of Egypt"."""
    for at in range(len(rest) - 1, 0, -1):
        topics = _topics(rest[:at]) if rest[at] in _BEHIND else 0
        if topics and _proper(topics) and asked(f"is:{key(rest[:at])}") is None:
            found = parse(rest[at:])
            return _won(topics, found, sure=rest[at] not in ("of", "on", "under"))
    return None


def _compound(rest: list[str]) -> Query | None:
    """As in "a wheel barrow": one word written as two."""
    bare = [w for w in rest if w not in DETERMINERS and w != "the"]
    if len(bare) != 2 or len(min(bare, key=len)) < 3:
        return None
    topics = knowledge().lookup.get(base("".join(bare)), 0) or knowledge().lookup.get("".join(bare), 0)
    return guess_for(topics) if topics else None


def _topics(words: Words) -> int:
    return knowledge().lookup.get(name_key(" ".join(words)), 0)


def _proper(topics: int) -> bool:
    """Whether they all have proper names."""
    return all(knowledge().names[i][0].isupper() for i in bits(topics))


def _won(topics: int, what: Query | None, *, sure: bool) -> Query | None:
    """The guess, of those topics of which the description is true; not false, if there is one and it is certain."""
    if what is not None and what.named:
        return None
    true = topics & what.true if what is not None else 0
    if not true and sure and topics.bit_count() == 1:
        true = topics & ~(what.no if what is not None else 0)
    if not true:
        return None
    found = guess_for(true)
    return found._replace(no=found.no | (topics & what.no if what is not None else 0))
