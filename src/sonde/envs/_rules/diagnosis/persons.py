"""Questions about a person, or a time, of which nothing is known.

Ours. Each guard is one way in which this happens; any of them leaves the question without an answer.

    Did you whistle just now?            about the customer, not the product
    Did you drop your computer?          another thing of the customer's
    Does your neighbour's cooker burn?   somebody else's thing
    Does your nephew use the app?        a person who is only named in an answer to something else
    Does your friend own such a drive?   what another person does
    Does anyone else use your account?   what anybody does
    How do you measure your rooms?       how the customer does something
    Where will you go next month?        what is still to come
"""

from __future__ import annotations

import re

from .products import Finding, products
from .told import PEOPLE, all_said, called, explains, told_of
from .topics import lexicon
from .vocabulary import TOKEN, stems, weighs

_YOU_DO = re.compile(
    r"\b(?:do|did|have|had|can) (?:you|he|she|they|i|we) (?:\w+ly |ever |also |already |just |still |even |always "
    r"|last "
    r"|first |then |usually |normally )?([a-z]+)"
    r"( (?:it|them|the|your|any|some|a|an)\b)?"
)
_OURS = re.compile(r"\b(?:i|i'm|i've|my|me|we|our|you|your)\b")
_SENSES = frozenset(
    TOKEN.findall(
        "see saw seen hear heard feel felt smell smelled notice noticed have has had get got find found know look"
        " looked"
        " check checked tell say said mean think remember happen happened need want been try tried keep kept set put"
        " use"
        " used go be is one any a an the it them that this some your you to on all ever already just still even also"
        " recently lately perhaps not only both no more much many other another new old take do done let confirm spot"
    )
)
"""What may follow "do you", whatever is asked about."""


def _own_doing(name: str, finding: int, bare: str) -> bool:
    """Whether it asks what the customer does, and that is not known: "Did you hurt your hand?"."""
    acts = [d for d in _YOU_DO.finditer(bare) if d[1] not in _SENSES]
    found = products()[name].findings[finding]
    ours, told = _of_customer(found), all_said(found)
    return any(
        not (ours or d[2]) or not told_of(name, finding, said[0])
        if (said := stems(d[1]))
        else d[1] not in TOKEN.findall(told)
        for d in acts
    )


def _of_customer(found: Finding) -> bool:
    """Whether a finding tells something of what the customer does."""
    return bool(_OURS.search(" ".join((found.asks, *found.questions[:-3], *found.answers)).lower()))


_YOUR = re.compile(r"\byour (?:own |old |new |other )?([a-z'-]+)(?: ([a-z'-]+))?")
_AT_HAND = frozenset(
    TOKEN.findall("finger thumb nail hand hands ear ears eye eyes knee foot end own home house place left right")
)


def _owned(name: str, finding: int, bare: str) -> bool:
    """Whether it names a thing of the customer's of which nothing is known: "Did you drop your computer?"."""
    topics = lexicon(name).findings
    product = frozenset(stems(products()[name].product))
    for found in _YOUR.finditer(bare):
        said = stems(found[0])
        known = any(finding in topics.strength.get(s, {}) or s in product for s in said)
        if not known and any(map(weighs, said)) and found[1] not in _AT_HAND:
            return True
        if found[0].startswith("your own ") and "own" not in lexicon(name).told[finding]:
            return True
    return False


_PERSON = re.compile(rf"\b({PEOPLE})'s? [a-z]|\b(?:the|your) (other|second|old|previous|next) ([a-z-]+)")


_OPEN = re.compile(r"(?:what|which|who|whose|where|when|how)\b")
_THEIR_THING = re.compile(rf"\b(?:{PEOPLE}'s?|other people's|else's|next door|else in|others|friends) ")
"""Words of a finding that tells of other people's things: "My nephew gave it a special system." does not."""


def _asked_of(found: Finding, bare: str) -> str:
    """The texts of a finding; without its answers for what an open question asks: "What is your husband's name?"."""
    return all_said(found) if not _OPEN.match(bare) else ". ".join((found.asks, *found.questions[:-3])).lower()


def _others_own(name: str, finding: int, bare: str) -> bool:
    """Whether it is about somebody else's thing, or another product: "Does your neighbour's cooker burn?"."""
    product = frozenset(stems(products()[name].product))
    for found in _PERSON.finditer(bare):
        if found[1] or product & frozenset(stems(found[3])):
            own = lexicon(name).findings.strength
            if not any(finding in own.get(s, {}) for s in stems(found[1] or found[2])):
                return True
            if found[1] and not _THEIR_THING.search(_asked_of(products()[name].findings[finding], bare)):
                return True
    return False


_NAMED = re.compile(rf"\b{PEOPLE}\b")


def _only_named(name: str, finding: int, bare: str) -> bool:
    """Whether it names a person, and nothing else by which the finding is called: "Does your nephew use the app?"; or
    is about that person: "Does the visitor see the light?"."""
    people = frozenset(stems(" ".join(m[0] for m in _NAMED.finditer(bare))))
    own = called(name, finding).union(stems(" ".join(products()[name].findings[finding].questions[:-3])))
    if people & own:
        return False
    rest = frozenset(stems(_NAMED.sub(" ", bare)))
    return bool(people) and (not rest & called(name, finding) or bool(_OF_PERSON.match(bare)))


_OF_PERSON = re.compile(rf"(?:do|does|did|has|have|had|can|could|is|are|was|were) (?:the|your|any) {PEOPLE}\b(?!')")


_TO_COME = re.compile(
    r"\bwill (?:you|he|she|they|we|there)\b|\b(?:are|is|were|was) (?:you|he|she|they) (?:\w+ )?going"
    r" (?:to|on|away|abroad)\b"
    r"|\b(?:do|are) (?:you|they|he|she) (?:\w+ )?(?:plan|intend|hope|expect)(?:ning|ing)?\b"
    r"|\b(?:tomorrow|next (?:week|month|year|time|summer|winter|spring|autumn|weekend))\b"
)


def _to_come(name: str, finding: int, bare: str) -> bool:
    """Whether it asks for what is still to come, unless that is what is told."""
    found = _TO_COME.search(bare)
    return bool(found) and found[0] not in all_said(products()[name].findings[finding])


_MINDS = frozenset(("own", "like", "want", "know", "need", "think"))
_PERSON_DOES = re.compile(
    rf"(?:do|does|did|has|have|had|can|could) (?:the|your|an?|any) {PEOPLE} "
    r"(?:also |ever |already )?(?!say\b|been\b)([a-z]+)"
)


def _person_does(name: str, finding: int, bare: str) -> bool:
    """Whether it asks what another person does, and that is not told: "Does your friend own such a drive?"."""
    found = _PERSON_DOES.match(bare)
    return bool(found) and (found[1] in _MINDS or not explains(name, finding, found[1]))


_ANYBODY_DOES = re.compile(r"\b(?:has|have|had|did|does|do|is) (?:some|any|every)(?:body|one)(?: else)?(?!')\b")
_SOMEBODY = re.compile(r"\b(?:(?:some|any|every|no)(?:body|one)|no one|else|who|others?|people|family|visitors?)\b")


def _anybody_does(name: str, finding: int, bare: str) -> bool:
    """Whether it asks what anybody does, and nobody is told of: "Does anyone else use your account?"."""
    return bool(_ANYBODY_DOES.search(bare)) and not _SOMEBODY.search(all_said(products()[name].findings[finding]))


_HOW_YOU = re.compile(r"how (?:do|did) you (?!know|mean|find)[a-z]+ ")
_HOW = re.compile(r"\b(?:how|way|method|manner)\b")


def _how_you_do(name: str, finding: int, bare: str) -> bool:
    """Whether it asks how the customer does something, and that is not told: "How do you measure your rooms?"."""
    found = products()[name].findings[finding]
    return bool(_HOW_YOU.match(bare)) and not _HOW.search(" ".join((found.asks, *found.questions[:-3])).lower())


PERSONS = (_own_doing, _others_own, _owned, _only_named, _to_come, _person_does, _anybody_does, _how_you_do)
