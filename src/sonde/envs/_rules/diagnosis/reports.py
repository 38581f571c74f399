"""Statements that tell what was done, or is pleased with it, and diagnose nothing.

Ours. They have the words of a fix or a cause:

    The cookies have been cleared.                 what was done, in the passive
    You pushed the hook down this morning.         or by a person
    Glad to hear that the code is typed in.        praise
    The fuse tripped last week.                    another time
"""

from __future__ import annotations

import re

from .products import products
from .told import PEOPLE
from .vocabulary import stems

_TRADES = r"(?:engineer|technician|electrician|fitter|plumber|mechanic|service|organiser|driver|workshop|shop)"
_DID = (
    re.compile(r"\b(?:has|have|had|was|were)(?: already| just| recently| now)* (?:been )?([a-z]+(?:ed|t|en|n))\b"),
    re.compile(r"\b(?!turned|switched|plugged|pressed|used|opened|loosened)([a-z]{3,}(?<!e)ed)\b"),
    re.compile(r"\b(?:you|i|we|they|he|she)(?:'ve|'d| have| had)?(?: already| just| recently| then)* ([a-z]+)\b"),
    re.compile(rf"\b(?:our|my|your|the) {_TRADES} ([a-z]+ed)\b"),
)
"""What tells of a deed: passives, verbs in the past, and what a person does."""
_PRAISED = re.compile(
    r"^that (?:the|your|our|you|it|we|they|somebody)\b|^for [a-z]+ing\b"
    r"|\b(?:well done|good job|i hear$|glad|pleased|delighted|relieved"
    r"|nice to (?:hear|see|know)|good to (?:hear|see|know|read)|i (?:read|hear|gather) (?:that )?you)\b"
)
"""What is said of a thing that was done, or went well."""
_THEN = re.compile(
    r"\b(?:yesterday|this morning|last (?:night|week|month|year|weekend|spring|summer|autumn|winter|time|\w+day)"
    r"|in (?:spring|summer|autumn|winter|january|february|march|april|may|june|july|august|september|october"
    r"|november|december)|(?:days?|weeks?|months?|years?|hours?) ago|before the weekend|the other day|tomorrow"
    r"|next (?:week|month|year|time|spring|summer|autumn|winter)|twice already"
    r"|when (?:he|she|they|we|i) (?:was|were|came|visited)|(?:many|some|most|few|other) of (?:our|my))\b"
)
"""Another time than now, or other things of the kind."""


_PERSON_HAS = re.compile(rf"\b(?:your|our|my|the) ({PEOPLE}|{_TRADES}) (?:has|have|had|was|were|is|are)\b")
"""What a person did, or is doing."""


def done(name: str, cause: int, text: str) -> bool:
    """Whether a statement tells that the fix was done: "The cookies have been cleared."."""
    found = products()[name].causes[cause]
    wrong = frozenset(stems(" ".join((found.what, *found.cues))))
    own = frozenset(stems(" ".join((found.fix_what, *found.fix_cues, *found.suggestions)))) - wrong
    if any(not wrong & frozenset(stems(m[1])) for m in _PERSON_HAS.finditer(text)):
        return True
    if _PRAISED.search(text) or any(not wrong & frozenset(stems(m[0])) for m in _THEN.finditer(text)):
        return True
    return any(own & frozenset(stems(m[1])) for did in _DID for m in did.finditer(text))
