"""Find the topics that a message mentions, whether it asks for them or not: ΔBelief-RL's rule for the end of a game.

Source: ΔBelief-RL, appendix C.1: the user says "Finished" to every question that asks for, mentions or paraphrases the
secret, and the agent that the paper trains exploits this: it asks for several things at once. Whatever the user says,
the paper's code decides by the words of the question. So do we, also for topics that the knowledge base lacks:

    paper   the name or a common other name, as whole words, in the singular or plural; but not where it stands for the
            hidden thing ("is the secret word alive?" does not mention a secret that is called "word")
    code    the name itself, and no other form of it, anywhere

Departures: words of the same stem ("laughter" for "laugh") count in the paper's prompt; here, as in the training
settings of its code, they do not. Its code never finds a name of several words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache

from .._shared.english.naming import BREAKS, message_words
from .._shared.english.tokens import name_key, plain_words
from .knowledge import topic_knowledge
from .names import topics_called
from .room import topic_grammar

_LONGEST = 8
"""Words of a name."""


def mentioned_topics(said: str, *, exact: bool = False) -> int:
    """The topics of the knowledge base that a message mentions, as a mask; `exact`: by the rule of the paper's code.

    >>> names = topic_knowledge().index
    >>> said = "Is it bigger than pears or televisions?"
    >>> [mentioned_topics(said) >> names[name] & 1 for name in ("pear", "television", "ear")]
    [1, 1, 0]
    >>> mentioned_topics(said, exact=True)
    0
    """
    found, find = 0, _topics_by_name().get if exact else topics_called
    for name in _mentioned_names(said, exact):
        found |= find(name) or 0
    return found


def mentions_topic(said: str, topic: str, *, exact: bool = False) -> bool:
    """Whether a message mentions this topic, which the knowledge base may lack.

    >>> [mentions_topic("Is it one of the Honeycrisp Apples?", name) for name in ("honeycrisp apple", "crisp", "apple")]
    [True, False, True]
    """
    index = topic_knowledge().index.get(topic)
    if index is not None:
        return bool(mentioned_topics(said, exact=exact) >> index & 1)
    return (plain_words(topic) if exact else name_key(topic, common=True)) in _mentioned_names(said, exact)


@lru_cache(maxsize=1 << 12)
def _mentioned_names(said: str, exact: bool) -> frozenset[str]:
    """Everything in a message that may be a name, in the form in which names are compared."""
    if exact:
        return frozenset(_join_runs(plain_words(said).split()))
    return frozenset(name_key(text, common=True) for text in _join_runs(_drop_subject(message_words(said))))


def _drop_subject(words: Sequence[str]) -> Sequence[str]:
    """Drop what stands for the hidden thing at the beginning, behind at most two words ("is the secret word ...")."""
    subject = topic_grammar().subject
    at, end = next(((at, end) for at in range(3) if (end := subject.subject_end(words, at))), (0, 0))
    return [*words[:at], *words[end:]] if end < len(words) - 1 else words


def _join_runs(words: Sequence[str]) -> Iterator[str]:
    """All runs of words without a mark in them."""
    for start in range(len(words)):
        for end in range(start, min(start + _LONGEST, len(words))):
            if words[end] in BREAKS:
                break
            yield " ".join(words[start : end + 1])


@cache
def _topics_by_name() -> Mapping[str, int]:
    """The very names of topics -> the topics."""
    found: dict[str, int] = {}
    for i, name in enumerate(topic_knowledge().names):
        found[plain_words(name)] = found.get(plain_words(name), 0) | 1 << i
    return found
