"""The meaning of a noun phrase: a topic, which is a guess, or a kind of thing.

Ours. Naming a topic is a guess: `goal` for that topic and no for the others, with two exceptions. A topic that is a
kind of what is named ("an engineer" where a software engineer is hidden) is yes; a topic of which the named thing is a
kind is unknown. A word that is also a class asks for the class, with `goal` for the topic itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from .._shared.english.claims import Claim, either
from .._shared.english.words import Words, is_participle, key, name_key
from .._shared.partition import bits
from .knowledge import knowledge, rows
from .regions import native, region, regions

Asked = Callable[[str], "Claim | None"]
"""A key of the lexicon -> what it asks."""


class Namer:
    """Reads noun phrases; `asked` looks a key of the lexicon up, `words` are the data file's lists."""

    def __init__(self, asked: Asked, words: Mapping[str, frozenset[str]]) -> None:
        self._asked, self._words = asked, words
        self.named = lru_cache(maxsize=1 << 14)(self._named)

    def _named(self, words: tuple[str, ...], article: bool) -> Claim | None:
        """Claim what a noun phrase without its article names, and what the lexicon says of it."""
        if len(words) == 1 and not article and words[0] in self._words["adjectives"]:
            return self._adjective(words[0])
        entry = None if is_participle(words[-1]) and words[-1].endswith("ed") else self._asked(f"is:{key(words)}")
        entry = either(entry, self._people(words))
        guess = topics_named(" ".join(words))
        if entry is not None:
            return self._class_or_guess(entry, guess) if guess else entry
        if guess:
            return guess_for(guess, self._words["vague"])
        kind = self._kind(" ".join((*words[:-1], name_key(words[-1], common=True))))
        return kind or guessed(words, article)

    def _adjective(self, word: str) -> Claim | None:
        """Claim what an adjective says, with the topic of exactly that name as a guess, which makes it false of
        nothing."""
        said, at = self._asked(f"is:{word}"), knowledge().index.get(word)
        if at is None:
            return said
        yes, no = (said.yes, said.no) if said is not None else (0, 0)
        return Claim(f"{word} or the very thing", yes & ~(1 << at), no & ~(1 << at), 1 << at, 0, word)

    def _people(self, words: Words) -> Claim | None:
        """As in "Spanish": from Spain, even if the language is a topic."""
        place = region(words) if len(words) <= 2 else None
        if place is None:
            return None
        where = regions()[place]
        own = where.names if where.people else where.names[:1]
        return None if " ".join(words) in own else native(place)

    def _class_or_guess(self, entry: Claim, guess: int) -> Claim:
        """A word that names a topic and says something of others as well: where it says nothing, and is true of nothing
        of that root, it is the guess that counts."""
        guessed = guess_for(guess, self._words["vague"])
        elsewhere = guessed.no & ~knowledge().home(entry.yes) & ~entry.known
        if not entry.yes or "kind of(" in entry.text or entry.text.partition(" ")[0] in self._words["colours"]:
            elsewhere = 0
        no = (entry.no | elsewhere) & ~guess
        return Claim(f"{entry.text} or the very thing", entry.yes & ~guess, no, guess, 0, guessed.guess)

    def _kind(self, word: str) -> Claim | None:
        """Claim a hypernym: yes for what is below it; no for topics of roots where no sense of the word belongs."""
        below = knowledge().kinds.get(word, 0)
        if not below or word in self._words["vague"]:
            return None
        return Claim(f"kind {word}", below, knowledge().never(word) & ~below)


@lru_cache(maxsize=1 << 14)
def topics_named(name: str) -> int:
    """The topics of a name or synonym, as a mask."""
    return knowledge().lookup.get(name_key(name, common=True), 0)


@cache
def _first_words() -> frozenset[str]:
    return frozenset(name.split()[0] for name in knowledge().lookup if name) | {"a", "an", "the"}


def begins_name(word: str) -> bool:
    """Whether names of topics begin with this word, as it is said."""
    return word.removesuffix("'s") in _first_words() or name_key(word, common=True) in _first_words()


@cache
def longest_name() -> int:
    """Words of the longest name of a topic, an article before it included."""
    return max(len(name.split()) for name in knowledge().lookup) + 1


@lru_cache(maxsize=1 << 13)
def guess_for(guess: int, vague: frozenset[str]) -> Claim:
    """The claim that it is one of these topics."""
    knows = knowledge()
    label = knows.names[(guess & -guess).bit_length() - 1]
    close = _close(guess)
    below = knows.kinds.get(label.lower(), 0) & ~guess & ~close
    unsure = knows.above(guess) | knows.may_be(label) | close | _may_be(guess)
    no = knows.all & ~(guess | below | unsure)
    return Claim(f"it={label}", 0 if label.lower() in vague else below, no, guess, 1, label)


def _may_be(guess: int) -> int:
    """Return the topics that may also be meant without being the same: people of a named occupation, and for a role
    ("orphan", "mother") other occupations; things of a shape or colour ("oval"); things that contain a substance
    ("leather")."""
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
    """Return the topics that share a name with a guessed one, and events named after it: any may be meant."""
    knows, found = knowledge(), 0
    for i in bits(guess):
        found |= knows.sharing[i] | _namesakes().get(name_key(knows.names[i].partition(" (")[0], common=True), 0)
        if not knows.roots["person"] >> i & 1:
            found |= _about().get(name_key(knows.names[i], common=True), 0)
    return found & ~guess


@cache
def _namesakes() -> Mapping[str, int]:
    """Map each name without its part in brackets to the topics of that name."""
    found: dict[str, int] = {}
    for i, name in enumerate(knowledge().names):
        text = name_key(name.partition(" (")[0], common=True)
        found[text] = found.get(text, 0) | 1 << i
    return found


@cache
def _about() -> Mapping[str, int]:
    """The end of a name such as "fall of the Berlin Wall" -> the events of such names."""
    found: dict[str, int] = {}
    for i in bits(knowledge().roots["event"]):
        for name in (knowledge().names[i], *knowledge().aka[i]):
            _, of, what = name.partition(" of ")
            if of:
                found[name_key(what, common=True)] = found.get(name_key(what, common=True), 0) | 1 << i
    return found


class _Others(NamedTuple):
    """Name, as `name_key` writes it -> its line; and the masks that lines share."""

    lines: Mapping[str, str]
    bases: Sequence[int]


@cache
def _others() -> _Others:
    lines, bases = dict[str, str](), list[int]()
    for line in rows("others"):
        if line.startswith("= "):
            bases.append(int(line[2:], 16))
        else:
            lines[name_key(line.partition("|")[0], common=True)] = line
    return _Others(lines, bases)


def guessed(words: Words, article: bool) -> Claim | None:
    """The guess of a thing that is no topic ("a loon"), from `data/others.txt`, which
    `sources/compile_others.py` writes and explains. A word that may be an adjective is one only
    with an article.

    >>> guessed(["loon"], article=True).no & 1
    1
    """
    line = _others().lines.get(name_key(" ".join(words), common=True))
    if line is None:
        return None
    name, flag, base, yes, unsure = line.split("|")
    if flag and not article:
        return None
    true, open_ = _mask(yes), _mask(unsure) | _others().bases[int(base)]
    return Claim(f"it={name}", true, knowledge().all & ~true & ~open_, 0, 1)


def _mask(numbers: str) -> int:
    return sum(1 << int(n) for n in numbers.split())
