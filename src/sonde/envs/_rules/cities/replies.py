"""What the resident says: the query of a message and the city give one sentence.

Ours. A query has a value for every city, and one reply for every value, so that a filter over all cities asks for each
reply once. Yes/no questions begin with "Yes" or "No" and say the fact in full, open ones say it in a sentence. No reply
holds a name of the city, of its country or its people (languages aside) that the question does not hold; where a fact
cannot be told without one, it is told with less (a currency as "a kind of dollar"), or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, cast

from ..checks import plain
from .atlas import City, Truth, all_of, any_of, negation
from .claims import Claim

UNKNOWN = "I do not know."

REFUSED = "I cannot tell you that: naming it is your part of the game."

WRONG = "No, that is not my city."

SEVERAL = "Propose one city at a time, please."

RIGHT = "Goal reached"


class Query(Protocol):
    """What a message asks."""

    @property
    def topic(self) -> str: ...
    def value(self, city: City) -> Hashable: ...
    def reply(self, value: Hashable) -> str: ...


@dataclass(frozen=True)
class Silent:
    """A message that is not understood, or that asks for the name: the same reply whatever the city."""

    topic: str
    text: str = UNKNOWN

    def value(self, city: City) -> Hashable:
        return None

    def reply(self, value: Hashable) -> str:
        return self.text


@dataclass(frozen=True)
class Asked:
    """A yes/no question: `how` is "one", "all", "any", or "which" for alternatives of which just one is true."""

    claims: tuple[Claim, ...]
    how: str = "one"
    negated: bool = False

    @property
    def topic(self) -> str:
        return self.claims[0].topic

    def value(self, city: City) -> Hashable:
        if self.how == "one":
            return self.claims[0].truth(city)
        truths = tuple(claim.truth(city) for claim in self.claims)
        return None if self._total(truths) is None else truths

    def _total(self, truths: tuple[Truth, ...]) -> Truth:
        return all_of(truths) if self.how == "all" else any_of(truths)

    def reply(self, value: Hashable) -> str:
        if value is None:
            return UNKNOWN
        truths = cast("tuple[Truth, ...]", value if isinstance(value, tuple) else (bool(value),))
        rows = sorted(zip(self.claims, truths, strict=True), key=lambda row: row[1] is not True)
        said = [claim.say(t) for claim, t in rows if t is not None]
        if self.how == "which" and truths.count(True) == 1 and not self.negated:
            return f"{_upper(self.claims[truths.index(True)].say(True))}."
        total = self._total(truths)
        word = "Yes" if (negation(total) if self.negated else total) else "No"
        return f"{word}, {'; '.join(said)}."


@lru_cache(maxsize=50_000)
def _fact(fact: Callable[[City], str | None], city: City) -> str | None:
    return fact(city)


@dataclass(frozen=True)
class Told:
    """An open question: a fact in words, or None where it is not known."""

    topic: str
    fact: Callable[[City], str | None]

    def value(self, city: City) -> Hashable:
        return _fact(self.fact, city)

    def reply(self, value: Hashable) -> str:
        return UNKNOWN if value is None else f"{value}."


@dataclass(frozen=True)
class Guess:
    """The cities that a message proposes: those that it may mean, how many different ones it names, and a name that
    stands for no city of the list."""

    cities: frozenset[int]
    count: int
    strange: str = ""
    topic: str = "guess"

    def value(self, city: City) -> Hashable:
        if self.count > 1:
            return "several"
        if self.strange:
            return None if resembles(self.strange, city) else False
        return city.id in self.cities

    def reply(self, value: Hashable) -> str:
        if value == "several":
            return SEVERAL
        return UNKNOWN if value is None else RIGHT if value else WRONG


def resembles(name: str, city: City) -> bool:
    """Whether a name that is not in the list may be a way to write the city's: then nothing is said."""
    for own in (city.name, *city.aliases):
        a, b = plain(own).replace(" ", ""), name.replace(" ", "")
        if a[:3] == b[:3] or a in b or b in a or _apart(a, b) <= 2:
            return True
    return False


def _apart(a: str, b: str) -> int:
    """Edit distance, cut off at 3."""
    if abs(len(a) - len(b)) > 2:
        return 3
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return min(3, row[-1])


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]
