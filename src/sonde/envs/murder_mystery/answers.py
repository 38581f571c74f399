"""What is said to a detective's message that does nothing: help, and what the briefing tells already.

Who is there, where one can go, which records and visible things there are, what is known of the victim and how many
turns are left can be asked for at any time, and costs a turn like everything else; a person who is asked nothing that
people can be asked tells what that is. Everything here follows from the message and from the frame, so it is the same
whatever is hidden. The wordings are `[told]` in `data/phrases.txt`. Source: ours; PAPRIKA
(arXiv:2502.17543), appendix B.4.4, has a language model improvise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from .cases import Frame, data
from .names import mentioned, sentences, spoken
from .phrases import says
from .reading import LONGEST
from .telling import fill, listed, pick
from .units import Reading, order


def unanswered(frame: Frame, found: Reading, said: str, left: int | None) -> str:
    """The answer to a message that was read as `found`, which is neither an act nor an accusation; `left` are the turns
    after this one, None where nobody counts them."""
    turn = len(said)
    if found.kind == "body":
        return _text(frame, f"body_{frame.method}", 0)
    if found.kind == "several":
        return _text(frame, "several", turn)
    words = tuple(w for s in sentences(frame, said[:LONGEST]) for w in (*s.words, ","))
    plain = tuple(w for s in spoken(said[:LONGEST]) for w in (*s.words, ","))
    if left is not None and says("turns left", plain):
        return _text(frame, "turns" if left > 1 else "last_turn" if left else "no_turn", turn, a=str(left))
    if found.kind == "talk":
        person = frame.people[found.person]
        return f'{person.name}: "{_text(frame, "unclear", turn)} {_text(frame, f"topics_{frame.means}", 0)}"'
    asked = next((name for name in _TOLD if says(name, words) or says(name, plain)), None)
    if asked and not mentioned(words, "p"):
        return _TOLD[asked](frame, turn)
    if mentioned(words, "p") and says("guilt", words):
        return _text(frame, "suspicion", turn)
    if {"you", "your", "him", "her", "them"} & {*words}:
        return f"{_text(frame, 'unnamed', turn)} {_people(frame, turn)}"
    looks = order(words) is not None and not mentioned(words, "pirblx")
    return _text(frame, "absent" if looks else "nothing", turn)


def _text(frame: Frame, key: str, turn: int, **more: str) -> str:
    """One of the replies of a kind."""
    return fill(frame, pick(frame, data()["text"]["reply"][key], key, turn), None, **more)


def _victim(frame: Frame, turn: int) -> str:
    row, say = data()["settings"][frame.setting], data()["text"]["briefing"]
    told = fill(frame, pick(frame, say[frame.method], "how"))
    about = {key: row[key] for key in ("occasion", "site", "victim")}
    found = fill(frame, pick(frame, data()["text"]["reply"]["victim"], "victim", turn), **about)
    return f"{found} {told} {_text(frame, 'ask_on', turn)}"


def _group(frame: Frame, turn: int, suspects: bool) -> str:
    names = [f"{p.name} ({p.role})" for p in frame.people if p.suspect is suspects]
    key = "suspects" if suspects else "witness" if len(names) == 1 else "witnesses"
    return _text(frame, key, turn, items=listed(names))


def _people(frame: Frame, turn: int) -> str:
    outside = listed([r.name for r in frame.records if r.kind == "bystander"])
    more = [_text(frame, "bystander", turn, items=outside)] if outside else []
    return " ".join([_group(frame, turn, True), _group(frame, turn, False), *more])


def _records(frame: Frame, turn: int) -> str:
    return _text(frame, "records", turn, items=listed([r.name for r in frame.records if r.kind != "bystander"]))


def _things(frame: Frame, turn: int) -> str:
    seen = listed([i.name for i in frame.items if i.place == 0])
    return f"{_text(frame, 'things', turn, items=seen)} {_records(frame, turn)} {_text(frame, 'more', turn)}"


_TOLD: Final[Mapping[str, Callable[[Frame, int], str]]] = {
    "suspects": lambda frame, turn: _group(frame, turn, True),
    "witnesses": lambda frame, turn: _group(frame, turn, False),
    "people": _people,
    "places": lambda frame, turn: _text(frame, "places", turn, items=listed([p.name for p in frame.places])),
    "records": _records,
    "things": _things,
    "victim is": _victim,
}
"""What a message may ask of the briefing -> what is said; the first that fits."""
