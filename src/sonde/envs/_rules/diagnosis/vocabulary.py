"""The words of agents and customers: what says something, what it stands for, and how much it weighs.

Ours. A word that says something is cut to its stem, synonyms to one of them (`data/customer_service_words.toml`).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

from ..words import LENGTHS, allowed
from .products import products

TOKEN = re.compile(r"[a-z0-9]+(?:['-][a-z0-9]+)*")
WEAK = 0.4
"""The weight of a word that nearly every product has."""


class Words(NamedTuple):
    """The general vocabulary: words without weight, with little weight, synonyms, and verbs."""

    stop: frozenset[str]
    weak: frozenset[str]
    same: Mapping[str, str]
    ask: frozenset[str]
    act: frozenset[str]
    any_aspect: re.Pattern[str]
    aspects: tuple[tuple[re.Pattern[str], frozenset[str]], ...]
    """How a property of a thing is asked for, and the words of which one occurs where it is told."""
    properties: tuple[tuple[re.Pattern[str], frozenset[str]], ...]
    """The same, of which one occurs in the name of the finding or in its values."""
    scales: tuple[frozenset[str], ...]
    """Words that can be opposed to each other."""
    opposite: tuple[str, ...]


@cache
def words() -> Words:
    """Loaded once per process."""
    raw = tomllib.loads(files("sonde.envs").joinpath("data", "customer_service_words.toml").read_text("ascii"))
    same: dict[str, str] = {}
    for line in raw["same"].strip().splitlines():
        first, *rest = (stem_of(word) for word in line.split())
        for word in (first, *rest):
            same.setdefault(word, same.get(first, first))
    weak = frozenset(same.get(s, s) for s in map(stem_of, raw["weak"].split()))
    stop, ask, act = (frozenset(raw[kind].split()) for kind in ("stop", "ask", "act"))
    aspects, properties = (tuple(map(_aspect, raw[kind].strip().splitlines())) for kind in ("aspect", "property"))
    scales = tuple(frozenset(map(stem_of, line.split())) for line in raw["scale"].strip().splitlines())
    any_aspect = re.compile("|".join(pattern.pattern for pattern, _ in aspects))
    opposite = tuple(raw["opposite"].strip().splitlines())
    return Words(stop, weak, same, ask, act, any_aspect, aspects, properties, scales, opposite)


def _aspect(line: str) -> tuple[re.Pattern[str], frozenset[str]]:
    asked, _, told = line.partition(": ")
    return re.compile(rf"\b(?:{'|'.join(asked.split(', '))})\b"), frozenset(map(stem_of, told.split()))


def stem_of(word: str) -> str:
    """A word without its ending, as far as regular rules go.

    >>> stem_of("clogged"), stem_of("batteries"), stem_of("pressing"), stem_of("noise")
    ('clog', 'battery', 'press', 'nois')
    """
    word = word.removesuffix("'s")
    if word in ("evening", "evenings"):
        return "evening"  # no form of "even"
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-2] if word.endswith(("sses", "shes", "ches", "xes")) else word[:-1]
    for ending in ("ing", "ed", "ly"):
        if len(word) > len(ending) + 2 and word.endswith(ending):
            word = word[: -len(ending)]
            if ending != "ly" and len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


@lru_cache(maxsize=1 << 14)
def content(word: str) -> str:
    """What a word stands for; empty if it says nothing."""
    known = words()
    stem = stem_of(word)
    return "" if word in known.stop or stem in known.stop else known.same.get(stem, stem)


def stems(text: str) -> list[str]:
    """The words of a text that say something, each as the word that stands for it, in order."""
    return [s for token in TOKEN.findall(text.lower()) if (s := content(token))]


def every_stem(text: str) -> frozenset[str]:
    """The words of a text without their endings, also those that say nothing."""
    return frozenset(map(stem_of, TOKEN.findall(text.lower())))


def weight(stem: str) -> float:
    return WEAK if stem in words().weak or stem.isdigit() else 1.0


def weighs(stem: str) -> bool:
    """Whether a word is more than one of those that nearly every product has."""
    return stem not in words().weak


@cache
def _vocabulary() -> frozenset[str]:
    """All words of all products as they are written, and the general ones."""
    texts: list[str] = []
    for p in products().values():
        texts += [p.product, p.symptom, *p.openings]
        for f in p.findings:
            texts += [f.asks, *f.cues, *f.questions, *f.answers, *f.values, *f.more]
        for c in p.causes:
            texts += [c.what, c.fix_what, *c.cues, *c.fix_cues, *c.suggestions, c.done, c.failed, *c.more]
    known = words()
    return frozenset(TOKEN.findall(" ".join(texts).lower())) | known.stop | known.ask | known.act


def english(text: str) -> bool:
    """Whether every word of up to 10 letters is one: what is misspelt might mean anything."""
    known = _vocabulary()
    odd = {t for token in TOKEN.findall(text) if token not in known for t in re.split("['-]", token)} - known
    return all(w in allowed(len(w)) if len(w) in LENGTHS else len(w) > max(LENGTHS) for w in odd if w.isalpha())
