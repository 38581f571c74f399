"""What a message of a player asks: the query, and what kind of message it is.

Ours. A message is read as one yes/no question or guess about the hidden thing, behind whatever politeness it wears; its
last sentence counts. Anything that is not understood to the last word that matters has no query, and the answerer does
not know. Requests, open questions and several questions at once are told apart, because some games call them invalid.
What a message says about the game, its rules or the answerer is never obeyed: only the query matters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple, overload

from sonde.people.language.naming import reported

from . import aspects, clauses, framing, rewording, sayings
from .clauses import aux_predicate, be_predicate, do_predicate, done_to
from .described import described
from .english import ascii_lower, base, tokens
from .manners import FILLERS, TAGS, unechoed, unled, untagged, without_asides
from .nouns import named
from .parted import parted
from .phrases import PREPOSITIONS, asked, key
from .queries import Query, negated, strong
from .subjects import HEADS, PRONOUNS, people, subject
from .topics import knowledge
from .wordlists import indexed, starts, word_list, word_set

Words = Sequence[str]
Kind = Literal["query", "unclear", "open", "several"]
LONGEST = 600
"""Characters that are read; longer messages are unclear."""


class Reading(NamedTuple):
    """A message as it was understood."""

    kind: Kind
    query: Query | None = None


_AUX = word_set("questions.aux")
_OPEN = word_set("questions.open")
_PREAMBLES = word_set("questions.preambles")
_GUESSES = word_list("questions.guesses")
_SENTENCE = re.compile(r"(?<=[.!?:;])\s+|\n+|\?+|[;:](?=\s|$)|!+|\s+[-–—]+\s+|…|\.{2,}")
_NUMBERING = re.compile(
    r"^\W*(?:q(?:uestion)?\s*(?:#|no\.?|number)?\s*\d*\s*[:.)-]+|\(?\d{1,2}[:.)]+)\s*", re.IGNORECASE
)
_SHORT = re.compile(r"\b(st|mr|mrs|ms|dr|jr|sr|vs|prof|[a-z]|no(?=\.\s*\d))\.")
_MARKUP = re.compile(r"[*_#>\"“”«»`\[\](){}|~^]+")

_ERRAND = re.compile(r"\b(?:go|come) and (?!(?:go(?:es)?|come|back|up|down|away)\b)(?=[a-z])")
"""As in "do people go and vote there": the second verb says it all."""

_GUESS_INDEX = indexed(_GUESSES)


@lru_cache(maxsize=16384)
def read(said: str) -> Reading:
    """What a message asks.

    >>> read("What color is it?").kind, read("Is it green? Is it slimy?").kind
    ('open', 'several')
    """
    if len(said) > LONGEST or reported(said):
        return Reading("unclear")
    if len(re.findall(r"\?(?=[^?]*\w)", said)) and said.count("?") > 1:
        return Reading("several")
    text = _ERRAND.sub("", _SHORT.sub(r"\1 ", _NUMBERING.sub("", _MARKUP.sub(" ", ascii_lower(said)))))
    parts = [words for part in _SENTENCE.split(text) if (words := tokens(part.replace(" - ", " , ")))]
    if not parts:
        return Reading("unclear")
    last = parts[-1]
    if len(parts) > 1 and (" ".join(last).strip(", ") in TAGS or framing.closing(last)):
        last = parts[-2]
    query = sentence(last)
    if query is None:
        return Reading("open" if any(_is_open(p) for p in _heads(parts)) else "unclear")
    return Reading("query", query)


def _heads(parts: list[list[str]]) -> list[Words]:
    """Sentences, and what follows a comma or "and" in the last one."""
    last = parts[-1]
    cuts = [i + 1 for i, w in enumerate(last) if w in (",", "and")]
    return [*parts, *(last[i:] for i in cuts)]


def _is_open(words: Words) -> bool:
    words = unled(words)
    if words[:1] and words[0] in ("and", ","):
        words = words[1:]
    return bool(words) and words[0] in _OPEN


_KINDS = frozenset(("a", "an", "the"))
"""Before a name that may be one of a kind: "is it a bear"."""
_DENIALS = frozenset(("not", "never", "no", "nor", "neither"))


def sentence(words: Words, depth: int = 0) -> Query | None:
    """The query of a sentence, else that of another wording, else what single topics are known to be or not to be.
    `depth` counts what it stands in: a frame in a frame, a fragment made whole.

    "It is not big, is it" and "is it not big" ("isn't it big") with nothing behind it are answered as "is it big".
    """
    if depth > _DEEPEST:
        return None
    words, doubted = unechoed(words)
    if doubted and _DENIALS & set(words):
        words = _affirmed(words)
        if _DENIALS & set(words):
            return None
    found = _as_said(words)
    if len(words) > clauses.LONGEST:
        return found
    if (found is None or "? " in found.text) and (core := framing.inside(words)) is not None:
        framed = _framed(core, depth)
        if framed is not None:
            return framed
    found = found or described(unled(words), be_predicate) or _otherwise(words, depth)
    if tuple(words[-2:]) == ("of", "them"):
        return found
    if found is not None and found.named:
        return _undisputed(found, sayings.said(_plainly(words))) if _KINDS & set(words) else found
    found = _agreed(found, sayings.said(_plainly(words)))
    plain = unled(untagged(words)[0])
    found = _besides(found, parted(plain, _simply))
    return found if found is not None or (whole := rewording.completed(plain)) is None else sentence(whole, depth + 1)


def _simply(words: Words) -> Query | None:
    """A part of a sentence, as it is worded or in other words, and what is said of single topics."""
    found = _reworded(words)
    if found is not None and found.named:
        return found
    return _agreed(found, sayings.said(_plainly(words)))


_DEEPEST = 3


def _framed(core: framing.Core, depth: int) -> Query | None:
    """What is asked inside a frame; a name that is announced as a guess is one."""
    found = (named(core.words) or sentence(["is", "it", *core.words], depth + 1)) if core.guess else None
    found = found or sentence(core.words, depth + 1)
    return negated(found) if found is not None and core.denied else found


def _plainly(words: Words) -> Words:
    """Without politeness and tags, as a plain question, and "in it" for "there"."""
    words = unled(untagged(words)[0])
    words = [words[0], *words[2:]] if words[1:2] == ["not"] and words[0] in _AUX else words
    return [*words[:-1], "in", "it"] if words[-1:] == ["there"] and words[1:2] != ["it"] else words


@overload
def _besides(found: Query, said: Query | None) -> Query: ...
@overload
def _besides(found: Query | None, said: Query | None) -> Query | None: ...
def _besides(found: Query | None, said: Query | None) -> Query | None:
    """What is understood, and of the topics of which that is not known what is understood otherwise."""
    if found is None or said is None:
        return found or said
    known = found.yes | found.no | found.goal
    yes, no = said.yes & ~known, said.no & ~known
    more = found._replace(yes=found.yes | yes, no=found.no | no)
    return more if yes | no else found


def _agreed(found: Query | None, said: Query | None) -> Query | None:
    """What is understood, and what is said in so many words of the topics of which that is not known; neither where the
    one denies the other: one of the two is wrong, or is meant in another sense."""
    if found is None or said is None:
        return found or said
    return _undisputed(_besides(found, said), said)


def _undisputed(found: Query, said: Query | None) -> Query:
    """What is understood, without the topics of which the opposite is said in so many words."""
    if said is None or not (found.no & said.yes or found.yes & said.no):
        return found
    return found._replace(yes=found.yes & ~said.no, no=found.no & ~said.yes)


def _affirmed(words: Words) -> list[str]:
    """Without the "not" behind the auxiliary, or the "never", of a statement."""
    at = next((i for i, w in enumerate(words) if w in ("not", "never")), 0)
    return [*words[:at], *words[at + 1 :]] if at and (words[at] == "never" or words[at - 1] in _AUX) else list(words)


def _otherwise(words: Words, depth: int) -> Query | None:
    """Another wording of a sentence that is not understood, or the only one that its slips of the pen leave."""
    found = _reworded(words)
    if found is not None:
        return found
    meant = {q.text: q for mended in rewording.spelled(words) if (q := sentence(mended, depth + 1)) is not None}
    best = sorted(meant.values(), key=lambda q: -(q.yes | q.no).bit_count())
    return best[0] if best and not any(_near(q, best[0]) for q in best[1:]) else None


def _near(other: Query, first: Query) -> bool:
    """Whether a reading is about as likely to be meant as the first one: it is known of nearly as many topics."""
    return (other.yes | other.no).bit_count() * 4 > (first.yes | first.no).bit_count()


def _reworded(words: Words) -> Query | None:
    found = _as_said(words)
    if found is not None:
        return found
    words = unled(words)
    for plain in rewording.plainer(words):
        if (found := _as_said(plain)) is not None:
            return found
        words = plain
    return None


def _as_said(words: Words) -> Query | None:
    return _meaning(tuple(words))


@lru_cache(maxsize=1 << 13)
def _meaning(words: tuple[str, ...]) -> Query | None:
    """The query of a sentence as it is worded; of "lives only in the sea" what is true of the sea does not follow."""
    found = _worded(words)
    narrow = any(a in _NARROWING and b in _NARROWED for a, b in pairwise(words))
    return strong(found, "only") if found is not None and narrow and not found.named else found


_NARROWING = ("only", "solely", "exclusively", "entirely")
_NARROWED = PREPOSITIONS.keys() | {"for", "with", "during"}


def _worded(words: Words) -> Query | None:
    words, _ = untagged(without_asides(words))
    guess = _led_guess(words)
    if guess is not None:
        return guess
    words = unled(words)
    if not words or len(words) > clauses.LONGEST + 10:
        return None
    whole = asked(f"q:{key(words)}")
    found = clause(words) if whole is None or whole.text.startswith("fact ") else None
    if whole is not None:
        return whole if found is None else found if found.named else clauses.either(whole, found)
    if found is not None:
        return found
    if words[0] in _PREAMBLES or "," in words:
        return _after_preamble(words)
    return None


def _after_preamble(words: Words) -> Query | None:
    """The clause behind "since it is alive, ..."; conditions are no preambles."""
    for i, word in enumerate(words):
        if word == "," and i + 1 < len(words):
            head, rest = words[:i], unled(words[i + 1 :])
            if head[0] in ("if", "when", "unless", "where", "while") or not rest or rest[0] not in _AUX | {"i", "my"}:
                continue
            if head[0] in _PREAMBLES or head[0] in FILLERS or head[0] in ("i", "it", "not", "for", "in", "to", "this"):
                found = _led_guess(rest) or clause(rest)
                if found is not None:
                    return found
    return None


def _led_guess(words: Words) -> Query | None:
    """A guess in one of the set forms."""
    for n in starts(words, _GUESS_INDEX):
        if len(words) > n:
            rest = _after_commas(words[n:])
            if (
                rest[:1]
                and rest[0] in ("it", "this", "that")
                and len(rest) > 2
                and rest[1] in ("is", "was", "would", "might")
            ):
                rest = rest[2:] if rest[2] != "be" else rest[3:]
            if rest[:1] == ["that"]:
                continue
            found = named(rest) if rest else None
            if found is not None and _of_its_sort(found, words[n - 2 : n]):
                return found
    return None


def _of_its_sort(found: Query, behind: Words) -> bool:
    """Whether what is named behind "the city of", "the sport of" is a place or a pursuit; of love and kings there are
    cities and sports as well."""
    if behind[-1] != "of":
        return True
    root = "pursuit" if behind[0] in ("sport", "game") else "place"
    return found.goal & ~knowledge().roots[root] == 0 and bool(found.goal)


def _after_commas(words: Words) -> list[str]:
    rest = list(words)
    while rest and rest[0] in (",", "is", "called", "named", "concept", "maybe", "perhaps", "word"):
        rest = rest[1:]
    return rest


def clause(words: Words) -> Query | None:
    """A question, a statement, a guess or a fragment."""
    words = list(words)
    first = words[0]
    if first in _AUX and len(words) > 1:
        return _inverted(first, words)
    found = _statement(words)
    if found is not None:
        return found
    if first in _OPEN or first in ("if", "or", "you", "when"):
        return None
    return fragment(words)


def _inverted(aux: str, words: list[str]) -> Query | None:
    """As in "is it ...", "does this animal ...", "can you ... it", "does its name start with a"."""
    if words[1] == "not":
        rest = words[2:]
        return _inverted(aux, [aux, *rest]) if rest and rest[0] in PRONOUNS and not _DENIALS & set(rest[:2]) else None
    end = subject(words, 1)
    if end and end < len(words):
        found = aspects.about_name(words, end) or aux_predicate(aux, words[end:])
        if found is not None or words[1] in ("it", "they"):
            return found
    special = aspects.asked_of(words[1:])
    if special is not None:
        return special
    if words[1] == "there":
        return _there(words[2:])
    by_name = clauses.done_by(words[1:])
    if by_name is not None:
        return by_name
    group, end = people(words, 1)
    if end and end < len(words):
        rest = words[end:]
        negative = rest[0] == "not"
        if aux in ("is", "are", "was", "am"):
            return (
                None if rest[0] not in ("able", "likely", "supposed", "expected") else done_to(["be", *rest], 0, group)
            )
        if not _refers(rest):
            return asked(f"ob:{key(rest)}") if rest[0] in ("use", "need", "require") else None
        found = done_to(rest[1:] if negative else rest, 0, group)
        return negated(found) if negative and found else found
    return None


def _refers(words: Words) -> bool:
    """Whether the hidden thing occurs in what people do."""
    return any(w in PRONOUNS for w in words) or any(
        words[i] in ("the", "this", "that") and base(words[i + 1]) in HEADS for i in range(len(words) - 1)
    )


def _there(words: Words) -> Query | None:
    """As in "is there ... in it"."""
    return asked(f"do:have {key(words[:-2])}") if words[-2:] in (["in", "it"], ["on", "it"], ["inside", "it"]) else None


def _statement(words: list[str]) -> Query | None:
    """As in "it is not alive", "it has wings", "people eat it"."""
    end = subject(words, 0)
    if end and end < len(words):
        rest = words[end:]
        if rest[0] in _AUX and len(rest) > 1:
            return aux_predicate(rest[0], rest[1:])
        return do_predicate(rest) if rest[0].endswith("s") and base(rest[0]) != rest[0] else None
    group, end = people(words, 0)
    if end and end + 1 < len(words) and _refers(words[end:]):
        return clauses.relative(words, 0)
    del group
    return None


def fragment(words: list[str]) -> Query | None:
    """A guess or a predicate alone: "a guitar", "edible", "used in the kitchen", "have wings", "bigger than a car"."""
    found = named(words)
    if found is not None:
        return found
    if words[0] in ("has", "have", "got", "can", "does", "lives", "eats", "flies", "makes", "used", "found"):
        return aux_predicate(words[0], words[1:]) if words[0] in _AUX else do_predicate(words) or be_predicate(words)
    if words[0] == "with":
        return do_predicate(["have", *words[1:]])
    return be_predicate(words)


def guess_of(query: Query | None) -> str | None:
    """The topic that a query names as a guess."""
    if query is None or not query.goal:
        return None
    return query.guess or None


__all__ = ["Reading", "guess_of", "read", "sentence"]
