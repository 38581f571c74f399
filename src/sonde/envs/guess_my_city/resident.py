"""The resident's reply to a message, for all cities at once.

Ours. A message is a guess, a yes/no question, an open question, not understood, or no question; `read_city_message`
returns its replies, each with the cities for which it is true. The rule user, the posterior over the cities and the
judge share this reading, and a message has exactly one reply per city.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from sonde.core import UNCLEAR, UNKNOWN

from .._shared.english.claims import Claim
from .._shared.english.lexicon import parse_lines
from .._shared.english.sentences import is_question, read_act
from .._shared.english.tokens import base_form, word_set
from .atlas import City, load_atlas
from .attributes import declared_sections, section_words
from .facts import fact_replies
from .guesses import Guess, read_guess, similar_cities
from .hearing import normalise_question, read_question

NO_QUESTION = "That is no question about my city."
REFUSED = "I cannot tell you that: naming it is your part of the game."
WRONG = "No, that is not my city."
SEVERAL = "Propose one city at a time, please."
RIGHT = "Goal reached"
FIRST, SECOND = "Yes, the first of the two is true of my city.", "Yes, the second of the two is true of my city."
BOTH, NEITHER = "Yes, both are true of my city.", "No, neither is true of my city."
YES, NO = "Yes, that is true of my city.", "No, that is not true of my city."
HEARD = 2_000
"""Maximum characters of a message that the resident reads."""


class ReadQuestion(NamedTuple):
    """The reading of a message: its topic, its guess if it makes one, and its replies, each with the cities for which
    it is true. For all other cities the reply is that the resident does not know."""

    topic: str
    replies: Mapping[str, int]
    guess: Guess | None = None

    def reply_to(self, city: City) -> str:
        return next((text for text, mask in self.replies.items() if mask >> city.id & 1), UNKNOWN)


@lru_cache(maxsize=1 << 13)
def read_city_message(said: str) -> ReadQuestion:
    """Read a message.

    >>> lisbon = next(c for c in load_atlas().cities if c.name == "Lisbon")
    >>> [read_city_message(m).reply_to(lisbon) for m in ("Is your city by the sea?", "Why is it so?", "Is it Lisbon?")]
    ['Yes, that is true of my city.', 'I do not understand.', 'Goal reached']
    """
    said = said[:HEARD]
    guess = read_guess(said)
    if guess is not None:
        return ReadQuestion("guess", _replies_to_guess(guess), guess)
    claim = read_question(said)
    if claim is not None and claim.known_things:
        return ReadQuestion(claim.text.split()[0].strip("?(,"), _replies_to_claim(claim, said))
    found = read_open_question(said)
    if found is None:
        return ReadQuestion("unknown", {UNCLEAR if is_question(said) else NO_QUESTION: load_atlas().all})
    return (
        ReadQuestion("refuse", {REFUSED: load_atlas().all})
        if found == "refuse"
        else ReadQuestion(found, fact_replies(found))
    )


def _replies_to_claim(claim: Claim, said: str) -> Mapping[str, int]:
    """Yes and no; of one or the other, which."""
    every = load_atlas().all
    if claim.two_sides is None or " or " not in said.lower():
        return {YES: claim.yes_or_goal & every, NO: claim.no & every}
    a, b = claim.two_sides
    found = {FIRST: a.yes & ~b.yes, SECOND: b.yes & ~a.yes, BOTH: a.yes & b.yes, NEITHER: a.no & b.no}
    return {reply: mask & every for reply, mask in found.items()}


def _replies_to_guess(guess: Guess) -> Mapping[str, int]:
    if guess.named > 1:
        return {SEVERAL: load_atlas().all}
    if not guess.strange:
        return {RIGHT: guess.cities, WRONG: load_atlas().all & ~guess.cities}
    return {WRONG: load_atlas().all & ~similar_cities(guess.strange)}


# --- open questions --------------------------------------------------------------------------------------------------


class _Way(NamedTuple):
    """One way to ask for a fact: required words, each with alternatives, and words that may stand beside them."""

    fact: str
    words: Sequence[frozenset[str]]
    beside: frozenset[str]


@cache
def _declared_ways() -> Sequence[_Way]:
    found: list[_Way] = []
    for line in parse_lines(declared_sections()["open"]):
        for way in line.phrases:
            words, _, beside = way.partition("[")
            demanded = [frozenset(map(base_form, word.split("/"))) for word in words.split()]
            found.append(_Way(line.meaning, demanded, frozenset(map(base_form, beside.rstrip("]").split()))))
    return found


def read_open_question(said: str) -> str | None:
    """The fact that an open question asks for."""
    act = read_act(said)
    words = normalise_question(" ".join(act.words)).split()
    if (
        act.kind != "open"
        and section_words("asking").isdisjoint(words[:6])
        and section_words("orders").isdisjoint(words[:1])
    ):
        return None
    held = {base_form(w) for w in words if w != ","}
    content = held - word_set("dropped") - section_words("empty")
    fits = [
        way
        for way in _declared_ways()
        if all(held & word for word in way.words) and not content - way.beside - frozenset[str]().union(*way.words)
    ]
    return max(fits, key=lambda way: len(way.words)).fact if fits else None


# --- the game --------------------------------------------------------------------------------------------------------


@cache
def canonical_questions() -> Sequence[str]:
    """The questions that are worth asking, open ones first; a line "frame | a; b" gives one question per part."""
    rows = (line.partition(" | ") for line in declared_sections()["questions"].splitlines())
    return tuple(frame.replace("<>", word) for frame, _, words in rows for word in words.split("; "))


class CityAnswers:
    """The cities of a preset and their replies: `Answers` of `envs/_shared/partition.py`."""

    def __init__(self, preset: str) -> None:
        self.cities: tuple[City, ...] = tuple(c for c in load_atlas().cities if preset == "paprika" or c.lmrl)
        self._whole = len(self.cities) == len(load_atlas().cities)
        self.by_title: Mapping[str, City] = {c.title: c for c in self.cities}
        self.names: Sequence[str] = tuple(self.by_title)
        count = Counter(c.name for c in self.cities)
        self.proposals: Mapping[str, str] = {c.name if count[c.name] == 1 else c.title: c.title for c in self.cities}
        """The name of every city, with its country where that is needed to tell it from another -> the city in full."""
        self.questions: Sequence[str] = canonical_questions()
        self.actions: Sequence[str] = (*self.questions, *self.proposals)

    def guess(self, index: int) -> str:
        return self.actions[len(self.questions) + index]

    @lru_cache(maxsize=4096)  # noqa: B019 - there are two of these, for as long as the process lives
    def split(self, said: str) -> Mapping[str, int]:
        """Reply -> the cities of which it is true, as a mask over those of the preset."""
        left, found = (1 << len(self.cities)) - 1, dict[str, int]()
        for text, mask in read_city_message(said).replies.items():
            own = mask if self._whole else sum((mask >> c.id & 1) << i for i, c in enumerate(self.cities))
            if own:
                found[text] = own
                left &= ~own
        return {**found, UNKNOWN: left | found.get(UNKNOWN, 0)} if left else found


@cache
def city_answers(preset: str) -> CityAnswers:
    return CityAnswers(preset)


def answer_message(city: City, said: str) -> str:
    """Return the resident's reply to a message."""
    return read_city_message(said).reply_to(city)
