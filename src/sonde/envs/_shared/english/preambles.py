"""Clauses that lead up to a sentence: "based on what you told me, ...", "taking all of this together, ..."."""

from __future__ import annotations

from .lists import word_set
from .words import Words, base

_SUPPOSING = frozenset(("assuming", "supposing", "imagining", "pretending", "granting"))


def opens_preamble(word: str) -> bool:
    """Whether a clause that begins with this word leads up to what is said; one that supposes something does not.

    >>> [word for word in ("based", "taking", "bring", "assuming", "if") if opens_preamble(word)]
    ['based', 'taking']
    """
    participle = word.endswith("ing") and base(word) != word
    return (word in word_set("preambles") or participle) and word not in _SUPPOSING


def skip_preamble(words: Words) -> Words:
    """A sentence without the clause that leads up to it.

    >>> skip_preamble("based on that , i accuse him".split())
    ['i', 'accuse', 'him']
    """
    if not words or not opens_preamble(words[0]) or "," not in words:
        return words
    return words[list(words).index(",") + 1 :] or words
