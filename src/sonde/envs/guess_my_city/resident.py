"""The resident's reply to a message, for all cities at once.

Ours. A message is a guess, a yes/no question, an open question, or not understood; `heard_as` returns its replies and
the cities of which each is true. The rule user, the posterior over the cities and the judge share this reading, and a
message has exactly one reply per city.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from .._shared.english.acts import heard
from .._shared.english.claims import Claim
from .._shared.english.lexicon import lines
from .._shared.english.lists import word_set
from .._shared.english.words import base
from .atlas import City, atlas
from .facts import told
from .guesses import Guess, proposed, resembling
from .hearing import asked, turned
from .known import declared, word_list

UNKNOWN = "I do not know."
REFUSED = "I cannot tell you that: naming it is your part of the game."
WRONG = "No, that is not my city."
SEVERAL = "Propose one city at a time, please."
RIGHT = "Goal reached"
FIRST, SECOND = "Yes, the first of the two is true of my city.", "Yes, the second of the two is true of my city."
BOTH, NEITHER = "Yes, both are true of my city.", "No, neither is true of my city."
YES, NO = "Yes, that is true of my city.", "No, that is not true of my city."
HEARD = 2_000
"""Characters of a message that are heard at all."""


class Heard(NamedTuple):
    """A message as it was read: its topic, the guess that it makes, and its replies with the cities of which each is
    true. To all other cities the reply is that it is not known."""

    topic: str
    replies: Mapping[str, int]
    guess: Guess | None = None

    def reply(self, city: City) -> str:
        return next((text for text, mask in self.replies.items() if mask >> city.id & 1), UNKNOWN)


@lru_cache(maxsize=1 << 13)
def heard_as(said: str) -> Heard:
    """Read a message.

    >>> lisbon = next(c for c in atlas().cities if c.name == "Lisbon")
    >>> [heard_as(m).reply(lisbon) for m in ("Is your city by the sea?", "Why is it so?", "Is it Lisbon?")]
    ['Yes, that is true of my city.', 'I do not know.', 'Goal reached']
    """
    said = said[:HEARD]
    guess = proposed(said)
    if guess is not None:
        return Heard("guess", _to_guess(guess), guess)
    claim = asked(said)
    if claim is not None and claim.known:
        return Heard(claim.text.split()[0].strip("?(,"), _to_claim(claim, said))
    found = opened(said)
    if found is None:
        return Heard("unknown", {})
    return Heard("refuse", {REFUSED: atlas().all}) if found == "refuse" else Heard(found, told(found))


def _to_claim(claim: Claim, said: str) -> Mapping[str, int]:
    """Yes and no; of one or the other, which."""
    every = atlas().all
    if claim.choice is None or " or " not in said.lower():
        return {YES: claim.true & every, NO: claim.no & every}
    a, b = claim.choice
    found = {FIRST: a.yes & ~b.yes, SECOND: b.yes & ~a.yes, BOTH: a.yes & b.yes, NEITHER: a.no & b.no}
    return {reply: mask & every for reply, mask in found.items()}


def _to_guess(guess: Guess) -> Mapping[str, int]:
    if guess.named > 1:
        return {SEVERAL: atlas().all}
    if not guess.strange:
        return {RIGHT: guess.cities, WRONG: atlas().all & ~guess.cities}
    return {WRONG: atlas().all & ~resembling(guess.strange)}


# --- open questions --------------------------------------------------------------------------------------------------


class _Way(NamedTuple):
    """One way to ask for a fact: required words, each with alternatives, and words that may stand beside them."""

    fact: str
    words: Sequence[frozenset[str]]
    beside: frozenset[str]


@cache
def _ways() -> Sequence[_Way]:
    found: list[_Way] = []
    for line in lines(declared()["open"]):
        for way in line.phrases:
            words, _, beside = way.partition("[")
            demanded = [frozenset(map(base, word.split("/"))) for word in words.split()]
            found.append(_Way(line.meaning, demanded, frozenset(map(base, beside.rstrip("]").split()))))
    return found


def opened(said: str) -> str | None:
    """The fact that an open question asks for."""
    act = heard(said)
    words = turned(" ".join(act.words)).split()
    if act.kind != "open" and word_list("asking").isdisjoint(words[:6]) and word_list("orders").isdisjoint(words[:1]):
        return None
    held = {base(w) for w in words if w != ","}
    content = held - word_set("dropped") - word_list("empty")
    fits = [
        way
        for way in _ways()
        if all(held & word for word in way.words) and not content - way.beside - frozenset[str]().union(*way.words)
    ]
    return max(fits, key=lambda way: len(way.words)).fact if fits else None


# --- the game --------------------------------------------------------------------------------------------------------


@cache
def canonical() -> Sequence[str]:
    """The questions that are worth asking, open ones first; a line "frame | a; b" is one for each of its parts."""
    rows = (line.partition(" | ") for line in declared()["questions"].splitlines())
    return tuple(frame.replace("<>", word) for frame, _, words in rows for word in words.split("; "))


class Knowledge:
    """The cities of a preset and their replies: `Answers` of `envs/_shared/partition.py`."""

    def __init__(self, preset: str) -> None:
        self.cities: tuple[City, ...] = tuple(c for c in atlas().cities if preset == "paprika" or c.lmrl)
        self._whole = len(self.cities) == len(atlas().cities)
        self.by_title: Mapping[str, City] = {c.title: c for c in self.cities}
        self.names: Sequence[str] = tuple(self.by_title)
        count = Counter(c.name for c in self.cities)
        self.proposals: Mapping[str, str] = {c.name if count[c.name] == 1 else c.title: c.title for c in self.cities}
        """The name of every city, with its country where that is needed to tell it from another -> the city in full."""
        self.questions: Sequence[str] = canonical()
        self.actions: Sequence[str] = (*self.questions, *self.proposals)

    def guess(self, index: int) -> str:
        return self.actions[len(self.questions) + index]

    @lru_cache(maxsize=4096)  # noqa: B019 - there are two of these, for as long as the process lives
    def split(self, said: str) -> Mapping[str, int]:
        """Reply -> the cities of which it is true, as a mask over those of the preset."""
        left, found = (1 << len(self.cities)) - 1, dict[str, int]()
        for text, mask in heard_as(said).replies.items():
            own = mask if self._whole else sum((mask >> c.id & 1) << i for i, c in enumerate(self.cities))
            if own:
                found[text] = own
                left &= ~own
        return {**found, UNKNOWN: left | found.get(UNKNOWN, 0)} if left else found


@cache
def knowledge(preset: str) -> Knowledge:
    return Knowledge(preset)


def reply(city: City, said: str) -> str:
    """Return the resident's reply to a message."""
    return heard_as(said).reply(city)
