"""Other ways to name people and places of a murder mystery, rewritten in templates (`mystery_words`).

People can be counted as in the briefing ("the second suspect", "witness 1", "the witness" where there is one), and the
scene can be described ("the place where the body was found"). Source: ours.
"""

from __future__ import annotations

import re
from typing import Final

from .mystery import Frame

_NUMBERS: Final = ("one", "two", "three", "four")
_ORDINALS: Final = ("first", "second", "third", "fourth")
_WHICH = "|".join((*_ORDINALS, "last"))
_COUNT = rf"\d|(?:number|no|nr)(?: \.)? (?:\d|{'|'.join(_NUMBERS)})"
_NAMED = r"(?: ?,? ?(?:the |called |named |mr )?(?P<name>@p\d))?"
_COUNTED = re.compile(
    rf"(?:(?:\b(?:the|our|your|my) )?\b(?P<which>{_WHICH}) (?:of the )?(?P<a>suspect|witness)\b(?! (?:who|that|on|in"
    r"|i|we|to (?!tell|say|explain|describe)))"
    rf"|(?<!\bi )(?<!\bwe )\b(?P<b>suspect|witness) (?P<count>{_COUNT})\b(?! (?:people|of|or|persons"
    rf"|suspects))){_NAMED}"
)
_ONLY = re.compile(
    r"\bthe (?:only |sole |one )?(?P<a>witness|suspect)(?! ?,? ?(?:the )?@p)(?= (?:'s (?:alibi|whereabouts|movements)"
    r"|what|where|who|how|if|whether|about|did|does|do|was|is|has|had|know|see|tell|again|first|next|[,.:;?!])|$)"
)
_FOUND = (
    r"(?:found|discovered|killed|murdered|poisoned|struck|attacked|lying|lay|died|dead|happened|occurred|took place"
    r"|take place|committed)"
)
_DEAD = r"(?:body|corpse|murder|crime|killing|death|it|he|she|they|@v)"
_SPOT = r"(?:place|spot|rooms?|location|area|site|scene|@l0)"
_SCENE = re.compile(
    rf"(?:\b(?:the|that|this) )?(?:\b(?:exact|very|actual|whole) )?(?:(?:\b|(?=@)){_SPOT} (?:where|in which|at which)"
    rf"|(?:(?<=search )|(?<=examine )|(?<=inspect )|(?<=around )|(?<=go to )|(?<=look )|(?<=return to ))where)"
    rf" (?:the )?{_DEAD}(?: 's (?:body|murder|death))?(?: (?:was|were|is|has been|had been|been))?(?: \w+)?? {_FOUND}\b"
    rf"|(?:\bthe )?\b(?:area|floor|ground|surroundings|space)(?: \w+)? (?:around|near|by|under|beneath|next to|of)"
    r" (?:the )?(?:body|corpse|@v)(?! 's (?!body|corpse))(?: 's (?:body|corpse))?"
)


def named(frame: Frame, marked: str) -> str:
    """The template with marks for people who are counted and for the scene where it is described.

    >>> from .mystery import case
    >>> frame = case("train", 4).frame
    >>> named(frame, "ask the second suspect what is in the place where the body was found .")
    'ask @p1 what is in @l0 .'
    """
    if "suspect" in marked or "witness" in marked:
        marked = _COUNTED.sub(lambda found: _counted(frame, found), marked)
        marked = _ONLY.sub(lambda found: _only(frame, found), marked)
    return _SCENE.sub("@l0", marked)


def _counted(frame: Frame, found: re.Match[str]) -> str:
    if found["name"]:
        return found["name"]
    people = _group(frame, found["a"] or found["b"])
    if found["which"]:
        number = len(people) - 1 if found["which"] == "last" else _ORDINALS.index(found["which"])
    else:
        last = found["count"].split()[-1]
        number = int(last) - 1 if last.isdigit() else _NUMBERS.index(last)
    return people[number] if 0 <= number < len(people) else found[0]


def _only(frame: Frame, found: re.Match[str]) -> str:
    people = _group(frame, found["a"])
    return people[0] if len(people) == 1 else found[0]


def _group(frame: Frame, kind: str) -> list[str]:
    """The marks of all suspects, or of all witnesses, in the order of the briefing."""
    return [f"@{p.id}" for p in frame.people if p.suspect is (kind == "suspect")]
