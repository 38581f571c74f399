"""Whether a message whose reader says "Goal reached" names the secret as its answer, in whatever frame it does so.

Source: PAPRIKA (arXiv 2502.17543), appendix D: a judge decides about a claimed success. Ours: it decides by what is
named. A leaf says which candidates some words name; what is told apart here holds in every conversation: names that
are denied, reported, supposed or compared with do not count, and several answers are none. It is asked only about
messages that the rules do not read as a guess or a question.

    right     the secret, and no other candidate in its place
    wrong     other candidates and nothing else, or the secret as one of several answers
    nothing   no name that counts, in a message that denies, reports, orders, or asks an open question or, without any
              name, what something does or has
    unclear   anything else: it takes somebody who understands the message
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from .letters import apostrophes, unaccented
from .lists import word_set

Verdict = Literal["right", "wrong", "nothing", "unclear"]


class Names(NamedTuple):
    """The names of a game: `find` gives the candidates that at most `longest` words name, as a mask; `secret` is the
    mask of the hidden one, `beside` of those that may be named beside it (what it is a kind of)."""

    find: Callable[[str], int]
    longest: int
    secret: int
    beside: int = 0


def lookup(known: Mapping[str, int]) -> Callable[[str], int]:
    """Who is meant by names of this table, which `name_key` has written."""

    def find(name: str) -> int:
        return known.get(name, 0)

    return find


class _Mention(NamedTuple):
    start: int
    end: int
    who: int


_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[.!?;:,/&]")
_STOPS, _MARKS, _BREAKS = frozenset(".!?"), frozenset(".!?;:/&"), frozenset(".!?;:,")
_NAME = "@"
_SHORT = re.compile(r"\b(st|mt|mr|mrs|ms|dr|jr|sr|[a-z])\.")
_NEGATIVE = re.compile(r"\b(\w+)n't\b")
_CERTAIN = re.compile(
    r"\b(?:(?:no|without (?:a|any)|beyond (?:a|any|all)(?: reasonable)?) (?:doubt|question)|without doubt|not only"
    r"|none other than|nothing (?:else )?but|or not|what if|(?:put|bet) (?:all )?my money on|my money is on"
    r"|(?:sounds|seems) like|take a (?:shot|guess)|all signs point to|everything points to)\b"
)
_BUT = re.compile(r"\b(?:any|every)(?:thing|one|body|where) but\b")
_REPORTED = re.compile(r"\b(?!you |i )[\w']+ (?:says?|said|tells|told|claims?|claimed) ")
_PLANNED = re.compile(
    r"\bi (?:was (?:about|going) to|almost|nearly|(?:had |have )?(?:first |initially |at first )?thought (?:it|that|of)"
    r"|would have)\b"
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
_DOES = word_set("name_does")
_IS = word_set("name_is")
_CHOICE = word_set("name_choice")
_AFTER = word_set("name_after")
_ASKING = word_set("name_asking")
_ORDERS = word_set("name_orders")


def _last_said(words: Sequence[str]) -> Sequence[str]:
    """Without what is taken back: "Rome? No, Oslo" says Oslo."""
    starts = (i for i in range(len(words) - 2, 0, -1) if words[i] in _BACK and words[i + 1] == ",")
    at = next((i for i in starts if words[i - 1] in _BREAKS | _BACK), 0)
    return words[at + 2 :] if at else words


def verdict_on(said: str, names: Names) -> Verdict:
    """What a message comes to. In the example 1 is Rome, 2 Oslo, 4 Bern, and Oslo is the secret.

    >>> names = Names(lambda name: {"rome": 1, "oslo": 2, "bern": 4}.get(name, 0), 1, 2)
    >>> [verdict_on(m, names) for m in ("My money is on Oslo!", "I think it's Bern.", "It can't be Oslo.", "A fjord?")]
    ['right', 'wrong', 'nothing', 'unclear']
    """
    words = _last_said(tokens(said))
    mentions = _mentions(words, names)
    around = _around(words, mentions)
    meant = [m for m in mentions if not _set_aside(around, m)]
    if not mentions and _describes(words):
        return "nothing"
    if _only_aside(mentions, meant, names.secret):
        return "nothing"
    if words[:1] and not any(m.who & names.secret for m in meant):
        told = words[0] in _ASKING or "goal reached" in " ".join(words)
        if told or (words[0] in _ORDERS and not meant):
            return "nothing"
    meant = [m for m in meant if m.who & names.secret or not m.who & names.beside]
    named = [bool(m.who & names.secret) for m in meant]
    if not any(named):
        return "wrong" if meant and _is_frame(around) else "unclear"
    rivals = [words[a.end : b.start] for (a, b), (x, y) in zip(pairwise(meant), pairwise(named), strict=True) if x != y]
    if any(_is_frame(between) or not _CHOICE.isdisjoint(between) for between in rivals):
        return "wrong"
    return "right" if all(named) else "unclear"


def only_names(said: str, names: Names) -> bool:
    """Whether a message says nothing but the secret's name, so that it can be no other question.

    >>> only_names("Could it be Oslo?", Names(lambda name: int(name == "oslo"), 1, 1))
    True
    """
    words = tokens(said)
    return verdict_on(said, names) == "right" and _is_frame(_around(words, _mentions(words, names)))


_PAST = word_set("name_past")
_DESCRIBING = word_set("name_describing")
"""What begins a description behind a name."""


MOST_QUESTIONS = 2
"""A message that asks more lists what might be, and proposes nothing."""


def proposals(
    said: str,
    find: Callable[[str], int],
    longest: int,
    aside: Callable[[str, str], bool] = lambda before, name: False,
    begins: Callable[[str], bool] = bool,
) -> Sequence[int]:
    """The candidates that a message proposes: those whose sentence says nothing but that they are it, descriptions
    behind the names cut off. `aside` tells, by the word before a name, where it names no candidate, `begins` with
    which words names may begin.

    >>> find = lookup({"rome": 1, "oslo": 2})
    >>> [proposals(said, find, 1) for said in ("It's Rome, also called Oslo.", "A city like Rome?")]
    [[1], []]
    """
    if said.count("?") > MOST_QUESTIONS:
        return []
    words, names = _last_said(tokens(said)), Names(find, longest, 0)
    found: list[int] = []
    for sentence in _sentences(words):
        mentions = _mentions(sentence, names, begins)
        around = _around(sentence, mentions)
        if not mentions or any(_set_aside(around, m) for m in mentions):
            continue
        first = mentions[0]
        if (
            "not" in around[: first.start]
            or around[0] in _PAST
            or "capital" in around[first.end : first.end + 2]
            or aside(around[first.start - 1] if first.start else "", _joined(sentence[first.start : first.end]))
        ):
            continue
        end = _described(around, first.end)
        meant = [m for m in mentions if m.start < end]
        if _is_frame(around[:end]) and (around[:1] != ["what"] or len(sentence) > 3):
            found += [m.who for m in meant]
    return found


def _sentences(words: Sequence[str]) -> list[Sequence[str]]:
    found: list[list[str]] = [[]]
    for word in words:
        if word in _STOPS or word == ";":
            found.append([])
        else:
            found[-1].append(word)
    return [part for part in found if part]


def _described(words: Sequence[str], at: int) -> int:
    """Where a description begins that stands behind a name."""
    starts = (i for i in range(at, len(words)) if words[i] in _DESCRIBING)
    return next((i for i in starts if words[i - 1] != _NAME or words[i] not in ("as", "that")), len(words))


def reported(said: str) -> bool:
    """Whether a message hands on, before a colon, what somebody else says.

    >>> reported("Somebody told me: Oslo"), reported("You told me of a fjord: is it Oslo?")
    (True, False)
    """
    before, colon, _ = said.lower().rpartition(":")
    return bool(colon) and bool(_REPORTED.search(re.split(r"[.!?]", before)[-1] + " "))


def _describes(words: Sequence[str]) -> bool:
    """Whether a message without a name asks what something does or has, and not what it is."""
    return bool(words) and words[0] in _DOES and words[1:2] != ["you"] and _IS.isdisjoint(words)


def _only_aside(mentions: Sequence[_Mention], meant: Sequence[_Mention], secret: int) -> bool:
    """Whether names are there and none of them counts, or none of those of the secret."""
    aside = [m for m in mentions if m not in meant]
    return bool(aside) and (
        not meant or (any(m.who & secret for m in aside) and all(not m.who & secret for m in meant))
    )


def tokens(said: str) -> list[str]:
    """Words in lower case without accents and contracted negations, and marks."""
    low = _NEGATIVE.sub(r"\1 not", apostrophes(unaccented(said).lower()))
    return _TOKEN.findall(_BUT.sub("not", _CERTAIN.sub(" ", _SHORT.sub(r"\1 ", low))))


def _mentions(words: Sequence[str], names: Names, begins: Callable[[str], bool] = bool) -> list[_Mention]:
    """The names in a message, the longest at every place; `begins` tells what a name may begin with."""
    found, at = list[_Mention](), 0
    while at < len(words):
        if not begins(words[at]):
            at += 1
            continue
        ends = [i + 1 for i in range(at, _end(words, at, names.longest)) if words[at] != "," != words[i]]
        rows = ((end, _who(words[at:end], names)) for end in reversed(ends))
        end, who = next((row for row in rows if row[1]), (at + 1, 0))
        found += [_Mention(at, end, who)] if who else []
        at = end
    return found


def _end(words: Sequence[str], at: int, longest: int) -> int:
    """How far a name may go: commas may be in it, other marks may not."""
    return next(
        (i for i in range(at, min(at + longest, len(words))) if words[i] in _MARKS), min(at + longest, len(words))
    )


def _who(words: Sequence[str], names: Names) -> int:
    return 0 if _is_frame(words) else names.find(_joined(words))


def _joined(words: Sequence[str]) -> str:
    return " ".join(w for w in words if w != ",")


def name_key(name: str) -> str:
    """A name in the form in which `Names.find` is asked for it."""
    return _joined(tokens(name))


def _is_frame(words: Sequence[str]) -> bool:
    return all(w in _FRAME or w in _BREAKS or w in _CHOICE or w == _NAME for w in words)


def _around(words: Sequence[str], mentions: Sequence[_Mention]) -> list[str]:
    """The words with a sign for each one that is part of a name."""
    inside = {i for m in mentions for i in range(m.start, m.end)}
    return [_NAME if i in inside else w for i, w in enumerate(words)]


def _set_aside(words: Sequence[str], mention: _Mention) -> bool:
    """Whether a name is denied, reported, supposed, or compared with."""
    before = words[: mention.start]
    sentence = before[_after(before, _STOPS) :]
    clause = before[_after(before, _BREAKS | {"but"}) :]
    if (
        _beside(clause)
        or _supposed(clause)
        or _PLANNED.search(" ".join(clause))
        or not _DENYING.isdisjoint(_affirmed(clause))
    ):
        return True
    if any(w in _REPORTS and v not in ("you", "i") for v, w in pairwise(["", *sentence])):
        return True
    behind = words[mention.end :]
    end = next((i for i, w in enumerate(behind) if w in _BREAKS or w in _AFTER), len(behind))
    return _NAME not in behind[:end] and not _DENYING.isdisjoint(behind[:end])


def _after(words: Sequence[str], marks: frozenset[str]) -> int:
    """Where the last part of some words begins."""
    return next((i + 1 for i in range(len(words) - 1, -1, -1) if words[i] in marks), 0)


def _affirmed(clause: Sequence[str]) -> Sequence[str]:
    """Without the "not" of a question that expects a yes: "isn't it", "could it not be", "why not"."""
    at = next((i for i, w in enumerate(clause[:3]) if w == "not"), 0)
    return [*clause[:at], *clause[at + 1 :]] if at and clause[0] in _AUXILIARIES else clause


def _supposed(clause: Sequence[str]) -> bool:
    return any(w in _SUPPOSING and v not in _WONDERING for v, w in pairwise(["", *clause]))


def _beside(clause: Sequence[str]) -> bool:
    *_, a, b = ["", "", *(w for w in clause if w not in ("the", "a", "an", "city"))]
    return b in _BESIDE or (b in ("to", "of") and a in _TOWARDS)
