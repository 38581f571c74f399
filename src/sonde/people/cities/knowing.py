"""What is known of the cities, as the room asks for it, and the phrasings that are declared for it.

Ours. `Cities` gives attributes and columns as claims. The lexicon has the phrasings of `envs/data/city_phrases.txt`;
what a city has or is known for beyond them is looked up in the words of what it is known for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from ..language.clauses import Subject
from ..language.lists import word_set
from ..language.words import Words, base, key
from ..meaning.claims import Claim
from ..meaning.grammar import Grammar
from ..meaning.lexicon import PREPOSITIONS, Lexicon, Line, lines
from ..meaning.room import content
from . import places
from .atlas import atlas, plain
from .columns import COLUMNS, spellings
from .readers import SLOTS, Some
from .sets import Known, sets


class Cities:
    """What is known, for the room."""

    def attribute(self, name: str) -> Claim | None:
        found = sets().attribute(name) or _of_name(name)
        return None if found is None else Claim(name, found.yes, found.no)

    def column(self, name: str, value: Any) -> Claim | None:
        found = COLUMNS[name](value)
        return Claim(f"{name} {value}"[:80], found.yes, found.no)

    def home(self, yes: int) -> int:
        """Cities are all of one sort."""
        return atlas().all


@cache
def _of_name(name: str) -> Known | None:
    """Attributes of a city's name."""
    letters = {"early_letter": "abcdefghijklm", "late_letter": "nopqrstuvwxyz"}
    if name in letters:
        return COLUMNS["begins"](Some((letters[name],), "any"))
    if name == "name_words_one":
        return places.where(
            lambda c: len({len(s.split()) == 1 for s in spellings(c)}) == 1 and len(spellings(c)[0].split()) == 1
        )
    return None


@cache
def declared() -> Mapping[str, str]:
    """The parts of the file: turns, city, things, country."""
    text = files("sonde.envs").joinpath("data", "city_phrases.txt").read_text("utf-8")
    found: dict[str, list[str]] = {}
    part = found.setdefault("", [])
    for line in text.splitlines():
        if re.fullmatch(r"\[\w+\]", line):
            part = found.setdefault(line[1:-1], [])
        elif line and not line.startswith("#"):
            part.append(line)
    return {name: "\n".join(rows) for name, rows in found.items()}


def _things(text: str) -> list[Line]:
    """The lines of things: to be known for one is its attribute, and so is to have a famous one; merely to have one
    says less, so that of it there is no No."""
    found: list[Line] = []
    for row in text.splitlines():
        name, _, nouns = row.partition(":")
        attribute, same = name.rstrip("!"), name.endswith("!")
        rows = [noun.strip() for noun in nouns.split(";")]
        strong = [
            f"{frame} {noun}" for noun in rows for frame in ("known", "has famous", "is famous for", "is center of")
        ]
        weak = [f"{frame} {noun}" for noun in rows for frame in ("has",)]
        found.append(Line(attribute, "", strong))
        found.append(Line(attribute if same else f"{attribute}?", "", weak))
    return found


class CityLexicon(Lexicon):
    """The declared phrasings; what is not declared, but known of some city, is read as the fame of that."""

    def asked(self, k: str, words: Words = ()) -> Claim | None:
        found = super().asked(k, words)
        if found is not None:
            return found
        frame, _, rest = k.partition(":")
        if frame in ("known", "do") and words is not None:
            rest = (
                rest.removeprefix("have ").removeprefix("famous ")
                if frame == "do" and rest.startswith("have ")
                else rest
                if frame == "known"
                else ""
            )
            return fame(rest, frame == "known") if rest else None
        return None


_LOOSE = frozenset(
    [
        "famous",
        "known",
        "city",
        "town",
        "center",
        "area",
        "people",
        "country",
        "one",
        "thing",
        "place",
        "site",
        "well",
        "big",
        "large",
        "old",
        "great",
        "new",
        "in",
        "on",
        "of",
        "at",
        "by",
        "near",
        "from",
        "to",
        "with",
        "and",
        "that",
        "next",
        "come",
    ]
)


@cache
def _fame() -> Sequence[tuple[int, frozenset[str]]]:
    """A bit of a city, and the words of one thing that it is known for, in base form."""
    rows = (
        (c, phrase)
        for c in atlas().cities
        for phrase in (*c.known, *c.food, c.sport or "", c.industry or "", c.university or "")
    )
    return [(1 << c.id, frozenset(base(w) for w in plain(phrase).split())) for c, phrase in rows if phrase]


@cache
def _fame_by_word() -> Mapping[str, Sequence[tuple[int, frozenset[str]]]]:
    found: dict[str, list[tuple[int, frozenset[str]]]] = {}
    for bit, held in _fame():
        for word in held:
            found.setdefault(word, []).append((bit, held))
    return found


def fame(phrase: str, known_for: bool) -> Claim | None:
    """The cities that are known for a phrase: those of which one thing has all of its words. It is not known of those
    that share some of them, and false of all others where two words at least, or what it is known for, are asked."""
    words = frozenset(base(w) for w in phrase.split()) - word_set("dropped") - word_set("empty")
    core = words - _LOOSE
    if not core:
        return None
    yes = some = 0
    for bit, held in (row for word in core for row in _fame_by_word().get(word, ())):
        if core <= held:
            yes |= bit
        else:
            some |= bit
    if not yes:
        return None
    no = atlas().all & ~yes & ~some if len(core) > 1 or known_for else 0
    return Claim(f"known for {phrase}", yes, no)


HEADS = frozenset(("city", "town", "hometown", "place", "it"))


def _naming(words: tuple[str, ...], article: bool) -> Claim | None:
    """Names are read as guesses elsewhere (`guesses.py`)."""
    return None


def _grammar(parts: Sequence[Line]) -> Grammar:
    lexicon = CityLexicon(parts, Cities(), SLOTS)

    def place(words: Words) -> Claim | None:
        """What stands in a slot behind a preposition that does not matter."""
        return lexicon.asked(f"at:{key(words[1:])}", words[1:]) if PREPOSITIONS.get(words[0]) == "" else None

    def by(words: Words) -> Claim | None:
        """A sentence about something of the city: its name, its flag, its main language."""
        return lexicon.asked(f"by:{key(words)}", words)

    return Grammar(lexicon, Subject(HEADS, you=True), _naming, place, by)


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


__all__ = ["Cities", "content", "declared", "fame", "of_city", "of_country"]
