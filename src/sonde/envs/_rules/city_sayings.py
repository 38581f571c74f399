"""What well-known cities are known for, as short statements in several wordings (`envs/data/city_sayings.txt`).

Ours. A message agrees with a statement if it has a word of every group that the statement demands, and each of its
other words is among those the statement allows (in brackets) or among the few that say nothing (`_FILLING`): a word
beside these leaves the message unread. Of the cities of a statement that is so read the reply is yes. Of others it is
no only if the statement is marked as true of no other city ("!"); else they get the reply that the message gets
without this table.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

from .checks import plain
from .cities import City, Truth, atlas, kilometres
from .city_claims import Claim
from .city_fame import stem
from .city_replies import Asked, Query

_WORDS = (
    "C P is are was were be been being do does did can could would has have had i you your yours one people "
    "locals they their there here this that which where it its the a an of in on at to from for with by and into "
    "inside through within near around close behind above off who famous known well renowned called home city "
    "town place site see find visit visited visitors tourists come comes go held happen take took takes place "
    "some many lots lot any every each year annual annually yearly once say said ever , 's my me we get got host "
    "hosted right also somewhere street road"
)
_PAST = frozenset(("was", "were", "did", "had", "has", "have", "once", "used", "former", "formerly"))
_ASKING = frozenset(("what", "which", "who", "whose", "when", "how", "why", "where", "name", "tell", "describe", "if"))
_TOPICS = {
    "airport": "airport",
    "transport": "bike bicycle cable boat tram metro underground subway ferry taxi cab rickshaw monorail maglev train",
    "river": "river confluence rhone danube volga nile",
    "elevation": "altitude highest level",
    "climate": "coldest cold rain rainy wind windy fog hottest",
    "region": "siberia siberian transylvania kashmir scotland bavaria",
}
"""What a statement with one of these words is about; of all others it is what the city is known for."""
_NEAR = frozenset(("near", "gateway"))
NEARBY = re.compile(
    r"\b(?:near|nearby|close|outside|outskirts|gateway|base|stay|sleep|view|day trip|next to|visit)\b", re.I
)
"""What a message must say that asks for what is not in the city but near it."""
LONGEST = 18
"""Words of a message that are read."""


class Statement(NamedTuple):
    """Groups of words one of each of which is demanded, in this order if `ordered`; words that may stand beside them;
    whether it is true of no other city; whether it is of the past; whether of what is near the city; the city."""

    groups: Sequence[frozenset[str]]
    beside: frozenset[str]
    sole: bool
    past: bool
    ordered: bool
    near: bool
    city: int


@cache
def root(word: str) -> str:
    """A word without the endings of plurals and verbs.

    >>> [root(w) for w in ("bulls", "running", "dropped", "based", "cities")]
    ['bull', 'run', 'drop', 'bas', 'city']
    """
    word = stem(word)
    for end in ("ing", "ed"):
        if word.endswith(end) and len(word) > len(end) + 2:
            word = word.removesuffix(end)
            if word[-1] == word[-2] and word[-1] not in "sl":
                word = word[:-1]
    return word.removesuffix("e")


_FILLING = frozenset(root(word) for word in _WORDS.split())


def _roots(words: Sequence[str]) -> frozenset[str]:
    return frozenset(map(root, words))


def _statement(text: str, city: int) -> Statement:
    marks = text[: len(text) - len(text.lstrip("!@> "))]
    demanded, _, more = text.lstrip("!@> ").partition("[")
    groups = [_roots(group.split("/")) for group in demanded.split()]
    beside = _roots(more.rstrip("] ").split())
    near = not _NEAR.isdisjoint(beside)
    return Statement(groups, beside, "!" in marks, "@" in marks, ">" in marks, near, city)


@cache
def _statements() -> Mapping[str, Sequence[Statement]]:
    """A word -> the statements that demand it, or one of its group, first."""
    found: dict[str, list[Statement]] = {}
    for line in files("sonde.envs").joinpath("data", "city_sayings.txt").read_text("ascii").splitlines():
        if not line or line[0] == "#":
            continue
        place, _, texts = line.partition(": ")
        name, _, land = place.rpartition(", ")
        ids = [i for i in atlas().by_name.get(plain(name), ()) if atlas().cities[i].land.name == land]
        for made in (_statement(text.strip(), i) for text in texts.split(";") for i in ids[:1]):
            for word in made.groups[0]:
                found.setdefault(word, []).append(made)
    return found


def _agrees(made: Statement, words: Sequence[str], past: bool) -> bool:
    """Whether words say what the statement says, and nothing else."""
    if (made.past and not past) or any(group.isdisjoint(words) for group in made.groups):
        return False
    meant = made.beside.union(_FILLING, *made.groups)
    return meant.issuperset(words) and (not made.ordered or _in_order(made.groups, words))


def _in_order(groups: Sequence[frozenset[str]], words: Sequence[str]) -> bool:
    """Whether the groups are named one behind the other."""
    places = [[i for i, word in enumerate(words) if word in group] for group in groups]
    return all(a[0] < b[-1] for a, b in pairwise(places))


@dataclass(frozen=True)
class _Truth:
    """Whether the statement holds: a value of its own beside those of what is meant otherwise."""

    said: bool


@dataclass(frozen=True)
class Said:
    """A question whether a statement holds: yes for its cities, for the others what the message means beside that."""

    claim: Claim
    otherwise: Query

    @property
    def topic(self) -> str:
        return self.claim.topic

    def value(self, city: City) -> Hashable:
        found = self.claim.truth(city)
        return self.otherwise.value(city) if found is None else _Truth(found)

    def reply(self, value: Hashable) -> str:
        return Asked((self.claim,)).reply(value.said) if isinstance(value, _Truth) else self.otherwise.reply(value)


@lru_cache(maxsize=4096)
def saying(text: str, near: bool) -> Claim | None:
    """The statement that a text in the one form makes, of what is `near` or in the city; None if it says more."""
    said = text.split()
    if not 1 < len(said) <= LONGEST or said[0] in _ASKING:
        return None
    words, past = [root(word) for word in said], not _PAST.isdisjoint(said)
    found = (made for word in dict.fromkeys(words) for made in _statements().get(word, ()))
    rows = [made for made in found if (near or not made.near) and _agrees(made, words, past)]
    if not rows:
        return None
    holding = frozenset(made.city for made in rows)
    places = [atlas().cities[i] for i in holding] if all(made.sole for made in rows) else []

    def truth(c: City) -> Truth:
        if c.id in holding:
            return True
        return False if places and min(kilometres(c, place) for place in places) > 100 else None

    return Claim(_topic(words), truth, "that [is|is not] true of my city")


def _topic(words: Sequence[str]) -> str:
    return next(
        (topic for topic, cues in _TOPICS.items() if any(root(cue) in words for cue in cues.split())), "landmarks"
    )
