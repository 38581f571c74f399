"""What a message may do, and what is known of it up to one of its units (`reading`). Source: ours."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from .cases import Act, Frame


class Reading(NamedTuple):
    """`act` does `act`; `accuse` ends the game with `person` (a number); `talk` speaks to `person` about nothing in
    particular; `body` looks at the dead; `several` and `nothing` do nothing."""

    kind: Literal["act", "accuse", "talk", "body", "several", "nothing"]
    act: Act | None = None
    person: int = -1


class Past(NamedTuple):
    """What a reply may know of the conversation: the messages that were answered before, and the turns that are left
    after this one; None where nobody counts them."""

    heard: tuple[str, ...] = ()
    left: int | None = None


NEW = Past()
NOTHING, MANY, BODY = Reading("nothing"), Reading("several"), Reading("body")


class Context(NamedTuple):
    """What comes before a unit of a message: its sentences, its units, and the last of them; and whom it spoke to,
    mentioned last, and called by name. `words` are all tokens of the message."""

    frame: Frame
    words: tuple[str, ...]
    spoken_to: str = ""
    person: str = ""
    called: str = ""
    before: str = ""
    said: str = ""
    last: str = ""


def asking(person: str, topic: str) -> Reading:
    return Reading("act", Act("ask", person, topic))


def examining(target: str) -> Reading:
    return Reading("act", Act("examine", target))


def looking_at(target: str) -> Reading:
    """A look at a thing, a place or a person; a record, and somebody from outside (`b6`), is checked."""
    return Reading("act", Act("check", f"r{target[1:]}")) if target[0] in "rb" else examining(target)


def talking_to(person: str) -> Reading:
    return Reading("talk", person=int(person[1:]))


_MARK = re.compile(r"@([a-z]\d+)")


def mentioned(template: str, kinds: str) -> list[str]:
    """The ids of these kinds in a template, in order, each once.

    >>> mentioned("@p1 , @p0 and @p1 in the @l3", "p")
    ['p1', 'p0']
    """
    return list(dict.fromkeys(mark for mark in _MARK.findall(template) if mark[0] in kinds))
