"""What a detective's message does: an act, an accusation of one person, several things at once, or nothing.

Source: PAPRIKA (arXiv:2502.17543), appendix B.4.4: one action in every turn, and a conclusion that ends the game. How
free text is read is ours. A message is cut into sentences with marks for names (`names`), these into units, one for
every verb of asking or looking. What is denied, dismissed or said to give a reason is taken out; then a unit is a
question to somebody or a look at something, by the declared phrasings that are spots in it
(`data/murder_mystery_phrases.txt`), or nothing. Units that do different things make the message `several`. What is not
understood does nothing, and costs a turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from sonde.people.language.lists import word_set

from .accusing import accused
from .cases import Act, Frame
from .names import Sentence, listed_as, mentioned, pointed_at, says, sentences, spots

LONGEST: Final = 2000
"""Characters of a message that are read."""
Words = Sequence[str]


class Reading(NamedTuple):
    """`act` does `act`; `accuse` ends the game with `person` (a number); `talk` speaks to `person` about nothing in
    particular; `body` looks at the dead; `several` and `nothing` do nothing."""

    kind: Literal["act", "accuse", "talk", "body", "several", "nothing"]
    act: Act | None = None
    person: int = -1


NOTHING, MANY, BODY = Reading("nothing"), Reading("several"), Reading("body")


class _Context(NamedTuple):
    """Who is spoken to, by name (`told`) or through the narrator, and who and what was mentioned before."""

    frame: Frame
    heard: str
    teller: str = ""
    told: bool = False
    people: tuple[str, ...] = ()
    things: tuple[str, ...] = ()


@lru_cache(maxsize=8192)
def read(frame: Frame, text: str) -> Reading:
    """What a message does, whatever it is; the same for everybody who has the same frame."""
    heard = text[:LONGEST]
    said = sentences(frame, heard)
    everything = tuple(w for s in said for w in (*s.words, ","))
    if says("meta", everything):
        return NOTHING
    if says("taken back", everything):
        return MANY
    guilty = accused(said)
    if not guilty:
        return _together(list(_units(frame, heard, said)))
    besides = _together(list(_units(frame, heard, said, guilty=True)))
    if len(guilty) > 1 or besides.kind in ("act", "several"):
        return MANY
    return Reading("accuse", person=int(guilty[0][1:]))


# --- units -----------------------------------------------------------------------------------------------------------


def _units(frame: Frame, heard: str, said: Iterable[Sentence], guilty: bool = False) -> Iterable[Reading]:
    """What every unit of a message does; where it accuses somebody (`guilty`), only orders count."""
    here = _Context(frame, heard)
    for sentence in said:
        words = _affirmed(_numbered(sentence.words))
        called = _called(words, here)
        here = here._replace(teller=called, told=bool(_called(words, here._replace(teller=""))) or here.told)
        units = list(_cut(_reasoned(words)))
        open_ = units and (sentence.asks or "either" in units[0]) and says("later", tuple(units[0]))
        for unit in () if open_ else units:
            if guilty and (says("guilt", tuple(unit)) or order(tuple(unit)) is None):
                continue
            reading = _unit(here, tuple(unit), sentence.asks)
            people, things = mentioned(unit, "pb"), mentioned(unit, "irb")
            if reading.kind == "talk":
                here = here._replace(teller=f"p{reading.person}")
            elif reading.act and reading.act.verb == "ask":
                here = here._replace(teller=reading.act.target, told=here.told and reading.act.target == here.teller)
            here = here._replace(people=(*here.people, *people), things=(*here.things, *things))
            yield reading


def _numbered(words: Words) -> Words:
    """With a sign for every time of day."""
    numbers = listed_as("number")
    text = " ".join("#" if w.isdigit() or w in numbers else w for w in words)
    return re.sub(r"#(?: (?:past|to|#))* #|#(?: #)+", "#", text).split() if "#" in text else words


def _affirmed(words: Words) -> list[str]:
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
    """Whether a "not" belongs to a question that expects a yes."""
    before, after = words[at - 1] if at else "", words[at + 1] if at + 1 < len(words) else ""
    if after in ("you", "it", "he", "she", "they", "true", "so") and before in word_set("aux"):
        return True
    return before == "or" or (before == "you" and at > 1 and words[at - 2] in word_set("aux"))


def _reasoned(words: list[str]) -> list[str]:
    """Without a reason or an aim in front ("to verify his alibi, ...")."""
    while words and words[0] == ",":
        words = words[1:]
    if words and words[0] in listed_as("reason") and "," in words and words[1][:1] != "@":
        rest = words[words.index(",") + 1 :]
        return rest if any(w != "," for w in rest) else words
    return words


def _cut(words: Words) -> Iterable[list[str]]:
    """The parts of a sentence that may do something each."""
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
_WH = frozenset(("where", "what", "how", "who", "whom", "why", "when", "whether", "which"))


def _begins(rest: Words) -> bool:
    """Whether another order or question begins."""
    first = next((i for i, w in enumerate(rest) if w not in (",", "and", "also", "then", "so")), 0)
    rest = rest[first:]
    if not rest or rest[0] in ("i", "we"):
        return bool(rest)
    if rest[0] in _WH:
        return True
    if rest[0] in word_set("aux"):
        return "you" in rest[1:3]
    return order(tuple(rest[:_SOON])) is not None


def order(words: tuple[str, ...]) -> int | None:
    """Where the verb of an order, or of what the detective does, stands; None if nothing is done."""
    lead = listed_as("lead")
    starts = {s.start for name in ("ask", "look", "about", "go", "seek", "charge") for s in spots(name, words)}
    for i, word in enumerate(words):
        if i in starts and word != "going" and not (word.endswith("ed") and word != "need"):
            return i
        if word not in lead and not word.endswith("ly"):
            return None
    return None


# --- one unit --------------------------------------------------------------------------------------------------------


def _unit(here: _Context, words: tuple[str, ...], asks: bool) -> Reading:
    """What one unit does."""
    if here.teller == ",":
        return MANY
    start = next((i for i, w in enumerate(words) if w not in listed_as("lead")), 0)
    if says("done", words) or says("later", words) or _begun("spoil", words, start):
        return NOTHING
    verb = order(words)
    if _begun("charge", words, verb):
        return MANY if here.people or here.things else NOTHING
    if words[0] == "had" and not asks:
        return NOTHING
    if (
        says("all", words)
        and (_begun("ask", words, verb) or not mentioned(words, "ri"))
        and (here.teller or verb is not None)
    ):
        return MANY
    asked = _object(here, words, verb)
    if asked is not None:
        return _asked(here, *asked)
    looked = _worn(here, words, verb is not None or asks) or _looked(here, words, verb, asks)
    if looked is not None:
        return looked
    if here.teller:
        requests = asks or _requests(words)
        return _asked(here, here.teller, words, here.told) if requests else NOTHING
    return _third(here, words, asks or verb is not None or words[0] in _WH | word_set("aux"))


def _requests(words: Words) -> bool:
    """Whether somebody who is spoken to is asked something."""
    told = [w for w in words if w != ","]
    if told[1:2] and told[0][0] == told[1][0] == "@":
        return False
    rest = [w for w in told if w[0] != "@" and w not in listed_as("lead") - {"i", "we", "you"}]
    return not rest or rest[0] not in _STATED or says("wish", tuple(told))


_STATED = frozenset(("i", "we", "he", "she", "they", "it", "there", "that", "this", "you"))


def _called(words: Words, here: _Context) -> str:
    """Who is called by name, or was before; "," for several."""
    yours, fillers = {"you", "your"} & {*words}, word_set("fillers") | listed_as("calling")
    for i, word in enumerate(words):
        if word[0] != "@" or word[1] not in "pb":
            continue
        before, after = words[:i], words[i + 1 : i + 2]
        first = all(w in fillers for w in before)
        alone = not after or after[0] in (",", "you", "your")
        asked = after and (after[0] in _WH or after[0] in word_set("aux") or after[0] in ("tell", "please", "and"))
        if "about" in before and words[-1][:2] == "@p" and words[-2] == ",":
            return words[-1][1:]
        if first and (alone or (asked and yours)):
            joined = [w for w in words[i + 2 : i + 3] if w[0] == "@" and w[1] in "pb" and words[i + 1] in (",", "and")]
            return "," if joined and yours else word[1:]
        if yours and alone and words[i - 1 : i] in ([","], (",",)):
            return word[1:]
    last = words[-1] if words else ","
    if yours and last[0] == "@" and last[1] in "pb" and not here.teller:
        behind = words[-2] if len(words) > 1 else ""
        return (
            last[1:] if behind not in word_set("prepositional") | {"see", "know", "notice", "saw", "and", "or"} else ""
        )
    return here.teller


def _object(here: _Context, words: tuple[str, ...], verb: int | None) -> tuple[str, Words] | None:
    """Whom a verb of asking is about, and what they are asked; "," for several people."""
    for spot in spots("ask", words):
        if spot.start != verb:
            continue
        for i in range(spot.end, min(spot.end + 4, len(words))):
            word = words[i]
            if word[0] == "@" and word[1] in "pbx":
                joined = [w for w in words[i + 1 : i + 4] if w not in ("to", "with", "the", ",", "and", "or")][:1]
                more = joined and joined[0][0] == "@" and joined[0][1] in "pb" and words[i + 1] in (",", "and", "or")
                if word[1] == "x":
                    return None
                if words[i + 1 : i + 2] == ("s",) and word[1] == "p":
                    return "", ()
                return ("," if more or {"too", "both"} & {*words[i + 1 :]} else word[1:]), words[i + 1 :]
            if word in ("him", "her", "them") and (here.people or here.teller):
                return here.people[-1] if here.people else here.teller, words[i + 1 :]
            if word == ",":
                break
        if here.teller or here.people:
            return here.teller or here.people[-1], words[spot.end :]
    rest = [i for i, w in enumerate(words[:-1]) if w[0] == "@" and w[1] in "pb"][:1]
    if rest and all(w in listed_as("lead") for w in words[: rest[0]]) and rest[0] and _told(words[rest[0] + 1 :]):
        return words[rest[0]][1:], words[rest[0] + 1 :]
    return None


def _told(behind: Words) -> bool:
    """Whether somebody is to tell something."""
    return bool(behind) and says("telling", tuple(behind[1:2] if behind[0] == "to" else behind[:1]))


def _asked(here: _Context, teller: str, words: Words, told: bool = False) -> Reading:
    """A question to somebody, who is `told` it, or to be asked."""
    if not teller or teller == ",":
        return MANY if teller else NOTHING
    if teller[0] == "b":
        return _seen(teller)
    asked = tuple(words)
    if says("wear", asked) and says("shown", asked) and not says("worn not", asked) and not mentioned(asked, "p"):
        return _seen(teller)
    if says("aside", asked):
        return Reading("talk", person=int(teller[1:]))
    found = topic(here.frame, _as_asked(here, words, teller, told), teller)
    if found == "several":
        return MANY
    return Reading("act", Act("ask", teller, found)) if found else Reading("talk", person=int(teller[1:]))


_OWN = {
    "he": "you",
    "she": "you",
    "they": "you",
    "him": "you",
    "them": "you",
    "his": "your",
    "her": "your",
    "their": "your",
}


def _as_asked(here: _Context, words: Words, teller: str, told: bool) -> tuple[str, ...]:
    """The question with the person asked as "you"."""
    start = next((i for i, w in enumerate(words) if w not in (f"@{teller}", ",")), 0)
    words = words[start:]
    out = ["you" if w == f"@{teller}" else "weapon" if w == "@i1" else w for w in words]
    others = [p for p in here.people if p not in (teller,)]
    if told or {"you", "your"} & {*words}:
        if others:
            return tuple(f"@{others[-1]}" if w in ("he", "she", "him", "her") else w for w in out)
        return tuple("@v" if w in ("he", "she", "him", "her", "his") else w for w in out)
    return tuple(_OWN.get(w, w) for w in out)


def _third(here: _Context, words: tuple[str, ...], asks: bool) -> Reading:
    """A question about somebody that is put to nobody: they are asked."""
    people = mentioned(words, "pb")
    if not people:
        return BODY if says("body", words) and asks else NOTHING
    if people[0][0] == "b":
        return _seen(people[0]) if asks and says("witnessed", words) else NOTHING
    if words[0][:2] == "@p" and words[1:2] != ("s",):
        return NOTHING
    bare = len(words) < 5 and says("alibi", words) and word_set("aux").isdisjoint(words)
    if not (asks or bare) or says("aside", words):
        return NOTHING
    found = _asked(here, people[0], words)
    return found if found.act or found.kind == "several" else NOTHING


# --- topics ----------------------------------------------------------------------------------------------------------


def topic(frame: Frame, words: tuple[str, ...], teller: str) -> str:
    """What somebody is asked about: one of `TOPICS`, the id of another person, "several", or ""."""
    others = [p for p in mentioned(words, "p") if p != teller]
    if others:
        return "" if says("company", words) else others[0] if len(others) == 1 else "several"
    if says("all of you", words):
        return "several"
    plain = _untimed(words)
    found = [name for name in ("access", "scene", "victim", "alibi", "death") if _about(name, plain, frame)]
    if says("others", plain) and not says("not others", words) and found[:1] != ["access"]:
        first = min(spot.start for spot in spots("others", plain))
        anybody = not listed_as("anybody").isdisjoint(plain)
        if not found or (anybody if found[0] in ("death", "alibi", "scene") else first < _first(found[0], plain)):
            return "others"
    found = found or [name for name in ("death", "alibi") if says(name, words) and not _denied(name, words)]
    return "several" if _apart(found, plain) else found[0] if found else ""


def _first(name: str, words: tuple[str, ...]) -> int:
    return min(spot.start for spot in (*spots(name, words), *spots("strife", words)))


def _denied(name: str, words: tuple[str, ...]) -> bool:
    """Whether a question that seems to be about something is not."""
    return name in ("victim", "death") and says(f"not {name}", words)


def _about(name: str, words: tuple[str, ...], frame: Frame) -> bool:
    own = _of_you(words)
    if name == "access":
        return (own or "you" in words) and (says("access", words) or (frame.means == "skill" and says("skill", words)))
    if name == "victim" and says("strife", words) and says("both", words):
        return not says("not victim", words)
    return says(name, words) and not _denied(name, words) and (own or name in ("victim", "death"))


def _of_you(words: Words) -> bool:
    """Whether the subject of a question is whoever is asked, or none is named."""
    for a, b in zip(words, words[1:], strict=False):
        if a == "you" and b in word_set("aux"):
            return True
        if a in word_set("aux") and (b[0] == "@" or b in ("there", "it", "he", "she", "they", "the", "that")):
            return b in ("there", "it", "that") and ("you" in words or "your" in words)
        if a in word_set("aux") and b == "you":
            return True
    return True


def _apart(found: Sequence[str], words: tuple[str, ...]) -> bool:
    """Whether two topics are asked for and not one in terms of the other."""
    cuts = [i for i, w in enumerate(words) if w in ("and", ",")]
    for at in cuts if len(found) > 1 else ():
        one, two = ({n for n in found if says(n, part)} for part in (words[:at], words[at:]))
        if one and two and one.isdisjoint(two) and "death" not in one | two:
            return True
    return False


def _untimed(words: tuple[str, ...]) -> tuple[str, ...]:
    """Without the time that is spoken of."""
    out = list(words)
    for spot in spots("time", words):
        out[spot.start : spot.end] = [""] * (spot.end - spot.start)
    return tuple(w for w in out if w)


# --- looking ---------------------------------------------------------------------------------------------------------


def _seen(target: str) -> Reading:
    """A look at a thing, a place or a person; a record, and somebody from outside (`b6`), is checked."""
    return Reading("act", Act("check", f"r{target[1:]}") if target[0] in "rb" else Act("examine", target))


def _worn(here: _Context, words: tuple[str, ...], looks: bool) -> Reading | None:
    """A look at what somebody wears; None if it is none."""
    people = mentioned(words, "p")
    whose = {"his", "her", "their"} & {*words}
    marked = "@i0" in words and bool(people or whose)
    if not looks or not (says("wear", words) or marked) or says("worn not", words) or mentioned(words, "r"):
        return None
    if len(people) > 1:
        return MANY
    if people:
        return _seen(people[0])
    if {"you", "your"} & {*words} and here.teller[:1] == "p":
        return _seen(here.teller)
    if {"his", "her", "their", "he", "she", "they"} & {*words} and here.people and here.people[-1][0] == "p":
        return _seen(here.people[-1])
    return None


def _looked(here: _Context, words: tuple[str, ...], verb: int | None, asks: bool) -> Reading | None:
    """A look at something; None if it is none."""
    if here.teller and ({"you", "your"} & {*words} or not mentioned(words, "irblx") or _begun("about", words, verb)):
        return None
    if verb is None or (_begun("seek", words, verb) and not _begun("about", words, verb)):
        return _named(here, words, asks)
    whole = words[verb:]
    rest = _aimless(whole)
    records = mentioned(whole, "rb")
    for found in (records if len(records) == 1 else mentioned(rest, "rb"), mentioned(rest, "i")):
        if found:
            return _meant(here, whole, found)
    if record := pointed_at(here.frame, here.heard, rest):
        return _seen(record)
    if found := mentioned(rest, "l"):
        return _meant(here, whole, found)
    if found := mentioned(rest, "p"):
        talks = _begun("go", words, verb) and not _begun("look", words, verb)
        return Reading("talk", person=int(found[0][1:])) if talks else _looked_over(rest, found)
    if says("body", rest) or "@v" in rest:
        return BODY
    if here.things and {"it", "that", "this"} & {*rest[1:3]}:
        return _seen(here.things[-1])
    return None


def _begun(name: str, words: tuple[str, ...], verb: int | None) -> bool:
    return any(spot.start == verb for spot in spots(name, words))


def _meant(here: _Context, words: tuple[str, ...], found: Sequence[str]) -> Reading:
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
        return _seen(target) if before[0][1:] in _owners(here.frame, target) else NOTHING
    return _seen(target)


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
    return _seen(found[0]) if len(found) == 1 else MANY


def _named(here: _Context, words: tuple[str, ...], asks: bool) -> Reading | None:
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
        return _seen(marks[0])
    records = mentioned(words, "r")
    if len(records) == 1 and (says("shows", words) if asks else says("will tell", words)):
        return _seen(records[0])
    if asks and len(marks) == 1 and marks[0][0] == "i" and says("tells", words):
        return _seen(marks[0])
    if asks and len(marks) == 1 and marks[0][0] in "il" and says("found", words) and not mentioned(words, "p"):
        return _seen(marks[0])
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


# --- together --------------------------------------------------------------------------------------------------------


def _together(found: Sequence[Reading]) -> Reading:
    """What the units do: one act, or several, or something less."""
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
