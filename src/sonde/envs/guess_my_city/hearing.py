"""Read a question to the resident: from a message to a claim about the city.

Ours. `read_act` (`envs/_shared/english/sentences.py`) strips politeness and finds the question; the declared rewrites
turn it into the form of the phrasings (`data/phrases.txt`), about the city or about its country. Anything else that a
city may have or be known for is looked up in `fame_phrases`. A tail that only describes what the question names ("in
Kerala, known for its backwaters") is ignored. Any other tail is a further condition: if the reader does not understand
it, the answer is No for the cities for which the rest is false, and unknown for the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Literal

from .._shared.english.claims import Claim, join_all, negate_claim, unread_claim, weaken_claim
from .._shared.english.grammar import Grammar
from .._shared.english.lexicon import Lexicon, Line, parse_lines
from .._shared.english.sentences import Subject, read_act
from .._shared.english.tokens import Words, base_form, is_verb, phrase_key, word_set
from .atlas import load_atlas
from .attributes import declared_sections, fame_phrases, known_mask, lookup_attribute, section_words
from .readers import COLUMNS, SLOTS

# --- what is declared ------------------------------------------------------------------------------------------------


class Cities:
    """The knowledge of the cities, as the room asks for it."""

    def attribute(self, name: str) -> Claim | None:
        found = lookup_attribute(name)
        return None if found is None else Claim(name, *found)

    def column(self, name: str, value: Any) -> Claim | None:
        return Claim(f"{name} {hash(value)}", *COLUMNS[name](value))

    def home(self, yes: int) -> int:
        """Cities are all of one sort."""
        return load_atlas().all


def _thing_lines(text: str) -> Iterator[Line]:
    """Parse the lines of things. To be known for a thing, or to have a famous one, is its attribute; merely to have one
    is weaker, and never answered by No."""
    for row in text.splitlines():
        name, _, rest = row.partition(":")
        nouns = [noun.strip() for noun in rest.split(";")]
        strong = [f"{frame} {noun}" for noun in nouns for frame in ("known", "has famous", "is center of")]
        yield Line(name.rstrip("!"), "", strong)
        yield Line(name.rstrip("!") if name.endswith("!") else f"{name}?", "", [f"has {noun}" for noun in nouns])


class CityLexicon(Lexicon):
    """The declared phrasings; what is not declared is looked up in the fame of the cities."""

    def lookup_phrase(self, k: str, words: Words = ()) -> Claim | None:
        found = super().lookup_phrase(k, words)
        frame, _, rest = k.partition(":")
        if found is not None or frame not in ("known", "do") or (frame == "do" and not rest.startswith("have ")):
            return found
        return claim_known_for(rest.removeprefix("have ").removeprefix("famous "), frame == "known")


@cache
def _cities_by_fame() -> Mapping[str, Sequence[tuple[int, frozenset[str]]]]:
    """Map a word to the cities (one bit each) that are known for something with this word, with all words of that
    thing."""
    found: dict[str, list[tuple[int, frozenset[str]]]] = {}
    for c in load_atlas().cities:
        for phrase in fame_phrases(c):
            held = frozenset(base_form(w) for w in phrase.split())
            for word in held:
                found.setdefault(word, []).append((1 << c.id, held))
    return found


@cache
def _loose_words() -> frozenset[str]:
    return section_words("loose") | word_set("dropped") | word_set("empty")


def claim_known_for(phrase: str, only: bool) -> Claim | None:
    """Claim that a city is known for a phrase: true if one thing has all of its words, unknown if some things share
    some of them; false of all other cities if the phrase has two words or more, or if the question is `only` about
    fame."""
    core = frozenset(base_form(w) for w in phrase.split()) - _loose_words()
    rows = [row for word in core for row in _cities_by_fame().get(word, ())]
    yes = sum({bit for bit, held in rows if core <= held})
    if not yes:
        return None
    beside = sum({bit for bit, _ in rows})
    return Claim(f"known for {phrase}", *(known_mask(yes, beside) if len(core) > 1 or only else (yes, 0)))


@cache
def city_grammar(who: Literal["city", "land"]) -> Grammar:
    """Reads what is said of a city or of its country; what is said of the country holds of the city, too."""
    text = declared_sections()
    lexicon = CityLexicon(
        [*parse_lines(text[who]), *_thing_lines(text["things"]), *parse_lines(text["country"])], Cities(), SLOTS
    )

    def by(words: Words) -> Claim | None:
        """A sentence about something of the city: its name, its flag; "is the Eiffel Tower there" asks if it has it."""
        bare = [w for w in words if w not in ("located", "situated", "found")]
        found = lexicon.lookup_phrase(f"by:{phrase_key(words)}", words)
        if (
            found is None
            and (found := grammar.do(["have", *bare])) is not None
            and any(is_verb(base_form(w)) for w in bare)
        ):
            return weaken_claim(found, "of it")
        return found

    grammar = Grammar(lexicon, Subject(section_words("heads"), you=True), by=by)
    return grammar


# --- sentences -------------------------------------------------------------------------------------------------------

_TAIL = re.compile(
    r" , (?=(?:the|a|an|known|which|where|that|with|famous|home|located|situated|and) )"
    r"|(?<=\w) (?=(?:known for|with|which|that|famous for|located in|situated in) )"
)
_EXAMPLES = re.compile(r" (?:, )?(?:such as|like|for example|for instance|including|e g) (?!to\b).*$")
_OF_ASKER = (("am", "i"), ("was", "i"), ("are", "we"))
_PAST = re.compile(r"(?:\W*\w+,? )?(?:was|were|did|had|(?:has|have) (?:it|your \w+|your home \w+) (?:ever )?been)\b")


@cache
def _declared_turns() -> Sequence[tuple[re.Pattern[str], str]]:
    rows = (line.partition(" =>") for line in declared_sections()["turns"].splitlines())
    return [(re.compile(expression), words.strip()) for expression, _, words in rows]


@lru_cache(maxsize=1 << 14)
def normalise_question(text: str) -> str:
    """A sentence in the form of the phrasings.

    >>> normalise_question("is your home city located near the coast")
    'is it near coast'
    """
    for pattern, words in _declared_turns():
        if pattern.search(text) is not None:
            text = " ".join(pattern.sub(f" {words} ", text).split())
    return text


@lru_cache(maxsize=1 << 14)
def read_question(said: str) -> Claim | None:
    """Return the claim of a yes/no question; None for other messages, and for questions that are not understood."""
    act = read_act(said)
    if act.kind != "asks" or act.words[:2] in _OF_ASKER:
        return None
    words = act.words
    if words[1:2] == ("not",) and words[0] in word_set("aux"):  # "hasn't it ...?" asks whether it has
        words = (words[0], *words[2:])
    claim = read_sentence(" ".join(words))
    if claim is None or not claim.known_things:
        return None
    claim = _weaken_past(claim) if _PAST.match(said.lower()) else claim
    return negate_claim(claim) if act.denied else claim


def _weaken_past(claim: Claim) -> Claim:
    """Weaken a claim about the past: what is false today may have been true."""
    names = {name.strip("?(),") for name in claim.text.split()}
    return weaken_claim(claim, "once") if names.isdisjoint(section_words("past")) else claim


@lru_cache(maxsize=1 << 14)
def read_sentence(text: str) -> Claim | None:
    """Claim what a sentence says, with or without its tail."""
    text = normalise_question(text)
    found = _read_whole(text)
    if found is not None and (not found.unread or found.text.startswith("or(")):
        return found
    bare = _EXAMPLES.sub("", text)
    if bare != text and (found := _read_whole(bare)) is not None:
        return found
    for cut in list(_TAIL.finditer(text))[::-1]:
        head = _read_whole(text[: cut.start()])
        if head is not None:
            return _add_tail(head, text[cut.end() :])
    return None


def _add_tail(head: Claim, tail: str) -> Claim:
    """Add a tail to a claim: a description of what was named adds nothing, any other tail is a condition."""
    first, _, behind = tail.partition(" ")
    if head.text.startswith("in ") and first in section_words("describing"):
        return head
    verb, _, rest = (behind if first in ("which", "that") else tail).partition(" ")
    more = _read_whole(normalise_question(f"is it {verb} {rest}")) or _read_whole(
        normalise_question(f"does it {base_form(verb)} {rest}")
    )
    return join_all([head, more or unread_claim(tail)])


def _read_whole(text: str) -> Claim | None:
    """Claim what a whole sentence says of the city or of its country."""
    words = text.split()
    if "country" in words and "it" not in words:
        found = city_grammar("land").read_sentence(_country_as_subject(text).split())
        if found is not None:
            return found
    return city_grammar("city").read_sentence(words)


def _country_as_subject(text: str) -> str:
    """Make the country the subject of a sentence."""
    text = re.sub(r" (?:in|within|across|throughout|of) (?:the )?country$", "", text)
    return re.sub(r"\b(?:the )?country\b", "it", text, count=1)
