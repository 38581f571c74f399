"""What is told of a finding, and whether the words of a question belong to it.

Ours. A finding is named by what it `asks` and by its values; its sample questions, answers and cues say more of it, and
also name persons and things that only go with it.
"""

from __future__ import annotations

import re
from functools import lru_cache

from .products import Finding, products
from .topics import lexicon
from .vocabulary import every_stem, stems, words

PEOPLE = (
    r"(?:neighbou?r|friend|colleague|boss|wife|husband|mother|father|brother|sister|son|daughter|aunt|uncle|guest"
    r"|cousin|landlord|nephew|niece|grand(?:son|daughter|mother|father|child)|parent|child|children|kid|mum|dad|dog|cat|baby"
    r"|partner|flatmate|tenant|visitor|nurse|doctor|dentist|teacher|girl|boy|postman|courier)s?"
)
"""Persons and pets that a customer may name."""


def all_said(found: Finding) -> str:
    """All texts of a finding, without the ways of asking that every finding has."""
    return ". ".join((found.asks, *found.questions[:-3], *found.answers, *found.cues, *found.more)).lower()


@lru_cache(maxsize=1 << 10)
def values(name: str, finding: int) -> frozenset[str]:
    """The words of its values."""
    return frozenset(stems(" ".join(products()[name].findings[finding].values)))


@lru_cache(maxsize=1 << 10)
def called(name: str, finding: int) -> frozenset[str]:
    """The words by which it is called, without those of the whole conversation."""
    asks = products()[name].findings[finding].asks
    return values(name, finding).union(stems(asks)) - lexicon(name).findings.background


def told_of(name: str, finding: int, stem: str) -> bool:
    """Whether a word is of the finding."""
    lex = lexicon(name)
    return finding in lex.findings.strength.get(stem, {}) or stem in lex.told[finding]


def known(name: str, finding: int, stem: str) -> bool:
    """Whether a word is of the finding, or of the whole conversation."""
    return told_of(name, finding, stem) or stem in lexicon(name).findings.background


def explains(name: str, finding: int, said: str) -> bool:
    """Whether every word that says something is of the finding, or of the product."""
    return all(known(name, finding, s) for s in stems(said))


_BESIDE = re.compile(r"\b(?:near|beside|behind|below|under|next to|in the last)\b")


def named_by(name: str, finding: int, text: str) -> bool:
    """Whether a property that a question asks for, such as a length, is one by which the finding or a value is called,
    or for which a sample question asks: "When did it arrive?" is not what has arrived."""
    found = products()[name].findings[finding]
    asked = [(pattern, needed) for pattern, needed in words().properties if pattern.search(text)]
    if not asked:
        return True
    asks, *_ = _BESIDE.split(found.asks)
    told = every_stem(" ".join((asks, *found.values)))
    samples = [question.lower() for question in found.questions[:-3]]
    return all(told & needed or any(map(pattern.search, samples)) for pattern, needed in asked)
