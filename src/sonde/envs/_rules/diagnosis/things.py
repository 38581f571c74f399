"""Questions about another thing, or another property of it, than what is known.

Ours. Each guard is one way in which this happens; any of them leaves the question without an answer.

    When did the parcel arrive?              it is told what arrived
    Is there a crack in the jug?             no crack is told of
    Is the fridge's door open?               the freezer's is
    Does the computer click?                 the drive may
    Is the lamp in the fridge an LED?        no kind of lamp is told of
    Have you tried a tripod for the camera?  a thing that only goes with it
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from .forms import WH
from .products import products
from .told import all_said, known, named_by, told_of, values
from .topics import lexicon
from .vocabulary import TOKEN, stems, weighs, words

SUBJECT = re.compile(
    rf"^(?:so |and |but )?(?:{WH}\b[a-z' -]*? )??(?:is|are|was|were|has|have|does|do|did|will|can)(?:n't)? (?:still )?"
    r"(?:the|your|a|an|its|all|both|any of the) ([a-z0-9' -]+)"
)
_AFTER_NOUN = frozenset(
    TOKEN.findall(
        "of in on at by with from to for near beside under over above behind between inside outside around against"
        " into onto"
        " that which who when while if than as or and do does did is are was were been being not still ever already"
        " also"
        " just now right always only really there you it they all both has have had can will would go goes get gets"
        " come comes stay"
        " stays keep keeps occur occurs happen happens"
    )
)


def noun_of(said: str) -> tuple[tuple[str, ...], str]:
    """The words of a noun, and the one after it."""
    tokens = TOKEN.findall(said)
    end = next((i for i, token in enumerate(tokens) if token in _AFTER_NOUN), len(tokens))
    return tuple(tokens[:end]), tokens[end] if end < len(tokens) else ""


def _other_property(name: str, finding: int, bare: str) -> bool:
    """Whether it asks for a property that is not told: "When did the parcel arrive?", where it is told what arrived."""
    return not named_by(name, finding, bare)


_EXISTS = re.compile(
    r"\b(?:is|are|was|were)(?:n't)? there (?:(?:an?|any|some|no) )?"
    r"(?!an? |any |some |no |still |plenty |\w+thing )([a-z' -]+)"
    r"|\b(?:do|did|can|have) you (?:ever )?(?:see|seen|noticed?|hear|smell|feel|have|got|find|found) (?:an?|any|some)"
    r" ([a-z' -]+)"
)


def _no_such(name: str, finding: int, bare: str) -> bool:
    """Whether it asks if there is something of which nothing is told: "Is there a label on the packet?"."""
    nouns = (stems(" ".join(noun_of(m[1] or m[2])[0])) for m in _EXISTS.finditer(bare))
    return any(
        any(weighs(s) or s in _DAMAGE for s in noun) and not any(told_of(name, finding, s) for s in noun)
        for noun in nouns
        if not (_THERE.search(bare) and lexicon(name).findings.background.issuperset(noun))
    )


_THERE = re.compile(r"\b(?:on|in|from|at) (?:it|them)\b")


_DAMAGE = frozenset(stems("crack leak"))


_OWNER = re.compile(
    r"\b(?:the|your|that|this|its) (?!(?:month|year|week|day)\b)([a-z-]+)'s"
    r" (?!(?:not|been|got|too|a|an|the|in|on|off|so|very)\b)[a-z]"
)


_OF = re.compile(r"\b(?!out|top|bottom|corners?|middle|edge|end|back|side)[a-z]+ of (?:the|your|its) ([a-z]+)\b")


_WHOLE = frozenset(stems("shop technician screen button plug"))
"""Things that may have parts although nearly every product has them."""


def _other_owner(name: str, finding: int, bare: str) -> bool:
    """Whether it is about a part of a thing that the product has nothing to do with: "Is the fridge's door open?"."""
    own = _own(name, finding)
    owners = (s for s in stems(" ".join(_OWNER.findall(bare))) if weighs(s))
    parts = frozenset(s for found in products()[name].findings for s in stems(found.asks))
    whole = (s for s in stems(" ".join(_OF.findall(bare))) if weighs(s) or s in _WHOLE)
    if any(s not in parts and not known(name, finding, s) for s in whole):
        return True
    return any(s not in own for s in owners)


@lru_cache(maxsize=1 << 10)
def _own(name: str, finding: int) -> frozenset[str]:
    """The words of the product, and of a finding without its answers."""
    product = products()[name]
    found = product.findings[finding]
    return frozenset(stems(" ".join((product.product, found.asks, *found.values, *found.questions[:-3], *found.cues))))


@cache
def _devices() -> frozenset[str]:
    """What the products are called, and some things beside them."""
    names = frozenset(s for product in products().values() for s in stems(product.product.split()[-1]))
    return frozenset(filter(weighs, names)).union(
        stems("computer tablet kettle oven phone car radio television washer dryer")
    )


def _other_device(name: str, finding: int, bare: str) -> bool:
    """Whether its subject is another product, which does not belong to what is known: "Does the computer click?"."""
    found, strength = SUBJECT.match(bare), lexicon(name).findings.strength
    first, *rest = (stems(" ".join(noun_of(found[1])[0][:2])) if found else []) or [""]
    goes_on = any(finding in strength.get(s, {}) for s in rest)  # "the thermostat head"
    return first in _devices() and not goes_on and first not in _own(name, finding)


_WHAT_IS_IN = re.compile(r"^what(?:'s| is| are| was| were) (?:in|inside|on) (?:the|your|an?) ")
_CONTENTS = re.compile(
    r"^what (?:is|was|sticks|lies) (?:in|on|inside)\b"
    r"|^things\b|\b(?:contents?|shows|display|screen)\b|^the \w+ (?:in|on|at)\b|^\w+ in\b|you (?:put|fill)"
)


def _contents(name: str, finding: int, bare: str) -> bool:
    """Whether it asks what is in something, and that is not told: "What is in the cup?"."""
    found = products()[name].findings[finding]
    return bool(_WHAT_IS_IN.match(bare)) and not (
        _CONTENTS.search(found.asks) or any(_WHAT_IS_IN.match(question.lower()) for question in found.questions[:-3])
    )


_YES_NO = re.compile(
    r"(?:so |and |but )?(?:is|are|was|were|do|does|did|has|have|had|can|could|will)(?:n't)? "
    r"(?!you (?:say|tell|describe) )"
)
_LANDMARK = re.compile(
    r" (?:near|from|by|beside|with (?:the|your)|behind|against|below|under|next to|compared with|connected by"
    r"|when|while|after|as) "
)


def _landmark(name: str, finding: int, bare: str) -> bool:
    """Whether it is about what only tells where a thing is: "Does the garden tap drip?", where it is told how long a
    bucket takes to be filled from it."""
    if not _YES_NO.match(bare):
        return False
    asks, strength = products()[name].findings[finding].asks, lexicon(name).findings.strength
    head, *rest = _LANDMARK.split(asks)
    said = frozenset(s for s in stems(bare) if finding in strength.get(s, {})) - lexicon(name).findings.background
    own = values(name, finding).union(stems(head))
    return bool(said) and said <= frozenset(stems(" ".join(rest))) and not said & own


_DOES = re.compile(r"(?:so |and |but )?(?:do|does|did|has|have|had|can|could|will)(?:n't)? (?:the|your|its|both|all) ")
_TAIL = re.compile(
    r"(?: (?:too|as well|well|properly|nicely|easily|a lot"
    r"|now|ever|again|at (?:all|first|some \w+)|today|yet|anymore|sometimes|often|always"
    r"|(?:before|when|while|as|if|after) .*))+\??$|\?$"
)
_DOES_ANYTHING = frozenset(
    TOKEN.findall(
        "run running work working open burn burning start stop turn turning go left right up down off out away ahead"
        " enough everyone everybody person"
    )
)


def _other_deed(name: str, finding: int, bare: str) -> bool:
    """Whether it asks if a thing does what is not told of it: "Does the mesh smell?"."""
    if not _DOES.match(bare) or "," in bare:
        return False
    last = TOKEN.findall(_TAIL.sub("", bare))[-1]
    told = lexicon(name).told[finding]
    odd = (s for s in stems(last) if not known(name, finding, s))
    opposed = any(s in scale and scale & told for s in stems(last) for scale in words().scales)
    return any(odd) and not opposed and last not in _DOES_ANYTHING and not last.endswith("ly")


_LOCATED = re.compile(r" (?:in|on|at|of|under|beside|behind|round|below|near|inside) ")
_WHERE = re.compile(
    r"\b(?:in|on|at|over|round|above|inside|under|next to|beside) (?:the|your|an?) (?!hands?\b|place\b|home\b)"
    r"([a-z'-]+(?: [a-z'-]+)*)"
)


def _elsewhere(name: str, finding: int, bare: str) -> bool:
    """Whether a thing that is told of as being somewhere is asked about as being at something else: "Is there a leaf on
    the tree?", where one on the dial is known."""
    if not _LOCATED.search(products()[name].findings[finding].asks):
        return False
    places = (stems(" ".join(noun_of(m[1])[0])) for m in _WHERE.finditer(bare))
    return any(any(map(weighs, said)) and not any(known(name, finding, s) for s in said) for said in places)


_THAN = re.compile(r"\b(?:better|worse|less|(?!other|rather|after|never|ever|whether)[a-z]+er|more [a-z]+) than\b")


def _compared(name: str, finding: int, bare: str) -> bool:
    """Whether it compares things, unless that is told, or a size is: "Is the tank bigger than fifty litres?"."""
    return bool(_THAN.search(bare)) and not _THAN.search(all_said(products()[name].findings[finding]))


_IS_A = re.compile(
    r"(?:(?:is|are|was|were) )?(?:the|your|its|that|this) (?:[a-z'-]+ )?(?!(?:at|in|on|by|with) )[a-z'-]+"
    r"(?: (?:in|on|at|of|under) (?:the|your|its) [a-z'-]+)?"
    r"(?: is| was)? an? (?!bit|little|lot)([a-z' -]+)\??$"
)


def _called(name: str, finding: int, bare: str) -> bool:
    """Whether it asks what kind of thing something is, and that is not told: "Is the tree a birch?"."""
    found = _IS_A.match(bare)
    return bool(found) and not values(name, finding) & frozenset(stems(found[1]))


_TRIED = re.compile(r"(?:have|did) you (?:ever |already )?tr(?:y|ied) (?:an?|another|some|the|your) ([a-z' -]+)")


def _tried(name: str, finding: int, bare: str) -> bool:
    """Whether it asks if a thing of which nothing is told was tried: "Have you tried a tripod for the camera?"."""
    found = _TRIED.match(bare)
    noun = [s for s in stems(" ".join(noun_of(found[1])[0])) if weighs(s)] if found else []
    return bool(noun) and not known(name, finding, noun[-1])


THINGS = (
    _contents,
    _landmark,
    _elsewhere,
    _other_deed,
    _other_property,
    _no_such,
    _other_owner,
    _other_device,
    _compared,
    _called,
    _tried,
)
