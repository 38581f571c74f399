"""Find declared phrasings anywhere within a sentence.

Own design. For messages that are orders or questions in any frame ("I'd like you to ask the cook where she was"): their
parts count, not the whole. Declarations are those of `lexicon` (`MEANING: PHRASE; PHRASE`) without frames: words in any
form, `(a|b)` alternatives, `[a]` optional, `<p>` a mark for something named, `quarrel*` every word that begins like
this, `..` up to four words other than commas.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .lexicon import Line
from .words import base_form

_GAP, _WIDEST = "..", 4
_PART = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|\S+")


class Spot(NamedTuple):
    """A meaning and the position of its phrase."""

    meaning: str
    start: int
    end: int


class _Node(NamedTuple):
    """A node in the tree of phrases: the next words, beginnings of words (by three letters), or gaps, and the meanings
    of the phrases that end here."""

    words: dict[str, list[_Node]]
    stems: dict[str, list[tuple[str, _Node]]]
    gaps: list[_Node]
    ends: list[str]

    def add_word(self, part: str, node: _Node) -> None:
        """Make a word lead to a node."""
        if part[-1] == "*":
            self.stems.setdefault(part[:3], []).append((part[:-1], node))
        else:
            self.words.setdefault(part if part[0] == "<" else base_form(part), []).append(node)

    def walk_phrase(self, words: Sequence[str], at: int, ends: dict[str, int]) -> None:
        """Record where phrases end that continue from here with the word at `at`."""
        for meaning in self.ends:
            ends[meaning] = max(at, ends.get(meaning, 0))
        if at == len(words):
            return
        self._step_word(words, at, ends)
        for gap in self.gaps:
            for skipped in range(at, min(at + _WIDEST + 1, len(words))):
                gap._step_word(words, skipped, ends)
                if words[skipped] == ",":
                    break

    def _step_word(self, words: Sequence[str], at: int, ends: dict[str, int]) -> None:
        word = words[at]
        for node in self.words.get(word, ()):
            node.walk_phrase(words, at + 1, ends)
        for stem, node in self.stems.get(word[:3], ()):
            if word.startswith(stem):
                node.walk_phrase(words, at + 1, ends)


def _new_node() -> _Node:
    return _Node({}, {}, [], [])


def _lead_node(node: _Node, words: Iterable[str]) -> _Node:
    """The node after some words."""
    for word in words:
        step = _new_node()
        node.add_word(word, step)
        node = step
    return node


def _add_phrase(root: _Node, phrase: str, meaning: str) -> None:
    """Add a phrase below a node; alternatives meet after them."""
    heads = [root]
    for part in _PART.findall(phrase):
        node = _new_node()
        if part == _GAP:
            for head in heads:
                head.gaps.append(node)
            heads = [node]
            continue
        for option in part.strip("()[]").split("|"):
            *before, last = option.split()
            for head in heads:
                _lead_node(head, before).add_word(last, node)
        heads = [*heads, node] if part[0] == "[" else [node]
    for head in heads:
        head.ends.append(meaning)


class Spotter:
    """The phrasings of some declared lines; sentences are given as the base forms of their words (`search_forms`).

    >>> from .lexicon import parse_lines
    >>> spotter = Spotter(parse_lines("alibi: where .. you; alibi\\nstrife: (quarrel*|row) .. with <v>"))
    >>> spotter.find_spots(search_forms("so where exactly were you , and did you quarrel badly with @v".split()))
    [Spot(meaning='alibi', start=1, end=5), Spot(meaning='strife', start=9, end=13)]
    """

    def __init__(self, lines: Iterable[Line]) -> None:
        self._root = _new_node()
        for line in lines:
            for phrase in line.phrases:
                _add_phrase(self._root, phrase, line.meaning)

    def find_spots(self, words: Sequence[str]) -> list[Spot]:
        """All phrases in a sentence, from left to right; the longest of those with one meaning and start."""
        found: dict[tuple[str, int], int] = {}
        root = self._root
        for at, word in enumerate(words):
            if word not in root.words and word[:3] not in root.stems:
                continue
            ends: dict[str, int] = {}
            root.walk_phrase(words, at, ends)
            found.update({(meaning, at): end for meaning, end in ends.items()})
        return [Spot(meaning, at, end) for (meaning, at), end in found.items()]

    def find_meanings(self, words: Sequence[str]) -> frozenset[str]:
        """The meanings in a sentence."""
        return frozenset(spot.meaning for spot in self.find_spots(words))


def search_forms(words: Iterable[str]) -> list[str]:
    """The forms used for searching a sentence: base forms, and marks such as `@v` and `@p3` by their kind."""
    return [f"<{word[1:].rstrip('0123456789')}>" if word[0] == "@" else base_form(word) for word in words]
