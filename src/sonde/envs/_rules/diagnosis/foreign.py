"""Suggestions and diagnoses that name a thing of which the product knows nothing.

Ours. The words of a cause may be said of anything: "The screw of the lamp is loose." tells nothing about a chair. So a
noun that occurs in nothing that is said of the product, its causes, fixes and findings, leaves the message unread. A
noun is known by its place: after an article, a possessive or a preposition.
"""

from __future__ import annotations

import re
from functools import lru_cache

from .products import products
from .sentences import DENIAL
from .told import PEOPLE
from .topics import lexicon
from .vocabulary import stems, weighs

_NOUN = re.compile(
    r"\b(?:the|your|an?|my|its|his|her|our|their|of|in|on|under|at|by|with|from|for) (?!the |your |an? |my |its |our )"
    r"(?:(?:front|rear|back|top|bottom|side|new|old|small|big|large|second|other|first) )?([a-z]+)(?![-a-z0-9'])"
)
_TOOL = re.compile(r"\bwith an? [a-z]+")
_THINGS = frozenset(stems("lamp plug display screen key button"))
"""Things that nearly every product has, and not this one."""
_ANY = frozenset(
    stems(
        "evening morning night file appointment reservation suspicion classic matter touch notch spoonful cloth bell"
        " hook tool blockage dish hand finger sort kind type same different next least audio mark fn id stale together"
        " splinter box piece bit rear half"
    )
)
"""What may be named beside anything."""


def foreign(name: str, text: str) -> bool:
    """Whether a sentence in lower case names a thing of which nothing is known."""
    named = (s for m in _NOUN.finditer(_TOOL.sub("", text)) for s in stems(m[1]))
    known = _known(name)
    return any((weighs(s) or s in _THINGS) and s not in _ANY and s not in known for s in named)


_SUBJECT = re.compile(
    r"(?:^|, |\bthat )(?:the|your|its|an?|one of the) ([a-z' -]+?)(?: (?:of|in|on) [a-z' -]+?)?"
    r" (?:is|are|was|were|has|have|had|must|seems?|got|exceeds?|leans?)\b"
)
_OWNER = re.compile(r"\b(?<!out )(?:of|in|on) (?:the|your) ([a-z]+)(?![-a-z'])")


_PERSONS = re.compile(rf"\b({PEOPLE})'s? [a-z]")


_POSSESSOR = re.compile(
    r"\b(?:the|your|that|this) ([a-z]+)'s (?!(?:not|been|got|too|a|an|the|in|on|off|so|very)\b)[a-z]"
)


def of_another(name: str, cause: int, text: str) -> bool:
    """Whether a diagnosis, in lower case, is about a thing of which the cause says nothing, or about a part of it."""
    causes, found = lexicon(name).causes, products()[name].causes[cause]
    if any(m[1] not in " ".join((found.what, *found.cues)) for m in _PERSONS.finditer(text)):
        return True
    own = causes.background.union(stems(" ".join((found.what, *found.cues))))
    if any(
        s not in own and cause not in causes.strength.get(s, {}) for m in _POSSESSOR.finditer(text) for s in stems(m[1])
    ):
        return True
    clauses = ", ".join(c for c in re.split(", ", text) if not DENIAL.search(c))
    subjects = ([s for s in stems(m[1]) if weighs(s)] for m in _SUBJECT.finditer(clauses))
    owners = ([s for s in stems(m[1]) if weighs(s)] for m in _OWNER.finditer(clauses))
    return any(
        named and not any(s in causes.background | _ANY or cause in causes.strength.get(s, {}) for s in named)
        for named in (*subjects, *owners)
    )


@lru_cache(maxsize=128)
def _known(name: str) -> frozenset[str]:
    """All words of the product that say something."""
    lex, product = lexicon(name), products()[name]
    said = (lex.findings.strength, lex.fixes.strength, lex.causes.strength, lex.findings.background)
    opened = stems(" ".join((*product.openings, *(c.done + " " + c.failed for c in product.causes))))
    return frozenset(opened).union(*said)
