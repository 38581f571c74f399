"""Which candidates a message proposes as the answer, in whatever sentence it does so.

Ours. A sentence proposes a candidate where the clause that names it says nothing else: "it is X", "the city must be X",
"X" alone. What stands for the hidden thing is a pronoun, a phrase such as "what you have in mind", or the kind that the
opening names ("the illness or remedy"). Clauses without a name may lead up to it ("Based on your answers, ...", "I have
a feeling that ..."), if they neither deny nor report nor suppose anything; a description behind the name is cut off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from .clauses import BE
from .lists import indexed, started, word_list, word_set
from .mentions import (
    BREAKS,
    CHOICE,
    NAME,
    STOPS,
    Names,
    affirm,
    drop_retracted,
    find_mentions,
    is_frame,
    is_set_aside,
    join,
    mark_names,
    reported,
    supposes,
    tokens,
)
from .preambles import opens_preamble
from .words import base

MOST_QUESTIONS = 2
"""A message that asks more lists what might be, and proposes nothing."""
_PAST = word_set("name_past")
_ASKING = word_set("name_asking")
_DESCRIBING = word_set("name_describing")
"""What begins a description behind a name."""
_DETERMINERS = frozenset(("the", "this", "that", "your", "my", "our"))
_OF_US = indexed(word_list("of_us"))
_SELF = frozenset(("i", "me", "my", "we", "us", "our", "you", "your", "it", "this", "that"))
"""Of whom a clause speaks that may lead up to a guess."""
_ASKER = frozenset(("i", "my", "we", "our"))
_THING = frozenset(("it", "this", "that", "you", "your"))
_KNOWN = frozenset(("know", "visit", "like", "love"))
_GONE = frozenset(("go", "goes", "going", "been", "went", "gone"))
_LIVING = frozenset(("live", "lived", "living", "located", "born", "from", "in"))
_MEANS = frozenset(("think", "talk", "guess", "sure", "certain", "city", "name"))
_IS = frozenset(("is", "are", "it", "be", "must", "has"))
_WAS = frozenset(("was", "were", "had"))


class _Piece(NamedTuple):
    """A part of a sentence between marks, and the mark or word before it."""

    words: Sequence[str]
    before: str = ""


def proposals(said: str, names: Names, negated: bool = False) -> Sequence[int]:
    """The candidates that a message proposes. `negated`: a question with "not" that expects a yes proposes as well.

    >>> from .mentions import lookup
    >>> names = Names(lookup({"rome": 1, "oslo": 2}), 1, kinds=(("old", "town"),))
    >>> [proposals(said, names) for said in ("It's Rome, also called Oslo.", "A city like Rome?")]
    [[1], []]
    >>> proposals("Given all that, I think that the old town you have in mind is Oslo.", names)
    [2]
    """
    if said.count("?") > MOST_QUESTIONS or reported(said):
        return []
    found: list[int] = []
    for sentence in _sentences(drop_retracted(tokens(said))):
        found += _proposed(_fold(sentence, names), names, negated)
    return found


def _sentences(words: Sequence[str]) -> Iterator[Sequence[str]]:
    part: list[str] = []
    for word in (*words, "."):
        if word not in STOPS:
            part.append(word)
        elif part:
            yield part
            part = []


def _fold(words: Sequence[str], names: Names) -> Sequence[str]:
    words = fold_subject(words, names.kinds)
    before = ["", *words]
    return [w for v, w in zip(before, words, strict=False) if v != "the" or w not in names.epithets]


# --- what stands for the hidden thing --------------------------------------------------------------------------------


def fold_subject(words: Sequence[str], kinds: Sequence[tuple[str, ...]]) -> Sequence[str]:
    """A sentence with "it" in the place of whatever else stands for the hidden thing.

    >>> " ".join(fold_subject("is the wild animal that you are thinking of a lion".split(), [("wild", "animal")]))
    'is it a lion'
    >>> " ".join(fold_subject("is a lion what you have in mind".split(), []))
    'is a lion it'
    """
    found, at = list[str](), 0
    while at < len(words):
        end = _subject(words, at, kinds)
        found.append("it" if end else words[at])
        at = end or at + 1
    return found


def _subject(words: Sequence[str], at: int, kinds: Sequence[tuple[str, ...]]) -> int:
    """The end of a phrase for the hidden thing that starts at `at`; 0 where there is none."""
    if words[at] == "what":
        n = started(words[at + 1 :], _OF_US)
        return at + 1 + n if n else 0
    if words[at] not in _DETERMINERS:
        return 0
    start, end = at + 1, 0
    while not end and start < len(words):
        end = max((start + len(kind) for kind in kinds if tuple(words[start : start + len(kind)]) == kind), default=0)
        if words[start] not in word_set("head_adjectives"):
            break
        start += 1
    if not end:
        return 0
    skip = end + (words[end : end + 1] in (["that"], ["which"], ["who"]))
    n = started(words[skip:], _OF_US)
    return skip + n if n else end


# --- sentences that propose ------------------------------------------------------------------------------------------


def _proposed(words: Sequence[str], names: Names, negated: bool) -> list[int]:
    mentions = find_mentions(words, names)
    marks = mark_names(words, mentions)
    meant = [m for m in mentions if not is_set_aside(marks, m)]
    if not meant or supposes(marks):
        return []
    first = meant[0]
    before = marks[first.start - 1] if first.start else ""
    if "capital" in marks[first.end : first.end + 2] or names.aside(before, join(words[first.start : first.end])):
        return []
    end = _described(marks, first.end, names.common)
    meant = [m for m in meant if m.start < end]
    kept = {i for m in meant for i in range(m.start, m.end)}
    pieces = list(_pieces([w if w != NAME or i in kept else "" for i, w in enumerate(marks[:end])]))
    return [m.who for m in meant] if _is_proposal(pieces, negated, names.common) else []


def _described(words: Sequence[str], at: int, common: bool) -> int:
    """Where a description begins that stands behind a name; of common nouns only what a comma parts from them."""
    starts = (i for i in range(at, len(words)) if words[i] in _DESCRIBING and (words[i - 1] == "," or not common))
    return next((i for i in starts if words[i - 1] != NAME or words[i] not in ("as", "that")), len(words))


def _pieces(words: Sequence[str]) -> Iterator[_Piece]:
    """The parts of a sentence; a name that does not count is empty in them."""
    part, before = list[str](), ""
    for word in (*words, "."):
        if word not in BREAKS and word != "but":
            part.append(word)
            continue
        if part:
            yield _Piece(part, before)
            part, before = [], word
        else:
            before = word
    return


def _is_proposal(pieces: Sequence[_Piece], negated: bool, common: bool) -> bool:
    """Whether every part that names a candidate says that it is the answer, and no other part speaks against it."""
    naming = [p for p in pieces if NAME in p.words]
    others = [p for p in pieces if NAME not in p.words]
    plain = all(map(_says_nothing, others))
    for piece in naming:
        if _is_bare(piece) and not plain and not _is_announced(piece, pieces):
            return False
        if not _names_answer(piece.words, negated) or (common and piece.words[0] in word_set("prepositional")):
            return False
    return all(map(_leads_up, others))


def _is_bare(piece: _Piece) -> bool:
    """Whether a part is a name, and no statement about it."""
    return piece.words[0] == NAME and _IS.isdisjoint(piece.words)


def _says_nothing(piece: _Piece) -> bool:
    """Whether a part has nothing but words around a guess, such as "question 17", or only denies another name."""
    return is_frame([w for w in piece.words if w not in ("", "not") and not w.isdigit()])


def _is_announced(piece: _Piece, pieces: Sequence[_Piece]) -> bool:
    """Whether a name alone stands where a guess is expected: "my proposal: X", "not Y, but X"."""
    if piece.before == "but":
        return True
    leading = pieces[pieces.index(piece) - 1]
    return piece.before == ":" and not _SELF.isdisjoint(leading.words)


def _leads_up(piece: _Piece) -> bool:
    """Whether a part without a name may stand beside a guess."""
    first = piece.words[0]
    if first in CHOICE or "" in piece.words:
        return first not in CHOICE - {"and"} and _says_nothing(piece)
    return (
        _says_nothing(piece)
        or opens_preamble(first)
        or not _SELF.isdisjoint(piece.words)
        or first in ("not", "by", "so")
    )


def _names_answer(words: Sequence[str], negated: bool) -> bool:
    """Whether a clause says of the name in it that it is the answer."""
    words = [w for w in affirm(words) if w != "why"] if negated else words
    at, end = words.index(NAME), len(words) - list(reversed(words)).index(NAME)
    lead, tail = _main_clause(words[:at]), words[end:]
    among = frozenset(words[at:end]) & word_set("prepositional") - CHOICE
    if "not" in lead or among or _is_question_about(lead) or _is_about_else(lead):
        return False
    if tail and (lead[-1:] == ["have"] or tail[0] in word_set("prepositional")) and tail[:1] != ["or"]:
        return tail[:2] in (["in", "mind"], ["in", "question"], ["to", "me"], ["for", "me"])
    return is_frame(lead) and is_frame(tail) and lead[-1:] != ["have"]


def _is_question_about(lead: Sequence[str]) -> bool:
    """As in "what is", "did it", "can it", or, behind a comma, "as in"."""
    if not lead:
        return False
    does = lead[0] in word_set("aux") - BE and len(lead) == 2 and lead[1] in _THING
    return does or lead[0] in _PAST or lead[0] == "as" or (lead[0] in _ASKING and lead[1:2] != ["i"])


def _main_clause(lead: Sequence[str]) -> Sequence[str]:
    """What leads to a name without the clause above it: "it is" in "I am quite sure that it is"."""
    if is_frame(lead) or lead[0] not in ("i", "we", "it", "this", "that"):
        return lead
    starts = (i for i in range(1, len(lead)) if lead[i] in (*_THING, "the"))
    return next((lead[i:] for i in starts if is_frame(lead[i:])), lead)


def _is_about_else(lead: Sequence[str]) -> bool:
    """Whether a clause speaks of something other than the hidden thing: of what was guessed before, of what there is,
    of whatever has a capital."""
    held = frozenset(lead)
    return (
        not held.isdisjoint(_WAS)
        or "there" in held
        or ("capital" in held and held.isdisjoint(("it", "you")))
        or _is_of_asker(lead)
        or _is_governed(lead)
    )


def _is_of_asker(lead: Sequence[str]) -> bool:
    """As in "I am", "I live in"."""
    held = frozenset(lead)
    own = not _ASKER.isdisjoint(held) and _THING.isdisjoint(held)
    return own and (not held.isdisjoint(_LIVING) or lead[-1] == "am")


def _is_governed(lead: Sequence[str]) -> bool:
    """Whether a name is what somebody knows or goes to, or what something is about."""
    *_, before, last = ["", "", *(w for w in lead if w != "the")]
    if any(a in ("have", "has") and b in ("been", "you") for a, b in pairwise(lead)):
        return True
    if last in ("of", "about"):
        return "it" in lead and base(before) not in _MEANS
    return last in _KNOWN or (last in ("to", "in") and before in _GONE)
