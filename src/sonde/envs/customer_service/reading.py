"""Read a support agent's message: the finding, fix or cause that it asks for, if any.

Own design. Findings, causes and fixes are bags of words (`envs/_shared/english/speech.py`). `data/words.toml` has the
general English of support talk: stop words, words common to nearly all products, synonyms, opposites, and the ways to
ask for a property ("how old"). Standard questions ("Is it plugged in?", "Any strange noises?") are about a few aspects
that all products share; `data/everyday.toml` has, for each product, a sentence that is true for every cause and
finding, or the finding that the question means. It counts only if the reader does not understand the message otherwise,
and only if a pattern matches a whole sentence.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Final, Literal, NamedTuple

from sonde._util.folders import data_file

from .._shared.english.speech import (
    MANY,
    NOTHING,
    Bags,
    Declared,
    Measure,
    Pick,
    SaidSentence,
    join_prefixes,
    read_speech,
)
from .._shared.english.tokens import ascii_lower, base_form, phrase_key, tokenize, word_set, word_stem
from .products import Finding, load_products

Kind = Literal["finding", "fix", "cause", "several", "talk", "untold", "unclear", "unknown"]
UNANSWERED = frozenset[Kind](("untold", "unclear", "unknown"))
"""Kinds of messages that have no answer: the customer knows nothing about the subject, or does not understand."""
READINGS: Final = 1 << 15
"""Maximum number of readings in a cache: more than the 9,000 or so pairs of a listed message and a product that may
hear it, because a smaller cache would evict each before its next use."""


class Query(NamedTuple):
    """What a message asks for. `target` is the number of the finding or cause; `proposed` are the causes that the
    message proposes, by name or by fix; `beside` is set if it asks about a cause, about which the customer knows only
    what the finding shows."""

    kind: Kind
    target: int = -1
    proposed: tuple[int, ...] = ()
    beside: bool = False


_AND = re.compile(r" , (?:(?:and|or) )?| (?:and|or) ")
UNKNOWN, UNCLEAR, UNTOLD, SEVERAL, TALK = map(Query, ("unknown", "unclear", "untold", "several", "talk"))


@lru_cache(maxsize=READINGS)
def read_support_message(name: str, said: str) -> Query:
    """Read a message about the product of this name."""
    known = _declared_queries(name).get(_message_key(said))
    query = known or read_sentences(name, read_speech(said))
    if query.kind not in UNANSWERED and not query.beside:
        return query
    own = answer_everyday(name, said)
    if own.startswith("="):
        return Query("finding", load_products()[name].finding_index(own[1:]))
    return UNKNOWN if own else query


@lru_cache(maxsize=READINGS)
def _message_key(said: str) -> str:
    return " ".join(tokenize(said[:400]))


@lru_cache(maxsize=128)
def _declared_queries(name: str) -> Mapping[str, Query]:
    """The readings of the legal answers and the sample questions, which the customer always understands."""
    product = load_products()[name]
    rows = {q: Query("finding", f) for f, found in enumerate(product.findings) for q in found.questions}
    for c, cause in enumerate(product.causes):
        rows |= {text: Query("fix", c, (c,)) for text in (cause.answer, cause.suggestion) if text}
    return {_message_key(text): query for text, query in rows.items()}


@lru_cache(maxsize=128)
def _name_queries(name: str) -> Mapping[str, Query]:
    """The readings of the names of causes and fixes: a message that is only a name proposes that cause or fix."""
    causes = list(enumerate(load_products()[name].causes))
    found = {phrase_key(tokenize(c.fix_what)): Query("fix", i, (i,)) for i, c in causes}
    return found | {phrase_key(tokenize(c.what)): Query("cause", i, (i,)) for i, c in causes}


def read_sentences(name: str, parts: Sequence[SaidSentence]) -> Query:
    """Read sentences that are not declared: by a name, or else by all their words, or else by the sentences that are
    framed as a diagnosis or an instruction."""
    said = [p for p in parts if p.mode in ("does", "states")]
    called = [
        query for p in parts if (p in said or p.framed) and (query := _name_queries(name).get(phrase_key(p.words)))
    ]
    if called and len({query.target for query in called}) == 1 and not any(p.mode == "asks" for p in parts):
        return called[0]
    query = _read_by_words(name, parts)
    framed = [p for p in said if p.framed]
    if query.kind in UNANSWERED and 0 < len(framed) < len(said):
        return _read_by_words(name, framed)
    return query


def _read_by_words(name: str, parts: Sequence[SaidSentence]) -> Query:
    """Read sentences by all their words: questions first, then proposals, then statements."""
    asked = [p for p in parts if p.mode in ("asks", "looks", "tries") and content_stems(p.words)]
    does = [p for p in parts if p.mode == "does" and content_stems(p.words)]
    states = [p for p in parts if p.mode == "states" and content_stems(p.words)]
    if asked:
        return _read_question(name, asked, does)
    if does:
        return _read_proposal(name, "fix", does, states)
    if states:
        return _read_proposal(name, "cause", states, ())
    return TALK if parts and all(p.mode == "talk" for p in parts) else UNKNOWN


def _sentence_stems(parts: Sequence[SaidSentence]) -> tuple[str, ...]:
    return tuple(s for p in parts for s in content_stems(p.words))


def _read_question(name: str, asked: Sequence[SaidSentence], does: Sequence[SaidSentence]) -> Query:
    known = product_topics(name)
    pick, fix = known.findings.choose_topic(_sentence_stems(asked)), known.fixes.choose_topic(_sentence_stems(does))
    if pick.target == MANY and not _asks_several(asked):
        pick = Pick(pick.both[0], (), pick.points)
    if pick.target >= 0:
        if not tells_property(name, pick.target, " ".join(" ".join(p.words) for p in asked)):
            return UNTOLD
        return SEVERAL if fix.target >= 0 else Query("finding", pick.target)
    if all(p.mode != "asks" for p in asked):
        query = _topic_query("fix", known.fixes.choose_topic(_sentence_stems([*asked, *does])))
        if query.target >= 0:
            return query
    if MANY in (pick.target, fix.target):
        return SEVERAL
    text = " ".join(" ".join(p.words) for p in asked)
    cause = next(
        (t for bags in (known.causes, known.fixes) if (t := bags.choose_topic(_sentence_stems(asked)).target) >= 0),
        NOTHING,
    )
    if cause < 0:
        return UNKNOWN
    return UNTOLD if asks_property(text) else Query("finding", telling_finding(name, cause), (), True)


@lru_cache(maxsize=1 << 10)
def telling_finding(name: str, cause: int) -> int:
    """The finding that tells most about a cause: the one in which the cause differs most from the others."""
    product = load_products()[name]
    others = [c for i, c in enumerate(product.causes) if i != cause]
    total = sum(c.weight for c in others)

    def measure_difference(f: int) -> float:
        own = product.causes[cause].likelihood[f]
        return sum(abs(p - sum(c.weight * c.likelihood[f][v] for c in others) / total) for v, p in enumerate(own))

    return max(range(len(product.findings)), key=measure_difference)


def _asks_several(parts: Sequence[SaidSentence]) -> bool:
    """Whether the sentences may ask several things at once."""
    return len(parts) > 1 or any(not {"and", "or", ","}.isdisjoint(p.words) for p in parts)


def _read_proposal(
    name: str, kind: Literal["fix", "cause"], parts: Sequence[SaidSentence], beside: Sequence[SaidSentence]
) -> Query:
    causes = product_topics(name).fixes if kind == "fix" else product_topics(name).causes
    pick, each = causes.choose_topic(_sentence_stems(parts)), _propose_by_clause(causes, parts)
    if len(several := each.union((pick.target,) if pick.target >= 0 else ())) > 1:
        return Query("several", -1, tuple(sorted(several)))
    if pick.target == NOTHING and beside:
        pick = causes.choose_topic(_sentence_stems([*beside, *parts]))
    if kind == "fix" and pick.target >= 0 and not is_fix(name, pick.target, parts[-1].words, pick.points):
        return UNCLEAR
    if kind == "cause" and all(word_set("aux").isdisjoint(p.words) for p in parts):
        seen, named = (
            product_topics(name).findings.choose_topic(_sentence_stems(parts)),
            [w for w in _sentence_stems(parts) if not w.isdigit()],
        )
        if seen.points >= pick.points or len(named) < 2:
            return UNKNOWN  # a single word, or the name of something visible, is not a diagnosis
    query = _topic_query(kind, pick)
    return UNCLEAR if query == UNKNOWN and kind == "fix" else query


def _propose_by_clause(causes: Bags, parts: Sequence[SaidSentence]) -> set[int]:
    """The causes that single clauses propose; none if there is only one clause."""
    clauses = [content_stems(c.split()) for p in parts for c in _AND.split(" ".join(p.words))]
    return {t for c in clauses if len(c) > 1 and len(clauses) > 1 and (t := causes.choose_topic(c).target) >= 0}


def _topic_query(kind: Literal["fix", "cause"], pick: Pick) -> Query:
    if pick.target >= 0:
        return Query(kind, pick.target, (pick.target,))
    return Query("several", -1, pick.both) if pick.target == MANY else UNKNOWN


class SupportWords(NamedTuple):
    """The general vocabulary."""

    stop: frozenset[str]
    weak: frozenset[str]
    same: Mapping[str, str]
    aspects: tuple[tuple[re.Pattern[str], frozenset[str]], ...]
    """Patterns of questions about a property, and words at least one of which a finding that states it has."""
    opposite: Mapping[str, frozenset[str]]
    """Maps words for actions to those for the opposite action."""
    neutral: frozenset[str]
    """Verbs that may stand for any action."""


@cache
def load_words() -> SupportWords:
    """The vocabulary, loaded once per process."""
    raw = tomllib.loads(data_file("customer_service", "words.toml").read_text("ascii"))
    same: dict[str, str] = {}
    for line in raw["same"].strip().splitlines():
        first, *rest = map(word_stem, line.split())
        for word in (first, *rest):
            same.setdefault(word, same.get(first, first))
    weak = frozenset(same.get(s, s) for s in map(word_stem, raw["weak"].split()))
    neutral = frozenset(map(word_stem, raw["neutral"].split()))
    aspects = tuple(map(_parse_aspect, raw["aspect"].strip().splitlines()))
    return SupportWords(frozenset(raw["stop"].split()), weak, same, aspects, _parse_opposites(raw["opposite"]), neutral)


def _parse_aspect(line: str) -> tuple[re.Pattern[str], frozenset[str]]:
    asked, _, told = line.partition(": ")
    return re.compile(rf"\b(?:{'|'.join(asked.split(', '))})\b"), frozenset(map(word_stem, told.split()))


def _parse_opposites(text: str) -> Mapping[str, frozenset[str]]:
    """Maps each word to the words of the opposite side."""
    found: dict[str, set[str]] = {}
    for line in text.strip().splitlines():
        one, other = (frozenset(side.split()) for side in line.split(" | "))
        for side, back in ((one, other), (other, one)):
            for word in side:
                found.setdefault(word, set()).update(back)
    return {word: frozenset(back) for word, back in found.items()}


@lru_cache(maxsize=1 << 14)
def content_stem(word: str) -> str:
    """The word that represents a word and its synonyms; empty for stop words."""
    known, bare = load_words(), word_stem(word)
    return "" if word in known.stop or bare in known.stop or word == "," else known.same.get(bare, bare)


def content_stems(said: Iterable[str]) -> tuple[str, ...]:
    """The content words, each replaced by the representative of its synonyms."""
    return tuple(found for word in said if (found := content_stem(word)))


def text_stems(text: str) -> tuple[str, ...]:
    """The content stems of a declared text."""
    return content_stems(tokenize(join_prefixes(ascii_lower(text))))


def stem_weight(word: str) -> float:
    """The weight of a stem."""
    return 0.4 if word in load_words().weak or word.isdigit() else 1.0


_COUNT = re.compile(r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|[0-9]+)\b")
_OF_CAUSES = Measure(points=0.9, share=0.6, aside=1.0, least=0.4)
"""Causes need fewer words than findings, because a proposed cause is checked once more (`is_fix`)."""


class ProductTopics(NamedTuple):
    """The bags of words of one product: findings, causes by diagnosis, causes by fix; and the words of each fix."""

    findings: Bags
    causes: Bags
    fixes: Bags
    fix_words: tuple[frozenset[str], ...]


@lru_cache(maxsize=128)
def product_topics(name: str) -> ProductTopics:
    product = load_products()[name]
    background = text_stems(f"{product.product} {product.symptom}")
    wrong = [(c.what, *c.cues) for c in product.causes]
    helps = [(c.fix_what, *c.fix_cues) for c in product.causes]
    more = [(*c.suggestions[:-3], *c.more) for c in product.causes]
    rows = list(zip(wrong, helps, more, strict=True))
    return ProductTopics(
        Bags([_declare_finding(f) for f in product.findings], stem_weight, background, Measure()),
        Bags([_declare_cause(w, h + m) for w, h, m in rows], stem_weight, background, _OF_CAUSES),
        Bags([_declare_cause(h, w + m) for w, h, m in rows], stem_weight, background, _OF_CAUSES),
        tuple(
            frozenset(
                w
                for t in (c.fix_what, *c.fix_cues, *c.suggestions[:-3])
                for w in _instruction_words(read_speech(t)[0].words)
            )
            for c in product.causes
        ),
    )


def _declare_finding(found: Finding) -> Declared:
    more = (*found.questions[:-3], *found.values, *found.more)
    names = tuple(map(text_stems, (found.asks, *found.cues)))
    return Declared(names, tuple(map(text_stems, more)), tuple(map(text_stems, found.answers)))


def _declare_cause(names: Iterable[str], more: Iterable[str]) -> Declared:
    """Declare a cause. A name such as "three values" leaves a single stem, which is no name: to end the game requires
    more."""
    all_of = [(text_stems(text), _COUNT.search(text)) for text in names]
    whole = tuple(stems for stems, counts in all_of if len(stems) > 1 or not counts)
    rest = tuple(stems for stems, _ in all_of if stems not in whole)
    return Declared(whole, (*rest, *map(text_stems, more)))


def tells_property(name: str, finding: int, said: str) -> bool:
    """Whether a finding has the property that a question asks for, such as an age, a size or a colour."""
    asked = [told for pattern, told in load_words().aspects if pattern.search(said)]
    return all(_finding_stems(name, finding) & told for told in asked)


def asks_property(said: str) -> bool:
    """Whether a question asks for a property, such as an age, a size or a colour."""
    return any(pattern.search(said) for pattern, _ in load_words().aspects)


@lru_cache(maxsize=1 << 10)
def _finding_stems(name: str, finding: int) -> frozenset[str]:
    """All words of a finding, without their endings."""
    f = load_products()[name].findings[finding]
    texts = (f.asks, *f.cues, *f.questions[:-3], *f.values, *f.more)
    return frozenset(word_stem(word) for text in texts for word in tokenize(text))


PLENTY = 3.0
"""Points of a proposal from which its verb is not checked."""
_END = re.compile(r" (?:until|so|because|that|which|to|,) .*")


def is_fix(name: str, cause: int, said: Sequence[str], points: float) -> bool:
    """Whether a proposal is the fix for this cause: one of its verbs belongs to the fix, and no word is opposite to
    it."""
    bags = product_topics(name).fixes
    verbs = [
        v
        for w in said
        if base_form(w) in word_set("deeds") and (v := content_stem(w)) and v not in load_words().neutral
    ]
    if points < PLENTY and verbs and not any(cause in bags.strength.get(v, {}) for v in verbs):
        return False
    own, back = product_topics(name).fix_words[cause], load_words().opposite
    done = _instruction_words(_END.sub("", " ".join(said)).split())
    return not any(back.get(w, frozenset()) & own and w not in own for w in done)


def _instruction_words(said: Sequence[str]) -> frozenset[str]:
    """The words of an instruction, with "+on" if "on" belongs to the verb, as in "turn it on"."""
    if not said or base_form(said[0]) not in word_set("deeds"):
        return frozenset()
    behind = (*said[1:], "the")
    return frozenset(said) | {f"+{w}" for w, next_ in zip(said, behind, strict=True) if next_ in load_words().stop}


# --- standard questions ----------------------------------------------------------------------------------------------

_CLOSE = re.compile(r"(?: ,)? (?:though|exactly|at your end|on your end)$")
_STATED = re.compile(r"^(it|this|that|there|anything) (is|are|was|has)\b")
_STATED_LAST = re.compile(r"^((?:what|which|where|how)\b[^,]*?) (it|this|that) (is|was)$")


class _Everyday(NamedTuple):
    """The patterns of each aspect, and each product's answers by aspect."""

    forms: tuple[tuple[str, re.Pattern[str]], ...]
    said: Mapping[str, Mapping[str, str]]


@cache
def _load_everyday() -> _Everyday:
    """The table, loaded once per process."""
    text = data_file("customer_service", "everyday.toml").read_text("ascii")
    raw: dict[str, Any] = tomllib.loads(text)
    words, asks = raw.pop("words"), raw.pop("asks")
    forms = [(aspect, _compile_forms(rows, words)) for aspect, rows in asks.items()]
    return _Everyday(tuple(forms), raw)


def _compile_forms(rows: list[str], words: Mapping[str, str]) -> re.Pattern[str]:
    return re.compile("|".join(re.sub(r"<(\w+)>", lambda name: words[name[1]], row) for row in rows))


@lru_cache(maxsize=READINGS)
def answer_everyday(product: str, said: str) -> str:
    """The owner's answer to a standard question, or "=" and the id of a finding if the question means that; "" for
    other messages."""
    asked = [part for part in read_speech(said) if part.mode != "talk"]
    if len(asked) != 1:
        return ""
    texts = (" ".join(asked[0].words), asked[0].clause)
    found = next((aspect for text in texts if (aspect := _find_aspect(_normalise_question(text, product)))), "")
    return _load_everyday().said[product].get(found, "")


@lru_cache(maxsize=128)
def _product_pattern(product: str) -> re.Pattern[str]:
    """The names that agents use for the product: "the laptop", "your Aria 14 laptop"."""
    _, *words = re.findall(r"[a-z0-9]+", load_products()[product].product.lower())
    names = "|".join(map(re.escape, (*words, "device", "machine", "appliance", "unit", "product")))
    return re.compile(rf"\b(?:the|your|this|that) (?:(?:new|old|whole|{names}) )*(?:{names})\b")


def _normalise_question(text: str, product: str) -> str:
    """The sentence without courtesy, with "it" for the product, and with a question's word order."""
    bare = _CLOSE.sub("", _product_pattern(product).sub("it", text.replace(" ,", ","))).removeprefix("about ")
    for word in ("if ", "whether "):
        if bare.startswith(word):
            return _STATED.sub(r"\2 \1", bare.removeprefix(word))
    return _STATED_LAST.sub(r"\1 \3 \2", bare)


@lru_cache(maxsize=1 << 12)
def _find_aspect(sentence: str) -> str:
    return next((aspect for aspect, form in _load_everyday().forms if form.fullmatch(sentence)), "")
