"""What is looked at in a unit of a message: things, places, records, people. Source: ours; see `reading`."""

from __future__ import annotations

from collections.abc import Sequence

from sonde.people.language.lists import word_set

from .cases import Act, Frame
from .names import mentioned, pointed_at
from .phrases import listed_as, says
from .units import BODY, MANY, NOTHING, Context, Reading, begun, order


def seen(target: str) -> Reading:
    """A look at a thing, a place or a person; a record, and somebody from outside (`b6`), is checked."""
    return Reading("act", Act("check", f"r{target[1:]}") if target[0] in "rb" else Act("examine", target))


def worn(here: Context, words: tuple[str, ...], looks: bool) -> Reading | None:
    """A look at what somebody wears; None if it is none."""
    people = mentioned(words, "p")
    whose = {"his", "her", "their"} & {*words}
    marked = "@i0" in words and bool(people or whose)
    if not looks or not (says("wear", words) or marked) or says("worn not", words) or mentioned(words, "r"):
        return None
    if len(people) > 1:
        return MANY
    if people:
        return seen(people[0])
    if {"you", "your"} & {*words} and here.teller[:1] == "p":
        return seen(here.teller)
    if {"his", "her", "their", "he", "she", "they"} & {*words} and here.people and here.people[-1][0] == "p":
        return seen(here.people[-1])
    return None


def looked(here: Context, words: tuple[str, ...], verb: int | None, asks: bool) -> Reading | None:
    """A look at something; None if it is none."""
    if here.teller and ({"you", "your"} & {*words} or not mentioned(words, "irblx") or begun("about", words, verb)):
        return None
    if verb is None or (begun("seek", words, verb) and not begun("about", words, verb)):
        return _named(here, words, asks)
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
    if target[0] == "b" and behind[:1] == ("s",):
        return NOTHING
    if target[0] in "li" and behind[:1] == ("s",) and behind[1:] and behind[1] not in listed_as("after"):
        return NOTHING
    if target[0] == "l" and before[-1:] and before[-1] in ("in", "of", "on", "at", "from") and before[:-1]:
        part = before[0]
        if not (
            part in listed_as("part")
            or part in listed_as("lead")
            or part.endswith(("ly", "ing"))
            or order((part,)) == 0
        ):
            return NOTHING
    if before[1:] == ("on",) and words[max(at - 3, 0)] == "s":
        return NOTHING
    if target[0] in "il" and before[-1:] == ("s",):
        return seen(target) if before[0][1:] in _owners(here.frame, target) else NOTHING
    return seen(target)


def _owners(frame: Frame, target: str) -> list[str]:
    """Who is named by the name of a thing."""
    return [p.id for p in frame.people if p.name in frame.names[target]]


def _looked_over(rest: tuple[str, ...], found: Sequence[str]) -> Reading | None:
    """A look at somebody as a whole."""
    if rest[1:2] == (",",):
        return None
    at = next(i for i, w in enumerate(rest) if w[:2] == "@p")
    behind = rest[at + 1] if at + 1 < len(rest) else ","
    if (
        behind == "s"
        or (at > 1 and rest[at - 1] == "of")
        or not (behind == "," or behind.endswith("ly") or behind in listed_as("small") | listed_as("after"))
    ):
        return None
    return seen(found[0]) if len(found) == 1 else MANY


def _named(here: Context, words: tuple[str, ...], asks: bool) -> Reading | None:
    """A question that names what would answer it, or a thing and nothing else."""
    marks = mentioned(words, "irbl")
    if (
        len(marks) == 1
        and all(
            w[0] == "@" or w in listed_as("lead") or w in listed_as("small") or w in word_set("fillers") or w == ","
            for w in words
        )
        and not mentioned(words, "p")
    ):
        return seen(marks[0])
    records = mentioned(words, "r")
    if len(records) == 1 and (says("shows", words) if asks else says("will tell", words)):
        return seen(records[0])
    if asks and len(marks) == 1 and marks[0][0] == "i" and says("tells", words):
        return seen(marks[0])
    if asks and len(marks) == 1 and marks[0][0] in "il" and says("found", words) and not mentioned(words, "p"):
        return seen(marks[0])
    return None


def _aimless(words: tuple[str, ...]) -> tuple[str, ...]:
    """An order without what it is for: "check the log to verify her alibi", "search the hall for the button"."""
    named = 0
    for i, word in enumerate(words):
        after = words[i + 1] if i + 1 < len(words) else ""
        if (
            named
            and not (word == "to" and after[:1] == "@")
            and word
            in (
                "to",
                "for",
                "because",
                "since",
                "so",
                "which",
                "against",
                "with",
                "about",
                "if",
                "whether",
                "who",
                "whom",
                "as",
            )
        ):
            return words[:i]
        named += word[0] == "@"
    return words
