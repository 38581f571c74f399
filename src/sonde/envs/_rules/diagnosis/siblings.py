"""Messages about another thing of the same kind as the one that is known, or about a thing of which nothing is known.

Ours. The words of a cause may be said of anything: "The screw of the lamp is loose." tells nothing about a chair. Each
guard is one way in which this happens; any of them leaves the message unread. A noun that occurs in nothing that is
said of the product, its causes, fixes and findings, is known by its place: after an article, a possessive or a
preposition.

    Is the right lever out?                  the other one of two
    Push the power cable in.                 one that belongs to something else
    Wait for five minutes.                   another length of time
    Put two fresh batteries in the keyboard. a thing that is no part of it
    The fuse of the garage is loose.         a thing of which the product knows nothing
"""

from __future__ import annotations

import re
from functools import lru_cache

from .products import Query, products
from .topics import lexicon
from .vocabulary import TOKEN, stems, weighs

_SIDES = (
    (frozenset(("left",)), frozenset(("right",))),
    (frozenset(("inside", "inner")), frozenset(("outside", "outer"))),
    (frozenset(("front",)), frozenset(("rear", "back"))),
    (frozenset(("upper", "top")), frozenset(("lower", "bottom"))),
)
_SIDE = re.compile(
    r"\b(left|right|front|rear|back|upper|lower|top|bottom|inner|outer|inside|outside) (?!one\b)([a-z]{3,})\b"
)
_UNITS = tuple(frozenset((unit, f"{unit}s")) for unit in ("second", "minute", "hour", "day", "week", "month", "year"))
_LASTS = re.compile(r"\bwait (?:for )?(?:[\w-]+ ){0,3}?((?:second|minute|hour|day|week|month|year)s?)\b")
_BELONGS = "power|brake|car|keyboard|kitchen|bathroom|bedroom|cellar|garden|garage|office|desk|ceiling|window|roof|oil"
_BELONGING = re.compile(rf"\b(?:the|your|its|an?|both) ({_BELONGS}) (?!o(?:n|ff)\b)([a-z]+)")
_INTO = re.compile(r"\b(?:in|into|on|onto|to|out of|off|under) (?:the|your) ([a-z]+)\b(?!-)")
_WHERE = frozenset(stems("top bottom front rear back side left right middle corner morning evening wall hand"))


def another_such(name: str, query: Query, text: str) -> bool:
    """Whether a question, suggestion or diagnosis, in lower case, names a thing beside the one that it is taken for."""
    told = _told(name, query.kind == "finding", query.target)
    return _other_side(text, told) or _belongs_elsewhere(text, told)


def another_thing(name: str, cause: int, text: str) -> bool:
    """Whether a suggestion, in lower case, is to wait as the fix does not, or to do it to what is no part of it."""
    told = _told(name, False, cause)
    return _other_time(text, told) or _into_another(name, text, told)


def _other_side(text: str, told: str) -> bool:
    said, own = frozenset(TOKEN.findall(text)), frozenset(TOKEN.findall(told))
    nouns = ((m[1], m[2]) for m in _SIDE.finditer(text) if m[0] not in told)
    if any(f"{o} {noun}" in told for side, noun in nouns for o in _opposite(side)):
        return True
    return any(
        said & one and own & other and not said & other and not own & one
        for a, b in _SIDES
        for one, other in ((a, b), (b, a))
    )


def _opposite(side: str) -> frozenset[str]:
    return frozenset(o for a, b in _SIDES for one, other in ((a, b), (b, a)) if side in one for o in other)


def _belongs_elsewhere(text: str, told: str) -> bool:
    own = frozenset(stems(told))
    known = frozenset(TOKEN.findall(told))
    return any(m[1] not in known and own & frozenset(stems(m[2])) for m in _BELONGING.finditer(text))


def _other_time(text: str, told: str) -> bool:
    own = frozenset(TOKEN.findall(told))
    units = [unit for unit in _UNITS if own & unit]
    lasts = [unit for m in _LASTS.finditer(text) for unit in _UNITS if m[1] in unit]
    return bool(units) and any(unit not in units for unit in lasts)


def _into_another(name: str, text: str, told: str) -> bool:
    own = frozenset(stems(told)) | lexicon(name).fixes.background | _WHERE
    return any(weighs(s) and s not in own for m in _INTO.finditer(text) for s in stems(m[1]))


@lru_cache(maxsize=1 << 10)
def _told(name: str, asked: bool, target: int) -> str:
    """All that is said of a finding, or of a cause and its fix."""
    if asked:
        found = products()[name].findings[target]
        said = (found.asks, *found.cues, *found.questions[:-3], *found.values, *found.answers, *found.more)
    else:
        cause = products()[name].causes[target]
        said = (cause.what, *cause.cues, cause.fix_what, *cause.fix_cues, *cause.suggestions, *cause.more)
    return " ".join(said).lower()


# --- of nothing that is known ----------------------------------------------------------------------------------------

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
