"""What people say who are asked nothing that they can be asked: the same for the guilty and the innocent. Source: ours.

They are polite, go on about nothing, and name what they can be asked about. The wordings are in
`data/murder_mystery/small_talk.toml`.
"""

from __future__ import annotations

import re

from . import patterns as pattern
from .cases import Frame
from .facts import text
from .tokens import words
from .wordings import wordings

_SAID = wordings("small_talk")
_PRESSED, CONFESS, _ORDERED = _SAID.test("pressed"), _SAID.test("confess"), _SAID.test("ordered")
_SPOKEN = tuple((key, _SAID.test(key)) for key in ("company", "last_seen", "heard", "private", "everything", "greeted"))
_CALLING = words("""
    i we would will want like to let us me the please now hello hi hey and next go first start with by am going again
    can could dear mr a few some question questions s action ask talk what may should about more
""")
"""Words with which somebody is called and nothing is asked."""
_MARK = re.compile(r"@p(\d)")
_WORD = re.compile(r"[a-z]+|@[^p]\d*")


def small_talk(frame: Frame, number: int, said: str, marked: str) -> str:
    """What a person says; `marked` is the template of what is `said` to them."""
    person, key = frame.people[number], _key(marked)
    others = [frame.people[int(p)].given for p in _MARK.findall(marked) if int(p) != number]
    start = text(frame, key, number + len(said), a=person.role, b=others[0] if others else person.given)
    if key == "company":
        return f'{person.name}: "{start}"'
    full = key in ("called", "everything", "pressed")
    ways = text(frame, f"topics_{frame.means}", 0) if full else text(frame, f"ways_{frame.means}", len(said))
    return f'{person.name}: "{start} {ways}"'


def _key(marked: str) -> str:
    """How what is said is taken; the first that fits."""
    rest = _MARK.sub("", pattern.ASK.sub(" ", marked))
    if _CALLING.issuperset(_WORD.findall(rest)):
        return "called"
    if _PRESSED(marked):
        return "pressed"
    found = next((key for key, says in _SPOKEN if says(marked)), "")
    return found or ("ordered" if _ORDERED(rest) else "unclear")
