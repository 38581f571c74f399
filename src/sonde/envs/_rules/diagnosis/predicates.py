"""Questions that say of a known thing what is told of none: they are left without an answer.

Ours. Each guard is one way in which this happens.

    Is the tank bigger than fifty litres?     compares it
    Is the lamp in the fridge an LED?         what kind of thing it is
    Have you tried a tripod for the camera?   a thing that only goes with it
    Does your friend own such a drive?        what another person does
"""

from __future__ import annotations

import re

from .products import products
from .things import noun_of
from .told import PEOPLE, all_said, explains, known, values
from .vocabulary import stems, weighs

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


_MINDS = frozenset(("own", "like", "want", "know", "need", "think"))
_PERSON_DOES = re.compile(
    rf"(?:do|does|did|has|have|had|can|could) (?:the|your|an?|any) {PEOPLE} "
    r"(?:also |ever |already )?(?!say\b|been\b)([a-z]+)"
)


def _person_does(name: str, finding: int, bare: str) -> bool:
    """Whether it asks what another person does, and that is not told: "Does your friend own such a drive?"."""
    found = _PERSON_DOES.match(bare)
    return bool(found) and (found[1] in _MINDS or not explains(name, finding, found[1]))


PREDICATES = (_compared, _called, _tried, _person_does)
