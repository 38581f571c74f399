"""People with hidden preferences: their answers to questions, and how well an answer fits them.

A request has eight dimensions (budget, company, ...), each with three values and each belonging to a topic (money,
people, ...). A persona has a preference in four of them and does not care about the others; all choices are equally
likely, so a request has C(8, 4) 3^4 = 5,670 possible personas. The data are sonde's own (`data/personas.toml`).

The data declare what a question is about: phrases of dimensions, then cues of their values, then words of topics, then
general words. At every position the longest phrase counts, in any inflection (`envs/_shared/english`). A persona
answers with its preferences in those dimensions, one sentence each. To a general question it answers with what matters
most: its first preference in the order of the request. If a question names several topics, the first one counts.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from itertools import combinations, product
from typing import Any, Literal, NamedTuple

from sonde._util.folders import data_file

from .._shared.english.tokens import add_apostrophes, base_form, plain_words, strip_accents, tokenize

PREFERENCES = 4
NOTHING = "I have no strong feelings about that."
LOST = "I am not sure what you mean."
_LONGEST = 8
"""Length of the longest phrase, in words."""

Persona = tuple[str, ...]
"""The value of every dimension of a request, in its order; "" if the person does not care."""

GENERAL = "general"

About = tuple[int, ...] | Literal["general"] | None
"""What a question is about: dimensions (perhaps none of this request), everything, or, as None, nothing known."""


class Value(NamedTuple):
    """A preference: its statement, the advice that addresses it, and the phrases that express it."""

    said: str
    advice: str
    cues: tuple[str, ...]


class Dimension(NamedTuple):
    """A subject of preferences, with its values."""

    name: str
    topic: str
    question: str
    ask: tuple[str, ...]
    values: Mapping[str, Value]


class Fit(NamedTuple):
    """How well an answer fits a persona: the preferences that it addresses, and the values that it addresses although
    the person does not prefer them."""

    covered: tuple[str, ...]
    invented: tuple[str, ...]

    @property
    def score(self) -> float:
        """The share of the preferences that the answer addresses, minus the same share for every invented one; at least
        0."""
        return max(0.0, (len(self.covered) - len(self.invented)) / PREFERENCES)


@cache
def persona_data() -> Mapping[str, Any]:
    source = data_file("user_personalization", "personas.toml").read_text("utf-8")
    return tomllib.loads(source)


@cache
def load_dimensions() -> Mapping[str, Dimension]:
    found: dict[str, Dimension] = {}
    for name, row in persona_data()["dimensions"].items():
        values = {
            v: Value(r["said"], r["advice"], tuple(map(plain_words, r["cues"]))) for v, r in row["values"].items()
        }
        found[name] = Dimension(name, row["topic"], row["question"], tuple(row["ask"]), values)
    return found


class Request:
    """One request with its dimensions: questions, replies and answers."""

    def __init__(self, name: str, text: str, names: Sequence[str]) -> None:
        self.name, self.text = name, text
        self.dimensions = tuple(load_dimensions()[n] for n in names)
        self.topics = tuple(dict.fromkeys(d.topic for d in self.dimensions))

    @cached_property
    def all_personas(self) -> tuple[Persona, ...]:
        """All possible personas, in a fixed order."""
        return tuple(self._dimension_choices(PREFERENCES))

    def _dimension_choices(self, n: int) -> Iterator[Persona]:
        """Every choice of values in n dimensions."""
        for chosen in combinations(range(len(self.dimensions)), n):
            options = [tuple(d.values) if i in chosen else ("",) for i, d in enumerate(self.dimensions)]
            yield from product(*options)

    @cached_property
    def all_questions(self) -> tuple[str, ...]:
        """One question about everything, one about each topic, and one about each dimension."""
        topics = tuple(f"What should I know about {persona_data()['topics'][t][0]}?" for t in self.topics)
        return ("What matters most to you here?", *topics, *(d.question for d in self.dimensions))

    def read_dimensions(self, said: str) -> About:
        """The dimensions of this request that a question is about, by their numbers."""
        about = read_question(said)
        if about is None or about == frozenset((GENERAL,)):
            return None if about is None else "general"
        return tuple(i for i, d in enumerate(self.dimensions) if d.name in about)

    def answer_question(self, persona: Persona, said: str) -> str:
        """The person's statements in reply to a question."""
        asked = self.read_dimensions(said)
        if asked is None:
            return LOST
        cares = [(d, v) for d, v in zip(self.dimensions, persona, strict=True) if v]
        if asked == "general":
            d, v = cares[0]
            return d.values[v].said
        own = [(self.dimensions[i], persona[i]) for i in asked if persona[i]]
        return " ".join(d.values[v].said for d, v in own) or NOTHING

    def fit_answer(self, persona: Persona, answer: str) -> Fit:
        """What an answer addresses in the dimensions of this request. Verbatim repetitions of the person's statements
        do not count, nor does anything that the answer advises against."""
        answer = self._drop_advised_against(_statement_pattern().sub("", answer))
        words = f" {' | '.join(map(plain_words, _CLAUSE.split(answer)))} "
        covered: list[str] = []
        invented: list[str] = []
        for d, wanted in zip(self.dimensions, persona, strict=True):
            for name, value in d.values.items():
                if any(_expresses_value(words, cue) for cue in value.cues):
                    (covered if name == wanted else invented).append(f"{d.name}: {name}")
        return Fit(tuple(covered), tuple(invented))

    def contradicts_persona(self, persona: Persona, told: str) -> bool:
        """Whether a person's statements about themselves express or repeat something that this persona does not
        prefer."""
        rows = zip(self.dimensions, persona, strict=True)
        others = (value.said for d, own in rows for name, value in d.values.items() if name != own)
        return bool(self.fit_answer(persona, told).invented) or any(said in told for said in others)

    def _drop_advised_against(self, answer: str) -> str:
        """The answer without what it advises against: from a refusal to the end of its sentence, or to a contrast. A
        refusal that only points ("Do none of this") covers everything after it that names a preference, or, if nothing
        does, everything before it."""
        kept, refused = list[str](), False
        sentences = _SENTENCE.findall(add_apostrophes(strip_accents(answer).lower()))
        for i, sentence in enumerate(sentences):
            found = _REFUSAL.search(sentence)
            refused = refused and not _CONTRAST.match(sentence)
            if found is None:
                kept += [] if refused else [sentence]
                continue
            denied, *rest = _CONTRAST.split(sentence[found.start() :], maxsplit=1)
            if _POINTING.search(denied) and not self._names_preference(denied):
                refused = any(map(self._names_preference, sentences[i + 1 :]))
                kept = kept if refused else []
            kept += [sentence[: found.start()], *rest]
        return " ".join(kept)

    def _names_preference(self, text: str) -> bool:
        """Whether any possible preference occurs in a text."""
        words = f" {plain_words(text)} "
        return any(f" {cue} " in words for d in self.dimensions for v in d.values.values() for cue in v.cues)

    @cached_property
    def all_answers(self) -> tuple[str, ...]:
        """Short answers, one for every choice of up to four preferences."""
        return tuple(
            dict.fromkeys(self.gold_answer(p) for n in range(PREFERENCES + 1) for p in self._dimension_choices(n))
        )

    def describe_persona(self, persona: Persona) -> str:
        """Describe a persona: its preferences and nothing else."""
        return ", ".join(f"{d.name}: {v}" for d, v in zip(self.dimensions, persona, strict=True) if v)

    def gold_answer(self, known: Persona) -> str:
        """An answer that addresses exactly these preferences."""
        advice = [d.values[v].advice for d, v in zip(self.dimensions, known, strict=True) if v]
        return f"My advice: {', '.join(advice)}." if advice else "My advice: do what you feel like."


_SENTENCE = re.compile(r"[^.!?;:\n]+[.!?;:\n]*")
_POINTING = re.compile(r"\b(?:this|that|these|those|following|below|above|any of|all of)\b|\bit\W*$|:\s*$")
_CONTRAST = re.compile(r"(?:^|\b)\s*(?:but|instead|rather)\b(?! (?:of|than)\b)")
_REFUSAL = re.compile(
    r"\b(?:do not|don't|never|none of (?:this|these|the following)|(?:should|must|would|need)(?: not|n't)|against"
    r"|under no circumstances|wrong to|a bad idea to|avoid (?:all|any|every\w*|these|the following))\b"
    r"(?! (?:only|forget|hesitate|worry|miss|hurt|be afraid|mind|overdo)\b)"
)
_CLAUSE = re.compile(r"[,.;:!?()\n]+")
_REFUSALS = frozenset(("no", "not", "without", "avoid", "avoiding", "never", "skip", "instead", "than"))


@cache
def _statement_pattern() -> re.Pattern[str]:
    said = (v.said for d in load_dimensions().values() for v in d.values.values())
    return re.compile("|".join(map(re.escape, said)), re.IGNORECASE)


def _expresses_value(words: str, cue: str) -> bool:
    """Whether a phrase occurs at least once without a refusal in the two words before it: "not spicy" and "instead of
    concerts" do not count."""
    at = words.find(f" {cue} ")
    while at >= 0:
        if not any(w in _REFUSALS for w in words[:at].split()[-2:]):
            return True
        at = words.find(f" {cue} ", at + 1)
    return False


class _Phrase(NamedTuple):
    """A phrase's rank (0 is the most specific) and subject: dimensions, or everything."""

    rank: int
    about: frozenset[str]


@cache
def _phrases_by_word() -> Mapping[tuple[str, ...], _Phrase]:
    """Map every declared phrase, in base forms, to its rank and subject."""
    found: dict[tuple[str, ...], _Phrase] = {}
    for rank, phrases, about in _load_phrases():
        for phrase in phrases:
            words = _base_words(phrase)
            old = found.get(words, _Phrase(rank, frozenset()))
            if rank <= old.rank:
                found[words] = _Phrase(rank, about | old.about if rank == old.rank else about)
    return found


def _load_phrases() -> Iterator[tuple[int, Sequence[str], frozenset[str]]]:
    """Declared phrases with their ranks and subjects."""
    dims = load_dimensions().values()
    for d in dims:
        yield 0, d.ask, frozenset((d.name,))
        yield 1, [cue for value in d.values.values() for cue in value.cues], frozenset((d.name,))
    for topic, (name, *words) in persona_data()["topics"].items():
        about = frozenset(d.name for d in dims if d.topic == topic)
        yield 0, [name], about
        yield 2, words, about
    yield 3, persona_data()["general"], frozenset((GENERAL,))


def _base_words(text: str) -> tuple[str, ...]:
    return tuple(base_form(word) for word in tokenize(text) if word != ",")


@lru_cache(maxsize=4096)
def read_question(said: str) -> frozenset[str] | None:
    """The dimensions of any request that a question is about; `GENERAL` alone for a general question, None if it is
    about nothing known.

    >>> read_question("How much time do you have?"), read_question("What do you want to spend?")
    (frozenset({'duration'}), frozenset({'budget'}))
    >>> read_question("Purple monkey dishwasher?") is None
    True
    """
    words, known, found = _base_words(said), _phrases_by_word(), list[_Phrase]()
    at = 0
    while at < len(words):
        ends = range(min(len(words), at + _LONGEST), at, -1)
        end = next((end for end in ends if words[at:end] in known), None)
        found += [] if end is None else [known[words[at:end]]]
        at = end or at + 1
    if not found:
        return None
    best = [phrase.about for phrase in found if phrase.rank == min(p.rank for p in found)]
    topics = _topic_words(best[0])
    return frozenset[str]().union(*(about for about in best if _topic_words(about) & topics))


def _topic_words(about: frozenset[str]) -> frozenset[str]:
    return frozenset(load_dimensions()[name].topic if name != GENERAL else GENERAL for name in about)


@cache
def load_requests() -> Mapping[str, Request]:
    """All requests by name."""
    return {row["id"]: Request(row["id"], row["text"], row["dimensions"]) for row in persona_data()["requests"]}
