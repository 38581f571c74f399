"""The word lists of Wordle: answers, legal guesses, and one split of all words into train and test.

Source: SCOWL, curated; built by `words/sources/words.py`, whose docstring gives the rules. The counts are the papers',
the words ours: PAPRIKA (arXiv:2502.17543) has 1515 train and 800 test words of five letters, and 1000 test words over
the lengths 4 and 6 to 10 (appendix I.8); LMRL-Gym (arXiv:2311.18232) has 400 words.

Every word belongs to train or test permanently: all lists share one split, so no preset trains on another's test words.
Files are loaded on first use and stay in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import zip_longest
from typing import cast, get_args

from sonde._util.folders import data_file
from sonde.core.env import Split
from sonde.core.errors import invalid, unknown

LENGTHS = range(4, 11)
"""Word lengths that have a list, in letters."""

MODIFIED_LENGTHS = tuple(length for length in LENGTHS if length != 5)
"""The lengths of PAPRIKA's modified Wordle (appendix I.8)."""


@cache
def answer_words(length: int) -> tuple[str, ...]:
    """Every answer word of this length, train and test together, sorted: the support of the prior."""
    return tuple(sorted(task_words(length, "train") + task_words(length, "test")))


@cache
def task_words(length: int, split: Split) -> tuple[str, ...]:
    """The answers of one split in a fixed shuffle, so that the first n are a fair sample."""
    if split not in get_args(Split):
        raise unknown("split", split, get_args(Split))
    return _read_words(f"answers_{_check_length(length)}.{split}")


@cache
def modified_task_words(split: Split) -> tuple[str, ...]:
    """The answers of 4 and 6 to 10 letters of one split, alternating between the lengths until their words run out."""
    turns = zip_longest(*(task_words(length, split) for length in MODIFIED_LENGTHS))
    return tuple(word for turn in turns for word in turn if word)


@cache
def allowed_words(length: int) -> frozenset[str]:
    """Every valid guess of this length when guesses are checked; includes all answers."""
    return frozenset(_read_words(f"guesses_{_check_length(length)}"))


@cache
def lmrl_answers() -> tuple[str, ...]:
    """400 of the most common five-letter answers, sorted: the support of the prior of the `lmrl` preset."""
    return _read_words("lmrl")


@cache
def lmrl_task_words(split: Split) -> tuple[str, ...]:
    """The words of `lmrl_answers` in one split, in the shuffle of `task_words`."""
    chosen = set(lmrl_answers())
    return tuple(word for word in task_words(5, split) if word in chosen)


def _check_length(length: int) -> int:
    if length not in LENGTHS:
        raise invalid("length", length, f"{LENGTHS[0]} to {LENGTHS[-1]}")
    return length


def are_words(value: object, most: int, longest: int) -> bool:
    """Whether a value of a custom setup is 2 to `most` different lower-case words of at most `longest` letters."""
    if not isinstance(value, list | tuple):
        return False
    found = cast("Sequence[object]", value)
    return 2 <= len(found) <= most and all(_is_word(word, longest) for word in found) and len(set(found)) == len(found)


def _is_word(value: object, longest: int) -> bool:
    if not isinstance(value, str):
        return False
    return 1 <= len(value) <= longest and value.isascii() and value.isalpha() and value.islower()


def _read_words(name: str) -> tuple[str, ...]:
    path = data_file("_shared/words", f"{name}.txt")
    return tuple(path.read_text(encoding="ascii").split())
