"""Questions about a thing that is named after another one than that which is known.

Ours. A word right before a thing of the finding says which of several such things is meant:

    Does the fridge door shut tightly?         of the oven's door it is told
    Is the num lock light on?                  of another lock's
    Is it a full moon today?                   a moon on the display is told of

So from the article on to the thing every word must be of the finding, of the product, its symptom or an opening, or a
plain one that changes nothing (a side is checked elsewhere). A question that fails is left without an answer.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from functools import cache, lru_cache

from .diagnosis import products
from .diagnosis_told import all_said, told_of
from .diagnosis_words import TOKEN, english, lexicon, stems, words

_NOUN = re.compile(r"\b(?:the|your|its|an?|any|some|no|that|this|those|these|our|my|whose|which|what"
    r"|^(?:is|are|was|were|do|does|did|has|have)|\b(?:in|on|of|from|at|by)) (?=([a-z][a-z0-9' -]*))")
_ENDS = frozenset(
    TOKEN.findall(
        "of in on at by with from to for near beside under over above behind between inside outside around against into"
        " onto that which who when where while if than as or and but do does did is are was were be been being not have"
        " has had can could will would it they you i we there so too"
    )
)
"""Words before which the name of a thing is over."""
_VERBS = TOKEN.findall("form show beep read lose call say see ever even just still a an the your its our my this that")
_PLAIN = frozenset(
    TOKEN.findall(
        "left right top bottom front back rear upper lower inner outer inside outside side main whole entire actual"
        " exact own current present usual gentle used slight faint plain recent built bought normal same other very little small big large tiny new old first last second"
        " next single only real original standard regular ordinary general overall average kind sort type piece bit"
        " pair set lot number amount level part end noise problem fault edge middle corner surface name state way time"
    )
)
"""Words that say nothing else of a thing than its side, size or place in an order."""


def other_modifier(name: str, finding: int, bare: str) -> bool:
    """Whether a word before a thing of the finding is of nothing that is known: "Does the fridge door shut?"."""
    return any(not _allowed(name, finding, word) for word in _before_a_thing(name, finding, bare))


_DOES = re.compile(
    r"(?:so |and |but )?(?:do|does|did|has|have|had|can|could|will)(?:n't)? (?:still )?"
    r"(?:the|your|its|all|both|an?) ([a-z0-9' -]+)"
)


def other_doer(name: str, finding: int, bare: str) -> bool:
    """Whether it asks what something does that is of nothing known, or named only as an owner: "Does the kettle
    whistle?", "Does the drummer hum?"."""
    found = _DOES.match(bare)
    tokens = TOKEN.findall(found[1]) if found else []
    end = next((i for i, token in enumerate(tokens) if token in _ENDS), len(tokens))
    first = next((token for token in tokens[:end] if not _plain(token)), "")
    if "'" in first or first in _acts():
        return False
    known = lexicon(name).findings.background
    odd = any(not told_of(name, finding, s) and s not in known for s in stems(first))
    return odd or _only_owns(name, finding, first)


def _only_owns(name: str, finding: int, word: str) -> bool:
    said = f"{products()[name].product} {all_said(products()[name].findings[finding])}"
    return f"{word}'s" in said and not re.search(rf"\b{word}s?\b(?!')", said)


def _before_a_thing(name: str, finding: int, bare: str) -> Iterator[str]:
    """Every word right before a thing of the finding."""
    heads = _heads(name, finding)
    for found in _NOUN.finditer(bare):
        tokens = TOKEN.findall(found[1])
        ends = (i for i, token in enumerate(tokens) if token in _ENDS or (token in _acts() and not _is(token, heads)))
        end = next(ends, len(tokens))
        for word, thing in itertools.pairwise(tokens[:end]):
            if _is(thing, heads) and "'" not in word:  # whose a thing is, other guards look at
                yield word


def _is(token: str, heads: frozenset[str]) -> bool:
    return not heads.isdisjoint(stems(token))


@lru_cache(maxsize=1 << 10)
def _heads(name: str, finding: int) -> frozenset[str]:
    """The words by which a finding is called or asked for."""
    found = products()[name].findings[finding]
    said = TOKEN.findall(" ".join((found.asks, *found.cues)).lower())
    return frozenset(s for token in said if not (token.endswith("s") and token in _acts()) for s in stems(token))


@cache
def _acts() -> frozenset[str]:
    verbs = (*words().act, *_VERBS)
    return frozenset(form for verb in verbs for form in (verb, f"{verb}s", f"{verb}ing"))


@cache
def _adjectives() -> frozenset[str]:
    return frozenset(word for scale in words().scales for word in scale)


def _allowed(name: str, finding: int, token: str) -> bool:
    return _plain(token) or all(told_of(name, finding, s) or s in _at_hand(name) for s in stems(token))


def _plain(token: str) -> bool:
    """Whether a word says nothing of its own, or is misspelt."""
    odd = "-" in token or len(token) == 1 or (len(token) > 4 and not english(token))
    return odd or token in _PLAIN or token in _adjectives() or token.endswith(("ly", "ed", "est"))


@lru_cache(maxsize=128)
def _at_hand(name: str) -> frozenset[str]:
    """The words of the product, its symptom and its openings."""
    product = products()[name]
    return frozenset(stems(" ".join((product.product, product.symptom, *product.openings))))
