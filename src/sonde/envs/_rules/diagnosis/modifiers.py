"""Questions about a thing that only shares a word with the one that is known.

Ours. Each guard is one way in which this happens; any of them leaves the question without an answer.

    Does the fridge door shut tightly?   of the oven's door it is told: a word right before a thing of the finding must
                                         be of the finding, the product, its symptom or an opening, or a plain one
    Does the kettle whistle?             the first word of the subject must be known likewise, not only from an answer
    When did they open the bypass?       only an answer has these words
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from functools import cache, lru_cache

from .products import Finding, products
from .told import told_of
from .topics import lexicon
from .vocabulary import TOKEN, english, stems, weighs, words

_NOUN = re.compile(
    r"\b(?:the|your|its|an?|any|some|no|that|this|those|these|our|my|whose|which|what"
    r"|^(?:is|are|was|were|do|does|did|has|have)|\b(?:in|on|of|from|at|by)) (?=([a-z][a-z0-9' -]*))"
)
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
        "actual amount average back big bit bottom bought built corner current edge end entire exact faint"
        " fault first front general gentle icon inner inside kind large last left level little lot lower main"
        " mark middle name new next noise normal number old only ordinary original other outer outside"
        " overall own pair part piece plain present problem real rear recent regular right same second set"
        " side sign single slight small sort standard state surface symbol time tiny top type upper used"
        " usual very way whole"
    )
)
"""Words that say nothing else of a thing than its side, size or place in an order."""


def other_modifier(name: str, finding: int, bare: str) -> bool:
    """Whether a word before a thing of the finding is of nothing that is known: "Does the fridge door shut?"."""
    return any(not _allowed(name, finding, word) for word in _before_a_thing(name, finding, bare))


_SUBJECT = re.compile(
    r"(?:so |and |but )?(?:is|are|was|were|do|does|did|has|have|had|can|could|will)(?:n't)? (?:still )?"
    r"(?:the|your|its|all|both|an?) ([a-z0-9' -]+)"
)


def other_doer(name: str, finding: int, bare: str) -> bool:
    """Whether it asks what something does or is that only an answer names, or nothing: "Does the kettle whistle?", "Is
    the allotment far away?"."""
    found = _SUBJECT.match(bare)
    tokens = TOKEN.findall(found[1]) if found else []
    end = next((i for i, token in enumerate(tokens) if token in _ENDS), len(tokens))
    first, then = next(((t, n) for t, n in itertools.pairwise([*tokens[:end], ""]) if not _plain(t)), ("", ""))
    if "'" in first or first in _acts() or (not _plain(then) and _is(then, _heads(name, finding))):
        return False  # what stands before a thing, another guard looks at
    known = _named(name, finding) | lexicon(name).findings.background
    return any(s not in known for s in stems(first))


@lru_cache(maxsize=1 << 10)
def _named(name: str, finding: int) -> frozenset[str]:
    """The words of a finding, without those that only its answers have, or a cue names as a place."""
    found = products()[name].findings[finding]
    cues = (cue for cue in found.cues if not _PLACED.match(cue))
    return frozenset(stems(" ".join((found.asks, *cues, *found.questions[:-3], *found.values, *found.more))))


_PLACED = re.compile(r"(?:from|at|in|on|near|out of) ")


_PARTICIPLE = re.compile(r"(?:ed|ing|sent|taken|kept|left|held|made|put|worn|torn|gone|back|up|down)$")


def only_answered(name: str, finding: int, bare: str) -> bool:
    """Whether all that it has of a finding is what an answer names: "When did they open the bypass?"."""
    found, topics = products()[name].findings[finding], lexicon(name).findings
    said = frozenset(s for s in stems(bare) if finding in topics.strength.get(s, {})) - topics.background
    return any(map(weighs, said)) and _own(found).isdisjoint(stems(bare))


@lru_cache(maxsize=1 << 10)
def _own(found: Finding) -> frozenset[str]:
    """The words of a finding, without those of the cues that its answers have."""
    answers = frozenset(stems(" ".join(found.answers)))
    cues = (cue for cue in found.cues if not answers.issuperset(stems(cue)))
    return frozenset(stems(" ".join((found.asks, *found.values, *found.questions[:-3], *found.more, *cues))))


def _before_a_thing(name: str, finding: int, bare: str) -> Iterator[str]:
    """Every word right before a thing of the finding."""
    heads = _heads(name, finding)
    for found in _NOUN.finditer(bare):
        tokens = TOKEN.findall(found[1])
        ends = (i for i, token in enumerate(tokens) if token in _ENDS or (token in _acts() and not _is(token, heads)))
        end = next(ends, len(tokens))
        for word, thing in itertools.pairwise(tokens[:end]):
            if _is(thing, heads) and not _PARTICIPLE.search(thing) and not word.endswith("'s"):
                yield word  # whose a thing is, other guards look at


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
    """The words of the product, its symptom and its openings, without its name: "the porch lamp"."""
    product = products()[name]
    said = " ".join((product.product, product.symptom, *product.openings))
    return frozenset(s for word in _WORD.findall(said) if not word[0].isupper() for s in stems(word))


_WORD = re.compile(r"[\w'-]+")
