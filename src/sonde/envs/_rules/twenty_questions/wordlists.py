"""Closed lists of English words and phrases, from `envs/data/twenty_questions_words.txt`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files


@cache
def _lists() -> Mapping[str, str]:
    text = files("sonde.envs").joinpath("data", "twenty_questions_words.txt").read_text("utf-8")
    blocks = (block.partition("]\n") for block in text.split("\n[")[1:])
    return {name: " ".join(body.split()) for name, _, body in blocks}


def word_set(name: str) -> frozenset[str]:
    """A list of single words."""
    return frozenset(_lists()[name].split())


def word_list(name: str) -> Sequence[str]:
    """A list of phrases, in order."""
    return tuple(part.strip() for part in _lists()[name].split(";"))


def indexed(texts: Sequence[str]) -> Mapping[str, Sequence[tuple[str, ...]]]:
    """The texts as words by their first word, the longest first."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for text in sorted(texts, key=lambda t: -len(t.split())):
        found.setdefault(text.split()[0], []).append(tuple(text.split()))
    return found


def starts(words: Sequence[str], index: Mapping[str, Sequence[tuple[str, ...]]]) -> Sequence[int]:
    """How many words the words share with texts of an index that they start with, the longest first."""
    found = index.get(words[0], ()) if words else ()
    return [len(parts) for parts in found if tuple(words[: len(parts)]) == parts]
