"""Names in a message: where they stand, and which of them do not count.

Ours. A conversation says which candidates some words name (`Names`). A name that is denied, reported, supposed,
compared with, or given up does not count, whatever the conversation is about.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from .letters import apostrophes, unaccented
from .lists import word_set
from .words import base


class Names(NamedTuple):
    """The names of a game: `find` gives the candidates that at most `longest` words name, as a mask; `secret` is the
    mask of the hidden one, `beside` of those that may be named beside it (what it is a kind of). `begins` tells with
    which words names may begin, `aside` by the word before a name where it names no candidate ("in Singapore").
    `kinds` are what the opening calls the hidden thing ("illness or remedy"), each as its words; `epithets` may stand
    between "the" and a name ("the beautiful Rome"). `common`: names are common nouns, so that a clause behind
    one says which of them is meant."""

    find: Callable[[str], int]
    longest: int
    secret: int = 0
    beside: int = 0
    begins: Callable[[str], bool] = bool
    aside: Callable[[str, str], bool] = lambda before, name: False
    kinds: Sequence[tuple[str, ...]] = ()
    epithets: frozenset[str] = frozenset()
    common: bool = False


class Mention(NamedTuple):
    """The words from `start` to `end` name the candidates `who`."""

    start: int
    end: int
    who: int


STOPS = frozenset(".!?;")
BREAKS = frozenset(".!?;:,")
NAME = "@"
"""Stands for a word of a name."""
_MARKS = frozenset(".!?;:/&")
_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[.!?;:,/&]")
_SHORT = re.compile(r"\b(st|mt|mr|mrs|ms|dr|jr|sr|[a-z])\.")
_NEGATIVE = re.compile(r"\b(\w+)n't\b")
_CONTRACTED = re.compile(r"\b(it|that|this|there|he|she|what|here)'(s)\b|\b(i|you|we|they|it)'(m|re|ve|ll|d)\b")
_FULL = {"s": "is", "m": "am", "re": "are", "ve": "have", "ll": "will", "d": "would"}
_CERTAIN = re.compile(
    r"\b(?:(?:no|without (?:a|any)|beyond (?:a|any|all)(?: reasonable)?) (?:doubt|question)|without doubt|not only"
    r"|none other than|nothing (?:else )?but|or not|what if|(?:put|bet) (?:(?:all )?my money|everything) on"
    r"|my money is on|(?:sounds|seems) like|take a (?:shot|guess)|all signs point to|everything points to"
    r"|narrows (?:it|things) down to)\b"
)
"""What says, in many words, no more than that somebody is certain."""
_BUT = re.compile(r"\b(?:any|every)(?:thing|one|body|where) but\b")
_REPORTED = re.compile(r"\b(?!you |i )[\w']+ (?:says?|said|tells|told|claims?|claimed) ")
_PLANNED = re.compile(
    r"\bi (?:was (?:about|going) to|almost|nearly|(?:had |have )?(?:first |initially |at first )?thought (?:it|that|of)"
    r"|used to think|would have)\b"
)
"""What makes a name one that is no longer meant."""
_FRAME = word_set("name_frame")
"""Words that name nothing by themselves, and say nothing of an answer."""
_DENYING = word_set("name_denying")
_REPORTS = word_set("name_reports")
_SUPPOSING = word_set("name_supposing")
_WONDERING = word_set("name_wondering")
_BESIDE = word_set("name_beside")
_TOWARDS = word_set("name_towards")
_AUXILIARIES = word_set("name_auxiliaries")
_BACK = word_set("name_back")
CHOICE = word_set("name_choice")
_AFTER = word_set("name_after")


def lookup(known: Mapping[str, int]) -> Callable[[str], int]:
    """Who is meant by names of this table, which `name_key` has written."""

    def find(name: str) -> int:
        return known.get(name, 0)

    return find


def tokens(said: str) -> list[str]:
    """Words in lower case without accents and contractions, and marks."""
    low = _NEGATIVE.sub(r"\1 not", apostrophes(unaccented(said).lower()))
    low = _CONTRACTED.sub(lambda m: f"{m[1] or m[3]} {_FULL[m[2] or m[4]]}", low)
    return _TOKEN.findall(_BUT.sub("never", _CERTAIN.sub(" ", _SHORT.sub(r"\1 ", low))))


def name_key(name: str) -> str:
    """A name in the form in which `Names.find` is asked for it."""
    return join(tokens(name))


def join(words: Sequence[str]) -> str:
    """Words in the form in which `Names.find` is asked for them."""
    return " ".join(w for w in words if w != ",")


def drop_retracted(words: Sequence[str]) -> Sequence[str]:
    """Without what is taken back: "Rome? No, Oslo" says Oslo."""
    starts = (i for i in range(len(words) - 2, 0, -1) if words[i] in _BACK and words[i + 1] == ",")
    at = next((i for i in starts if words[i - 1] in BREAKS | _BACK), 0)
    return words[at + 2 :] if at else words


def reported(said: str) -> bool:
    """Whether a message hands on, before a colon, what somebody else says.

    >>> reported("Somebody told me: Oslo"), reported("You told me of a fjord: is it Oslo?")
    (True, False)
    """
    before, colon, _ = said.lower().rpartition(":")
    return bool(colon) and bool(_REPORTED.search(re.split(r"[.!?]", before)[-1] + " "))


# --- where names stand -----------------------------------------------------------------------------------------------


def find_mentions(words: Sequence[str], names: Names) -> list[Mention]:
    """The names in a message, the longest at every place."""
    found, at = list[Mention](), 0
    while at < len(words):
        if not names.begins(words[at]):
            at += 1
            continue
        ends = [i + 1 for i in range(at, _end(words, at, names.longest)) if words[at] != "," != words[i]]
        rows = ((end, _who(words[at:end], names)) for end in reversed(ends))
        end, who = next((row for row in rows if row[1]), (at + 1, 0))
        found += [Mention(at, end, who)] if who else []
        at = end
    return found


def _end(words: Sequence[str], at: int, longest: int) -> int:
    """How far a name may go: commas may be in it, other marks may not."""
    return next(
        (i for i in range(at, min(at + longest, len(words))) if words[i] in _MARKS), min(at + longest, len(words))
    )


def _who(words: Sequence[str], names: Names) -> int:
    return 0 if is_frame(words) else names.find(join(words))


def mark_names(words: Sequence[str], mentions: Sequence[Mention]) -> list[str]:
    """The words with a sign for each one that is part of a name."""
    inside = {i for m in mentions for i in range(m.start, m.end)}
    return [NAME if i in inside else w for i, w in enumerate(words)]


def is_frame(words: Sequence[str]) -> bool:
    """Whether words say nothing but that what is named beside them is the answer; what happens to be so is so."""
    return all(
        w in _FRAME
        or w in BREAKS
        or w in CHOICE
        or w == NAME
        or (tuple(words[i + 1 : i + 3]) == ("to", "be") and base(w) in word_set("control"))
        for i, w in enumerate(words)
    )


# --- which of them count ---------------------------------------------------------------------------------------------


def is_set_aside(words: Sequence[str], mention: Mention) -> bool:
    """Whether a name is denied, reported, supposed, or compared with."""
    before = words[: mention.start]
    sentence = before[_after(before, STOPS) :]
    clause = before[_after(before, BREAKS | {"but"}) :]
    if (
        _beside(clause)
        or supposes(clause)
        or _PLANNED.search(" ".join(clause))
        or not _DENYING.isdisjoint(affirm(clause))
    ):
        return True
    if any(w in _REPORTS and v not in ("you", "i") for v, w in pairwise(["", *sentence])):
        return True
    behind = words[mention.end :]
    end = next((i for i, w in enumerate(behind) if w in BREAKS or w in _AFTER), len(behind))
    return NAME not in behind[:end] and not _DENYING.isdisjoint(behind[:end])


def _after(words: Sequence[str], marks: frozenset[str]) -> int:
    """Where the last part of some words begins."""
    return next((i + 1 for i in range(len(words) - 1, -1, -1) if words[i] in marks), 0)


def affirm(clause: Sequence[str]) -> Sequence[str]:
    """Without the "not" of a question that expects a yes: "isn't it", "could it not be", "why not"."""
    at = next((i for i, w in enumerate(clause[:3]) if w == "not"), 0)
    return [*clause[:at], *clause[at + 1 :]] if at and clause[0] in _AUXILIARIES else clause


def supposes(clause: Sequence[str]) -> bool:
    """Whether a clause states a condition; who wonders whether it is so does not."""
    return "let us say" in " ".join(clause) or any(
        w in _SUPPOSING and v not in _WONDERING for v, w in pairwise(["", *clause])
    )


def _beside(clause: Sequence[str]) -> bool:
    *_, a, b = ["", "", *(w for w in clause if w not in ("the", "a", "an", "city"))]
    return b in _BESIDE or (b in ("to", "of") and a in _TOWARDS)
