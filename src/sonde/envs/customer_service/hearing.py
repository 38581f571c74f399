"""The words of agents and customers, and what those of one product are about.

Ours. General English of support talk is in `data/words.toml`: words that say nothing, words that nearly
every product has, synonyms, opposites, and what a question asks for ("how old").
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from sonde._util.folders import data_file

from .._shared.english.bags import Bags, Declared, Measure
from .._shared.english.lists import word_set
from .._shared.english.speech import joined, speech
from .._shared.english.words import ascii_lower, base, stem, tokens
from .products import Finding, products


class Words(NamedTuple):
    """The general vocabulary."""

    stop: frozenset[str]
    weak: frozenset[str]
    same: Mapping[str, str]
    aspects: tuple[tuple[re.Pattern[str], frozenset[str]], ...]
    """How a property of a thing is asked for, and the words of which one occurs where it is told."""
    opposite: Mapping[str, frozenset[str]]
    """Words of deeds -> those that would undo them."""
    neutral: frozenset[str]
    """Verbs that may stand for any deed."""


@cache
def words() -> Words:
    """Loaded once per process."""
    raw = tomllib.loads(data_file("customer_service", "words.toml").read_text("ascii"))
    same: dict[str, str] = {}
    for line in raw["same"].strip().splitlines():
        first, *rest = map(stem, line.split())
        for word in (first, *rest):
            same.setdefault(word, same.get(first, first))
    weak = frozenset(same.get(s, s) for s in map(stem, raw["weak"].split()))
    neutral = frozenset(map(stem, raw["neutral"].split()))
    aspects = tuple(map(_aspect, raw["aspect"].strip().splitlines()))
    return Words(frozenset(raw["stop"].split()), weak, same, aspects, _opposites(raw["opposite"]), neutral)


def _aspect(line: str) -> tuple[re.Pattern[str], frozenset[str]]:
    asked, _, told = line.partition(": ")
    return re.compile(rf"\b(?:{'|'.join(asked.split(', '))})\b"), frozenset(map(stem, told.split()))


def _opposites(text: str) -> Mapping[str, frozenset[str]]:
    """Word -> the words of the other side."""
    found: dict[str, set[str]] = {}
    for line in text.strip().splitlines():
        one, other = (frozenset(side.split()) for side in line.split(" | "))
        for side, back in ((one, other), (other, one)):
            for word in side:
                found.setdefault(word, set()).update(back)
    return {word: frozenset(back) for word, back in found.items()}


@lru_cache(maxsize=1 << 14)
def content(word: str) -> str:
    """What a word stands for; empty if it says nothing."""
    known, bare = words(), stem(word)
    return "" if word in known.stop or bare in known.stop or word == "," else known.same.get(bare, bare)


def stems(said: Iterable[str]) -> tuple[str, ...]:
    """The words that say something, each as the word that stands for it."""
    return tuple(found for word in said if (found := content(word)))


def text_stems(text: str) -> tuple[str, ...]:
    """The same of a declared text."""
    return stems(tokens(joined(ascii_lower(text))))


def weight(word: str) -> float:
    """What a stem counts for."""
    return 0.4 if word in words().weak or word.isdigit() else 1.0


_COUNT = re.compile(r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|[0-9]+)\b")
_OF_CAUSES = Measure(points=0.9, share=0.6, aside=1.0, least=0.4)
"""Causes are told by fewer words than findings: what they propose is looked at once more (`does_it`)."""


class Topics(NamedTuple):
    """What the words of one product are about: its findings, and its causes, by what is said to be wrong and by what is
    to be done; and the words of each fix."""

    findings: Bags
    causes: Bags
    fixes: Bags
    fix_words: tuple[frozenset[str], ...]


@lru_cache(maxsize=128)
def topics(name: str) -> Topics:
    product = products()[name]
    background = text_stems(f"{product.product} {product.symptom}")
    wrong = [(c.what, *c.cues) for c in product.causes]
    helps = [(c.fix_what, *c.fix_cues) for c in product.causes]
    more = [(*c.suggestions[:-3], *c.more) for c in product.causes]
    rows = list(zip(wrong, helps, more, strict=True))
    return Topics(
        Bags([_of_finding(f) for f in product.findings], weight, background, Measure()),
        Bags([_of_cause(w, h + m) for w, h, m in rows], weight, background, _OF_CAUSES),
        Bags([_of_cause(h, w + m) for w, h, m in rows], weight, background, _OF_CAUSES),
        tuple(
            frozenset(w for t in (c.fix_what, *c.fix_cues, *c.suggestions[:-3]) for w in _done(speech(t)[0].words))
            for c in product.causes
        ),
    )


def _of_finding(found: Finding) -> Declared:
    more = (*found.questions[:-3], *found.values, *found.more)
    names = tuple(map(text_stems, (found.asks, *found.cues)))
    return Declared(names, tuple(map(text_stems, more)), tuple(map(text_stems, found.answers)))


def _of_cause(names: Iterable[str], more: Iterable[str]) -> Declared:
    """Of a name like "three values" a single word is left, which is no name: what may end the game needs more."""
    all_of = [(text_stems(text), _COUNT.search(text)) for text in names]
    whole = tuple(stems for stems, counts in all_of if len(stems) > 1 or not counts)
    rest = tuple(stems for stems, _ in all_of if stems not in whole)
    return Declared(whole, (*rest, *map(text_stems, more)))


def tells(name: str, finding: int, said: str) -> bool:
    """Whether a finding has the property that a question asks for, such as an age, a size or a colour."""
    asked = [told for pattern, told in words().aspects if pattern.search(said)]
    return all(_told(name, finding) & told for told in asked)


def asks_property(said: str) -> bool:
    """Whether a question asks for a property, such as an age, a size or a colour."""
    return any(pattern.search(said) for pattern, _ in words().aspects)


@lru_cache(maxsize=1 << 10)
def _told(name: str, finding: int) -> frozenset[str]:
    """All words of a finding, without their endings."""
    f = products()[name].findings[finding]
    texts = (f.asks, *f.cues, *f.questions[:-3], *f.values, *f.more)
    return frozenset(stem(word) for text in texts for word in tokens(text))


PLENTY = 3.0
"""Points of a proposal whose verb is not asked about."""
_END = re.compile(r" (?:until|so|because|that|which|to|,) .*")


def does_it(name: str, cause: int, said: Sequence[str], points: float) -> bool:
    """Whether a proposal is to do what mends this: one of its verbs is of the fix, and nothing is turned round."""
    bags = topics(name).fixes
    verbs = [v for w in said if base(w) in word_set("deeds") and (v := content(w)) and v not in words().neutral]
    if points < PLENTY and verbs and not any(cause in bags.strength.get(v, {}) for v in verbs):
        return False
    own, back = topics(name).fix_words[cause], words().opposite
    done = _done(_END.sub("", " ".join(said)).split())
    return not any(back.get(w, frozenset()) & own and w not in own for w in done)


def _done(said: Sequence[str]) -> frozenset[str]:
    """The words of what is to be done; "+on" where "on" belongs to the verb, as in "turn it on"."""
    if not said or base(said[0]) not in word_set("deeds"):
        return frozenset()
    behind = (*said[1:], "the")
    return frozenset(said) | {f"+{w}" for w, next_ in zip(said, behind, strict=True) if next_ in words().stop}
