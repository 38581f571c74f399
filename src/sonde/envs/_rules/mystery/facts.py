"""What can be told of a case at any time: what its briefing says, in other words. Source: ours.

Everything here follows from the frame, so it is the same whatever is hidden. `turn` chooses among sentences of the same
meaning.
"""

from __future__ import annotations

from collections.abc import Callable

from .cases import Frame, Person, data
from .telling import fill, listed, pick

Say = Callable[[Frame, int], str]


def text(frame: Frame, key: str, turn: int, person: Person | None = None, **more: str) -> str:
    """One of the replies of a kind."""
    return fill(frame, pick(frame, data()["text"]["reply"][key], key, turn), person, **more)


def victim(frame: Frame, turn: int) -> str:
    row, say = data()["settings"][frame.setting], data()["text"]["briefing"]
    about = {key: row[key] for key in ("occasion", "site", "victim")}
    told = fill(frame, pick(frame, say[frame.method], "how"))
    return f"{text(frame, 'victim', turn, **about)} {told} {text(frame, 'ask_on', turn)}"


def way_in(frame: Frame, turn: int) -> str:
    """How whoever did it came in, as far as that is known."""
    return f"{fill(frame, pick(frame, data()['text']['briefing'][frame.means], 'by'))} {text(frame, 'anyone', turn)}"


def person(frame: Frame, number: int, turn: int) -> str:
    """Who somebody is."""
    who = frame.people[number]
    known = text(frame, "suspect_is" if who.suspect else "witness_is", turn, who, a=who.role)
    return f"{known} {text(frame, 'about', turn, who)}"


def suspects(frame: Frame, turn: int) -> str:
    return text(frame, "suspects", turn, items=_named(frame, True))


def witnesses(frame: Frame, turn: int) -> str:
    alone = sum(not p.suspect for p in frame.people) == 1
    return text(frame, "witness" if alone else "witnesses", turn, items=_named(frame, False))


def _named(frame: Frame, suspects: bool) -> str:
    return listed([f"{p.name} ({p.role})" for p in frame.people if p.suspect is suspects])


def people(frame: Frame, turn: int) -> str:
    outside = listed([r.name for r in frame.records if r.kind == "bystander"])
    more = [text(frame, "bystander", turn, items=outside)] if outside else []
    return " ".join([suspects(frame, turn), witnesses(frame, turn), *more])


def places(frame: Frame, turn: int) -> str:
    return text(frame, "places", turn, items=listed([p.name for p in frame.places]))


def records(frame: Frame, turn: int) -> str:
    return text(frame, "records", turn, items=listed([r.name for r in frame.records if r.kind != "bystander"]))


def things(frame: Frame, turn: int) -> str:
    seen = listed([i.name for i in frame.items if i.place == 0])
    return f"{text(frame, 'things', turn, items=seen)} {records(frame, turn)} {text(frame, 'more', turn)}"


def outsider(frame: Frame, number: int, turn: int) -> str:
    """Who is neither a suspect nor a witness."""
    return text(frame, "outsider", turn, record=frame.records[number].name)


def turns(frame: Frame, turn: int, left: int) -> str:
    """How many turns are left."""
    return text(frame, "turns" if left > 1 else "last_turn" if left else "no_turn", turn, a=str(left))


def everything(frame: Frame, turn: int) -> str:
    return " ".join(say(frame, turn) for say in (victim, people, things, places))


def after(key: str, *lists: Say) -> Say:
    """A remark, and what there is instead."""
    return lambda frame, turn: " ".join([text(frame, key, turn), *(say(frame, turn) for say in lists)])
