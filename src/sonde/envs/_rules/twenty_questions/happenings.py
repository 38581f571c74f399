"""Events named by what was done to something: "the building of the Berlin Wall".

Ours. Another word for what was done names the same event ("the construction of the Berlin Wall", "the Kennedy murder"),
and who names the thing itself may mean the event.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from ..partition import bits
from .topics import knowledge, name_key
from .wordlists import word_list


@cache
def _deeds() -> Mapping[str, str]:
    """A noun of action -> the first of those that mean the same."""
    groups = (group.split() for group in word_list("happenings.deeds"))
    return {word: group[0] for group in groups for word in group}


@cache
def _events() -> Mapping[tuple[str, str], int]:
    """What was done, and to what (the whole name or its last word) -> the events."""
    found: dict[tuple[str, str], int] = {}
    for i in bits(knowledge().roots["event"]):
        for name in (knowledge().names[i], *knowledge().aka[i]):
            deed, what = _parted(name_key(name))
            for text in {what, what.split()[-1]} if deed else ():
                found[deed, text] = found.get((deed, text), 0) | 1 << i
    return found


def _parted(name: str) -> tuple[str, str]:
    """What was done, and to what; empty where a name does not say it.

    >>> _parted("construction of the berlin wall"), _parted("kennedy murder")
    (('building', 'berlin wall'), ('assassination', 'kennedy'))
    """
    deed, _, what = name.partition(" of ")
    if not what:
        what, _, deed = name.rpartition(" ")
    return (_deeds()[deed], what.removeprefix("the ")) if deed in _deeds() and what else ("", "")


def meant(name: str) -> int:
    """The one event that a name, as `name_key` writes it, means in other words; else none."""
    found = _events().get(_parted(name), 0)
    return found if found.bit_count() == 1 else 0


@cache
def about(topics: int) -> int:
    """The events that are named by something done to one of these, people aside: who asks for the Berlin Wall may mean
    that it was built."""
    names = {name_key(n) for i in bits(topics & ~knowledge().roots["person"])
             for n in (knowledge().names[i], *knowledge().aka[i])}  # fmt: skip
    found = 0
    for (_, what), events in _events().items():
        found |= events if what in names else 0
    return found & ~topics
