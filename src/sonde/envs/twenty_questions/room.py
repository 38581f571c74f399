"""The reader of twenty questions: its phrasings, its names, and what a message asks.

Ours. `data/` declares knowledge and phrasings; `envs/_shared/english` reads the language. To add a new way to ask, add
a phrase to `data/phrases.txt`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache, lru_cache

from .._shared.english.claims import Claim, negate_claim, strengthen_claim
from .._shared.english.grammar import Grammar, ReadClaim, Room, content_words
from .._shared.english.lexicon import PREPOSITIONS, Lexicon, Line, parse_lines
from .._shared.english.naming import Names, find_proposals, fold_subject, message_words
from .._shared.english.sentences import Subject, is_question
from .._shared.english.tokens import Words, phrase_key
from .._shared.words.lists import LENGTHS, allowed_words
from .knowledge import data_blocks, data_text, topic_knowledge
from .names import Namer, begins_name, guess_for, longest_name, topics_named
from .regions import claim_native, claim_took_part, claim_within, find_region
from .world import SLOTS, TopicColumns


@cache
def declared_lines() -> list[Line]:
    """The lines of the phrase file."""
    return parse_lines(data_text("phrases.txt"))


@cache
def declared_word_sets() -> Mapping[str, frozenset[str]]:
    """The lists of `data/lists.txt`."""
    return {name: frozenset(" ".join(body).split()) for name, body in data_blocks("lists").items()}


@cache
def topic_lexicon() -> Lexicon:
    """The declared phrasings, the names of classes, and the meanings of attributes in the knowledge base."""
    return Lexicon(declared_lines(), TopicColumns(), SLOTS, [*_class_lines(), *_meaning_lines()])


def _class_lines() -> Iterator[Line]:
    for name, names in topic_knowledge().classes.items():
        yield Line(name, "", [f"is {phrase}" for phrase in names if not phrase.startswith(("something", "thing "))])


_MEANT = {"is": "is", "was": "is", "has": "has", "people": "ob", "can": "does"}
_LISTED = re.compile(r"an? (\w+(?:, \w+)* or (?:an? )?\w+)")


def _meaning_lines() -> Iterator[Line]:
    """Parse the phrases in the meanings of attributes ("it has a beak or bill")."""
    for name, meaning in topic_knowledge().meanings.items():
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
def topic_grammar() -> Grammar:
    sets = declared_word_sets()
    groups = dict(pair.split(":") for pair in sorted(sets["groups"]))
    namer = Namer(topic_lexicon().lookup_phrase, sets)
    return Grammar(topic_lexicon(), Subject(groups=groups), namer.named, _read_region, _read_agent)


_DIRECTIONS = frozenset(
    ("northern", "southern", "eastern", "western", "central", "north", "south", "east", "west", "of", "southeast")
)
"""Words for a part of a region: where the region is wrong, its parts are; where it is right, that is not known."""


def _read_region(words: Words) -> Claim | None:
    """A preposition and a region: "in Europe", "from Japan", "of American"."""
    first, rest = words[0], words[1:]
    if first not in PREPOSITIONS or PREPOSITIONS[first] not in ("", "outside"):
        return None
    name = find_region([w for w in rest if w != "of"] if first == "outside" else rest)
    if name is not None:
        if first == "outside":
            return negate_claim(claim_within(name))
        return claim_native(name) if first in ("from", "of") else claim_within(name)
    part = [w for w in rest if w not in _DIRECTIONS]
    name = find_region(part) if 0 < len(part) < len(rest) else None
    return strengthen_claim(claim_within(name), "part of") if name is not None else None


_TAKING_PART = frozenset(("involve", "take part", "participate", "play role", "involve in", "participant"))


def _read_agent(words: Words) -> Claim | None:
    """As in "(was) Germany involved", "(did) France take part in it"."""
    for n in range(min(len(words) - 1, 4), 0, -1):
        name = find_region(words[:n])
        if name is not None:
            rest = phrase_key([w for w in words[n:] if w not in ("it", "this", "event", "war", "in", "the")])
            return claim_took_part(name) if rest in _TAKING_PART else None
    return None


@cache
def _slip_vocabulary() -> Collection[str]:
    """The words of all phrasings and names."""
    texts: Iterable[str] = (*topic_lexicon().keys, *topic_knowledge().topics_by_name)
    return frozenset(word for text in texts for word in re.split(r"[: ]", text) if len(word) > 3)


def _is_common_word(word: str) -> bool:
    return len(word) in LENGTHS and word in allowed_words(len(word))


@cache
def topic_room() -> Room:
    return Room(topic_grammar(), _slip_vocabulary, _is_common_word)


def read_topic_message(said: str) -> ReadClaim:
    """Read what a message asks.

    >>> read_topic_message("What color is it?").kind, read_topic_message("Is it green? Is it slimy?").kind
    ('open', 'several')
    >>> read_topic_message("Is it bigger or smaller than a car?").kind
    'open'
    >>> read_topic_message("Is it glorpish?").kind, read_topic_message("Hello there.").kind
    ('unclear', 'nothing')
    """
    return _read_cached(said)


_ALWAYS = 7
"""Who hear yes, for one who hears no."""


@lru_cache(maxsize=1 << 14)
def _read_cached(said: str) -> ReadClaim:
    found = _understand_message(said)
    if found.kind == "unclear" and not is_question(said):
        return ReadClaim("nothing")
    which = found.claim is not None and " or " in said.lower() and _asks_which_one(found.claim)
    return ReadClaim("open") if which else found


def _understand_message(said: str) -> ReadClaim:
    """Read a message. The kind that the opening names ("the illness or remedy") is "it"; a guess that no sentence of
    the room covers is found by the name in it."""
    folded = " ".join(fold_subject(words := message_words(said), opening_kinds()))
    found = topic_room().read(folded) if folded != " ".join(words) else None
    if found is not None and found.claim is not None and found.claim.goal:
        return found
    plain = topic_room().read(said)
    if plain.claim is None and found is not None and found.claim is not None:
        return found
    if plain.kind != "unclear":
        return plain
    return _read_proposal(said) or plain


def _read_proposal(said: str) -> ReadClaim | None:
    """Return the guess that a message makes by name; None for several."""
    found = set(find_proposals(said, topic_names()))
    return ReadClaim("asks", guess_for(found.pop(), declared_word_sets()["vague"])) if len(found) == 1 else None


@cache
def opening_kinds() -> tuple[tuple[str, ...], ...]:
    """What the openings call the hidden thing, as words: the categories, and the parts that "or" joins in them."""
    whole = [category.partition(" ")[2] for category in sorted(set(topic_knowledge().category))]
    parts = [part for text in whole for part in text.split(" or ")]
    return tuple(dict.fromkeys(tuple(message_words(text)) for text in (*whole, *parts, *_OTHER_KINDS)))


_OTHER_KINDS = ("common English noun", "English noun", "noun", "well-known thing", "thing")
"""What the openings that name no category speak of."""
_BEFORE_NO_GUESS = frozenset(("in", "on", "at", "from", "for", "by", "with", "to", "as", "into"))
"""Words before what is no guess: "is it for a shark" does not ask whether it is one."""


@cache
def topic_names() -> Names:
    """The names of all topics, as messages are searched for them."""
    return Names(
        topics_named, longest_name(), begins=begins_name, aside=_is_no_guess, kinds=opening_kinds(), common=True
    )


def _is_no_guess(before: str, name: str) -> bool:
    return before in _BEFORE_NO_GUESS


_MEASURED = re.compile(r"\.\.|^[<>] ")


def _asks_which_one(claim: Claim) -> bool:
    """Whether a question asks which of two things is so and not whether one is: both are about the same number, or one
    of them is true of nearly everything."""
    if claim.two_sides is None:
        return False
    first, second = (side.text.partition(" ") for side in claim.two_sides)
    if first[0] == second[0] and all(_MEASURED.search(side[2]) for side in (first, second)):
        return True
    yes, no = ((mask & topic_knowledge().all).bit_count() for mask in (claim.yes, claim.no))
    return yes > _ALWAYS * no and all(side.no for side in claim.two_sides)


def message_sense(said: str) -> object:
    """Return a value that is equal for equal questions: the topics of which they are true and false, or, for a question
    that is not understood, its words.

    >>> message_sense("Why glorp?") == message_sense("why, GLORP")
    True
    >>> message_sense("Does it glorp?") == message_sense("Does it not glorp?")
    False
    """
    claim = read_topic_message(said).claim
    if claim is not None and claim.known_things & topic_knowledge().all:
        every = topic_knowledge().all
        return claim.yes & every, claim.no & every, claim.goal
    return content_words(said)


def is_repeated(said: str, heard: Iterable[str]) -> bool:
    """Whether one of the messages heard before asks the same: the reply *repeated* of ΔBelief-RL. A message without
    content repeats nothing."""
    mine = message_sense(said)
    return bool(mine) and any(message_sense(other) == mine for other in heard)
