"""Nouns and their hypernyms: the pool, word lists, and contradictions between answers about a list.

Source: Multi-Turn Puzzles, appendix A.3 (criteria of the words, the five contradictions). The pool is built from
WordNet and SCOWL by `sources/compile.py`, whose docstring gives the rules. Sets of words
are bit masks: bit i stands for word i of the list.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

from sonde._util.folders import data_file
from sonde.core import Frozen

Words = tuple[str, ...] | Frozen[tuple[str, ...]]
"""A list of words of the pool, or of any nouns with their hypernyms, nearest first."""

Question = Literal["kind", "word"]
"""The subject of a question: whether the word is a kind of something, or whether it is a certain word."""

Contradiction = Literal["excluded_kind", "shared_kind", "last_word", "excluded_word", "nothing_left"]
"""In the order of the paper: yes to a kind of excluded words only; no to a kind that all remaining words have; no to
the only word that remains; yes to an excluded word; and, for all other cases, no word of the list fits any more."""


@dataclass(frozen=True, eq=False)
class WordTaxonomy:
    """A word list, ready for questions."""

    words: tuple[str, ...]
    kinds: Mapping[str, int]
    """Maps every hypernym of the list to the words that are a kind of it."""
    bits: Mapping[str, int]
    """Maps every word to its mask."""
    names: Mapping[str, tuple[Question, str]]
    """Maps each case-folded name to whether it is a kind or a word, and its spelling."""
    above: Mapping[str, tuple[str, ...]]
    """Maps every word to its hypernyms, nearest first."""

    @property
    def all(self) -> int:
        return (1 << len(self.words)) - 1

    def word_lines(self) -> str:
        """Format one line per word: its kinds, nearest first, without those that all words share."""
        common = self.common()
        return "\n".join(f"- {w}: {', '.join(k for k in self.above[w] if k not in common)}" for w in self.words)

    def common(self) -> tuple[str, ...]:
        """The kinds that all words of the list share."""
        return tuple(k for k, mask in self.kinds.items() if mask == self.all)

    def kind_members(self, question: Question, term: str) -> int:
        """The words for which yes is the right answer; none for a term that is foreign to the list."""
        return (self.kinds if question == "kind" else self.bits).get(term, 0)


@cache
def word_pool(split: str) -> Mapping[str, tuple[str, ...]]:
    """Maps words to hypernyms, nearest first, for the words of one split."""
    text = data_file("twenty_questions_answerer", "nouns.json").read_text("ascii")
    rows: dict[str, list[str]] = json.loads(text)[split]
    return Frozen({word: tuple(above) for word, above in rows.items()})


@cache
def all_nouns() -> Mapping[str, tuple[str, ...]]:
    """The words of both splits."""
    return Frozen({**word_pool("train"), **word_pool("test")})


@lru_cache(maxsize=2048)
def word_taxonomy(listed: Words) -> WordTaxonomy:
    """The list of these words, with the hypernyms of the pool where it has none of its own."""
    words, nouns = tuple(listed), listed if isinstance(listed, Frozen) else all_nouns()
    above = {word: nouns[word] for word in words}
    kinds: dict[str, int] = {}
    for i, word in enumerate(words):
        for kind in above[word]:
            kinds[kind] = kinds.get(kind, 0) | 1 << i
    names: dict[str, tuple[Question, str]] = {kind.casefold(): ("kind", kind) for kind in kinds}
    names.update({word.casefold(): ("word", word) for word in words})
    bits = {word: 1 << i for i, word in enumerate(words)}
    return WordTaxonomy(words, Frozen(kinds), Frozen(bits), Frozen(names), Frozen(above))


def narrow_words(remaining: int, members: int, yes: bool) -> int:
    """The words that still fit after an answer to a question for which yes is right for `members`."""
    return remaining & members if yes else remaining & ~members


def find_contradiction(question: Question, members: int, yes: bool) -> Contradiction:
    """Classify an answer after which no word fits.

    Every such answer is one of the paper's first four contradictions, unless it says yes to a term that no word of the
    list has: that is the fifth.
    """
    if not members:
        return "nothing_left"
    if question == "kind":
        return "excluded_kind" if yes else "shared_kind"
    return "excluded_word" if yes else "last_word"
