"""What well-known cities are known for, as short statements in several wordings (`envs/data/city_sayings.txt`).

Ours. A message agrees with a statement if it has a word of every group that the statement demands, and each of its
other words is among those the statement allows (in brackets) or among the few that say nothing (`_FILLING`): a word
beside these leaves the message unread. Of the cities of a statement that is so read the reply is yes. Of others it is
no only if the statement is marked as true of no other city ("!"); else they get the reply that the message gets
without this table. Of a city that has a namesake or a copy of the thing ("?") neither is said. A name made of common
words ("=") has to stand in the message as it is written: white houses are not the White House.
Who is at home in a city need not be from there: "from" is read only where the statement tells of an origin or a view.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

from ..checks import plain
from .atlas import City, Truth, atlas, kilometres
from .claims import Claim
from .fame import stem
from .replies import UNKNOWN, Asked, Query

_WORDS = (
    "C P is are was were be been being do does did can could would has have had i you your yours one people "
    "locals they their there here this that which where it its the a an of in on at to for with by and into "
    "inside through within near around close behind above off who famous known well renowned called home city "
    "town place site see find visit visited visitors tourists come comes go held happen take took takes place "
    "some many lots lot any every each year annual annually yearly once say said ever , 's my me we get got host "
    "hosted right also somewhere street road stand stands sit sits lie lies located situated today thing things "
    "connected connection associated linked look looks attract attracts draw draws popular tourist tourists travel"
)
PAST = frozenset(("was", "were", "did", "had", "has", "have", "once", "used", "former", "formerly"))
ASKING = frozenset(("what", "which", "who", "whose", "when", "how", "why", "where", "name", "tell", "describe", "if"))
_TOPICS = {
    "airport": "airport",
    "transport": "bike bicycle cable boat tram metro underground subway ferry taxi cab rickshaw monorail maglev train",
    "river": "river confluence rhone danube volga nile",
    "elevation": "altitude highest level",
    "climate": "coldest cold rain rainy wind windy fog hottest",
    "region": "siberia siberian transylvania kashmir scotland bavaria",
}
"""What a statement that demands one of these words is about; of all others it is what the city is known for."""
_NEAR = frozenset(("near", "gateway"))
_APART = frozenset(("painted",))
"""Words that keep their endings: a painting need not hang where it was painted."""
NEARBY = re.compile(
    r"\b(?:near|nearby|close|outside|outskirts|gateway|base|stay|sleep|view|day trip|next to|visit)\b", re.I
)
"""What a message must say that asks for what is not in the city but near it."""
LONGEST = 18
"""Words of a message that are read."""


class Statement(NamedTuple):
    """Groups of words one of each of which is demanded, in this order if `ordered`; words that may stand beside them;
    whether it is true of no other city; whether it is of the past; whether of what is near the city; whether it may
    as well be denied; the name that has to stand as it is; the city."""

    groups: Sequence[frozenset[str]]
    beside: frozenset[str]
    sole: bool
    past: bool
    ordered: bool
    near: bool
    open: bool
    name: str
    city: int


@cache
def root(word: str) -> str:
    """A word without the endings of plurals and verbs.

    >>> [root(w) for w in ("bulls", "running", "dropped", "based", "cities")]
    ['bull', 'run', 'drop', 'bas', 'city']
    """
    word = stem(word)
    if word in _APART:
        return word
    for end in ("ing", "ed"):
        if word.endswith(end) and len(word) > len(end) + 2:
            word = word.removesuffix(end)
            if word[-1] == word[-2] and word[-1] not in "sl":
                word = word[:-1]
    return word.removesuffix("e")


_FILLING = frozenset(root(word) for word in _WORDS.split())
_ORIGINS = frozenset(map(root, ("born", "birthplace", "birth", "origin", "invented", "made", "founded", "view", "see")))
"""Words of the statements beside which "from" may stand."""


def _roots(words: Sequence[str]) -> frozenset[str]:
    return frozenset(map(root, words))


@cache
def statement(text: str, city: int) -> Statement:
    marks = text[: len(text) - len(text.lstrip("!@>=? "))]
    demanded, _, more = text.lstrip("!@>=? ").partition("[")
    groups = [_roots(group.split("/")) for group in demanded.split()]
    beside = _roots(more.rstrip("] ").split())
    near = not _NEAR.isdisjoint(beside)
    name = demanded.strip() if "=" in marks else ""
    if not _ORIGINS.isdisjoint(beside.union(*groups)):
        beside |= {"from"}
    return Statement(groups, beside, "!" in marks, "@" in marks, ">" in marks, near, "?" in marks, name, city)


@cache
def _lines() -> Mapping[str, Sequence[tuple[str, int]]]:
    """A word -> the statements that demand it, or one of its group, first: their texts and cities."""
    found: dict[str, list[tuple[str, int]]] = {}
    for line in files("sonde.envs").joinpath("data", "city_sayings.txt").read_text("ascii").splitlines():
        if not line or line[0] == "#":
            continue
        place, _, texts = line.partition(": ")
        name, _, land = place.rpartition(", ")
        ids = [i for i in atlas().by_name.get(plain(name), ()) if atlas().cities[i].land.name == land]
        for text in map(str.strip, texts.split(";") if ids else ()):
            for word in _roots(text.lstrip("!@>=? ").split(" ", 1)[0].split("/")):
                found.setdefault(word, []).append((text, ids[0]))
    return found


def agrees(made: Statement, words: Sequence[str], past: bool) -> bool:
    """Whether words say what the statement says, and nothing else."""
    if (made.past and not past) or any(group.isdisjoint(words) for group in made.groups):
        return False
    meant = made.beside.union(_FILLING, *made.groups)
    return meant.issuperset(words) and (not made.ordered or _in_order(made.groups, words))


def _named(made: Statement, text: str) -> bool:
    """Whether the name that a statement demands as it is stands in a text."""
    return f" {made.name} " in f" {text} " if made.name else True


def _in_order(groups: Sequence[frozenset[str]], words: Sequence[str]) -> bool:
    """Whether the groups are named one behind the other."""
    places = [[i for i, word in enumerate(words) if word in group] for group in groups]
    return all(a[0] < b[-1] for a, b in pairwise(places))


@dataclass(frozen=True)
class _Truth:
    """Whether the statement holds: a value of its own beside those of what is meant otherwise. None: one may differ."""

    said: bool | None


@dataclass(frozen=True)
class Told(Claim):
    """A claim that a statement holds, and the cities of which it may as well be denied."""

    doubted: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Said:
    """A question whether a statement holds: yes for its cities, for the others what the message means beside that."""

    claim: Told
    otherwise: Query

    @property
    def topic(self) -> str:
        return self.claim.topic

    def value(self, city: City) -> Hashable:
        found = self.claim.truth(city)
        if found is None and city.id in self.claim.doubted:
            return _Truth(None)
        return self.otherwise.value(city) if found is None else _Truth(found)

    def reply(self, value: Hashable) -> str:
        if not isinstance(value, _Truth):
            return self.otherwise.reply(value)
        return UNKNOWN if value.said is None else Asked((self.claim,)).reply(value.said)


@lru_cache(maxsize=4096)
def saying(text: str, near: bool) -> Told | None:
    """The statement that a text in the one form makes, of what is `near` or in the city; None if it says more."""
    said = text.split()
    if not 1 < len(said) <= LONGEST or said[0] in ASKING:
        return None
    words, past = [root(word) for word in said], not PAST.isdisjoint(said)
    found = (statement(*row) for word in dict.fromkeys(words) for row in _lines().get(word, ()))
    read = [made for made in found if (near or not made.near) and _named(made, text) and agrees(made, words, past)]
    rows = [made for made in read if not made.open]
    if not rows:
        return None
    holding = frozenset(made.city for made in rows)
    doubted = frozenset(made.city for made in read if made.open)
    places = [atlas().cities[i] for i in holding] if all(made.sole for made in rows) else []

    def truth(c: City) -> Truth:
        if c.id in holding:
            return True
        if c.id in doubted:
            return None
        return False if places and min(kilometres(c, place) for place in places) > 100 else None

    demanded = frozenset(word for made in rows for group in made.groups for word in group)
    topic = _topic([word for word in words if word in demanded])
    return Told(topic, truth, "that [is|is not] true of my city", doubted=doubted)


def _topic(words: Sequence[str]) -> str:
    return next(
        (topic for topic, cues in _TOPICS.items() if any(root(cue) in words for cue in cues.split())), "landmarks"
    )
