"""Noun phrases in questions: a guess, a class, a kind of thing, and what stands before and behind it.

Ours. Naming a topic is a guess: `goal` for that topic and no for the others, except that a topic which is a kind of
what is named ("an engineer" where a software engineer is hidden) gets yes, and one of which the named thing is a kind
is left open. A word that is a class as well asks for the class, with `goal` for the topic itself: the verdict is one
function of what is hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache

from ..partition import bits
from . import facts, happenings, others, years
from .english import base, is_participle
from .phrases import DROPPED, asked, at_home, key
from .queries import Query, all_of, atom
from .regions import nations, parts, region, within
from .topics import Known, knowledge, name_key
from .wordlists import word_list, word_set

Modifier = Callable[[Sequence[str]], Query | None]

DETERMINERS = word_set("nouns.determiners")
GENERIC = word_set("nouns.generic")
"""Heads that say nothing, where something follows that does."""
EVERYTHING = Query("anything", -1, 0)
_KIND = word_list("nouns.kind")
_FOLLOWERS = word_set("nouns.followers")
_ADJECTIVES = word_set("nouns.adjectives")
"""What is no name without an article: "is it short" is no guess of shorts."""
_VAGUE = word_set("nouns.vague")
"""Words of WordNet with so many senses that being below one of them says little."""


def bare(words: Sequence[str]) -> tuple[Sequence[str], bool]:
    """Without article and "a kind of", and whether a kind was asked for."""
    words, kind = list(words), False
    while words:
        if words[0] in DETERMINERS and len(words) > 1:
            words = words[1:]
        elif len(words) > 2 and base(words[0]) in _KIND and words[1] == "of":
            words, kind = words[2:], kind or base(words[0]) not in ("piece", "item")
        elif (
            len(words) > 3
            and words[1] in _KIND
            and words[2] == "of"
            and words[0] in ("certain", "specific", "particular", "common", "different")
        ):
            words, kind = words[3:], True
        else:
            break
    return words, kind


def named(words: Sequence[str]) -> Query | None:
    """What a whole noun phrase names: a topic, a class, a phrase of the lexicon, a kind; all that apply together."""
    return _whole(tuple(words))


@lru_cache(maxsize=1 << 13)
def _whole(words: tuple[str, ...]) -> Query | None:
    if words[0] in _ADJECTIVES and len(words) == 1:
        return _adjective(words[0])
    exact = _topics(words) or _by_name(words)
    rest, kind = bare(words)
    found = _named(tuple(rest), kind, exact) if rest else None
    return others.guessed(rest, len(rest) < len(words)) if found is None and rest else found


def _adjective(word: str) -> Query | None:
    """What an adjective says, and the guess of the topic of just that name; it is false of nothing because of that."""
    said, at = _entry(f"is:{word}"), knowledge().index.get(word)
    if at is None:
        return said
    guess = guess_for(1 << at)._replace(no=0)
    return guess if said is None else Query(f"{said.text} or the very thing", said.yes, said.no, 1 << at, 0, word)


@cache
def _entry(text: str) -> Query | None:
    return asked(text)


def _named(words: tuple[str, ...], kind: bool, exact: int) -> Query | None:
    entry = None if words[-1].endswith("ed") and is_participle(words[-1]) else _entry(f"is:{key(words)}")
    entry = entry or people_of(words)
    guess = exact or (0 if kind else _topics(words))
    if entry is not None:
        if not guess:
            return entry
        return _class_or_guess(entry, guess)
    if guess:
        return guess_for(guess)
    return _kind(" ".join((*words[:-1], base_noun(words[-1]))), _topics(words) if kind else 0)


def _class_or_guess(entry: Query, guess: int) -> Query:
    """A word that names a topic and says something of others as well: where it says nothing, and is true of nothing of
    that root, it is the guess that counts."""
    guessed = guess_for(guess)
    if entry.text.startswith("fact "):
        return guessed._replace(yes=(guessed.yes | entry.yes) & ~guess, no=guessed.no & ~entry.yes)
    elsewhere = guessed.no & ~at_home(entry.yes) & ~(_coloured() if entry.text.partition(" ")[0] in _COLOURS else 0)
    elsewhere = 0 if "kind of(" in entry.text else elsewhere
    text = f"{entry.text} or the very thing"
    return Query(text, entry.yes & ~guess, (entry.no | elsewhere & ~entry.yes) & ~guess, guess, 0, _label(guess))


_COLOURS = word_set("nouns.colours")
"""Attributes whose words say other things of people, places and works ("a black man", "a flat country")."""


@cache
def _coloured() -> int:
    found = 0
    for root in ("person", "fictional_character", "occupation", "place", "organisation", "work", "event"):
        found |= knowledge().roots[root]
    return found


def people_of(words: Sequence[str]) -> Query | None:
    """As in "Spanish": from Spain, even if the language is a topic."""
    place = region(words) if len(words) <= 2 else None
    if place is None or (place in nations() and " ".join(words) in nations()[place].names):
        return None
    if place in parts():
        return within(place) if " ".join(words) != parts()[place].words[0] else None
    return within(place) if place in nations() or (words[-1].endswith("n") and words[-1] not in ("ocean",)) else None


def base_noun(word: str) -> str:
    return name_key(word)


def _topics(words: Sequence[str]) -> int:
    """The topics that this is a name of."""
    name = name_key(" ".join(words))
    return knowledge().lookup.get(name, 0) or happenings.meant(name)


def _by_name(words: Sequence[str]) -> int:
    """The one person or place of which the facts say that people call it so: "the Big Apple"."""
    if words[:1] not in (["the"], ("the",)) or len(words) < 2:
        return 0
    name, found = key(words), 0
    if not facts.about(f"is:{name}"):
        return 0
    for called in ("ob:call", "ob:know as"):
        for head in facts.about(f"{called} {name}"):
            found |= facts.known(head).yes
    roots = knowledge().roots
    return found & (roots["person"] | roots["place"]) if found.bit_count() == 1 else 0


def _label(topics: int) -> str:
    return knowledge().names[(topics & -topics).bit_length() - 1]


@cache
def guess_for(guess: int) -> Query:
    knows, label = knowledge(), _label(guess)
    below = knows.kinds.get(label.lower(), 0) & ~guess
    unsure = knows.above(guess) | knows.may_be(label) | _close(guess) | _may_be(guess) | happenings.about(guess)
    no = knows.all & ~(guess | below | unsure)
    return Query(f"it={label}", 0 if label.lower() in _VAGUE else below, no, guess, 1, label)


def _may_be(guess: int) -> int:
    """What may be so as well without being the same: people of a named occupation, and for a role ("orphan", "mother")
    other occupations; things of a shape or colour ("oval"), things that a substance is in ("leather")."""
    knows, found = knowledge(), 0
    if guess & (knows.known("shape_thing").yes | knows.known("colour_thing").yes):
        return knows.all & ~(knows.roots["person"] | knows.roots["animal"])
    if guess & knows.roots["substance"]:
        found = knows.all & ~knows.roots["substance"] & ~knows.roots["animal"] & ~knows.roots["person"]
    if guess & knows.roots["occupation"]:
        found = knows.roots["person"] | knows.roots["fictional_character"]
        found |= knows.roots["occupation"] if guess & knows.known("role").yes else 0
    return found


def _close(guess: int) -> int:
    """Topics that share a name with a guessed one: what was meant is not certain."""
    found = 0
    for i in bits(guess):
        found |= knowledge().sharing[i] | _namesakes()[name_key(knowledge().names[i].partition(" (")[0])]
    return found & ~guess


@cache
def _namesakes() -> Mapping[str, int]:
    """Name without what stands in brackets -> the topics of that name."""
    found: dict[str, int] = {}
    for i, name in enumerate(knowledge().names):
        text = name_key(name.partition(" (")[0])
        found[text] = found.get(text, 0) | 1 << i
    return found


def _kind(word: str, itself: int) -> Query | None:
    """A hypernym: yes for what is below it; no for topics of roots in which no sense of the word has its place."""
    below = knowledge().kinds.get(word, 0) | itself
    if not below or word in _VAGUE:
        return None
    return atom(f"kind {word}", Known(below, knowledge().never(word) & ~below))


def noun_phrase(words: Sequence[str], modifier: Modifier) -> Query | None:
    """A noun with adjectives before it and modifiers behind it. What is not understood behind it narrows a noun; it may
    turn what an adjective says ("white on the inside")."""
    found, placed = named(words), _of_place(bare(words)[0])
    if found is not None:
        return found if placed is None or found.named else _filled(found, placed)
    if placed is not None:
        return placed
    nominal, (words, _) = words[0] in DETERMINERS | {"the"} or words[1:2] == ["of"], bare(words)
    found = with_adjectives(words, modifier)
    if found is not None:
        return found
    for j in range(1, len(words)):
        if words[j] in _FOLLOWERS or is_participle(words[j]) or words[j].endswith("ing") or _compares(words[j:]):
            head = _head(words[:j], modifier)
            if head is None:
                continue
            rest = modifier(words[j:])
            head = head._replace(no=0) if ranked(words[:j]) else head
            if rest is not None:
                return rest if head is EVERYTHING else all_of([head, rest])
            if head is not EVERYTHING and words[j] != "of" and nominal and plain_part(words[j:]):
                return all_of([head, not_understood(words[j:])])
    return None


def _of_place(words: Sequence[str]) -> Query | None:
    """As in "African country", "South American river", "19th century painter": of the place or time, and the noun."""
    if words[1:2] in (["century"], ("century",)) and len(words) > 2:
        when, head = years.dated(["from", *words[:2]]), named(words[2:])
        head = _class_only(head) if head is not None else None
        return all_of([when, head]) if when is not None and head is not None else None
    for n in (2, 1):
        place = region(words[:n]) if len(words) > n else None
        if place is not None and words[0] not in DETERMINERS:
            head = named(words[n:])
            head = _class_only(head) if head is not None else None
            return all_of([within(place), head]) if head is not None else None
    return None


def _filled(found: Query, other: Query) -> Query:
    """What is understood, and of the topics of which that is not known what another reading says."""
    yes, no = found.yes | other.yes & ~found.no, found.no | other.no & ~found.yes
    return found._replace(yes=yes & ~found.goal, no=no & ~yes & ~found.goal)


def _compares(words: Sequence[str]) -> bool:
    """As in "(a bird) smaller than a pigeon", "(a city) further north than Rome"."""
    return "than" in words[1:3] and (words[0].endswith("er") or words[0] in ("more", "less"))


def ranked(words: Sequence[str]) -> bool:
    """As in "the heaviest animal": what follows narrows the rank, so what is not first of all may be first there."""
    return any((w.endswith("est") and w not in _UNRANKED) or w in _RANKS for w in words)


_RANKS = frozenset(("most", "least", "first", "last", "second", "third", "only", "best", "worst"))
_UNRANKED = word_set("nouns.unranked")


_TURNS = word_set("nouns.turns")


def plain_part(words: Sequence[str]) -> bool:
    """Whether words that are not understood can at least not turn what is said beside them."""
    return 0 < len(words) <= 12 and not _TURNS & set(words)


def not_understood(words: Sequence[str]) -> Query:
    """A part of a question of which it is not known whether it is true: where the rest decides, it does not matter."""
    return Query(f"? {' '.join(words)}", 0, 0)


def _head(words: Sequence[str], modifier: Modifier) -> Query | None:
    bare_, _ = bare(words)
    if is_participle(words[0]):
        return None
    if len(bare_) == 1 and (base(bare_[0]) in GENERIC or bare_[0] in DETERMINERS):
        return EVERYTHING
    found = named(words)
    if found is not None and bare_[-1] == "character":
        return found._replace(no=found.no & ~knowledge().roots["person"])  # Caesar is one in a play
    if found is not None:
        return _class_only(found)
    return with_adjectives(words, modifier)


def _class_only(q: Query) -> Query | None:
    """A guess is no head: "a guitar used in rock music" is not known."""
    return None if q.named else q._replace(yes=q.true, goal=0, guess="")


def with_adjectives(words: Sequence[str], modifier: Modifier) -> Query | None:
    """As in "small domestic animal": every adjective holds, and the noun."""
    if "to" in words or words[-1] in _ADVERBS:
        return None
    words = [w for w in words if w not in DROPPED]
    for j in range(len(words) - 1, 0, -1):
        head = EVERYTHING if j == len(words) - 1 and base(words[j]) in GENERIC else named(words[j:])
        if head is None or (head is not EVERYTHING and _class_only(head) is None):
            continue
        parts = _adjectives(words[:j])
        if parts is not None:
            return all_of(parts if head is EVERYTHING else [*parts, head._replace(yes=head.true, goal=0, guess="")])
    return None


_ADVERBS = word_set("nouns.adverbs")
"""What stands behind an adjective and is no noun: "green inside"."""
_LOOSE = word_set("nouns.loose")
"""Adjectives that narrow a noun and never change what kind of thing it names."""


def _adjectives(words: Sequence[str]) -> list[Query] | None:
    """Every word an adjective whose meaning does not hang on the noun."""
    parts: list[Query] = []
    for i, word in enumerate(words):
        if word in ("and", ",") and 0 < i < len(words) - 1:
            continue
        place = region([word])
        part = within(place) if place else _entry(f"adj:{base(word)}")
        if part is None and base(word) in _LOOSE:
            part = not_understood([word])
        if part is None:
            return None
        parts.append(part)
    return parts
