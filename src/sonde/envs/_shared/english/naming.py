"""Whether a message whose reader says "Goal reached" names the secret as its answer, in whatever frame it does so.

Source: PAPRIKA (arXiv 2502.17543), appendix D: a judge decides about a claimed success. Ours: it decides by what is
named. A leaf says which candidates some words name; what is told apart here holds in every conversation: names that
are denied, reported, supposed or compared with do not count, and several answers are none. It is asked only about
messages that the rules do not read as a guess or a question.

    right     the secret, and no other candidate in its place
    wrong     other candidates and nothing else, or the secret as one of several answers
    nothing   no name that counts, in a message that denies, reports, orders, or asks an open question or, without any
              name, what something does or has
    unclear   anything else: it takes somebody who understands the message
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from .lists import word_set
from .mentions import (
    CHOICE,
    Mention,
    Names,
    drop_retracted,
    find_mentions,
    is_frame,
    is_set_aside,
    lookup,
    mark_names,
    name_key,
    reported,
    tokens,
)
from .proposing import MOST_QUESTIONS, fold_subject, proposals

Verdict = Literal["right", "wrong", "nothing", "unclear"]
_DOES = word_set("name_does")
_IS = word_set("name_is")
_ASKING = word_set("name_asking")
_ORDERS = word_set("name_orders")


def verdict_on(said: str, names: Names) -> Verdict:
    """What a message comes to. In the example 1 is Rome, 2 Oslo, 4 Bern, and Oslo is the secret.

    >>> names = Names(lambda name: {"rome": 1, "oslo": 2, "bern": 4}.get(name, 0), 1, 2)
    >>> [verdict_on(m, names) for m in ("My money is on Oslo!", "I think it's Bern.", "It can't be Oslo.", "A fjord?")]
    ['right', 'wrong', 'nothing', 'unclear']
    >>> verdict_on("Is it related to Oslo?", names)
    'unclear'
    """
    words = fold_subject(drop_retracted(tokens(said)), names.kinds)
    mentions = find_mentions(words, names)
    around = mark_names(words, mentions)
    meant = [m for m in mentions if not is_set_aside(around, m)]
    if not mentions and _describes(words):
        return "nothing"
    if _only_aside(mentions, meant, names.secret):
        return "nothing"
    if words[:1] and not any(m.who & names.secret for m in meant):
        told = words[0] in _ASKING or "goal reached" in " ".join(words)
        if told or (words[0] in _ORDERS and not meant):
            return "nothing"
    meant = [m for m in meant if m.who & names.secret or not m.who & names.beside]
    named = [bool(m.who & names.secret) for m in meant]
    if not any(named):
        return "wrong" if meant and is_frame(around) else "unclear"
    rivals = [words[a.end : b.start] for (a, b), (x, y) in zip(pairwise(meant), pairwise(named), strict=True) if x != y]
    if any(is_frame(between) or not CHOICE.isdisjoint(between) for between in rivals):
        return "wrong"
    return "right" if all(named) and _proposes_secret(said, names) else "unclear"


def _proposes_secret(said: str, names: Names) -> bool:
    rows = [who for who in proposals(said, names, negated=True) if who & names.secret or not who & names.beside]
    return bool(rows) and all(who & names.secret for who in rows)


def only_names(said: str, names: Names) -> bool:
    """Whether a message says nothing but the secret's name, so that it can be no other question.

    >>> only_names("Could it be Oslo?", Names(lambda name: int(name == "oslo"), 1, 1))
    True
    """
    words = fold_subject(tokens(said), names.kinds)
    return verdict_on(said, names) == "right" and is_frame(mark_names(words, find_mentions(words, names)))


def _describes(words: Sequence[str]) -> bool:
    """Whether a message without a name asks what something does or has, and not what it is."""
    return bool(words) and words[0] in _DOES and words[1:2] != ["you"] and _IS.isdisjoint(words)


def _only_aside(mentions: Sequence[Mention], meant: Sequence[Mention], secret: int) -> bool:
    """Whether names are there and none of them counts, or none of those of the secret."""
    aside = [m for m in mentions if m not in meant]
    return bool(aside) and (
        not meant or (any(m.who & secret for m in aside) and all(not m.who & secret for m in meant))
    )


__all__ = [
    "MOST_QUESTIONS",
    "Names",
    "Verdict",
    "lookup",
    "name_key",
    "only_names",
    "proposals",
    "reported",
    "tokens",
    "verdict_on",
]
