"""What a detective's message does: an act, an accusation of one person, several things at once, or nothing.

Source: PAPRIKA (arXiv:2502.17543), appendix B.4.4: one action in every turn, and a conclusion that ends the game. How
free text is read is ours: patterns over templates (`mystery_words`, `mystery_topics`). What is not understood does
nothing, and costs a turn; a suspicion, a question whether somebody did it, and a denial accuse nobody.

A message is cut into sentences and these into units, one for every verb of investigation or question. What is dismissed
("not the log", "never mind the hat") is taken out first. Each unit is a question to somebody, the inspection of
something, or nothing by itself; units that do different things make the message `several`. Going somewhere and doing
something there is one thing.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from . import mystery_patterns as pattern
from .mystery import Act, Frame
from .mystery_accusing import accused, doubtful
from .mystery_doubts import does_nothing, is_meant, of_bystander, of_record, ordered, somebodys
from .mystery_records import pointed_at
from .mystery_subjects import addressed, as_asked, is_short, requested, spoken_of
from .mystery_tokens import tokens
from .mystery_topics import SEVERAL, topic
from .mystery_words import template

LONGEST = 2000
"""Characters of a message that are read."""


class Reading(NamedTuple):
    """`act` does `act`; `accuse` ends the game with `person` (a number); `talk` speaks to `person` about nothing in
    particular; `body` looks at the dead; `several` and `nothing` do nothing."""

    kind: Literal["act", "accuse", "talk", "body", "several", "nothing"]
    act: Act | None = None
    person: int = -1


NOTHING, MANY, BODY = Reading("nothing"), Reading("several"), Reading("body")


@lru_cache(maxsize=8192)
def read(frame: Frame, text: str) -> Reading:
    """What a message does, whatever it is; the same for everybody who has the same frame."""
    if pattern.LISTING.match(text[:LONGEST].lower()):
        return NOTHING
    if pattern.TAKEN_BACK.search(text[:LONGEST].lower()):
        return MANY
    if pattern.META.search(text[:LONGEST].lower()):
        return NOTHING
    whole = pattern.REMINDER.sub("", template(frame, text[:LONGEST]))
    guilty = accused(whole)
    if guilty:
        whole = " ".join(u for s in pattern.SENTENCE.findall(whole) for u in _units(s) if not accused(u))
    found = _acts(frame, text[:LONGEST], pattern.DISMISSED.sub(" ", pattern.ASIDE.sub(" ", whole).strip()))
    if len(guilty) > 1 or (guilty and doubtful(template(frame, text[:LONGEST]))):
        return MANY
    if guilty:
        return MANY if found.kind in ("act", "several") else Reading("accuse", person=guilty[0])
    return found


# --- units -----------------------------------------------------------------------------------------------------------


class _Context(NamedTuple):
    """Who was spoken to, called by name, or mentioned last, so far; the sentences, the units and the unit before; the
    message."""

    frame: Frame
    words: tuple[str, ...]
    spoken_to: str = ""
    person: str = ""
    called: str = ""
    before: str = ""
    said: str = ""
    last: str = ""


def _acts(frame: Frame, text: str, whole: str) -> Reading:
    """All units of a message, taken together."""
    here, whole = _Context(frame, tuple(tokens(text))), pattern.CORRECTED.split(whole)[-1]
    found: list[tuple[str, Reading]] = []
    for sentence in map(str.strip, pattern.SENTENCE.findall(whole)):
        called = addressed(sentence, bool(here.called))
        here = here._replace(spoken_to=called or here.spoken_to, called=called or here.called)
        if "," in here.spoken_to or pattern.AND_THEN.search(sentence):
            return MANY
        for unit in () if pattern.PLANNED.search(sentence) else _units(sentence):
            found.append((unit, _unit(here, unit, "?" in sentence)))
            here = _mentioned(here, unit, found[-1][1])
        here = here._replace(before=f"{here.before} {sentence}")
    return _together(found)


def _units(sentence: str) -> list[str]:
    parts = pattern.CUT.split(sentence.strip())
    end = sentence.strip()[-1:] if sentence.strip()[-1:] in ".?!;" else ""
    return [f"{p.strip()} {end}".strip() if p is not parts[-1] else p.strip() for p in parts if p and p.strip(" ,.!")]


def _mentioned(here: _Context, unit: str, reading: Reading) -> _Context:
    people, here = re.findall(r"@([pb]\d)", unit), here._replace(said=f"{here.said} {unit}", last=unit)
    if reading.kind == "talk":
        return here._replace(person=f"p{reading.person}", spoken_to=f"p{reading.person}")
    if reading.act and reading.act.verb == "ask":
        return here._replace(person=reading.act.target, spoken_to=reading.act.target)
    return here._replace(person=people[0]) if people else here


def _together(found: list[tuple[str, Reading]]) -> Reading:
    """What the units do: one act, or several, or something less."""
    if any(r.kind == "several" for _, r in found):
        return MANY
    acts = [(unit, r) for unit, r in found if r.kind == "act"]
    # "I want to know more about his motive. Read the letter." does the second, which the first explains.
    meant = [(unit, r) for unit, r in acts if not pattern.WISH.search(unit)]
    acts = meant or acts
    while len(acts) > 1 and pattern.TRAVEL.match(acts[0][0]) and acts[0][1].act and acts[0][1].act.target[0] == "l":
        acts = acts[1:]
    done = dict.fromkeys(r for _, r in acts)
    if len(done) > 1:
        return MANY
    talks = dict.fromkeys(r for _, r in found if r.kind == "talk")
    if done:
        only = next(iter(done))
        # "Read the log, then ask him about it."
        more = any(
            pattern.ASK.search(u) and r.kind == "talk" and only.act and only.act.target != f"p{r.person}"
            for u, r in found
        )
        return MANY if more else only
    if talks:
        return next(iter(talks)) if len(talks) == 1 else MANY
    return BODY if any(r is BODY for _, r in found) else NOTHING


def _unit(here: _Context, unit: str, asks: bool) -> Reading:
    """What one unit does."""
    if pattern.EVERYBODY.search(unit):
        return MANY
    if told := ordered(unit) or ordered(f"{here.last} {unit}"):
        return Reading("talk", person=int(told[1:]))
    if does_nothing(unit, asks):
        return NOTHING
    if pattern.ACCUSE_TOO.match(unit):
        return MANY
    if pattern.ACCUSING.search(unit) and not pattern.ASK.search(unit):
        return NOTHING
    found = _worn(here, unit)
    if found and not (asks or pattern.LOOKED.search(unit)):
        return NOTHING
    if found and len(set(re.findall(r"@p\d", unit))) > 1 and not pattern.ASK.search(unit):
        return MANY  # whose, if it is about two?
    if found:
        return _examined(found)
    asked = _asked(here, unit, asks)
    return asked if asked is not None else _inspected(here, unit, asks)


# --- asking ----------------------------------------------------------------------------------------------------------


def _worn(here: _Context, unit: str) -> str:
    """Whose clothes and habits the unit is about, if it is about that."""
    if pattern.NOT_WORN.search(unit):
        return ""
    found = pattern.WEARS.search(unit) or pattern.HABIT.search(unit)
    if found:
        whose = next(g for g in found.groups() if g)
        return "" if here.called not in ("", whose) and re.search(r"\byou\b", unit) else whose
    if not pattern.WEARS_YOU.search(unit):
        return ""
    named = [m[1:] for m in dict.fromkeys(re.findall(r"@p\d", unit))] or [here.spoken_to or here.person]
    return named[0] if len(named) == 1 and named[0][:1] == "p" else ""


def _asked(here: _Context, unit: str, asks: bool) -> Reading | None:
    """A question to somebody; None if it is none."""
    verified = pattern.VERIFIED.search(unit)
    if verified:
        return _thing(verified[1])
    teller = _teller(here, unit, asks)
    if not teller:
        return None
    if teller == SEVERAL:
        return MANY
    if teller[0] == "b" and _is_third(here, unit) and not of_bystander(unit):
        return NOTHING
    if teller[0] != "p":
        return _act("check", f"r{teller[1:]}") if teller[0] == "b" else NOTHING
    return _question(here, unit, teller, sure=not _is_third(here, unit))


def _question(here: _Context, unit: str, teller: str, sure: bool) -> Reading | None:
    """The question that a unit puts to a person; `sure` if they are spoken to, or to be asked, by name."""
    if pattern.TOO.search(re.sub(rf"@{teller}\b", "", unit)):
        return MANY
    found = _topic(here, unit, teller)
    if found == SEVERAL:
        return MANY
    if found is not None:
        return _act("ask", teller, found)
    if sure:
        return Reading("talk", person=int(teller[1:]))
    return NOTHING if pattern.WHETHER.search(unit) else None


def _topic(here: _Context, unit: str, teller: str) -> str | None:
    """What is asked; a short question ("is that true?") is about what was said just before."""
    told = here.called == teller and not pattern.ASK.search(unit)
    asked = as_asked(unit, here.said, teller, told)
    if not requested(asked, "?" in unit):
        return None
    if is_short(asked) and re.sub(rf"\W*@{teller}\W*", "", unit) and here.last:
        return spoken_of(as_asked(here.last, "", teller, told))
    return topic(f"{here.last} {asked}" if pattern.AFTER.match(here.last) else asked, here.frame.means)


def _is_third(here: _Context, unit: str) -> bool:
    return not (
        pattern.ASK.search(unit)
        or pattern.WANT.search(unit)
        or pattern.MADE.search(unit)
        or here.spoken_to
        or pattern.ENDS.search(unit)
    )


def _teller(here: _Context, unit: str, asks: bool) -> str:
    """Who is to answer: an id, `SEVERAL`, or "" if nobody."""
    found = pattern.ASK.search(unit) or pattern.WANT.search(unit) or pattern.MADE.search(unit)
    subject = pattern.SUBJECT.match(unit)
    if found and subject and subject.end() <= found.start():
        return str(subject[1])  # "did the cook talk to Sven": the cook is asked
    if found:
        return _object(here, unit, found)
    if here.spoken_to:
        about_thing = (
            pattern.EXAMINE.search(unit) and re.search(r"@[ir]\d", unit) and not re.search(r"\byou\b|\byour\b", unit)
        )
        return "" if about_thing else here.spoken_to
    third = pattern.THIRD.search(unit) if asks or re.match(r"(?:what|where|how|did|does|was|has|is)\b", unit) else None
    if third and pattern.NEXT.match(unit, third.end()):
        return SEVERAL
    if third and third[1] not in pattern.HELD.findall(unit) and re.search(rf"@{third[1]} (?:know|confirm)", unit):
        return str(third[1])
    held, between = pattern.HELD.search(unit), pattern.BETWEEN.search(unit)
    if (held or between) and (asks or pattern.SOUGHT.search(unit)) and not pattern.ANYBODY.search(unit):
        return next(g for m in (held, between) if m for g in m.groups() if g)
    whether = pattern.WHETHER.search(unit)
    if whether and not re.search(r"@[ri]\d", unit):
        return str(whether[1])
    ends = pattern.ENDS.search(unit)
    if ends and len(set(re.findall(r"@p\d", unit))) == 1:
        return next(g for g in ends.groups() if g)
    return str(third[1]) if third else _pronoun(here, unit)


def _pronoun(here: _Context, unit: str) -> str:
    """The person mentioned before, where a question goes on about him or her."""
    asked = re.match(r"(?:and |so |, )*(?:where|what|how|did|does|was|has|had|could|can|is|whether|about)\b.*", unit)
    return (
        here.person if asked and (re.search(r"\b(?:he|she|his|her|they)\b", unit) or unit.startswith("about")) else ""
    )


def _object(here: _Context, unit: str, found: re.Match[str]) -> str:
    """Whom a verb of asking is about."""
    whom = found[1]
    if whom in ("him", "her", "them"):
        said = dict.fromkeys(re.findall(r"@([pb]\d)", f"{here.before} {unit[: found.start()]}"))
        if len(said) == 1:
            return next(iter(said))
        return here.person if whom != "them" else ""
    if whom[0] != "@":
        return SEVERAL
    following = pattern.NEXT.match(unit, found.end())
    if following and following[1] != whom[1:]:
        return SEVERAL
    return whom[1:] if whom[1] in "pb" else "v"


# --- inspecting ------------------------------------------------------------------------------------------------------


def _inspected(here: _Context, unit: str, asks: bool) -> Reading:
    """A look at something."""
    bare = pattern.BARE.match(unit)
    if bare:
        return _thing(bare[1])
    if pattern.IT_SAYS.search(unit) and not asks and (before := _before(here, unit)):
        return _thing(before)
    if not (pattern.EXAMINE.search(unit) or asks):
        return NOTHING
    if " not " in unit:
        return NOTHING
    if asks and (pattern.ASKED.match(unit) or not pattern.EXAMINE.search(unit)):
        return _told_by(here, unit)
    looked = pattern.LOOK_AT.search(unit) or pattern.LOOK_FOR.search(unit)
    if looked and pattern.NEXT.match(unit, looked.end()):
        return MANY
    if somebodys(unit):
        return NOTHING
    targets = [looked[1]] if looked else _targets(here, unit)
    if len(targets) == 1:
        return _seen(here, unit, targets[0])
    if targets:
        return MANY
    return BODY if pattern.DEAD.search(unit) else NOTHING


def _told_by(here: _Context, unit: str) -> Reading:
    """A question that names what would answer it."""
    records = list(dict.fromkeys(re.findall(r"@(r\d)", unit)))
    if len(records) == 1:
        return NOTHING if of_record(unit) else _thing(records[0])
    if pattern.ITEM_SAYS.search(unit):
        return _thing(re.findall(r"@(i\d+)", unit)[0])
    if (held := pattern.UNUSUAL.search(unit)) and "@p" not in unit:
        return _thing(held[1])
    if pattern.IT_SAYS.search(unit) and (before := _before(here, unit)):
        return _thing(before)
    if pattern.PLACE_HOLDS.search(unit):
        return _thing(re.findall(r"@(l\d)", unit)[0])
    return NOTHING


def _before(here: _Context, unit: str) -> str:
    """The only thing that a message has mentioned so far, if it has mentioned nothing else."""
    marks = list(dict.fromkeys(re.findall(r"@([pirbl]\d+)", f"{here.before} {unit}")))
    return marks[0] if len(marks) == 1 and marks[0][0] in "ir" else ""


def _seen(here: _Context, unit: str, target: str) -> Reading:
    """A person is looked at only as a whole; "his phone" is nothing that there is."""
    if target[0] == "p":
        directly = re.search(rf"{pattern.DIRECTLY}@{target}(?! 's)", unit)
        return _examined(target) if directly and is_meant(here.frame, unit, target) else NOTHING
    return _thing(target) if is_meant(here.frame, unit, target) else NOTHING


def _targets(here: _Context, unit: str) -> list[str]:
    """Everything that the unit says is to be looked at."""
    verb = pattern.EXAMINE.search(unit)
    rest = pattern.LOCATED.sub("", unit[verb.start() :] if verb else unit)
    if not re.search(r"@[irblpx]", rest):  # "the button, let me see it"
        rest = re.sub(r"@p\d", "", pattern.LOCATED.sub("", unit))
    for group in ("r", "i", "b", "l", "p"):
        marks = list(dict.fromkeys(re.findall(rf"@({group}\d+)", rest)))
        if group in "ri" and marks:
            both = list(dict.fromkeys(re.findall(r"@([ri]\d+)", rest)))
            return _narrowed(here, rest, both)
        if marks and not (group in "lp" and pointed_at(here.frame, here.words, f"{here.before} {rest}", rest)):
            return marks
        if group == "b" and (record := pointed_at(here.frame, here.words, f"{here.before} {rest}", rest)):
            return [record]
    if pattern.POISONED.search(unit) or (here.frame.method == "poison" and pattern.POISON.search(unit)):
        return ["i1"]
    before = _it(here, rest)
    return [before] if before else []


def _narrowed(here: _Context, rest: str, marks: list[str]) -> list[str]:
    """One of two where the second only says what the first is compared with, or is part of its name."""
    if len(marks) == 2 and re.search(rf"@{marks[0]} (?:for|against|with|to see|to find|about)\b", rest):
        return marks[:1]
    return marks


def _it(here: _Context, rest: str) -> str:
    """What "it" is: the only thing mentioned before."""
    things = list(dict.fromkeys(re.findall(r"@([ir]\d+)", here.before)))
    return things[0] if len(things) == 1 and re.search(r"\b(?:it|this|that|them|these|those)\b", rest) else ""


def _thing(target: str) -> Reading:
    return _act("check", f"r{target[1:]}") if target[0] in "rb" else _act("examine", target)


def _examined(target: str) -> Reading:
    return _act("examine", target)


def _act(verb: Literal["ask", "examine", "check"], target: str, about: str = "") -> Reading:
    return Reading("act", Act(verb, target, about))
