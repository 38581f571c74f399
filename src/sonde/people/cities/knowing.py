"""What is known of the cities, as the room asks for it, and the phrasings that are declared for it.

Ours. The lexicon has the phrasings of `envs/data/resident.txt`; what a city has or is known for beyond them is looked
up in the words of what it is known for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from ..language.clauses import Subject
from ..language.lists import word_set
from ..language.words import Words, base, is_verb, key
from ..meaning.claims import Claim, weak
from ..meaning.grammar import Grammar
from ..meaning.lexicon import Lexicon, Line, lines
from .atlas import atlas
from .columns import COLUMNS
from .known import attribute, certain, declared, fame, word_list
from .readers import SLOTS


class Cities:
    """What is known, for the room."""

    def attribute(self, name: str) -> Claim | None:
        found = attribute(name)
        return None if found is None else Claim(name, *found)

    def column(self, name: str, value: Any) -> Claim | None:
        return Claim(f"{name} {value}"[:80], *COLUMNS[name](value))

    def home(self, yes: int) -> int:
        """Cities are all of one sort."""
        return atlas().all


def _things(text: str) -> Iterator[Line]:
    """The lines of things: to be known for one is its attribute, and so is to have a famous one; merely to have one
    says less, so that of it there is no No."""
    for row in text.splitlines():
        name, _, rest = row.partition(":")
        nouns = [noun.strip() for noun in rest.split(";")]
        strong = [f"{frame} {noun}" for noun in nouns for frame in ("known", "has famous", "is center of")]
        yield Line(name.rstrip("!"), "", strong)
        yield Line(name.rstrip("!") if name.endswith("!") else f"{name}?", "", [f"has {noun}" for noun in nouns])


class CityLexicon(Lexicon):
    """The declared phrasings; what is not declared, but known of some city, is read as the fame of that."""

    def asked(self, k: str, words: Words = ()) -> Claim | None:
        found = super().asked(k, words)
        frame, _, rest = k.partition(":")
        if found is not None or frame not in ("known", "do") or (frame == "do" and not rest.startswith("have ")):
            return found
        return known_for(rest.removeprefix("have ").removeprefix("famous "), frame == "known")


@cache
def _fame() -> Mapping[str, Sequence[tuple[int, frozenset[str]]]]:
    """A word -> the cities, as a bit each, that are known for something with this word, and all words of that thing."""
    found: dict[str, list[tuple[int, frozenset[str]]]] = {}
    for c in atlas().cities:
        for phrase in fame(c):
            held = frozenset(base(w) for w in phrase.split())
            for word in held:
                found.setdefault(word, []).append((1 << c.id, held))
    return found


@cache
def _loose() -> frozenset[str]:
    return word_list("loose") | word_set("dropped") | word_set("empty")


def known_for(phrase: str, only: bool) -> Claim | None:
    """The cities that are known for a phrase: those of which one thing has all of its words. It is not known of those
    that share some of them, and false of all others where two words at least, or `only` what it is known for, are
    asked."""
    core = frozenset(base(w) for w in phrase.split()) - _loose()
    rows = [row for word in core for row in _fame().get(word, ())]
    yes = sum({bit for bit, held in rows if core <= held})
    if not yes:
        return None
    beside = sum({bit for bit, _ in rows})
    return Claim(f"known for {phrase}", *(certain(yes, beside) if len(core) > 1 or only else (yes, 0)))


def _grammar(parts: Iterable[Line]) -> Grammar:
    lexicon = CityLexicon(parts, Cities(), SLOTS)

    def by(words: Words) -> Claim | None:
        """A sentence about something of the city: its name, its flag; "is the Eiffel Tower there" asks if it has it."""
        bare = [w for w in words if w not in ("located", "situated", "found")]
        found = lexicon.asked(f"by:{key(words)}", words)
        if found is None and (found := grammar.do(["have", *bare])) is not None and any(is_verb(base(w)) for w in bare):
            return weak(found, "of it")
        return found

    grammar = Grammar(lexicon, Subject(word_list("heads"), you=True), by=by)
    return grammar


@cache
def of_city() -> Grammar:
    """Reads what is said of a city; what is said of its country holds of it, too."""
    text = declared()
    return _grammar([*lines(text["city"]), *_things(text["things"]), *lines(text["country"])])


@cache
def of_country() -> Grammar:
    """Reads what is said of the country."""
    text = declared()
    return _grammar([*lines(text["land"]), *lines(text["country"]), *_things(text["things"])])
