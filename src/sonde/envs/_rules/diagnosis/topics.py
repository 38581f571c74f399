"""What the words of a message are about: the findings and causes of a product, as bags of weighted words.

Ours. Every stem in the cues, names and sample questions of a thing speaks for it, the less the more things it speaks
for. A topic is taken only if it explains most of the words, clearly better than any other, and if no other explains
what it leaves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from .products import Finding, Product, products
from .vocabulary import TOKEN, WEAK, content, every_stem, stem_of, stems, weighs, weight, words

NOTHING, MANY = -1, -2

_ENOUGH, _LEAST, _COVERED = 0.95, 0.55, 0.6
"""Points that a topic needs where it explains the share `_COVERED` of the words (less is never taken), and where it
explains all of them; in between they fall evenly."""
_AHEAD, _AHEAD_LOW, _ASIDE, _ASIDE_SHARE = 0.62, 0.5, 0.6, 0.4
"""The share of its points that the next topic may have, and that if they are less than one; the points another one may
have by words that it leaves over, or the share of its own, whichever is more."""
_FOREIGN = (0.0, 0.85, 9.0)
"""The weight of words that belong to nothing beside one explained word, beside two, and beside more: a single word is
enough only where nothing else is said."""
_PHRASE, _SPOKEN, _SPOKEN_PLAIN = 0.35, 0.3, 0.9
"""Points for every word beyond the first of a cue whose words all occur; for a cue that occurs as it is; and for one
that has no word of its own ("how old")."""

_LONE_FIX, _ODD = 0.75, 0.4
"""Points of a fix that has neither a cue of several words nor two words of weight; those that an odd word costs."""

_ARTICLES = frozenset(("the", "a", "an", "any", "your", "its", "is", "it"))
_PARTICLES = frozenset(("on", "off", "up", "down", "out"))
_OF_YOU = re.compile(r"\b(?:what|which|where|who|whose|why|how) (?:do|did|are|were|have|would|will) you\b")
"""A question about the customer, of which one word of the product says little."""


class Topics(NamedTuple):
    """How strongly each word speaks for each of some things: `strength[word][i]`; the things for which a word may stand
    `alone`; cues of several words, as sets and as they are `spoken`; and what the whole conversation is about."""

    strength: Mapping[str, Mapping[int, float]]
    alone: Mapping[str, frozenset[int]]
    phrases: tuple[tuple[frozenset[str], ...], ...]
    spoken: tuple[tuple[str, ...], ...]
    background: frozenset[str]
    told_at_first: frozenset[str]
    weak_will_do: bool
    """Whether weak words together are enough: for questions, not for what may end the game."""
    least: float
    """Points, less those of odd words, without a cue of several words and without two words of weight."""


class Lexicon(NamedTuple):
    """What the words of one product point to."""

    findings: Topics
    fixes: Topics
    causes: Topics
    values: tuple[tuple[frozenset[str], ...], ...]
    """For every finding and value the words that only this value has."""
    told: tuple[frozenset[str], ...]
    """For every finding the stems of all that is said of it."""


@lru_cache(maxsize=128)
def lexicon(name: str) -> Lexicon:
    product = products()[name]
    background = frozenset(stems(f"{product.product} {product.symptom}"))
    opening = frozenset(stems(" ".join(product.openings)))
    findings = [((f.asks, *f.cues), (*f.questions[:-3], *f.values, *f.more), f.answers) for f in product.findings]
    fixes = [
        ((c.fix_what, *c.fix_cues), (*c.suggestions[:-3], *c.more), (_common(c.done, c.failed), c.what, *c.cues))
        for c in product.causes
    ]
    causes = [((c.what, *c.cues), (*c.more, c.fix_what, *c.fix_cues), ()) for c in product.causes]
    return Lexicon(
        _topics(findings, background, opening, weak_will_do=True),
        _topics(fixes, background, opening, least=_LONE_FIX),
        _topics(causes, background, opening),
        _values(product),
        tuple(every_stem(_all(f)) for f in product.findings),
    )


def _all(found: Finding) -> str:
    return " ".join((found.asks, *found.cues, *found.questions[:-3], *found.values, *found.more))


def tells(name: str, finding: int, text: str) -> bool:
    """Whether a finding has the property that a question asks for, such as an age, a size or a colour. Where a message
    names nothing but the product, or a property of it, this must be what the finding is called by."""
    lex = lexicon(name)
    topics, told = lex.findings, lex.told[finding]
    known = words()
    asked = [needed for p, needed in known.aspects if p.search(text)] if known.any_aspect.search(text) else []
    if not asked:
        return True
    nouns = [s for s in stems(text) if not any(s in needed for needed in asked)]
    if all(s in (*topics.background, "new", "old") or finding not in topics.strength.get(s, {}) for s in nouns):
        found = products()[name].findings[finding]
        if any(s in topics.background for s in nouns) and not _own(found, nouns, asked):
            return False
        told = every_stem(" ".join((found.asks, *found.cues)))
    return all(told & needed for needed in asked)


def _own(found: Finding, nouns: Sequence[str], asked: Sequence[frozenset[str]]) -> bool:
    """Whether a finding may be a property of the product: the age of the petrol is not that of the mower."""
    other = [s for s in stems(found.asks) if weighs(s) and s not in nouns]
    return all(any(s in needed for needed in asked) for s in other)


def fits(name: str, finding: int, predicate: str, *, loosely: bool = True) -> bool:
    """Whether a word is about a finding, or could be opposed to one that is; `loosely` if it may only point there."""
    stem, mine = stem_of(predicate), content(predicate)
    if predicate in ("on", "off"):
        return _switched(products()[name].findings[finding])
    found = products()[name].findings[finding]
    ends = (TOKEN.findall(question)[-1] for question in found.questions[:-3])
    said = " ".join((found.asks, *found.cues, *found.values, *(found.more if loosely else ()), *ends)).lower()
    answers = " ".join(found.answers).lower()
    told = frozenset(map(stem_of, TOKEN.findall(said))) - frozenset(("on", "off"))
    known = (
        not mine or mine in stems(f"{said} {answers}") or stem in told or stem in map(stem_of, TOKEN.findall(answers))
    )
    return known or any(stem in scale and scale & told for scale in words().scales)


def between(predicate: str, values: Sequence[str]) -> bool:
    """Whether a word is none of some values, but of a scale on which two of them are: warm, of hot and lukewarm."""
    stem, named = stem_of(predicate), [every_stem(value) for value in values]
    if any(stem in value for value in named):
        return False
    return any(stem in scale and sum(bool(scale & value) for value in named) > 0 for scale in words().scales)


def _switched(found: Finding) -> bool:
    """Whether a finding tells whether something is on or off."""
    values = frozenset(TOKEN.findall(" ".join(found.values).lower()))
    scale = next(s for s in words().scales if "lit" in s)
    return bool(values & scale) or any(re.search(r"\b(?:on|off)[.,!;]", answer) for answer in found.answers)


def explained(name: str, finding: int, text: str) -> bool:
    """Whether a text has no word that says something else than what a finding is about."""
    topics = lexicon(name).findings
    return all(finding in topics.strength.get(s, {}) or s in topics.background for s in stems(text))


def _topics(
    rows: Sequence[Sequence[Sequence[str]]], background: frozenset[str], first: frozenset[str], *,
    weak_will_do: bool = False, least: float = 0.0,
) -> Topics:  # fmt: skip
    """From the texts of each thing: names and cues, what else points to it, and what is said of it."""
    strength: dict[str, dict[int, float]] = {}
    for i, groups in enumerate(rows):
        for points, texts in zip((1.0, 0.8, 0.4), groups, strict=True):
            for said in map(stems, texts):
                for stem in said:
                    row = strength.setdefault(stem, {})
                    own = max(weight(stem), 0.8) if len(said) == 1 and points == 1.0 else weight(stem)
                    if stem in background:
                        own = min(own, WEAK)
                    row[i] = max(row.get(i, 0.0), points * own)
    phrases = tuple(tuple(cue for text in groups[0] if len(cue := frozenset(stems(text))) > 1) for groups in rows)
    spoken = tuple(tuple(text for text in groups[0] if " " in text) for groups in rows)
    single = [{said[0] for text in groups[0] if len(said := stems(text)) == 1 and _bare(text)} for groups in rows]
    alone = {stem: frozenset(i for i, own in enumerate(single) if stem in own) for stem in strength}
    return Topics(strength, alone, phrases, spoken, background, first, weak_will_do, least)


def _values(product: Product) -> tuple[tuple[frozenset[str], ...], ...]:
    rows: list[tuple[frozenset[str], ...]] = []
    for f in product.findings:
        own = [_pointing(value) for value in f.values]
        rows.append(tuple(o.difference(*(x for j, x in enumerate(own) if j != i)) for i, o in enumerate(own)))
    return tuple(rows)


def _pointing(value: str) -> frozenset[str]:
    """The words of a value, small ones only where it has no other. Those of its answer may tell what it is not."""
    name = [t for t in TOKEN.findall(value.lower()) if content(t)] or TOKEN.findall(value.lower())
    return frozenset(name) | frozenset(stems(value))


def _bare(text: str) -> bool:
    """Whether a cue is one word, articles aside: "next door" must not be known by its door."""
    return len([t for t in TOKEN.findall(text.lower()) if t not in _ARTICLES]) == 1


def _common(one: str, other: str) -> str:
    """What two sentences begin with: what the customer did, whatever came of it."""
    n = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    return one[:n]


class Pick(NamedTuple):
    """What some words are about: the number of a thing, `NOTHING`, or `MANY`; and the one that is next."""

    target: int
    both: tuple[int, ...] = ()
    points: float = 0.0


def choose(text: str, topics: Topics) -> Pick:
    """The thing that a text in lower case is about."""
    said = list(dict.fromkeys(stems(text)))
    points, spoken = _points(said, topics), _literal(text, topics)
    for i, phrase in spoken.items():
        points[i] = points.get(i, 0.0) + (_SPOKEN if stems(phrase) else _SPOKEN_PLAIN)
    if not points:
        return Pick(NOTHING)
    have = frozenset(said)
    for i in points:
        points[i] += _PHRASE * max((len(cue) - 1 for cue in topics.phrases[i] if cue <= have), default=0)
    return _decided(said, topics, points, spoken, lone=not _OF_YOU.search(text))


def _decided(
    said: Sequence[str], topics: Topics, points: Mapping[int, float], spoken: Mapping[int, str], *, lone: bool
) -> Pick:
    first = max(points, key=lambda i: points[i])
    rest = [s for s in said if first not in topics.strength.get(s, {})]
    aside = _points(rest, topics)
    other = max(aside, key=lambda i: aside[i], default=-1)
    if points[first] >= _LEAST and other >= 0 and aside[other] > max(_ASIDE, _ASIDE_SHARE * points[first]):
        return Pick(MANY, (first, other))
    odd = sum(weight(s) * (0.3 if s in topics.told_at_first else 1.0) for s in rest if s not in topics.background)
    known = sum(_heard(s, first, topics) for s in said if s not in rest) + (0.5 if first in spoken else 0.0)
    share = known / (known + odd) if known else 0.0
    second = max((p for i, p in points.items() if i != first), default=0.0)
    enough = _ENOUGH - (_ENOUGH - _LEAST) * max(0.0, (share - _COVERED) / (1.0 - _COVERED))
    explained = [s for s in said if s not in rest]
    if first not in spoken and not _telling(explained, first, topics, lone=lone):
        return Pick(NOTHING)
    if first not in spoken and odd > _FOREIGN[min(len(explained), 3) - 1]:
        return Pick(NOTHING)
    if points[first] - _ODD * odd < topics.least and not _named(explained, first, topics):
        return Pick(NOTHING)
    ahead = _AHEAD if points[first] >= 1.0 else _AHEAD_LOW
    fits = points[first] >= enough and share >= _COVERED and second <= ahead * points[first]
    return Pick(first, (), points[first]) if fits else Pick(NOTHING)


def _named(explained: Sequence[str], first: int, topics: Topics) -> bool:
    """Whether a thing is named by a cue of several words, or by two words of weight."""
    heavy = sum(weighs(s) and s not in topics.background for s in explained)
    return heavy > 1 or any(cue.issubset(explained) for cue in topics.phrases[first])


def _heard(stem: str, first: int, topics: Topics) -> float:
    """What an explained word counts for: little if the whole conversation is about it."""
    return min(weight(stem), WEAK) if stem in topics.background and first not in topics.alone[stem] else weight(stem)


def _telling(explained: Sequence[str], first: int, topics: Topics, *, lone: bool) -> bool:
    """Whether these words are enough to name a thing: one that may stand alone, or several, not all of them weak; or,
    if `lone`, one that nothing else has."""
    if len(explained) == 1:
        word = explained[0]
        return first in topics.alone[word] or (topics.weak_will_do and lone and _only_here(word, first, topics))
    if any(weight(s) == 1.0 and s not in topics.background for s in explained):
        return True
    weak = [s for s in explained if s not in topics.background and s not in _PARTICLES]
    return len(weak) > (0 if topics.weak_will_do else 3)


def _only_here(word: str, first: int, topics: Topics) -> bool:
    """Whether a word that is not one of many products speaks for one thing of this one, and strongly."""
    row = topics.strength[word]
    return len(row) == 1 and row[first] >= 0.8 and weighs(word) and word not in topics.background


def _points(said: Sequence[str], topics: Topics) -> dict[int, float]:
    """What the words bring to each thing; a word of several things is shared among them."""
    points: dict[int, float] = {}
    for stem in said:
        row = topics.strength.get(stem, {})
        total = sum(row.values())
        for i, s in row.items():
            points[i] = points.get(i, 0.0) + s * s / total
    return points


def _literal(text: str, topics: Topics) -> dict[int, str]:
    """The longest cue of several words that the text has, of each thing."""
    found: dict[int, str] = {}
    for i, cues in enumerate(topics.spoken):
        best = max((c for c in cues if c in text and re.search(rf"\b{re.escape(c)}", text)), key=len, default="")
        if best:
            found[i] = best
    return found
