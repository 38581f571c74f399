"""The reader of twenty questions: its phrasings, its names, and what a message asks.

Ours. `data/` declares knowledge and phrasings; `envs/_shared/english` reads the language. To teach it a
new way to ask, add a phrase to `data/phrases.txt`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache, lru_cache

from .._shared.english.claims import Claim, negated, strong
from .._shared.english.clauses import Subject
from .._shared.english.grammar import Grammar
from .._shared.english.lexicon import PREPOSITIONS, Lexicon, Line, lines
from .._shared.english.naming import Names, fold_subject, message_words, proposals
from .._shared.english.room import Reading, Room, content
from .._shared.english.words import Words, key
from .._shared.words.lists import LENGTHS, allowed
from .knowledge import blocks, knowledge, text
from .names import Namer, begins_name, guess_for, longest_name, topics_named
from .regions import native, region, took_part, within
from .world import SLOTS, Topics


@cache
def declared() -> list[Line]:
    """The lines of the phrase file."""
    return lines(text("phrases.txt"))


@cache
def word_sets() -> Mapping[str, frozenset[str]]:
    """The lists of `data/lists.txt`."""
    return {name: frozenset(" ".join(body).split()) for name, body in blocks("lists").items()}


@cache
def lexicon() -> Lexicon:
    """The declared phrasings, the names of classes, and the meanings of attributes in the knowledge base."""
    return Lexicon(declared(), Topics(), SLOTS, [*_classes(), *_meanings()])


def _classes() -> Iterator[Line]:
    for name, names in knowledge().classes.items():
        yield Line(name, "", [f"is {phrase}" for phrase in names if not phrase.startswith(("something", "thing "))])


_MEANT = {"is": "is", "was": "is", "has": "has", "people": "ob", "can": "does"}
_LISTED = re.compile(r"an? (\w+(?:, \w+)* or (?:an? )?\w+)")


def _meanings() -> Iterator[Line]:
    """Parse the phrases in the meanings of attributes ("it has a beak or bill")."""
    for name, meaning in knowledge().meanings.items():
        first, _, rest = re.sub(r"^(?:it|they) |\(.*?\)|, such as .*|[<>\[\]|]", "", meaning).partition(" ")
        frame = _MEANT.get(first, "does")
        rest = rest if first in _MEANT else f"{first} {rest}"
        if frame == "ob":
            rest = re.sub(r"\b(?:it|them)\b", "", rest)
        if rest.strip() and not re.search(r"\d|million", rest):
            listed = _LISTED.fullmatch(rest.strip()) if frame == "is" else None
            several = re.split(r", | or (?:an? )?", listed[1]) if listed else ()
            yield Line(name, "", [f"{frame} {text.strip()}" for text in (rest, *several)])


@cache
def grammar() -> Grammar:
    sets = word_sets()
    groups = dict(pair.split(":") for pair in sorted(sets["groups"]))
    namer = Namer(lexicon().asked, sets)
    return Grammar(lexicon(), Subject(groups=groups), namer.named, _on_map, _by)


_DIRECTIONS = frozenset(
    ("northern", "southern", "eastern", "western", "central", "north", "south", "east", "west", "of", "southeast")
)
"""Words for a part of a region: where the region is wrong, its parts are; where it is right, that is not known."""


def _on_map(words: Words) -> Claim | None:
    """A preposition and a region: "in Europe", "from Japan", "of American"."""
    first, rest = words[0], words[1:]
    if first not in PREPOSITIONS or PREPOSITIONS[first] not in ("", "outside"):
        return None
    name = region([w for w in rest if w != "of"] if first == "outside" else rest)
    if name is not None:
        if first == "outside":
            return negated(within(name))
        return native(name) if first in ("from", "of") else within(name)
    part = [w for w in rest if w not in _DIRECTIONS]
    name = region(part) if 0 < len(part) < len(rest) else None
    return strong(within(name), "part of") if name is not None else None


_TAKING_PART = frozenset(("involve", "take part", "participate", "play role", "involve in", "participant"))


def _by(words: Words) -> Claim | None:
    """As in "(was) Germany involved", "(did) France take part in it"."""
    for n in range(min(len(words) - 1, 4), 0, -1):
        name = region(words[:n])
        if name is not None:
            rest = key([w for w in words[n:] if w not in ("it", "this", "event", "war", "in", "the")])
            return took_part(name) if rest in _TAKING_PART else None
    return None


@cache
def _vocabulary() -> Collection[str]:
    """The words of all phrasings and names."""
    texts: Iterable[str] = (*lexicon().keys, *knowledge().lookup)
    return frozenset(word for text in texts for word in re.split(r"[: ]", text) if len(word) > 3)


def _common(word: str) -> bool:
    return len(word) in LENGTHS and word in allowed(len(word))


@cache
def room() -> Room:
    return Room(grammar(), _vocabulary, _common)


def read(said: str) -> Reading:
    """Read what a message asks.

    >>> read("What color is it?").kind, read("Is it green? Is it slimy?").kind
    ('open', 'several')
    >>> read("Is it bigger or smaller than a car?").kind
    'open'
    """
    return _read(said)


_ALWAYS = 15
"""Who hear yes, for one who hears no."""


@lru_cache(maxsize=1 << 14)
def _read(said: str) -> Reading:
    found = _understood(said)
    which = found.claim is not None and " or " in said.lower() and _asks_which(found.claim)
    return Reading("open") if which else found


def _understood(said: str) -> Reading:
    """Read a message. The kind that the opening names ("the illness or remedy") is "it"; a guess that no sentence of
    the room covers is found by the name in it."""
    folded = " ".join(fold_subject(words := message_words(said), kinds()))
    found = room().read(folded) if folded != " ".join(words) else None
    if found is not None and found.claim is not None and found.claim.goal:
        return found
    plain = room().read(said)
    if plain.claim is None and found is not None and found.claim is not None:
        return found
    if plain.kind != "unclear":
        return plain
    return _proposed(said) or plain


def _proposed(said: str) -> Reading | None:
    """Return the guess that a message makes by name; None for several."""
    found = set(proposals(said, names()))
    return Reading("asks", guess_for(found.pop(), word_sets()["vague"])) if len(found) == 1 else None


@cache
def kinds() -> tuple[tuple[str, ...], ...]:
    """What the openings call the hidden thing, as words: the categories, and the parts that "or" joins in them."""
    whole = [category.partition(" ")[2] for category in sorted(set(knowledge().category))]
    parts = [part for text in whole for part in text.split(" or ")]
    return tuple(dict.fromkeys(tuple(message_words(text)) for text in (*whole, *parts, *_OTHER_KINDS)))


_OTHER_KINDS = ("common English noun", "English noun", "noun", "well-known thing", "thing")
"""What the openings that name no category speak of."""
_BEFORE_NO_GUESS = frozenset(("in", "on", "at", "from", "for", "by", "with", "to", "as", "into"))
"""Words before what is no guess: "is it for a shark" does not ask whether it is one."""


@cache
def names() -> Names:
    """The names of all topics, as messages are searched for them."""
    return Names(topics_named, longest_name(), begins=begins_name, aside=_stands_beside, kinds=kinds(), common=True)


def _stands_beside(before: str, name: str) -> bool:
    return before in _BEFORE_NO_GUESS


_MEASURED = re.compile(r"\.\.|^[<>] ")


def _asks_which(claim: Claim) -> bool:
    """Whether a question asks which of two things is so and not whether one is: both are about the same number, or one
    of them is true of nearly everything."""
    if claim.choice is None:
        return False
    first, second = (side.text.partition(" ") for side in claim.choice)
    if first[0] == second[0] and all(_MEASURED.search(side[2]) for side in (first, second)):
        return True
    yes, no = ((mask & knowledge().all).bit_count() for mask in (claim.yes, claim.no))
    return yes > _ALWAYS * no


def sense(said: str) -> object:
    """Return a value that is equal for equal questions: the topics of which they are true and false, or, for a question
    that is not understood, its words.

    >>> sense("Why glorp?") == sense("why, GLORP"), sense("Does it glorp?") == sense("Does it not glorp?")
    (True, False)
    """
    claim = read(said).claim
    if claim is not None and claim.known & knowledge().all:
        every = knowledge().all
        return claim.yes & every, claim.no & every, claim.goal
    return content(said)


def repeats(said: str, heard: Iterable[str]) -> bool:
    """Whether one of the messages heard before asks the same: the reply *repeated* of ΔBelief-RL. A message without
    content repeats nothing."""
    mine = sense(said)
    return bool(mine) and any(sense(other) == mine for other in heard)
