"""The meaning of a noun phrase: a topic, which is a guess, or a kind of thing.

Ours. A message that names a topic guesses it: the answer is `goal` for that topic and no for the others, with two
exceptions. It is yes for a topic that is a kind of the named thing ("an engineer", where a software engineer is
hidden), and unknown for a topic of which the named thing is a kind. A word that is also a class asks for the class,
with `goal` for the topic itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from .._shared.english.claims import Claim, merge_readings
from .._shared.english.tokens import Words, is_participle, name_key, phrase_key
from .._shared.partition import mask_bits
from .knowledge import data_rows, topic_knowledge
from .regions import claim_native, find_region, load_regions

Asked = Callable[[str], "Claim | None"]
"""A key of the lexicon -> what it asks."""


class Namer:
    """Reads noun phrases; `asked` looks a key of the lexicon up, `words` are the data file's lists."""

    def __init__(self, asked: Asked, words: Mapping[str, frozenset[str]]) -> None:
        self._asked, self._words = asked, words
        self.named = lru_cache(maxsize=1 << 14)(self._read_noun)

    def _read_noun(self, words: tuple[str, ...], article: bool) -> Claim | None:
        """Claim what a noun phrase without its article names, and what the lexicon says of it."""
        if len(words) == 1 and not article and words[0] in self._words["adjectives"]:
            return self._read_adjective(words[0])
        entry = (
            None if is_participle(words[-1]) and words[-1].endswith("ed") else self._asked(f"is:{phrase_key(words)}")
        )
        entry = merge_readings(entry, self._read_people(words))
        guess = topics_named(" ".join(words))
        one = article or words[0] in ("a", "an")
        if one and guess and words[-1] in self._words["colours"] and not guess & colour_things():
            return guess_for(guess, self._words["vague"])
        if entry is not None:
            return self._read_class_or_guess(entry, guess) if guess else entry
        if guess:
            return guess_for(guess, self._words["vague"])
        kind = self._read_kind(" ".join((*words[:-1], name_key(words[-1], common=True))))
        return kind or guess_of_other(words, article)

    def _read_adjective(self, word: str) -> Claim | None:
        """Claim what an adjective says, with the topic of exactly that name as a guess, which makes it false of
        nothing."""
        said, at = self._asked(f"is:{word}"), topic_knowledge().index.get(word)
        if at is None:
            return said
        yes, no = (said.yes, said.no) if said is not None else (0, 0)
        return Claim(f"{word} or the very thing", yes & ~(1 << at), no & ~(1 << at), 1 << at, 0, word)

    def _read_people(self, words: Words) -> Claim | None:
        """As in "Spanish": from Spain, even if the language is a topic."""
        place = find_region(words) if len(words) <= 2 else None
        if place is None:
            return None
        where = load_regions()[place]
        own = where.names if where.people else where.names[:1]
        return None if " ".join(words) in own else claim_native(place)

    def _read_class_or_guess(self, entry: Claim, guess: int) -> Claim:
        """A word that names a topic and says something of others as well: where it says nothing, and is true of nothing
        of that root, it is the guess that counts."""
        guessed = guess_for(guess, self._words["vague"])
        elsewhere = guessed.no & ~topic_knowledge().home(entry.yes) & ~entry.known_things
        if not entry.yes or "kind of(" in entry.text or entry.text.partition(" ")[0] in self._words["colours"]:
            elsewhere = 0
        no = (entry.no | elsewhere) & ~guess
        return Claim(f"{entry.text} or the very thing", entry.yes & ~guess, no, guess, 0, guessed.guess)

    def _read_kind(self, word: str) -> Claim | None:
        """Claim a hypernym: yes for what is below it; no for topics of roots where no sense of the word belongs."""
        below = topic_knowledge().kinds.get(word, 0)
        if not below or word in self._words["vague"]:
            return None
        return Claim(f"kind {word}", below, topic_knowledge().excluded_topics(word) & ~below)


def colour_things() -> int:
    return topic_knowledge().known_topics("colour_thing").yes


@lru_cache(maxsize=1 << 14)
def topics_named(name: str) -> int:
    """The topics of a name or synonym, as a mask."""
    return topic_knowledge().topics_by_name.get(name_key(name, common=True), 0)


def topics_called(key: str) -> int:
    """The topics that a name in the form of `name_key` stands for, with those whose name it is without what stands in
    brackets behind it ("Mercury (planet)")."""
    return topic_knowledge().topics_by_name.get(key, 0) | _namesake_topics().get(key, 0)


@cache
def _first_words() -> frozenset[str]:
    return frozenset(name.split()[0] for name in topic_knowledge().topics_by_name if name) | {"a", "an", "the"}


def begins_name(word: str) -> bool:
    """Whether names of topics begin with this word, as it is said."""
    return word.removesuffix("'s") in _first_words() or name_key(word, common=True) in _first_words()


@cache
def longest_name() -> int:
    """Words of the longest name of a topic, an article before it included."""
    return max(len(name.split()) for name in topic_knowledge().topics_by_name) + 1


@lru_cache(maxsize=1 << 13)
def guess_for(guess: int, vague: frozenset[str]) -> Claim:
    """The claim that it is one of these topics."""
    knows = topic_knowledge()
    label = knows.names[(guess & -guess).bit_length() - 1]
    close = _close_topics(guess)
    below = knows.kinds.get(label.lower(), 0) & ~guess & ~close
    unsure = knows.kinds_above(guess) | knows.possible_topics(label) | close | _possible_others(guess)
    no = knows.all & ~(guess | below | unsure)
    return Claim(f"it={label}", 0 if label.lower() in vague else below, no, guess, 1, label)


def _possible_others(guess: int) -> int:
    """Return the topics that may also be meant without being the same: people of a named occupation, and for a role
    ("orphan", "mother") other occupations; things of a shape or colour ("oval"); things that contain a substance
    ("leather")."""
    knows, found = topic_knowledge(), 0
    if guess & (knows.known_topics("shape_thing").yes | colour_things()):
        return knows.all & ~(knows.roots["person"] | knows.roots["animal"])
    if guess & knows.roots["substance"]:
        found = knows.all & ~knows.roots["substance"] & ~knows.roots["animal"] & ~knows.roots["person"]
    if guess & knows.roots["occupation"]:
        found = knows.roots["person"] | knows.roots["fictional_character"]
        found |= knows.roots["occupation"] if guess & knows.known_topics("role").yes else 0
    return found


def _close_topics(guess: int) -> int:
    """Return the topics that share a name with a guessed one, and events named after it: any may be meant."""
    knows, found = topic_knowledge(), 0
    for i in mask_bits(guess):
        found |= knows.name_sharers[i] | _namesake_topics().get(
            name_key(knows.names[i].partition(" (")[0], common=True), 0
        )
        if not knows.roots["person"] >> i & 1:
            found |= _events_about().get(name_key(knows.names[i], common=True), 0)
    return found & ~guess


@cache
def _namesake_topics() -> Mapping[str, int]:
    """Map each name without its part in brackets to the topics of that name."""
    found: dict[str, int] = {}
    for i, name in enumerate(topic_knowledge().names):
        text = name_key(name.partition(" (")[0], common=True)
        found[text] = found.get(text, 0) | 1 << i
    return found


@cache
def _events_about() -> Mapping[str, int]:
    """The end of a name such as "fall of the Berlin Wall" -> the events of such names."""
    found: dict[str, int] = {}
    for i in mask_bits(topic_knowledge().roots["event"]):
        for name in (topic_knowledge().names[i], *topic_knowledge().aka[i]):
            _, of, what = name.partition(" of ")
            if of:
                found[name_key(what, common=True)] = found.get(name_key(what, common=True), 0) | 1 << i
    return found


class _Others(NamedTuple):
    """Name, as `name_key` writes it -> its line; and the masks that lines share."""

    lines: Mapping[str, str]
    bases: Sequence[int]


@cache
def _other_things() -> _Others:
    lines, bases = dict[str, str](), list[int]()
    for line in data_rows("others"):
        if line.startswith("= "):
            bases.append(int(line[2:], 16))
        else:
            lines[name_key(line.partition("|")[0], common=True)] = line
    return _Others(lines, bases)


def guess_of_other(words: Words, article: bool) -> Claim | None:
    """The guess of a thing that is no topic ("a loon"), from `data/others.txt`, which
    `sources/compile_others.py` writes and explains. A word that may be an adjective is one only
    with an article.

    >>> guess_of_other(["loon"], article=True).no & 1
    1
    """
    line = _other_things().lines.get(name_key(" ".join(words), common=True))
    if line is None:
        return None
    name, flag, base, yes, unsure = line.split("|")
    if flag and not article:
        return None
    true, open_ = _parse_mask(yes), _parse_mask(unsure) | _other_things().bases[int(base)]
    return Claim(f"it={name}", true, topic_knowledge().all & ~true & ~open_, 0, 1)


def _parse_mask(numbers: str) -> int:
    return sum(1 << int(n) for n in numbers.split())
