"""Yes/no questions on what a city is known for, its games and universities (see `matters.py`)."""

from __future__ import annotations

import re
from functools import cache

from ..checks import plain
from . import fame, nature
from .atlas import atlas
from .claims import Claim
from .replies import Asked, Query
from .slots import Match, slot


def ask_olympics(m: Match) -> Query | None:
    kind = slot(m, "w").strip()
    return Asked((nature.olympics(kind[:1], f"{kind.title()} " if kind else ""),))


def ask_known(m: Match) -> Query | None:
    """What it is known for, by the words of the phrases about it."""
    return _known_for(slot(m))


_TOO_WIDE = frozenset(
    (
        "not",
        "if",
        "when",
        "who",
        "how",
        "than",
        "c",
        "n",
        "p",
        "name",
        "or",
        "like",
        "place",
        "thing",
        "people",
        "person",
        "anything",
        "something",
        "s",
    )
)

_TOPICS = (
    (
        "sport",
        (
            "football basketball baseball olympic sport club hockey team stadium cricket tennis marathon "
            "formula race rugby boxing league"
        ),
    ),
    (
        "industry",
        (
            "car oil steel textile software bank film diamond gold mining coal port shipyard tech technology "
            "industry electronics gas aircraft wine tea copper silver cotton cigar gambling insurance"
        ),
    ),
    ("university", "university college"),
    (
        "cuisine",
        (
            "food dish cuisine beer chocolate cheese pizza seafood noodle coffee sausage sandwich curry soup "
            "rice bread kebab dessert pastry wine"
        ),
    ),
    (
        "culture",
        (
            "music jazz festival carnival opera theater ballet reggae tango fashion poet composer writer "
            "painter art literature dance samba blues fado flamenco mariachi bollywood band singer"
        ),
    ),
    ("religion", "pilgrim pilgrimage holy shrine pope"),
    (
        "history",
        (
            "earthquake battle war siege massacre treaty bomb emperor empire revolution assassination capital "
            "king president invasion fire explosion tsunami hurricane"
        ),
    ),
)


def topic_of(words: frozenset[str]) -> str:
    for topic, known in _TOPICS:
        if words & set(known.split()):
            return topic
    return "landmarks"


def ask_universities(m: Match) -> Query | None:
    return None if "famous" in m[0] else Asked((nature.UNIVERSITY,))


def ask_games(m: Match) -> Query | None:
    return None if "first" in m[0] else ask_olympics(m)


def ask_sight(m: Match) -> Query | None:
    text = slot(m)
    if re.match(r"(?:C|N|NAME|P|you|i|we)\b|.*\b(?:C|N|NAME|P)\b", text):
        return None
    return _known_for(text)


def ask_origin(m: Match) -> Query | None:
    """Born, made or seated there, which more is needed for than to be known for it."""
    asked = _known_for(slot(m))
    if not isinstance(asked, Asked) or asked.how != "one":
        return None
    words = fame.content(slot(m))
    return Asked((fame.born(words) if slot(m, "b").startswith("b") else fame.owned(words, asked.claims[0]),))


def ask_eaten(m: Match) -> Query | None:
    """Whether a dish is one of the city or its country."""
    words = fame.content(slot(m))
    if not words or len(words) > 3 or words & _TOO_WIDE or not words & fame.dishes():
        return None
    return Asked((fame.eaten(words),))


def _known_for(text: str) -> Query | None:
    text = re.sub(r"^(?:its |their |having |there )+", "", text)
    if " and " in text and not _told(fame.content(text)):
        found = tuple(claim for part in text.split(" and ") if (claim := _phrase(part)) is not None)
        return Asked(found, "all") if len(found) == text.count(" and ") + 1 else None
    claim = _phrase(text)
    return None if claim is None else Asked((claim,))


def _phrase(text: str) -> Claim | None:
    words = fame.content(text)
    if not words or len(words) > 4 or words & _TOO_WIDE or not words & _vocabulary():
        return None
    return fame.known_for(words, plain(text.removeprefix("the ")), topic_of(words))


def _told(words: frozenset[str]) -> bool:
    """Whether one phrase about any city has all the words."""
    return any(words <= phrase for c in atlas().cities for phrase in fame.told(c.id))


@cache
def _vocabulary() -> frozenset[str]:
    """Every word of the phrases about the cities."""
    return frozenset(w for c in atlas().cities for phrase in fame.told(c.id) for w in phrase)
