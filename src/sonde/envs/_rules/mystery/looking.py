"""What is looked at in a unit of a message: things, places, records, people (`reading`). Source: ours."""

from __future__ import annotations

import re

from . import patterns as pattern
from .context import BODY, MANY, NOTHING, Context, Reading, examining, looking_at, mentioned
from .doubts import is_meant, of_record, somebodys
from .records import pointed_at
from .topics import SEVERAL

_YOU = re.compile(r"\byou\b")
_IT = re.compile(r"\b(?:it|this|that|them|these|those)\b")
_THEIRS = re.compile(r"\b(?:he|she|his|her|their)\b")
_SHOW = re.compile(r"\b(?:show|let|give|hand) (?:me|us)\b")
_PERSON = re.compile(r"@p\d")
_NAMED = re.compile(r"@[irblpx]")

# --- people ----------------------------------------------------------------------------------------------------------


def looked_over(here: Context, unit: str, asks: bool) -> Reading | None:
    """A look at what somebody wears, or at what they do with their hands; None if it is none."""
    person = _wearer(here, unit)
    if person == SEVERAL:
        return MANY if _looked_for(unit) else NOTHING
    if not person:
        return None
    if not (asks or _looked_for(unit)):
        return NOTHING
    if len(mentioned(unit, "p")) > 1 and not pattern.ASK.search(unit):
        return MANY  # whose, if it is about two?
    return examining(person)


def _wearer(here: Context, unit: str) -> str:
    """Whose clothes and habits the unit is about, if it is about that."""
    found = (pattern.WEARS.search(unit) or pattern.HABIT.search(unit)) if "@p" in unit else None
    if not (found or pattern.WEARS_YOU.search(unit)) or pattern.NOT_WORN.search(unit):
        return ""
    if found:
        whose = next(g for g in found.groups() if g)
        return "" if here.called not in ("", whose) and _YOU.search(unit) else whose
    if not _THEIRS.search(unit):
        people = mentioned(unit, "p") or [here.spoken_to or here.person]
    elif len(people := _said_of(here, unit)) > 1:
        return SEVERAL
    return people[0] if len(people) == 1 and people[0][:1] == "p" else ""


def _said_of(here: Context, unit: str) -> list[str]:
    """Who "he" or "her" may be: everybody mentioned so far but who is called by name."""
    said = f"{here.before} {here.said} {unit}"
    people = mentioned(said, "pb")
    others = [p for p in people if p != here.called] or ([] if _SHOW.search(unit) else people)
    return ["", *others] if "@v" in said else others


def _looked_for(unit: str) -> bool:
    """Whether clothes and habits are to be seen, and are not only spoken of."""
    ways = (pattern.EXAMINE, pattern.SOUGHT, pattern.HABIT, pattern.ASK, pattern.WHOSE)
    return any(way.search(unit) for way in ways)


# --- things ----------------------------------------------------------------------------------------------------------


def inspected(here: Context, unit: str, asks: bool) -> Reading:
    """A look at something."""
    if bare := pattern.BARE.match(unit):
        return looking_at(bare[1])
    if not asks and (before := _it_says(here, unit)):
        return looking_at(before)
    examines = pattern.EXAMINE.search(unit)
    if " not " in unit or not (examines or asks):
        return NOTHING
    if asks and (not examines or pattern.ASKED.match(unit)):
        return _told_by(here, unit)
    looked = pattern.LOOK_AT.search(unit) or pattern.LOOK_FOR.search(unit)
    if looked and pattern.NEXT.match(unit, looked.end()):
        return MANY
    if somebodys(unit):
        return NOTHING
    targets = [looked[1]] if looked else _targets(here, unit)
    if targets:
        return _seen(here, unit, targets[0]) if len(targets) == 1 else MANY
    return BODY if pattern.DEAD.search(unit) else NOTHING


def _told_by(here: Context, unit: str) -> Reading:
    """A question that names what would answer it."""
    records = mentioned(unit, "r")
    if len(records) == 1:
        return NOTHING if of_record(unit) else looking_at(records[0])
    if pattern.ITEM_SAYS.search(unit):
        return looking_at(mentioned(unit, "i")[0])
    if (held := pattern.UNUSUAL.search(unit)) and "@p" not in unit:
        return looking_at(next(g for g in held.groups() if g))
    if before := _it_says(here, unit):
        return looking_at(before)
    return looking_at(mentioned(unit, "l")[0]) if pattern.PLACE_HOLDS.search(unit) else NOTHING


def _it_says(here: Context, unit: str) -> str:
    """The only thing that a message has mentioned so far, if it is asked what it says."""
    if not pattern.IT_SAYS.search(unit):
        return ""
    marks = mentioned(f"{here.before} {unit}", "pirbl")
    return marks[0] if len(marks) == 1 and marks[0][0] in "ir" else ""


def _seen(here: Context, unit: str, target: str) -> Reading:
    """A person is looked at only as a whole; "his phone" is nothing that there is."""
    if target[0] == "p" and target not in pattern.DIRECTLY.findall(unit):
        return NOTHING
    if target[0] == "i" and re.search(rf"\b(?:his|her|their) (?:\w+ )?@{target}\b", unit):
        named = [p.id for p in here.frame.people if p.name in here.frame.names[target]]
        if target == "i0" or (named and _said_of(here, unit) != named):
            return NOTHING
    return looking_at(target) if is_meant(here.frame, unit, target) else NOTHING


def _targets(here: Context, unit: str) -> list[str]:
    """Everything that the unit says is to be looked at."""
    verb = pattern.EXAMINE.search(unit)
    rest = pattern.LOCATED.sub("", unit[verb.start() :] if verb else unit)
    if not _NAMED.search(rest):  # "the button, let me see it"
        rest = _PERSON.sub("", pattern.LOCATED.sub("", unit))
    if marks := mentioned(rest, "ri"):
        return _narrowed(rest, marks)
    record = pointed_at(here.frame, here.words, f"{here.before} {rest}", rest)
    if marks := mentioned(rest, "b") or ([record] if record else mentioned(rest, "l") or mentioned(rest, "p")):
        return marks
    if pattern.POISONED.search(unit) or (here.frame.method == "poison" and pattern.POISON.search(unit)):
        return ["i1"]
    return _it(here, rest)


def _narrowed(rest: str, marks: list[str]) -> list[str]:
    """One of two where the second only says what the first is compared with, or is part of its name."""
    compared = len(marks) == 2 and re.search(rf"@{marks[0]} (?:for|against|with|to see|to find|about)\b", rest)
    return marks[:1] if compared else marks


def _it(here: Context, rest: str) -> list[str]:
    """What "it" is: the only thing mentioned before."""
    things = mentioned(here.before, "ir")
    return things if len(things) == 1 and _IT.search(rest) else []
