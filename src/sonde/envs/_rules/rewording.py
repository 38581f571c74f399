"""Other words for what a sentence asks, tried where the sentence itself is not understood.

Ours. `plainer` puts rules of English on the words, each of which leaves the meaning as it is ("one of these" is "it",
"is a ball used in the game" is "does it involve a ball"); `spelled` mends single letters of words that are in no word
list. The rules are in `envs/data/twenty_questions_words.txt`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from . import facts
from .english import singular
from .phrases import lexicon
from .topics import knowledge
from .wordlists import word_list, word_set
from .words import LENGTHS, allowed

Words = Sequence[str]
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_SHORTEST = 5
"""Letters of a word that may be mended; shorter ones are too near to each other."""


@cache
def _rules(name: str) -> Sequence[tuple[re.Pattern[str], str]]:
    pairs = (rule.partition("=>") for rule in word_list(name))
    return [(re.compile(pattern.strip()), f" {to.strip()} ") for pattern, _, to in pairs]


def _put(name: str, words: Words) -> list[str]:
    text = " ".join(words)
    for pattern, to in _rules(name):
        text = " ".join(pattern.sub(to, text).split()).strip(" ,")
    return text.split()


def plainer(words: Words) -> Iterator[list[str]]:
    """The words in plainer English; then without what goes without saying at the end.

    >>> next(plainer("are there strings on it".split()))
    ['does', 'it', 'have', 'strings']
    """
    before, plain = list(words), _put("rewording.same", words)
    for _ in range(2):
        if plain and plain != before:
            yield plain
        before, plain = plain, _put("rewording.aside", plain)
        plain = _put("rewording.same", plain)


def spelled(words: Words) -> list[str] | None:
    """The words with slips of single letters mended; None where there are none, or it is not clear what was meant.

    >>> spelled("is it a pengiun".split())
    ['is', 'it', 'a', 'penguin']
    """
    found = [word if _known(word) else _mended(word) for word in words]
    if any(word is None for word in found) or found == list(words):
        return None
    return [word for word in found if word]


def _known(word: str) -> bool:
    if len(word) < _SHORTEST or not word.isalpha() or not word.isascii() or word in _vocabulary():
        return True
    return any(len(form) in LENGTHS and form in allowed(len(form)) for form in (word, singular(word)))


def _mended(word: str) -> str | None:
    """The one word of the vocabulary that is a slip away; the word itself where there is none."""
    near = {form for form in _slips(word) if form in _vocabulary()}
    return word if not near else near.pop() if len(near) == 1 else None


def _slips(word: str) -> Iterator[str]:
    """Letters exchanged, left out, put in or mistaken; the first letter stays."""
    for i in range(1, len(word)):
        head, tail = word[:i], word[i:]
        yield head + tail[1:]
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        for letter in _LETTERS:
            yield head + letter + tail[1:]
            yield head + letter + tail
    for letter in _LETTERS:
        yield word + letter


@cache
def _vocabulary() -> frozenset[str]:
    """Every word of names, kinds and phrases."""
    knows = knowledge()
    texts = (*knows.lookup, *knows.kinds, *(k.partition(":")[2] for k in (*lexicon(), *facts.keys())))
    return (
        frozenset(word for text in texts for word in text.split())
        | word_set("english.verbs")
        | word_set("rewording.common")
    )
