"""What somebody who lives in a city is asked: from a message to a claim about the city.

Ours. The room takes off politeness and finds the sentence that asks. The declared turns bring it into the form of the
phrasings; it is then about the city or about its country. A tail that only describes what has been named ("in Kerala,
known for its backwaters") does not matter; one that says more is a further condition, and where it is not understood
the answer is No where the rest is false, and else not known.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache

from ..language.acts import heard
from ..language.lists import word_set
from ..language.words import base
from ..meaning.claims import Claim, all_of, negated, not_read, weak
from .knowing import of_city, of_country
from .known import declared, word_list

_TAIL = re.compile(
    r" , (?=(?:the|a|an|known|which|where|that|with|famous|home|located|situated|and) )"
    r"|(?<=\w) (?=(?:known for|with|which|that|famous for|located in|situated in) )"
)
_EXAMPLES = re.compile(r" (?:, )?(?:such as|like|for example|for instance|including|e g) (?!to\b).*$")
_OF_ASKER = (("am", "i"), ("was", "i"), ("are", "we"))
_PAST = re.compile(r"(?:\W*\w+,? )?(?:was|were|did|had|(?:has|have) (?:it|your \w+|your home \w+) (?:ever )?been)\b")


@cache
def _turns() -> Sequence[tuple[re.Pattern[str], str]]:
    rows = (line.partition(" =>") for line in declared()["turns"].splitlines())
    return [(re.compile(expression), words.strip()) for expression, _, words in rows]


@lru_cache(maxsize=1 << 14)
def turned(text: str) -> str:
    """A sentence in the form of the phrasings.

    >>> turned("is your home city located near the coast")
    'is it near coast'
    """
    for pattern, words in _turns():
        if pattern.search(text) is not None:
            text = " ".join(pattern.sub(f" {words} ", text).split())
    return text


@lru_cache(maxsize=1 << 14)
def asked(said: str) -> Claim | None:
    """The claim of a yes/no question; None where it is none, or not understood."""
    act = heard(said)
    if act.kind != "asks" or act.words[:2] in _OF_ASKER:
        return None
    words = act.words
    if words[1:2] == ("not",) and words[0] in word_set("aux"):  # "hasn't it ...?" asks whether it has
        words = (words[0], *words[2:])
    claim = meant(" ".join(words))
    if claim is None or not claim.known:
        return None
    claim = _in_the_past(claim) if _PAST.match(said.lower()) else claim
    return negated(claim) if act.denied else claim


def _in_the_past(claim: Claim) -> Claim:
    """What is false today may have been true."""
    names = {name.strip("?(),") for name in claim.text.split()}
    return weak(claim, "once") if names.isdisjoint(word_list("past")) else claim


@lru_cache(maxsize=1 << 14)
def meant(text: str) -> Claim | None:
    """What a sentence claims, with its tail or without."""
    text = turned(text)
    found = _whole(text)
    if found is not None and (not found.unread or found.text.startswith("or(")):
        return found
    bare = _EXAMPLES.sub("", text)
    if bare != text and (found := _whole(bare)) is not None:
        return found
    for cut in list(_TAIL.finditer(text))[::-1]:
        head = _whole(text[: cut.start()])
        if head is not None:
            return _with_tail(head, text[cut.end() :])
    return None


def _with_tail(head: Claim, tail: str) -> Claim:
    """A description of what was named adds nothing; any other tail is a condition."""
    first, _, behind = tail.partition(" ")
    if head.text.startswith("in ") and first in word_list("describing"):
        return head
    verb, _, rest = (behind if first in ("which", "that") else tail).partition(" ")
    more = _whole(turned(f"is it {verb} {rest}")) or _whole(turned(f"does it {base(verb)} {rest}"))
    return all_of([head, more or not_read(tail)])


def _whole(text: str) -> Claim | None:
    """What a sentence claims of the city or of its country."""
    words = text.split()
    if "country" in words and "it" not in words:
        found = of_country().sentence(_as_it(text).split())
        if found is not None:
            return found
    return of_city().sentence(words)


def _as_it(text: str) -> str:
    """With the country as what is spoken of."""
    text = re.sub(r" (?:in|within|across|throughout|of) (?:the )?country$", "", text)
    return re.sub(r"\b(?:the )?country\b", "it", text, count=1)
