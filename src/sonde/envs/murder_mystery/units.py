"""The parts of a detective's message that may do something each, and what is known when one is read.

A sentence is read without what it denies or dismisses, and is cut before every further
order or question. Source: ours; see `reading`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from .._shared.english.lists import word_set
from .cases import Act, Frame
from .phrases import listed_as, spots

Words = Sequence[str]


class Reading(NamedTuple):
    """`act` does `act`; `accuse` ends the game with `person` (a number); `talk` speaks to `person` about nothing in
    particular; `body` looks at the dead; `several` and `nothing` do nothing."""

    kind: Literal["act", "accuse", "talk", "body", "several", "nothing"]
    act: Act | None = None
    person: int = -1


NOTHING, MANY, BODY = Reading("nothing"), Reading("several"), Reading("body")


class Context(NamedTuple):
    """Who is spoken to, by name (`told`) or through the narrator, and who and what was mentioned before."""

    frame: Frame
    heard: str
    teller: str = ""
    told: bool = False
    people: tuple[str, ...] = ()
    things: tuple[str, ...] = ()


def begun(name: str, words: tuple[str, ...], at: int | None) -> bool:
    """Whether a meaning begins with the word at `at`."""
    return any(spot.start == at for spot in spots(name, words))


# --- sentences and their parts ---------------------------------------------------------------------------------------


def numbered(words: Words) -> Words:
    """With a sign for every time of day."""
    numbers = listed_as("number")
    text = " ".join("#" if w.isdigit() or w in numbers else w for w in words)
    return re.sub(r"#(?: (?:past|to|#))* #|#(?: #)+", "#", text).split() if "#" in text else words


def affirmed(words: Words) -> list[str]:
    """Without what is denied or dismissed, up to a comma or "but"; "did you not" asks as "did you" does."""
    out: list[str] = []
    ends = {s.start: s.end for s in spots("no", tuple(words))}
    at = 0
    while at < len(words):
        if at not in ends:
            out.append(words[at])
        elif not (words[at] == "not" and _expects(words, at)):
            at = next((i for i in range(ends[at], len(words)) if words[i] in (",", "but")), len(words))
            while out and out[-1] != ",":
                out.pop()
            continue
        at += 1
    return out


def _expects(words: Words, at: int) -> bool:
    """Whether a "not" belongs to a question that expects a yes: "did he not"."""
    before, after = words[at - 1] if at else "", words[at + 1] if at + 1 < len(words) else ""
    return before in word_set("aux") and after in ("you", "it", "he", "she", "they", "true", "so")


def parts(words: Words) -> Iterable[list[str]]:
    """The parts of a sentence that may do something each, without a reason or an aim in front ("to verify it, ...")."""
    if words and words[0] in listed_as("reason") and "," in words:
        words = words[words.index(",") + 1 :]
    part: list[str] = []
    for i, word in enumerate(words):
        aims = i > 1 and words[i - 2] == "to" and words[i - 1][0] != "@"
        if word in (",", "and", "then", "or", "but", "afterwards") and not aims and _begins(words[i + 1 :]):
            if any(w != "," for w in part):
                yield part
            part = []
        else:
            part.append(word)
    if any(w != "," for w in part):
        yield part


_SOON = 24
"""Words within which an order shows its verb."""
WH = frozenset(("where", "what", "how", "who", "whom", "why", "when", "whether", "which"))


def _begins(rest: Words) -> bool:
    """Whether another order or question begins."""
    first = next((i for i, w in enumerate(rest) if w not in (",", "and", "also", "then", "so")), 0)
    rest = rest[first:]
    if rest and rest[0] in word_set("aux"):
        return "you" in rest[1:3]
    return bool(rest) and (rest[0] in WH or order(tuple(rest[:_SOON])) is not None)


def order(words: tuple[str, ...]) -> int | None:
    """Where the verb of an order, or of what the detective does, stands; None if nothing is done."""
    lead = listed_as("lead")
    starts = {s.start for name in ("ask", "look", "about", "go", "seek", "charge") for s in spots(name, words)}
    for i, word in enumerate(words):
        if i in starts and not word.endswith(("ed", "going")):
            return i
        if word not in lead and not word.endswith("ly"):
            return None
    return None
