"""Slips of the pen: words that are no words, and the one word of a vocabulary that may be meant.

Ours. Only a word that nobody knows is mended, by two letters exchanged or, in longer ones, one left out, put in or
mistaken; its first letter stands. What may be meant in two ways stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_SHORTEST = 4
"""Letters of a word that may be mended, if two are exchanged; in longer ones for other slips too."""
_MOST = 3
"""Slips in a text."""


def mended(words: Sequence[str], vocabulary: Collection[str], known: Callable[[str], bool]) -> list[str] | None:
    """The words with their slips mended; None where there are none, or too many, or they cannot be.

    >>> mended("is it a pengiun".split(), {"penguin"}, {"is", "it", "a"}.__contains__)
    ['is', 'it', 'a', 'penguin']
    """
    slips = [i for i, word in enumerate(words) if _is_slip(word, vocabulary, known)]
    if not 0 < len(slips) <= _MOST:
        return None
    found = list(words)
    for i in slips:
        near = {form for form in _forms(words[i]) if form in vocabulary}
        if len(near) != 1:
            return None
        found[i] = near.pop()
    return found


def _is_slip(word: str, vocabulary: Collection[str], known: Callable[[str], bool]) -> bool:
    return len(word) >= _SHORTEST and word.isalpha() and word not in vocabulary and not known(word)


def _forms(word: str) -> Iterator[str]:
    for i in range(1, len(word) - 1):
        yield word[:i] + word[i + 1] + word[i] + word[i + 2 :]
    if len(word) == _SHORTEST:
        return
    for i in range(1, len(word) + 1):
        head, tail = word[:i], word[i:]
        yield head + tail[1:]
        for letter in _LETTERS:
            yield head + letter + tail
            yield head + letter + tail[1:]
