"""Read a detective's message: an act, an accusation of one person, several things at once, or nothing.

Source: PAPRIKA (arXiv:2502.17543), appendix B.4.4: one action per turn, and a conclusion that ends the game; the reader
is ours. It splits a message into sentences with marks for names (`names`), and these into units, one per verb of asking
or looking; it drops whatever is denied, dismissed or given as a reason. By its declared phrasings (`data/phrases.txt`)
a unit is a question to somebody, a look at something, or nothing. If units do different things, the message is
`several`. A message that the reader does not understand does nothing and costs a turn.

`accusing` finds accusations, `topics` the topic of a question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from .._shared.english.tokens import word_set
from .accusing import find_accused
from .cases import CaseAct, Frame
from .names import (
    Sentence,
    declared_words,
    find_indicated_record,
    find_spots,
    has_meaning,
    mark_sentences,
    mentioned_ids,
)
from .topics import find_topic

LONGEST: Final = 2000
"""Maximum characters of a message that are read."""
Words = Sequence[str]


class ReadAct(NamedTuple):
    """What a message does, by its kind. `act`: the act `act`. `accuse`: accuse `person` (a number). `talk`: speak to
    `person` without a topic. `body`: look at the dead. `several` and `nothing`: nothing."""

    kind: Literal["act", "accuse", "talk", "body", "several", "nothing"]
    act: CaseAct | None = None
    person: int = -1


NOTHING, MANY, BODY = ReadAct("nothing"), ReadAct("several"), ReadAct("body")


class Context(NamedTuple):
    """The person spoken to (`teller`), whether the message addresses them by name (`addressed`) or through the
    narrator, and the people and things mentioned before."""

    frame: Frame
    heard: str
    teller: str = ""
    addressed: bool = False
    people: tuple[str, ...] = ()
    things: tuple[str, ...] = ()


@lru_cache(maxsize=8192)
def read_case_message(frame: Frame, text: str) -> ReadAct:
    """Read a message; the result depends only on the frame and the text."""
    heard = text[:LONGEST]
    said = mark_sentences(frame, heard)
    everything = tuple(w for s in said for w in (*s.words, ","))
    if has_meaning("meta", everything):
        return NOTHING
    if has_meaning("taken back", everything):
        return MANY
    guilty = find_accused(said)
    if not guilty:
        return _combine_readings(list(_read_units(frame, heard, said)))
    besides = _combine_readings(list(_read_units(frame, heard, said, guilty=True)))
    if len(guilty) > 1 or besides.kind in ("act", "several"):
        return MANY
    return ReadAct("accuse", person=int(guilty[0][1:]))


# --- units -----------------------------------------------------------------------------------------------------------


def _read_units(frame: Frame, heard: str, said: Iterable[Sentence], guilty: bool = False) -> Iterable[ReadAct]:
    """Read every unit of a message; in one that accuses somebody (`guilty`), only orders count."""
    here = Context(frame, heard)
    for sentence in said:
        words = drop_denied(mark_times(sentence.words))
        by_name = bool(_find_addressee(words, here._replace(teller="")))
        here = here._replace(teller=_find_addressee(words, here), addressed=by_name or here.addressed)
        units = list(split_units(words))
        open_ = units and (sentence.asks or "either" in units[0]) and has_meaning("later", tuple(units[0]))
        for unit in () if open_ else units:
            if guilty and (has_meaning("guilt", tuple(unit)) or order_verb(tuple(unit)) is None):
                continue
            reading = _read_unit(here, tuple(unit), sentence.asks)
            here = _update_context(here, unit, reading)
            yield reading


def _update_context(here: Context, unit: Sequence[str], reading: ReadAct) -> Context:
    """The context after a unit: whom it spoke to, and whom and what it mentioned."""
    if reading.kind == "talk":
        here = here._replace(teller=f"p{reading.person}")
    elif reading.act and reading.act.verb == "ask":
        target = reading.act.target
        here = here._replace(teller=target, addressed=here.addressed and target == here.teller)
    people, things = mentioned_ids(unit, "pb"), mentioned_ids(unit, "irb")
    return here._replace(people=(*here.people, *people), things=(*here.things, *things))


# --- one unit --------------------------------------------------------------------------------------------------------


def _read_unit(here: Context, words: tuple[str, ...], asks: bool) -> ReadAct:
    """Read one unit."""
    if here.teller == ",":
        return MANY
    start = next((i for i, w in enumerate(words) if w not in declared_words("lead")), 0)
    if has_meaning("done", words) or has_meaning("later", words) or begins_at("spoil", words, start):
        return NOTHING
    verb = order_verb(words)
    if begins_at("charge", words, verb):
        return MANY if here.people or here.things else NOTHING
    if words[0] == "had" and not asks:
        return NOTHING
    if has_meaning("all", words) and (
        begins_at("ask", words, verb) or (here.teller and not mentioned_ids(words, "ri"))
    ):
        return MANY
    asked = _find_asked_person(here, words, verb)
    if asked is not None:
        return _read_question(here, *asked)
    look = read_clothes_look(here, words, verb is not None or asks) or read_look(here, words, verb, asks)
    if look is not None:
        return look
    if here.teller:
        requests = asks or _is_request(words)
        return _read_question(here, here.teller, words, here.addressed) if requests else NOTHING
    return _read_third_person(here, words, asks or verb is not None or words[0] in WH | word_set("aux"))


def _is_request(words: Words) -> bool:
    """Whether a unit asks the addressed person something."""
    said = [w for w in words if w != ","]
    if [w[0] for w in said[:2]] == ["@", "@"]:
        return False
    rest = [w for w in said if w[0] != "@" and w not in declared_words("lead") - {"i", "we", "you"}]
    return not rest or rest[0] not in _STATED or has_meaning("wish", tuple(said))


_STATED = frozenset(("i", "we", "he", "she", "they", "it", "there", "that", "this", "you"))


def _find_addressee(words: Words, here: Context) -> str:
    """The person addressed by name, here or before; "," for several."""
    yours, fillers = {"you", "your"} & {*words}, word_set("fillers") | declared_words("calling")
    for i, word in enumerate(words):
        if word[0] != "@" or word[1] not in "pb":
            continue
        before, after = words[:i], words[i + 1 : i + 2]
        first = all(w in fillers for w in before)
        alone = not after or after[0] in (",", "you", "your")
        asked = after and (after[0] in WH or after[0] in word_set("aux") or after[0] in ("tell", "please", "and"))
        if "about" in before and words[-1][:2] == "@p" and words[-2] == ",":
            return words[-1][1:]
        if first and (alone or (asked and yours)):
            joined = [w for w in words[i + 2 : i + 3] if w[0] == "@" and w[1] in "pb" and words[i + 1] in (",", "and")]
            return "," if joined and yours else word[1:]
        if yours and alone and words[i - 1 : i] in ([","], (",",)):
            return word[1:]
    return here.teller


def _find_asked_person(here: Context, words: tuple[str, ...], verb: int | None) -> tuple[str, Words] | None:
    """The object of a verb of asking, and the question to them; "," for several people, "" for nobody in the case."""
    for spot in find_spots("ask", words):
        if spot.start != verb:
            continue
        at = next((i for i in range(spot.end, min(spot.end + 4, len(words))) if _ends_object(words[i])), len(words))
        word, rest = (words[at], words[at + 1 :]) if at < len(words) else (",", ())
        if word == "@x":
            return None
        if word[0] == "@":
            return _single_person(word, rest), rest
        if word != "," and here.people:
            return here.people[-1], rest
        if here.teller or here.people:
            return here.teller or here.people[-1], words[spot.end :]
    return None


def _ends_object(word: str) -> bool:
    """Whether a word after a verb of asking names the person asked, or shows that nobody is named."""
    return word in ("him", "her", "them", ",") or (word[0] == "@" and word[1] in "pbx")


def _single_person(mark: str, rest: Words) -> str:
    """The only person who is asked."""
    if rest[:1] == ("s",) and mark[1] == "p":
        return ""
    joined = next((w for w in rest[:3] if w not in ("to", "with", ",", "and", "or", "then")), "")
    more = joined[:2] in ("@p", "@b") and rest[0] in (",", "and", "or")
    return "," if more or {"too", "both"} & {*rest} else mark[1:]


def _read_question(here: Context, teller: str, words: Words, addressed: bool = False) -> ReadAct:
    """Read a question to somebody whom the message addresses (`addressed`), or whom the narrator is to ask."""
    if not teller or teller == ",":
        return MANY if teller else NOTHING
    if teller[0] == "b":
        return look_at(teller)
    asked = tuple(words)
    if (
        has_meaning("wear", asked)
        and has_meaning("shown", asked)
        and not has_meaning("worn not", asked)
        and not mentioned_ids(asked, "p")
    ):
        return look_at(teller)
    if has_meaning("aside", asked):
        return ReadAct("talk", person=int(teller[1:]))
    found = find_topic(here.frame, _address_person(here, words, teller, addressed), teller)
    if found == "several":
        return MANY
    return ReadAct("act", CaseAct("ask", teller, found)) if found else ReadAct("talk", person=int(teller[1:]))


_OWN: Mapping[str, str] = {
    **dict.fromkeys(("he", "she", "they", "him", "them"), "you"),
    **dict.fromkeys(("his", "her", "their"), "your"),
}


def _address_person(here: Context, words: Words, teller: str, addressed: bool) -> tuple[str, ...]:
    """The question with "you" for the person asked."""
    start = next((i for i, w in enumerate(words) if w not in (f"@{teller}", ",")), 0)
    out = ["you" if w == f"@{teller}" else "weapon" if w == "@i1" else w for w in words[start:]]
    if not addressed and {"you", "your"}.isdisjoint(out):
        return tuple(_OWN.get(w, w) for w in out)
    other = next((f"@{p}" for p in reversed(here.people) if p != teller), "@v")
    return tuple(other if w in ("he", "she", "him", "her") else w for w in out)


def _read_third_person(here: Context, words: tuple[str, ...], asks: bool) -> ReadAct:
    """Read a question about somebody that addresses nobody: it asks that person."""
    people = mentioned_ids(words, "pb")
    if not people:
        return BODY if has_meaning("body", words) and asks else NOTHING
    if people[0][0] == "b":
        return look_at(people[0]) if asks and has_meaning("witnessed", words) else NOTHING
    if words[0][:2] == "@p" and words[1:2] != ("s",):
        return NOTHING
    bare = len(words) < 5 and has_meaning("alibi", words) and word_set("aux").isdisjoint(words)
    if not (asks or bare) or has_meaning("aside", words):
        return NOTHING
    found = _read_question(here, people[0], words)
    return found if found.act or found.kind == "several" else NOTHING


# --- combination ------------------------------------------------------------------------------------------------------


def _combine_readings(found: Sequence[ReadAct]) -> ReadAct:
    """Combine the readings of the units: one act, or several, or something less."""
    kinds = {reading.kind for reading in found}
    acts = list(dict.fromkeys(reading for reading in found if reading.act))
    while len(acts) > 1 and acts[0].act and acts[0].act.target[0] == "l" and acts[0].act.verb == "examine":
        acts = acts[1:]
    talks = {reading for reading in found if reading.kind == "talk"}
    apart = acts and any(acts[0].act and acts[0].act.target != f"p{talk.person}" for talk in talks)
    if "several" in kinds or len(acts) > 1 or apart:
        return MANY
    if acts:
        return acts[0]
    if talks:
        return talks.pop() if len(talks) == 1 else MANY
    return BODY if "body" in kinds else NOTHING


def begins_at(name: str, words: tuple[str, ...], at: int | None) -> bool:
    """Whether a meaning begins with the word at `at`."""
    return any(spot.start == at for spot in find_spots(name, words))


# --- sentences and their parts ---------------------------------------------------------------------------------------


def mark_times(words: Words) -> Words:
    """Replace every time of day by a placeholder."""
    numbers = declared_words("number")
    text = " ".join("#" if w.isdigit() or w in numbers else w for w in words)
    return re.sub(r"#(?: (?:past|to|#))* #|#(?: #)+", "#", text).split() if "#" in text else words


def drop_denied(words: Words) -> list[str]:
    """Drop denied or dismissed words, up to a comma or "but"; "did you not" asks the same as "did you"."""
    out: list[str] = []
    ends = {s.start: s.end for s in find_spots("no", tuple(words))}
    at = 0
    while at < len(words):
        if at not in ends:
            out.append(words[at])
        elif not (words[at] == "not" and _expects_yes(words, at)):
            at = next((i for i in range(ends[at], len(words)) if words[i] in (",", "but")), len(words))
            while out and out[-1] != ",":
                out.pop()
            continue
        at += 1
    return out


def _expects_yes(words: Words, at: int) -> bool:
    """Whether a "not" belongs to a question that expects a yes: "did he not"."""
    before, after = words[at - 1] if at else "", words[at + 1] if at + 1 < len(words) else ""
    return before in word_set("aux") and after in ("you", "it", "he", "she", "they", "true", "so")


def split_units(words: Words) -> Iterable[list[str]]:
    """Split a sentence into the parts that may each do something, without a reason or an aim at its beginning ("to
    verify it, ...")."""
    if words and words[0] in declared_words("reason") and "," in words:
        words = words[words.index(",") + 1 :]
    part: list[str] = []
    for i, word in enumerate(words):
        aims = i > 1 and words[i - 2] == "to" and words[i - 1][0] != "@"
        if word in (",", "and", "then", "or", "but", "afterwards") and not aims and _begins_unit(words[i + 1 :]):
            if any(w != "," for w in part):
                yield part
            part = []
        else:
            part.append(word)
    if any(w != "," for w in part):
        yield part


_SOON = 24
"""The number of words within which an order has its verb."""
WH = frozenset(("where", "what", "how", "who", "whom", "why", "when", "whether", "which"))


def _begins_unit(rest: Words) -> bool:
    """Whether another order or question begins."""
    first = next((i for i, w in enumerate(rest) if w not in (",", "and", "also", "then", "so")), 0)
    rest = rest[first:]
    if rest and rest[0] in word_set("aux"):
        return "you" in rest[1:3]
    return bool(rest) and (rest[0] in WH or order_verb(tuple(rest[:_SOON])) is not None)


def order_verb(words: tuple[str, ...]) -> int | None:
    """The position of the verb of an order, or of the detective's own action; None if there is none."""
    lead = declared_words("lead")
    starts = {s.start for name in ("ask", "look", "about", "go", "seek", "charge") for s in find_spots(name, words)}
    for i, word in enumerate(words):
        if i in starts and not word.endswith(("ed", "going")):
            return i
        if word not in lead and not word.endswith("ly"):
            return None
    return None


def look_at(target: str) -> ReadAct:
    """The look at a thing, a place or a person; for a record, or somebody from outside (`b6`), the check of it."""
    return ReadAct("act", CaseAct("check", f"r{target[1:]}") if target[0] in "rb" else CaseAct("examine", target))


_THEIRS = frozenset(("his", "her", "their", "he", "she", "they"))


def read_clothes_look(here: Context, words: tuple[str, ...], looks: bool) -> ReadAct | None:
    """Read a look at somebody's clothes; None for other messages."""
    people = mentioned_ids(words, "p")
    marked = "@i0" in words and (people or _THEIRS & {*words})
    if (
        not looks
        or not (has_meaning("wear", words) or marked)
        or has_meaning("worn not", words)
        or mentioned_ids(words, "r")
    ):
        return None
    if not people and _THEIRS & {*words}:
        people = [p for p in here.people[-1:] if p[0] == "p"]
    return None if not people else look_at(people[0]) if len(people) == 1 else MANY


def read_look(here: Context, words: tuple[str, ...], verb: int | None, asks: bool) -> ReadAct | None:
    """Read a look at something; None for other messages."""
    if here.teller and (
        {"you", "your"} & {*words} or not mentioned_ids(words, "irblx") or begins_at("about", words, verb)
    ):
        return None
    if verb is None or (begins_at("seek", words, verb) and not begins_at("about", words, verb)):
        return _look_by_name(words, asks)
    whole = words[verb:]
    rest = _drop_aim(whole)
    records = mentioned_ids(whole, "rb")
    for found in (records if len(records) == 1 else mentioned_ids(rest, "rb"), mentioned_ids(rest, "i")):
        if found:
            return _single_look(here, whole, found)
    if record := find_indicated_record(here.frame, here.heard, rest):
        return look_at(record)
    if found := mentioned_ids(rest, "l"):
        return _single_look(here, whole, found)
    if found := mentioned_ids(rest, "p"):
        talks = begins_at("go", words, verb) and not begins_at("look", words, verb)
        return ReadAct("talk", person=int(found[0][1:])) if talks else _look_at_person(rest, found)
    if has_meaning("body", rest) or "@v" in rest:
        return BODY
    if here.things and {"it", "that", "this"} & {*rest[1:3]}:
        return look_at(here.things[-1])
    return None


def _single_look(here: Context, words: tuple[str, ...], found: Sequence[str]) -> ReadAct:
    """Read a look at the only named thing, if it is that thing itself and its owner is right."""
    if len(found) > 1:
        return MANY
    target = found[0]
    at = next(i for i, w in enumerate(words) if w[0] == "@" and mentioned_ids((w,), target[0]) == [target])
    before, behind = words[max(at - 2, 0) : at], words[at + 1 : at + 3]
    owns = behind[:1] == ("s",) and target[0] != "r" and not declared_words("after").issuperset(behind[1:])
    upon = before[1:] == ("on",) and words[max(at - 3, 0)] == "s"
    if (
        owns
        or upon
        or (target[0] == "l" and before[-1:] and before[-1] in _WITHIN and not _is_part_of_place(before[:-1]))
    ):
        return NOTHING
    if target[0] in "il" and before[-1:] == ("s",):
        owners = [p.id for p in here.frame.people if p.name in here.frame.names[target]]  # by the name of the thing
        return look_at(target) if before[0][1:] in owners else NOTHING
    return look_at(target)


_WITHIN = frozenset(("in", "of", "on", "at", "from"))


def _is_part_of_place(before: tuple[str, ...]) -> bool:
    """Whether the object of a look "in the hall" is the place itself: its floor, its contents."""
    known = declared_words("part") | declared_words("lead")
    return not before or before[0] in known or before[0].endswith(("ly", "ing")) or order_verb(before) == 0


def _look_at_person(rest: tuple[str, ...], found: Sequence[str]) -> ReadAct | None:
    """Read a look at a person as a whole."""
    at = next(i for i, w in enumerate(rest) if w[:2] == "@p")
    behind = rest[at + 1] if at + 1 < len(rest) else ","
    if (
        rest[1:2] == (",",)
        or behind == "s"
        or (at > 1 and rest[at - 1] == "of")
        or not (behind == "," or behind.endswith("ly") or behind in declared_words("small") | declared_words("after"))
    ):
        return None
    return look_at(found[0]) if len(found) == 1 else MANY


def _look_by_name(words: tuple[str, ...], asks: bool) -> ReadAct | None:
    """Read a question that names its answer's source, or a thing and nothing else."""
    marks, records, people = mentioned_ids(words, "irbl"), mentioned_ids(words, "r"), mentioned_ids(words, "p")
    plain = declared_words("lead") | declared_words("small") | word_set("fillers")
    if len(marks) == 1 and not people and all(w[0] == "@" or w in plain for w in words):
        return look_at(marks[0])
    if len(records) == 1 and has_meaning("shows" if asks else "will tell", words):
        return look_at(records[0])
    if asks and len(marks) == 1 and marks[0][0] in "il":
        told = marks[0][0] == "i" and has_meaning("tells", words)
        return look_at(marks[0]) if told or (has_meaning("found", words) and not people) else None
    return None


def _drop_aim(words: tuple[str, ...]) -> tuple[str, ...]:
    """Drop the purpose of an order: "check the log to verify her alibi", "search the hall for the button"."""
    named = next((i for i, w in enumerate(words) if w[0] == "@"), len(words))
    ends = (i for i in range(named, len(words)) if words[i] in declared_words("aim") and not _is_direction(words, i))
    return words[: next(ends, len(words))]


def _is_direction(words: tuple[str, ...], at: int) -> bool:
    """Whether a "to" belongs to a direction: "go from the hall to the library"."""
    return words[at] == "to" and at + 1 < len(words) and words[at + 1][0] == "@"
