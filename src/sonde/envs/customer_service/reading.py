"""What a support agent's message asks for: a finding, a fix, a cause, or nothing that can be told."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from .._shared.english.bags import MANY, NOTHING, Bags, Pick
from .._shared.english.lists import word_set
from .._shared.english.speech import Said, speech
from .._shared.english.words import key, tokens
from .everyday import everyday
from .hearing import asks_property, does_it, stems, tells, topics
from .products import products

Kind = Literal["finding", "fix", "cause", "several", "talk", "unclear", "unknown"]


class Query(NamedTuple):
    """What a message asks for: `target` is the number of the finding or cause. `proposed` are the causes that the
    message proposes, by their names or fixes. `beside`: it asks about a cause, of which the customer knows nothing but
    what the finding shows."""

    kind: Kind
    target: int = -1
    proposed: tuple[int, ...] = ()
    beside: bool = False


_AND = re.compile(r" , (?:(?:and|or) )?| (?:and|or) ")
UNKNOWN, UNCLEAR, SEVERAL, TALK = Query("unknown"), Query("unclear"), Query("several"), Query("talk")


@lru_cache(maxsize=1 << 13)
def read(name: str, said: str) -> Query:
    """What the message asks for, about the product of this name."""
    known = _declared(name).get(_key(said))
    query = known or meant(name, speech(said))
    if query.kind not in ("unknown", "unclear") and not query.beside:
        return query
    own = everyday(name, said)
    if own.startswith("="):
        return Query("finding", products()[name].finding(own[1:]))
    return UNKNOWN if own else query


def _key(said: str) -> str:
    return " ".join(tokens(said[:400]))


@lru_cache(maxsize=128)
def _declared(name: str) -> Mapping[str, Query]:
    """The legal answers and the sample questions: understood by definition."""
    product = products()[name]
    rows = {q: Query("finding", f) for f, found in enumerate(product.findings) for q in found.questions}
    for c, cause in enumerate(product.causes):
        rows |= {text: Query("fix", c, (c,)) for text in (cause.answer, cause.suggestion) if text}
    return {_key(text): query for text, query in rows.items()}


@lru_cache(maxsize=128)
def _called(name: str) -> Mapping[str, Query]:
    """What causes and fixes are called: who says no more than that, says that it is the one or to do the other."""
    causes = list(enumerate(products()[name].causes))
    found = {key(tokens(c.fix_what)): Query("fix", i, (i,)) for i, c in causes}
    return found | {key(tokens(c.what)): Query("cause", i, (i,)) for i, c in causes}


def meant(name: str, parts: Sequence[Said]) -> Query:
    """What sentences ask for that are not declared: by what it is called, else by all their words, else by those alone
    that are said to be what is wrong or what is to be done."""
    said = [p for p in parts if p.mode in ("does", "states")]
    called = [query for p in parts if (p in said or p.framed) and (query := _called(name).get(key(p.words)))]
    if called and len({query.target for query in called}) == 1 and not any(p.mode == "asks" for p in parts):
        return called[0]
    query = _meant(name, parts)
    framed = [p for p in said if p.framed]
    if query.kind in ("unknown", "unclear") and 0 < len(framed) < len(said):
        return _meant(name, framed)
    return query


def _meant(name: str, parts: Sequence[Said]) -> Query:
    """What all their words ask for: questions first, then proposals, then what is stated."""
    asked = [p for p in parts if p.mode in ("asks", "looks", "tries") and stems(p.words)]
    does = [p for p in parts if p.mode == "does" and stems(p.words)]
    states = [p for p in parts if p.mode == "states" and stems(p.words)]
    if asked:
        return _asked(name, asked, does)
    if does:
        return _proposed(name, "fix", does, states)
    if states:
        return _proposed(name, "cause", states, ())
    return TALK if parts and all(p.mode == "talk" for p in parts) else UNKNOWN


def _words(parts: Sequence[Said]) -> tuple[str, ...]:
    return tuple(s for p in parts for s in stems(p.words))


def _asked(name: str, asked: Sequence[Said], does: Sequence[Said]) -> Query:
    known = topics(name)
    pick, fix = known.findings.choose(_words(asked)), known.fixes.choose(_words(does))
    if pick.target == MANY and not _joined(asked):
        pick = Pick(pick.both[0], (), pick.points)
    if pick.target >= 0:
        if not tells(name, pick.target, " ".join(" ".join(p.words) for p in asked)):
            return UNKNOWN
        return SEVERAL if fix.target >= 0 else Query("finding", pick.target)
    if all(p.mode != "asks" for p in asked):
        query = _about("fix", known.fixes.choose(_words([*asked, *does])))
        if query.target >= 0:
            return query
    if MANY in (pick.target, fix.target):
        return SEVERAL
    text = " ".join(" ".join(p.words) for p in asked)
    cause = next((t for bags in (known.causes, known.fixes) if (t := bags.choose(_words(asked)).target) >= 0), NOTHING)
    return Query("finding", shown_by(name, cause), (), True) if cause >= 0 and not asks_property(text) else UNKNOWN


@lru_cache(maxsize=1 << 10)
def shown_by(name: str, cause: int) -> int:
    """The finding that tells most about a cause: in which it differs most from the others."""
    product = products()[name]
    others = [c for i, c in enumerate(product.causes) if i != cause]
    total = sum(c.weight for c in others)

    def apart(f: int) -> float:
        own = product.causes[cause].likelihood[f]
        return sum(abs(p - sum(c.weight * c.likelihood[f][v] for c in others) / total) for v, p in enumerate(own))

    return max(range(len(product.findings)), key=apart)


def _joined(parts: Sequence[Said]) -> bool:
    """Whether several things may be asked at once."""
    return len(parts) > 1 or any(not {"and", "or", ","}.isdisjoint(p.words) for p in parts)


def _proposed(name: str, kind: Literal["fix", "cause"], parts: Sequence[Said], beside: Sequence[Said]) -> Query:
    causes = topics(name).fixes if kind == "fix" else topics(name).causes
    pick, each = causes.choose(_words(parts)), _each(causes, parts)
    if len(several := each.union((pick.target,) if pick.target >= 0 else ())) > 1:
        return Query("several", -1, tuple(sorted(several)))
    if pick.target == NOTHING and beside:
        pick = causes.choose(_words([*beside, *parts]))
    if kind == "fix" and pick.target >= 0 and not does_it(name, pick.target, parts[-1].words, pick.points):
        return UNCLEAR
    if kind == "cause" and all(word_set("aux").isdisjoint(p.words) for p in parts):
        seen, named = topics(name).findings.choose(_words(parts)), [w for w in _words(parts) if not w.isdigit()]
        if seen.points >= pick.points or len(named) < 2:
            return UNKNOWN  # a word, or the name of what can be seen, is no diagnosis
    query = _about(kind, pick)
    return UNCLEAR if query == UNKNOWN and kind == "fix" else query


def _each(causes: Bags, parts: Sequence[Said]) -> set[int]:
    """What single clauses propose, where there are several."""
    clauses = [stems(c.split()) for p in parts for c in _AND.split(" ".join(p.words))]
    return {t for c in clauses if len(c) > 1 and len(clauses) > 1 and (t := causes.choose(c).target) >= 0}


def _about(kind: Literal["fix", "cause"], pick: Pick) -> Query:
    if pick.target >= 0:
        return Query(kind, pick.target, (pick.target,))
    return Query("several", -1, pick.both) if pick.target == MANY else UNKNOWN
