"""Other words for what a sentence asks, tried where the sentence itself is not understood.

Ours. `plainer` puts rules of English on the words, each of which leaves the meaning as it is ("one of these" is "it",
"is a ball used in the game" is "does it involve a ball"); `spelled` mends slips of the pen in words that are in no word
list. The rules are in `envs/data/twenty_questions_words.txt`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby, islice, product

from ..lazy import Lazy
from ..words import LENGTHS, allowed
from . import facts
from .english import base, is_base, singular
from .phrases import lexicon
from .topics import knowledge
from .wordlists import word_list, word_set

Words = Sequence[str]
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_SHORTEST = 4
"""Letters of a word that may be mended, if two are exchanged; in longer ones for other slips too."""


@cache
def _rules(name: str) -> Sequence[tuple[Lazy, str]]:
    pairs = (rule.partition("=>") for rule in word_list(name))
    return [(Lazy(pattern.strip()), f" {to.strip()} ") for pattern, _, to in pairs]


def _put(name: str, words: Words) -> list[str]:
    text = " ".join(words)
    for pattern, to in _rules(name):
        if pattern.may_fit(text) and pattern.compiled.search(text):
            text = " ".join(pattern.compiled.sub(to, text).split()).strip(" ,")
    return text.split()


def plainer(words: Words) -> Iterator[list[str]]:
    """The words in plainer English; then without what goes without saying at the end.

    >>> next(plainer("are there strings on it".split()))
    ['does', 'it', 'have', 'strings']
    """
    before, plain = list(words), _one_of(_put("rewording.same", words))
    for _ in range(2):
        if plain and plain != before:
            yield plain
        before, plain = plain, _put("rewording.aside", plain)
        plain = _put("rewording.same", plain)


_AUX = word_set("questions.aux")
_NO_FRAGMENT = word_set("questions.open") | word_set("questions.pronouns") | {"if", "or", "and", "there", "you", "i"}


def completed(words: Words) -> list[str] | None:
    """A fragment as a question; None where it is a whole sentence.

    >>> completed("has stripes".split()), completed("striped and big".split())
    (['does', 'it', 'have', 'stripes'], ['is', 'it', 'striped', 'and', 'big'])
    """
    if len(words) < 2 or len(words) > _LONGEST_FRAGMENT or words[0] in _NO_FRAGMENT:
        return None
    first, rest = words[0], list(words[1:])
    if first in ("got", "has", "have", "any"):
        return ["does", "it", "have", *(rest[:-2] if rest[-2:] in (["on", "it"], ["in", "it"]) else rest)]
    if first in _AUX:
        return [first, "it", *rest] if is_base(rest[0]) and first in ("can", "could", "does", "would") else None
    if first.endswith("s") and base(first) != first and is_base(base(first)):
        return ["does", "it", base(first), *rest]
    return None if is_base(first) else ["is", "it", *words]


_LONGEST_FRAGMENT = 12


def _one_of(words: Words) -> list[str]:
    """As in "is it one of the planets": "is it a planet"."""
    at = next((i for i in range(2, min(len(words) - 2, 4)) if words[i] == "one" and words[i + 1] == "of"), 0)
    start = at + 2
    while at and start < len(words) and words[start] in ("the", "our", "few", "many", "several", "these", "those"):
        start += 1
    end = next((i for i in range(start, len(words)) if at and singular(words[i]) != words[i]), 0)
    return [*words[:at], "a", *words[start:end], singular(words[end]), *words[end + 1 :]] if end else list(words)


def spelled(words: Words) -> Iterator[list[str]]:
    """The words with slips of the pen mended, in each way that it may be meant, up to a few.

    >>> list(spelled("is it a pengiun".split()))
    [['is', 'it', 'a', 'penguin']]
    """
    options = [_mended(word, words[i - 1 : i], i + 1 == len(words)) for i, word in enumerate(words)]
    if any(options) and sum(map(bool, options)) <= _MOST:
        meant = product(*(found or [word] for found, word in zip(options, words, strict=True)))
        yield from map(list, islice(meant, _MOST))


_MOST = 4
"""Readings of a text with slips, and slips in it."""


def _common(word: str) -> bool:
    """Whether it is a word of the lists, and no name."""
    return any(len(form) in LENGTHS and form in allowed(len(form)) for form in (word, singular(word)))


def _known(word: str) -> bool:
    if len(word) < _SHORTEST or not word.isalpha() or not word.isascii():
        return True
    return _common(word) or word in _vocabulary()


def _mended(word: str, before: Words, last: bool) -> Sequence[str]:
    """The words of the vocabulary that may be meant; none where it is one, or nothing is near. Behind an article at the
    end of a text nouns are meant."""
    if _known(word):
        return ()
    near = _near(word, _exchanged(word)) or _near(word, _slips(word))
    if not near and word.endswith("s") and len(word) > _SHORTEST:
        near = [f"{form}s" for form in _near(word, _slips(word[:-1]))]
    if len(near) > 1 and last and before and before[0] in ("a", "an", "the"):
        near = [form for form in near if _common(form)] or near
    return near


def _near(word: str, forms: Iterable[str]) -> list[str]:
    """The words of the vocabulary among these that start with the same letter."""
    return sorted({form for form in forms if form in _vocabulary() and form[0] == word[0]})


def _exchanged(word: str) -> Iterator[str]:
    """The same letters in another order, and those doubled or not; of short words only with two exchanged."""
    for i in range(1, len(word) - 1):
        yield word[:i] + word[i + 1] + word[i] + word[i + 2 :]
    if len(word) > _SHORTEST:
        yield from _alike().get(_shape(word), ())
        yield from _alike().get("".join(sorted(word)), ())


def _slips(word: str) -> Iterator[str]:
    """One letter left out, put in or mistaken; nothing of short words."""
    for i in range(1, len(word) if len(word) > _SHORTEST else 0):
        head, tail = word[:i], word[i:]
        yield head + tail[1:]
        for letter in _LETTERS:
            yield head + letter + tail[1:]
            yield head + letter + tail
    if len(word) > _SHORTEST:
        yield from (word + letter for letter in _LETTERS)


def _shape(word: str) -> str:
    """A word with every letter single."""
    return "".join(letter for letter, _ in groupby(word))


@cache
def _alike() -> Mapping[str, Sequence[str]]:
    """The words of the vocabulary by their shapes, and by the first letter and all letters."""
    found: dict[str, list[str]] = {}
    for word in sorted(_vocabulary()):
        if len(word) > _SHORTEST:
            for text in (_shape(word), "".join(sorted(word))):
                found.setdefault(text, []).append(word)
    return found


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
