"""What is looked at in a unit of a message: things, places, records, people. Source: ours; see `reading`."""

from __future__ import annotations

from collections.abc import Sequence

from .._shared.english.lists import word_set
from .cases import Act
from .names import mentioned, pointed_at
from .phrases import listed_as, says
from .units import BODY, MANY, NOTHING, Context, Reading, begun, order


def seen(target: str) -> Reading:
    """A look at a thing, a place or a person; a record, and somebody from outside (`b6`), is checked."""
    return Reading("act", Act("check", f"r{target[1:]}") if target[0] in "rb" else Act("examine", target))


_THEIRS = frozenset(("his", "her", "their", "he", "she", "they"))


def worn(here: Context, words: tuple[str, ...], looks: bool) -> Reading | None:
    """A look at what somebody wears; None if it is none."""
    people = mentioned(words, "p")
    marked = "@i0" in words and (people or _THEIRS & {*words})
    if not looks or not (says("wear", words) or marked) or says("worn not", words) or mentioned(words, "r"):
        return None
    if not people and _THEIRS & {*words}:
        people = [p for p in here.people[-1:] if p[0] == "p"]
    return None if not people else seen(people[0]) if len(people) == 1 else MANY


def looked(here: Context, words: tuple[str, ...], verb: int | None, asks: bool) -> Reading | None:
    """A look at something; None if it is none."""
    if here.teller and ({"you", "your"} & {*words} or not mentioned(words, "irblx") or begun("about", words, verb)):
        return None
    if verb is None or (begun("seek", words, verb) and not begun("about", words, verb)):
        return _named(words, asks)
    whole = words[verb:]
    rest = _aimless(whole)
    records = mentioned(whole, "rb")
    for found in (records if len(records) == 1 else mentioned(rest, "rb"), mentioned(rest, "i")):
        if found:
            return _meant(here, whole, found)
    if record := pointed_at(here.frame, here.heard, rest):
        return seen(record)
    if found := mentioned(rest, "l"):
        return _meant(here, whole, found)
    if found := mentioned(rest, "p"):
        talks = begun("go", words, verb) and not begun("look", words, verb)
        return Reading("talk", person=int(found[0][1:])) if talks else _looked_over(rest, found)
    if says("body", rest) or "@v" in rest:
        return BODY
    if here.things and {"it", "that", "this"} & {*rest[1:3]}:
        return seen(here.things[-1])
    return None


def _meant(here: Context, words: tuple[str, ...], found: Sequence[str]) -> Reading:
    """A look at the only thing that is named, if it is the thing itself, and nobody's whose it is not."""
    if len(found) > 1:
        return MANY
    target = found[0]
    at = next(i for i, w in enumerate(words) if w[0] == "@" and mentioned((w,), target[0]) == [target])
    before, behind = words[max(at - 2, 0) : at], words[at + 1 : at + 3]
    owns = behind[:1] == ("s",) and target[0] != "r" and not listed_as("after").issuperset(behind[1:])
    upon = before[1:] == ("on",) and words[max(at - 3, 0)] == "s"
    if owns or upon or (target[0] == "l" and before[-1:] and before[-1] in _WITHIN and not _part(before[:-1])):
        return NOTHING
    if target[0] in "il" and before[-1:] == ("s",):
        owners = [p.id for p in here.frame.people if p.name in here.frame.names[target]]  # by the name of the thing
        return seen(target) if before[0][1:] in owners else NOTHING
    return seen(target)


_WITHIN = frozenset(("in", "of", "on", "at", "from"))


def _part(before: tuple[str, ...]) -> bool:
    """Whether what is looked at "in the hall" is the place itself: its floor, what is there."""
    known = listed_as("part") | listed_as("lead")
    return not before or before[0] in known or before[0].endswith(("ly", "ing")) or order(before) == 0


def _looked_over(rest: tuple[str, ...], found: Sequence[str]) -> Reading | None:
    """A look at somebody as a whole."""
    at = next(i for i, w in enumerate(rest) if w[:2] == "@p")
    behind = rest[at + 1] if at + 1 < len(rest) else ","
    if (
        rest[1:2] == (",",)
        or behind == "s"
        or (at > 1 and rest[at - 1] == "of")
        or not (behind == "," or behind.endswith("ly") or behind in listed_as("small") | listed_as("after"))
    ):
        return None
    return seen(found[0]) if len(found) == 1 else MANY


def _named(words: tuple[str, ...], asks: bool) -> Reading | None:
    """A question that names what would answer it, or a thing and nothing else."""
    marks, records, people = mentioned(words, "irbl"), mentioned(words, "r"), mentioned(words, "p")
    plain = listed_as("lead") | listed_as("small") | word_set("fillers")
    if len(marks) == 1 and not people and all(w[0] == "@" or w in plain for w in words):
        return seen(marks[0])
    if len(records) == 1 and says("shows" if asks else "will tell", words):
        return seen(records[0])
    if asks and len(marks) == 1 and marks[0][0] in "il":
        told = marks[0][0] == "i" and says("tells", words)
        return seen(marks[0]) if told or (says("found", words) and not people) else None
    return None


def _aimless(words: tuple[str, ...]) -> tuple[str, ...]:
    """An order without what it is for: "check the log to verify her alibi", "search the hall for the button"."""
    named = next((i for i, w in enumerate(words) if w[0] == "@"), len(words))
    ends = (i for i in range(named, len(words)) if words[i] in listed_as("aim") and not _towards(words, i))
    return words[: next(ends, len(words))]


def _towards(words: tuple[str, ...], at: int) -> bool:
    """Whether a "to" is behind a way to something: "go from the hall to the library"."""
    return words[at] == "to" and at + 1 < len(words) and words[at + 1][0] == "@"
