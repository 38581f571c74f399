"""What can be claimed about a city: a truth for every city, and the sentence that says so.

Ours. A claim is true, false or not known (see `atlas.py`). Its words hold the two ways to say it: "my city [is|is not]
in Europe". What a phrase such as "a big city" or "near" means is a pair of limits with a gap between them, in which
the answer is not known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .atlas import City, Truth, all_of, any_of, negation

_EITHER = re.compile(r"\[([^|\]]*)\|([^\]]*)\]")


@dataclass(frozen=True)
class Claim:
    """A statement about the city: its topic, when it is true, and its words."""

    topic: str
    truth: Callable[[City], Truth]
    words: str
    label: str = ""
    """Of a thing that the city may be known for: its plain name."""

    def say(self, truth: bool) -> str:
        """The claim or its contrary as a clause.

        >>> Claim("coast", lambda city: True, "my city [is|is not] on the sea").say(False)
        'my city is not on the sea'
        """
        return _EITHER.sub(r"\1" if truth else r"\2", self.words)


def limits(value: float | None, yes: float, no: float) -> Truth:
    """True from `yes` on, False up to `no`, not known between; `yes` may be the lower one."""
    if value is None:
        return None
    if yes >= no:
        return True if value >= yes else False if value <= no else None
    return True if value <= yes else False if value >= no else None


def opposite(claim: Claim, words: str) -> Claim:
    """The contrary, in words of its own."""
    return Claim(claim.topic, lambda c: negation(claim.truth(c)), words)


def either(topic: str, claims: Iterable[Claim], words: str) -> Claim:
    rows = tuple(claims)
    return Claim(topic, lambda c: any_of(x.truth(c) for x in rows), words)


def both(topic: str, claims: Iterable[Claim], words: str) -> Claim:
    rows = tuple(claims)
    return Claim(topic, lambda c: all_of(x.truth(c) for x in rows), words)
