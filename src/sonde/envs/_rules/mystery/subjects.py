"""A question as the person asked hears it: they are "you", and the others are called by their marks.

`topics` reads who does what to whom, so it must be clear who "you", "he" and "her" are. In a question that is
put through the narrator ("ask the cook where she was") the pronouns are the cook's; in one that is put to the cook they
are somebody else's who was mentioned. A death is the victim's. What others report is taken for the question whether it
is so. Source: ours.
"""

from __future__ import annotations

import re

from . import patterns as pattern
from .wordings import wordings

_SAID = wordings("subjects")

_REPORT = _SAID.pattern("report")
_SEEN_BY = _SAID.pattern("seen_by")
_DIED = _SAID.pattern("died")
_SUBJECT = _SAID.pattern("subject")
_ONE = _SAID.pattern("one")
_OBJECT = _SAID.pattern("object")
_OWNER = _SAID.pattern("owner")
_NOT_YOU = _SAID.pattern("not_you")
_TWICE = _SAID.pattern("twice")

_SOMEBODY = re.compile(r"@(?:p\d|v)")
_YOU = re.compile(r"\byou (?!,)")


def as_asked(unit: str, before: str, teller: str, told: bool) -> str:
    """The unit with the person asked (`p2`) as "you"; `told` if they are spoken to and not spoken of.

    >>> as_asked("ask @p0 where she was when he died", "", "p0", told=False)
    'ask you where you was when @v died'
    >>> as_asked("@p0 , did you see her ?", "@p1 was there .", "p0", told=True)
    'you , did you see @p1 ?'
    """
    asked = _DIED.sub("@v", _REPORT.sub("it is said that ", unit))
    asked = re.sub(rf"(?:\bthe )?@{teller}\b", "you", re.sub(rf"(?:\bthe )?@{teller} 's", "your", asked))
    asked = _NOT_YOU.sub(r"\1 you", _TWICE.sub("you", asked))
    asked = _SEEN_BY.sub("somebody", asked)
    if not (_SUBJECT.search(asked) or _OBJECT.search(asked) or _OWNER.search(asked)):
        return asked
    others = dict.fromkeys(mark for mark in _SOMEBODY.findall(f"{before} {asked}") if mark != f"@{teller}")
    if not told or not (others or _YOU.search(asked)):
        return _OWNER.sub("your", _OBJECT.sub("you", _SUBJECT.sub("you", asked)))
    if len(others) > 1:
        return asked
    other = next(iter(others), "@v")
    return _OWNER.sub(f"{other} 's", _OBJECT.sub(other, _ONE.sub(other, asked)))


# --- who is called --------------------------------------------------------------------------------------------------


_DIRECT = re.compile(r"\b(?:your?|tell|any\w*)\b|\?")
_CALL = re.compile(r"\W*(?:the )?@[pb]\d ?[,:.!]")


def addressed(sentence: str, others: bool) -> str:
    """Who is called by name; two people joined by a comma if both are. "What about Ines?" calls her, but not after
    `others` were called."""
    if "@" not in sentence:
        return ""
    called = dict.fromkeys(m[1] for m in pattern.VOCATIVE.finditer(sentence))
    if not called and not others:
        called = dict.fromkeys(m[1] for m in pattern.WHAT_ABOUT.finditer(sentence))
    if not called or pattern.ASK.search(sentence):
        return ""
    return ",".join(called) if _DIRECT.search(sentence) or _CALL.match(sentence) else ""


# --- whether something is asked --------------------------------------------------------------------------------------

_REQUEST = _SAID.test("request")
_STATED = _SAID.test("stated")
_SUPPOSED = _SAID.test("supposed")
_SPOKEN_OF = _SAID.test("spoken_of")


def requested(unit: str, asks: bool) -> bool:
    """Whether a unit, as it is heard, wants an answer: a question, an order, or the bare name of what is asked."""
    if _SUPPOSED(unit) or _SPOKEN_OF(unit):
        return False
    return asks or _REQUEST(unit) or not _STATED(unit)


# --- short questions about what was said before ----------------------------------------------------------------------

_SHORT = _SAID.pattern("short")
_OF = {name: _SAID.test(f"of_{name}") for name in ("scene", "access", "victim")}
_OF_OTHERS = _SAID.test("of_others")


def is_short(unit: str) -> bool:
    """Whether a question only asks if what was said before is so: "is that true?", "were you?"."""
    return bool(_SHORT.match(unit))


def spoken_of(said: str) -> str | None:
    """The only topic that a statement to somebody speaks of."""
    found = [name for name, of in _OF.items() if of(said)]
    return found[0] if len(found) == 1 and not _OF_OTHERS(said) else None
