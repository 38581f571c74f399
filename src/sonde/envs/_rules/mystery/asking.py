"""Who is asked what in a unit of a message, or asked for the truth of something (`reading`). Source: ours.

A person may be called by name, be the object of a verb of asking, or stand in a question as its subject ("does the cook
know ...?"); who was spoken to before is asked what follows.
"""

from __future__ import annotations

import re

from . import patterns as pattern
from .context import MANY, NOTHING, Context, Reading, asking, looking_at, mentioned, talking_to
from .doubts import of_bystander
from .subjects import as_asked, is_short, requested, spoken_of
from .topics import SEVERAL, topic

_QUESTION = re.compile(r"(?:what|where|how|did|does|was|has|is)\b")
_GOES_ON = re.compile(r"(?:and |so |, )*(?:where|what|how|did|does|was|has|had|could|can|is|whether|about)\b")
_PRONOUN = re.compile(r"\b(?:he|she|his|her|they)\b")
_OF_ANOTHER = re.compile(r"\b(?:did|do|does|was|were|is|has|had|have) (?:the )?@p")
_YOU = re.compile(r"\byour?\b")


def asked(here: Context, unit: str, asks: bool) -> Reading | None:
    """A question to somebody; None if it is none."""
    if verified := pattern.VERIFIED.search(unit):
        return looking_at(verified[1])
    teller = _teller(here, unit, asks)
    if not teller:
        return None
    if teller == SEVERAL:
        return MANY
    direct = bool(_order(unit) or here.spoken_to or pattern.ENDS.search(unit))
    if teller[0] == "p":
        return _question(here, unit, teller, direct)
    return looking_at(teller) if teller[0] == "b" and (direct or of_bystander(unit)) else NOTHING


def _question(here: Context, unit: str, teller: str, direct: bool) -> Reading | None:
    """The question that a unit puts to a person; `direct` if they are spoken to, or to be asked, by name."""
    if pattern.TOO.search(re.sub(rf"@{teller}\b", "", unit)):
        return MANY
    found = _topic(here, unit, teller)
    if found is not None:
        return MANY if found == SEVERAL else asking(teller, found)
    if direct:
        return talking_to(teller)
    return NOTHING if pattern.WHETHER.search(unit) else None


def _topic(here: Context, unit: str, teller: str) -> str | None:
    """What is asked; a short question ("is that true?") is about what was said just before."""
    told = here.called == teller and not pattern.ASK.search(unit)
    heard = as_asked(unit, here.said, teller, told)
    if not requested(heard, "?" in unit):
        return None
    if here.last and is_short(heard) and re.sub(rf"\W*@{teller}\W*", "", unit):
        said = as_asked(here.last, "", teller, told)
        # "did she hate him? did you?" are two questions
        return spoken_of(said) or (SEVERAL if _OF_ANOTHER.search(said) else None)
    found = topic(f"{here.last} {heard}" if pattern.AFTER.match(here.last) else heard, here.frame.means)
    return found if found != teller else None


# --- who is asked ----------------------------------------------------------------------------------------------------


def _teller(here: Context, unit: str, asks: bool) -> str:
    """Who is to answer: an id, `SEVERAL`, or "" if nobody."""
    if order := _order(unit):
        subject = pattern.SUBJECT.match(unit)
        # "did the cook talk to Sven": the cook is asked
        return subject[1] if subject and subject.end() <= order.start() else _object(here, unit, order)
    if here.spoken_to:
        return "" if _about_thing(unit) else here.spoken_to
    if "@" not in unit:
        return _pronoun(here, unit)
    third = pattern.THIRD.search(unit) if asks or _QUESTION.match(unit) else None
    if third and pattern.NEXT.match(unit, third.end()):
        return SEVERAL
    return _knows(unit, third) or _owner(unit, asks) or _known(unit) or (third[1] if third else _pronoun(here, unit))


def _order(unit: str) -> re.Match[str] | None:
    """That somebody is to be asked, and who."""
    return pattern.ASK.search(unit) or pattern.WANT.search(unit) or pattern.MADE.search(unit)


def _about_thing(unit: str) -> bool:
    """Whether something is to be looked at while somebody is spoken to."""
    return bool(mentioned(unit, "ir") and pattern.EXAMINE.search(unit)) and not _YOU.search(unit)


def _knows(unit: str, third: re.Match[str] | None) -> str:
    """Who is the subject of a question what they know ("does Sven know about Zofia's alibi?")."""
    if not third or third[1] in pattern.HELD.findall(unit):
        return ""
    return third[1] if re.search(rf"@{third[1]} (?:know|confirm)", unit) else ""


def _owner(unit: str, asks: bool) -> str:
    """Whose alibi, key, or relation to the victim is asked for."""
    found = [m for m in (pattern.HELD.search(unit), pattern.BETWEEN.search(unit)) if m]
    if not found or pattern.ANYBODY.search(unit) or not (asks or pattern.SOUGHT.search(unit)):
        return ""
    return next(g for m in found for g in m.groups() if g)


def _known(unit: str) -> str:
    """Of whom something is to be found out, or who is called at the end."""
    whether = pattern.WHETHER.search(unit)
    if whether and not mentioned(unit, "ri"):
        return whether[1]
    ends = pattern.ENDS.search(unit)
    return next(g for g in ends.groups() if g) if ends and len(mentioned(unit, "p")) == 1 else ""


def _pronoun(here: Context, unit: str) -> str:
    """The person mentioned before, where a question goes on about him or her."""
    goes_on = _GOES_ON.match(unit)
    return here.person if goes_on and (unit.startswith("about") or _PRONOUN.search(unit)) else ""


def _object(here: Context, unit: str, order: re.Match[str]) -> str:
    """Whom a verb of asking is about."""
    whom = order[1]
    if whom in ("him", "her", "them"):
        said = mentioned(f"{here.before} {unit[: order.start()]}", "pb")
        return said[0] if len(said) == 1 else here.person if whom != "them" else ""
    following = pattern.NEXT.match(unit, order.end())
    if whom[0] != "@" or (following and following[1] != whom[1:]):
        return SEVERAL
    return whom[1:] if whom[1] in "pb" else "v"
