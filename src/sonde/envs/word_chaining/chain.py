"""Word chains: legal next words, the rule that a word breaks, and the word pools of the games.

The pools are built by `sources/compile.py`, whose docstring gives source and rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

from sonde._util.folders import data_file


@dataclass(frozen=True)
class Lexicon:
    """The words of one game, sorted. Hashed and compared by content.

    >>> Lexicon(("east", "tea", "toast")).legal_words(("east",))
    ('tea', 'toast')
    """

    words: tuple[str, ...]

    @cached_property
    def words_by_letter(self) -> Mapping[str, tuple[str, ...]]:
        """Maps each first letter to its words, letters and words in order."""
        groups: dict[str, list[str]] = {}
        for word in self.words:
            groups.setdefault(word[0], []).append(word)
        return {letter: tuple(group) for letter, group in groups.items()}

    @cached_property
    def opening_words(self) -> tuple[str, ...]:
        """The words that another word can follow."""
        return tuple(word for word in self.words if self.can_go_on((word,)))

    def legal_words(self, played: Sequence[str]) -> tuple[str, ...]:
        """The legal next words after `played`, in order."""
        if not played:
            return self.words
        return tuple([word for word in self.words_by_letter.get(played[-1][-1], ()) if word not in played])

    def can_go_on(self, played: Sequence[str]) -> bool:
        """Whether `legal_words` is non-empty; `played` holds at least one word."""
        return any(word not in played for word in self.words_by_letter.get(played[-1][-1], ()))

    def broken_rule(self, played: Sequence[str], word: str) -> str:
        """The first rule that `word` breaks after `played`: unlisted, letter or repeated; empty if none.

        >>> Lexicon(("east", "tea", "toast")).broken_rule(("east",), "east")
        'letter'
        """
        if word not in self.words_by_letter.get(word[:1], ()):
            return "unlisted"
        if played and word[0] != played[-1][-1]:
            return "letter"
        return "repeated" if word in played else ""


@lru_cache(maxsize=1024)
def make_lexicon(words: tuple[str, ...]) -> Lexicon:
    """The lexicon of these words, shared by the episodes of a task."""
    return Lexicon(words)


def format_words(words: Iterable[str]) -> str:
    """Words in order, one line per first letter."""
    lines: dict[str, list[str]] = {}
    for word in words:
        lines.setdefault(word[0], []).append(word)
    return "\n".join(f"{letter}: {' '.join(found)}" for letter, found in lines.items())


@cache
def split_words(split: str) -> tuple[str, ...]:
    """The words for the games of a split, sorted."""
    path = data_file("word_chaining", f"chaining.{split}.txt")
    return tuple(path.read_text(encoding="ascii").split())
