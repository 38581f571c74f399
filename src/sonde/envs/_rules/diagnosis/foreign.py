"""Suggestions and diagnoses that name a thing of which the product knows nothing.

Ours. The words of a cause may be said of anything: "The screw of the lamp is loose." tells nothing about a chair. So a
noun that occurs in nothing that is said of the product, its causes, fixes and findings, leaves the message unread. A
noun is known by its place: after an article, a possessive or a preposition.
"""

from __future__ import annotations

import re
from functools import lru_cache

from .products import products
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


@lru_cache(maxsize=128)
def _known(name: str) -> frozenset[str]:
    """All words of the product that say something."""
    lex, product = lexicon(name), products()[name]
    said = (lex.findings.strength, lex.fixes.strength, lex.causes.strength, lex.findings.background)
    opened = stems(" ".join((*product.openings, *(c.done + " " + c.failed for c in product.causes))))
    return frozenset(opened).union(*said)
