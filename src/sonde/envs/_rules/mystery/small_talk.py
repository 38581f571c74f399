"""What people say who are asked nothing that they can be asked: the same for the guilty and the innocent. Source: ours.

They are polite, go on about nothing, and name what they can be asked about. The wordings are in
`data/murder_mystery/small_talk.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from . import patterns as pattern
from .cases import Act, Frame
from .context import NEW, Past, Reading
from .facts import text
from .reading import read
from .tokens import words
from .wordings import wordings
from .words import template

_SAID = wordings("small_talk")
_PRESSED, CONFESS, _ORDERED = _SAID.test("pressed"), _SAID.test("confess"), _SAID.test("ordered")
_KEYS: Final = ("paper", "company", "last_seen", "found", "heard", "private", "everything", "greeted")
_SPOKEN = tuple((key, _SAID.test(key)) for key in _KEYS)
_CONTESTED = _SAID.test("contested")
HEARD: Final = 600
"""Characters of a message that matter here."""
_MENU: Final = ("called", "everything", "pressed", "unclear")
"""What is answered with everything that a person can be asked, the first time."""
_PLAIN: Final = ("company", "paper", "last_seen", *_MENU)
"""What nothing is added to."""
_STATEMENTS: Final = ("alibi", "victim", "scene")
"""What people may lie about."""
_CALLING = words("""
    i we would will want like to let us me the please now hello hi hey and next go first start with by am going again
    can could dear mr a few some question questions s action ask talk what may should about more
""")
"""Words with which somebody is called and nothing is asked."""
_MARK = re.compile(r"@p(\d)")
_WORD = re.compile(r"[a-z]+|@[^p]\d*")


def small_talk(frame: Frame, number: int, said: str, marked: str, past: Past = NEW) -> str:
    """What a person says; `marked` is the template of what is `said` to them. What they can be asked they tell once."""
    person, key, before = frame.people[number], _key(marked), _talks(frame, number, past)
    if _CONTESTED(marked) and _has_told(frame, number, past):
        return _flustered(frame, number, past)
    menu = key in _MENU and any(k in _MENU for k in before)
    others = [frame.people[int(p)].given for p in _MARK.findall(marked) if int(p) != number]
    kind, turn = "unclear_again" if menu and key == "unclear" else key, number + len(before)
    start = text(frame, kind, turn, a=person.role, b=others[0] if others else person.given)
    ways = ""
    if key in _MENU and not menu:
        ways = " " + text(frame, f"topics_{frame.means}", 0)
    elif key not in _PLAIN and not before:
        ways = " " + text(frame, f"ways_{frame.means}", len(said))
    return f'{person.name}: "{start}{ways}"'


def contested(frame: Frame, act: Act, said: str, past: Past) -> str:
    """What a person says whose account of themselves is put in doubt, after they gave it; "" for another act. It is the
    same whether the account is true or not."""
    number = int(act.target[1:])
    if act.topic not in _STATEMENTS or not _CONTESTED(template(frame, said[:HEARD])):
        return ""
    return _flustered(frame, number, past) if _has_told(frame, number, past, (act.topic,)) else ""


def _flustered(frame: Frame, number: int, past: Past) -> str:
    return f'{frame.people[number].name}: "{text(frame, "flustered", number + len(past.heard))}"'


def _has_told(frame: Frame, number: int, past: Past, topics: Sequence[str] = _STATEMENTS) -> bool:
    """Whether a person has stated any of this already."""
    acts = {Act("ask", f"p{number}", topic) for topic in topics}
    return any(read(frame, said).act in acts for said in past.heard)


def _talks(frame: Frame, number: int, past: Past) -> list[str]:
    """How earlier small talk with a person was taken."""
    talk, found = Reading("talk", person=number), list[str]()
    for i, said in enumerate(past.heard):
        if read(frame, said) == talk:
            marked = template(frame, said[:HEARD])
            told = _CONTESTED(marked) and _has_told(frame, number, Past(past.heard[:i]))
            found.append("contested" if told else _key(marked))
    return found


def _key(marked: str) -> str:
    """How what is said is taken; the first that fits."""
    rest = _MARK.sub("", pattern.ASK.sub(" ", marked))
    if _CALLING.issuperset(_WORD.findall(rest)):
        return "called"
    if _PRESSED(marked):
        return "pressed"
    found = next((key for key, says in _SPOKEN if says(marked)), "")
    return found or ("ordered" if _ORDERED(rest) else "unclear")
