"""How detectives put things: the phrasings declared in `data/phrases.txt`, one line for a meaning.

The word in brackets before a meaning says where it is looked for: `[act]` in what a unit of a message does, `[topic]`
in what somebody is asked, `[guilt]` in accusations, `[told]` in questions about the briefing; `[list]` are words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

from sonde._util.folders import data_file

from .._shared.english.lexicon import Line, expansions, lines
from .._shared.english.spotting import Spot, Spotter, forms


@cache
def declared() -> Mapping[str, Sequence[Line]]:
    """The lines of `data/phrases.txt` by meaning."""
    text = data_file("murder_mystery", "phrases.txt").read_text("utf-8")
    found: dict[str, list[Line]] = {}
    for line in lines(text):
        found.setdefault(line.meaning, []).append(line)
    return found


@cache
def listed_as(meaning: str) -> frozenset[str]:
    """The words of a declared list."""
    return frozenset(text for line in declared()[meaning] for p in line.phrases for text in expansions(p))


@cache
def _spotter(group: str) -> Spotter:
    return Spotter(line for rows in declared().values() for line in rows if line.scope == group)


@lru_cache(maxsize=1 << 12)
def _forms(words: tuple[str, ...]) -> list[str]:
    return forms(words)


@lru_cache(maxsize=1 << 14)
def _spotted(group: str, words: tuple[str, ...]) -> Mapping[str, Sequence[Spot]]:
    found: dict[str, list[Spot]] = {}
    for spot in _spotter(group).spots(_forms(words)):
        found.setdefault(spot.meaning, []).append(spot)
    return found


def spots(name: str, words: tuple[str, ...]) -> Sequence[Spot]:
    """Where a sentence with marks has a meaning."""
    return _spotted(declared()[name][0].scope, words).get(name, ())


def says(name: str, words: tuple[str, ...]) -> bool:
    """Whether a sentence with marks has a meaning."""
    return bool(spots(name, words))
