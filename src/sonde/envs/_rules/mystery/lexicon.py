"""What can be mentioned in a murder mystery: the names of a case, their words, and which of these stand for the whole.

Marks are those of `words`. Source: ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from .cases import Frame, data
from .tokens import HOLDERS, SYNONYMS, stem, tokens, words_of


class Entry(NamedTuple):
    """Something that can be mentioned: its mark, its words in order, and which of them stands for the whole."""

    mark: str
    words: tuple[str, ...]
    heads: frozenset[str]
    name: bool = False


class Lexicon(NamedTuple):
    """The entries of a case, by word."""

    entries: tuple[Entry, ...]
    by_word: Mapping[str, tuple[Entry, ...]]


_CUT = re.compile(
    r" (?:of|to|about|with|from|by|on|for|in|made|signed|marked|labelled|naming|outside|at|that"
    r"|behind) "
)


def _heads(name: str) -> frozenset[str]:
    """The last word before a preposition, and what a set or box consists of."""
    # In "behind-the-scenes camera" nothing is behind anything.
    low = " ".join(tokens(re.sub(r"-(?:in|on|off|by)\b|\b[a-z]+-the-[a-z]+\b", "", name))).replace(" 's ", " ")
    first, *rest = _CUT.split(low)
    found = {stem(first.split()[-1])}
    if found & HOLDERS and rest:
        found.add(stem(rest[0].split()[-1]))
    return frozenset(found)


# --- the words of a case ---------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def lexicon(frame: Frame) -> Lexicon:
    """Everything that can be mentioned in a case."""
    entries = [e for e in _entries(frame) if e.words]
    table: dict[str, list[Entry]] = {}
    for entry in entries:
        for word in {*entry.words, *(SYNONYMS.get(w, w) for w in entry.words)}:
            table.setdefault(word, []).append(entry)
    return Lexicon(tuple(entries), {word: tuple(rows) for word, rows in table.items()})


def _entries(frame: Frame) -> Iterable[Entry]:
    for person in frame.people:
        yield _name(f"@{person.id}", person.name)
        yield _thing(f"@{person.id}", person.role)
    yield _name("@v", frame.victim)
    yield _thing("@v", str(data()["settings"][frame.setting]["victim"]))
    for alias in ("victim", "deceased", "murder victim"):
        yield _thing("@v", alias)
    for record in frame.records:
        yield _thing(f"@{'b' if record.kind == 'bystander' else 'r'}{record.id[1:]}", record.name)
    for thing in (*frame.places, *frame.items):
        yield _thing(f"@{thing.id}", thing.name)
    yield from _aliases(frame)


def _aliases(frame: Frame) -> Iterable[Entry]:
    """Other names for the scene, the weapon and the trace, and the phrases for the spot nearby and for access."""
    for alias in ("crime scene", "scene", "scene of the crime", "scene of the murder", "murder scene"):
        yield _thing("@l0", alias)
    for alias in ("murder weapon", "weapon"):
        yield _thing("@i1", alias)
    for alias in {"shoe": ("footprint", "print"), "ink": ("note", "scrap of paper"), "wrapper": ("wrapper",)}.get(
        frame.trace, (frame.trace,)
    ):
        yield _thing("@i0", alias)
    own = words_of(frame.near)
    scene = set(words_of(frame.places[0].name))
    yield Entry("@n", own, frozenset(w for w in own if w not in scene))
    if frame.means == "skill":
        words = words_of(frame.thing)
        # Who speaks of the handling of a thing may leave out the verb, but not the thing.
        yield Entry("@t", words, frozenset(words[1:]) or frozenset(words))
    else:
        yield _thing("@t", frame.thing)


def _name(mark: str, name: str) -> Entry:
    words = tuple(tokens(name))
    return Entry(mark, words, frozenset(words), True)


def _thing(mark: str, name: str) -> Entry:
    return Entry(mark, words_of(name), _heads(name))


@lru_cache(maxsize=1)
def all_names() -> frozenset[str]:
    return frozenset(w for rows in data()["names"].values() for name in rows for w in tokens(name))
