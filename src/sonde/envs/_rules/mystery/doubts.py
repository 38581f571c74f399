"""What keeps a detective's message from doing anything: what was done already, by others, or shall not be done.

A message mentions things without looking at them: "Vera should search the shed", "I have read the log", "search
everything but the shed", "is the log reliable", "the kitchen clock". Whatever `data/murder_mystery/doubts.toml` finds
in a template (`words`) is left unread. Source: ours.
"""

from __future__ import annotations

import re

from .cases import Frame
from .tokens import BEFORE, words
from .wordings import wordings

_SAID = wordings("doubts")

_NEVER = _SAID.test("never")
_ORDERED = _SAID.pattern("ordered")
_SEEN = _SAID.test("seen")
_THEIRS = _SAID.test("theirs")
_IN_PLACE = _SAID.test("in_place")
_AFTER = BEFORE | words("""
    area room itself floor door thoroughly myself today tonight ourselves alone once more too there building inside
    premises very yet here except instead straight immediately anyway quickly sir carefully closely personally aside
    without properly afterwards hard within
""")
"""Words that may stand after a place or a person: after others something is meant that is called by it."""
_OF_RECORD = _SAID.test("of_record")
_SHOWS = _SAID.test("shows")
_WITNESSED = _SAID.test("witnessed")


def does_nothing(unit: str, asks: bool) -> bool:
    """Whether a unit speaks of what was done, by whomever, or shall not or cannot be done."""
    return _NEVER(unit) or (not asks and _SEEN(unit))


def ordered(said: str) -> str:
    """Who is told to do something, if anybody is: an id, or ""."""
    found = _ORDERED.match(said)
    return found[1] if found else ""


def somebodys(unit: str) -> bool:
    """Whether something of somebody's is looked for that there is not."""
    return _THEIRS(unit)


def of_record(unit: str) -> bool:
    """Whether a question that names a record is about the record itself."""
    return _OF_RECORD(unit) or not _SHOWS(unit)


def of_bystander(unit: str) -> bool:
    """Whether a question about somebody from outside is what they saw or know."""
    return _WITNESSED(unit)


def is_meant(frame: Frame, unit: str, target: str) -> bool:
    """Whether the thing with the id `target` is what is to be looked at: not something in it, or called by it, or of
    the same name elsewhere or of somebody else."""
    kind = target[0]
    if kind in "lp" and _goes_on(unit, target):
        return False
    if kind == "l":
        return not _IN_PLACE(unit) and _owned(frame, unit, target)
    if kind in "rbi" and _elsewhere(frame, unit, target):
        return False
    if kind == "b":
        return not re.search(rf"@{target} 's [a-z]", unit)
    if kind == "i" and _of_another(unit, target):
        return False
    return kind == "p" or _owned(frame, unit, target)


def _goes_on(unit: str, target: str) -> bool:
    """Whether a place or a person is part of something else: "the kitchen clock"."""
    after = re.search(rf"@{target} ([a-z]+)", unit)
    return after is not None and after[1] not in _AFTER and not after[1].endswith("ly")


def _elsewhere(frame: Frame, unit: str, target: str) -> bool:
    """Whether a thing is said to be where it is not."""
    placed = re.search(rf"@{target} (?:in|at|on|from) (?:the )?@l(\d)", unit)
    things = frame.items if target[0] == "i" else frame.records
    return placed is not None and things[int(target[1:])].place != int(placed[1])


def _of_another(unit: str, target: str) -> bool:
    """Whether an item is to, from or about somebody or something that its name does not tell: "the letter to Amina"."""
    other = rf"@{target} (?:(?:to|from|of|about|naming|signed by) (?:the )?@[pvlb]|with (?:the )?@[vlb])"
    return "compare" not in unit and re.search(other, unit) is not None


def _owned(frame: Frame, unit: str, target: str) -> bool:
    """Whether a thing is nobody's, or of the person whom its name tells."""
    owner = re.search(rf"@p(\d) 's (?:\w+ )?@{target}\b", unit)
    return owner is None or frame.people[int(owner[1])].name in frame.names[target]
