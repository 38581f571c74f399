"""The words of short statements and of questions about them: other wordings made one, what says nothing left out.

Ours. Tables of `twenty_questions_words.txt`: phrases that are put into plainer words ("take place": "happen"), words
that add nothing, words that mean the same in statements about single things, and words that mean less than others
("big" than "huge"), which are asked for but not said.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache

from .english import NUMBERS, base, is_base, is_participle
from .subjects import PRONOUNS
from .topics import knowledge
from .wordlists import indexed, starts, word_list, word_set

Words = Sequence[str]

DROPPED = word_set("sayings.dropped")
PLACING = word_set("sayings.placing")
_TURNS = word_set("sayings.turns")
_EMPTY = word_set("sayings.words") | PLACING
_PARTICIPLES = word_set("sayings.participles")
_VERBS = word_set("sayings.verbs")
_STATES = word_set("sayings.states")
_PHRASES = {a.strip(): b.split() for line in word_list("sayings.phrases") for a, _, b in [line.partition(">")]}
_PHRASE_INDEX = indexed(tuple(_PHRASES))
_DIGITS = {str(n): word for word, n in NUMBERS.items() if n != 1}
_SAME = {word: to for pair in sorted(word_set("sayings.same")) for word, _, to in [pair.partition(":")]}
NARROWER: Mapping[str, Sequence[str]] = {
    line.split()[0]: tuple(line.split()[1:]) for line in word_list("sayings.narrower")
}
"""Words that say what the first one says and more."""


@cache
def _broader() -> Mapping[str, Sequence[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for word, others in NARROWER.items():
        for other in others:
            found[other].append(word)
    return found


def broader(word: str) -> Sequence[str]:
    """What a word says besides: "huge" is "big"."""
    return _broader().get(word, ())


def plain(words: Words) -> list[str]:
    """The words with plainer phrases, without those that add nothing and without the first names of people.

    >>> plain("did it actually take place in a very old house".split())
    ['did', 'it', 'happen', 'in', 'a', 'very', 'old', 'house']
    """
    found: list[str] = []
    words, i = _counted(words), 0
    while i < len(words):
        n = next(iter(starts(words[i : i + 6], _PHRASE_INDEX)), 0)
        found += _PHRASES[" ".join(words[i : i + n])] if n else [words[i]]
        i += n or 1
    found = [w for w in found if w not in DROPPED]
    first = _first_names()
    return [w for i, w in enumerate(found) if not (i + 1 < len(found) and w in first.get(found[i + 1], ()))]


def _counted(words: Words) -> Words:
    """The words with "thirty one" as one number."""
    if _TENS.isdisjoint(words):
        return words
    found: list[str] = []
    for word in words:
        if word in _UNITS and found and found[-1] in _TENS:
            found[-1] += f"-{word}"
        else:
            found.append(word)
    return found


_TENS = frozenset(word for word, n in NUMBERS.items() if 20 <= n < 100)
_UNITS = frozenset(word for word, n in NUMBERS.items() if 1 <= n < 10)


@cache
def _first_names() -> Mapping[str, frozenset[str]]:
    """Surnames that only one person of the topics has -> the first name."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    people = knowledge().known("person").yes
    for name, bit in knowledge().index.items():
        words = name.lower().split()
        if people >> bit & 1 and len(words) == 2 and all(w.isalpha() for w in words):
            found[words[1]].add(words[0])
    return {last: frozenset(first) for last, first in found.items() if len(first) == 1 and base(last) == last}


def turned(words: Words) -> bool:
    """Whether a text denies, compares, chooses or leaves out."""
    return not _TURNS.isdisjoint(words)


def stems(words: Words) -> list[str]:
    """The words that matter, in their base forms."""
    return [same(stem(w)) for w in words if w not in _EMPTY and w not in PRONOUNS and w != ","]


def stem(word: str) -> str:
    """The base form of a word, some verbs included that only statements have."""
    found = base(word)
    if found != word or word in _VERBS or not word.endswith(("s", "ed", "ing")):
        return found
    cut = next(word.removesuffix(end) for end in ("ing", "ed", "s") if word.endswith(end))
    return next((verb for verb in (cut, f"{cut}e", cut[:-1]) if verb in _VERBS), found)


def same(word: str) -> str:
    """The word for all those that mean the same."""
    return _SAME.get(word) or _DIGITS.get(word, word)


def verb(word: str) -> bool:
    """Whether a word may be the base form of a verb."""
    return is_base(word) or word in _VERBS


def participle(word: str) -> bool:
    """Whether a word may be a past participle."""
    return is_participle(word) or word in _PARTICIPLES or (word.endswith("ed") and stem(word) != word)


def only_participle(word: str) -> bool:
    """Whether a word may be a past participle and is not the base form of a verb."""
    return participle(word) and not verb(word)


def in_the_past(word: str) -> str:
    """ "was" where a verb tells how it was once, "did" where it tells what was done, else nothing."""
    found = stem(word)
    if word in ("was", "were", "did", "had"):
        return "was"
    if found == "be":
        return ""
    if found == word or not verb(found) or verb(word) or word.endswith(("s", "ing")):
        return ""
    return "was" if found in _STATES else "did"
