"""Whether a question was asked before, in other words or the same: the reply *repeated* of ΔBelief-RL.

Ours. Messages that are understood are the same where their queries are (`Query.text` is canonical: a paraphrase has the
same text, a negation another one). Others are compared by their words in base form, without those that carry nothing;
negations do carry something.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from .english import base, tokens
from .questions import read
from .wordlists import word_set

_EMPTY = word_set("repeats.empty")


@lru_cache(maxsize=8192)
def sense(said: str) -> str:
    """What a message asks, as a text that is equal for equal questions.

    >>> sense("Why glorp?") == sense("why, GLORP"), sense("Does it glorp?") == sense("Does it not glorp?")
    (True, False)
    """
    query = read(said).query
    if query is not None and not query.text.startswith("? "):
        return f"query {query.text}"
    words = sorted({base(w) for w in tokens(said[:2000]) if w not in _EMPTY and w != ","})
    return "words " + " ".join(words)


def repeats(said: str, heard: Iterable[str]) -> bool:
    """Whether one of the messages heard before asks the same. A message without content repeats nothing."""
    mine = sense(said)
    return mine != "words " and any(sense(other) == mine for other in heard)
