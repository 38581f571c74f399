"""What a detective's message does: an act, an accusation of one person, several things at once, or nothing.

Source: PAPRIKA (arXiv:2502.17543), appendix B.4.4: one action in every turn, and a conclusion that ends the game. How
free text is read is ours: patterns over templates (`words`, `topics`). What is not understood does
nothing, and costs a turn; a suspicion, a question whether somebody did it, and a denial accuse nobody.

A message is cut into sentences and these into units, one for every verb of investigation or question. What is dismissed
("not the log", "never mind the hat") is taken out first. Each unit is a question to somebody, the inspection of
something, or nothing by itself; units that do different things make the message `several`. Going somewhere and doing
something there is one thing.
"""

from __future__ import annotations

from functools import lru_cache

from . import patterns as pattern
from .accusing import accused, doubtful
from .asking import asked
from .cases import Frame
from .context import BODY, MANY, NOTHING, Context, Reading, mentioned, talking_to
from .doubts import does_nothing, ordered
from .looking import inspected, looked_over
from .subjects import addressed
from .tokens import tokens
from .words import template

LONGEST = 2000
"""Characters of a message that are read."""


@lru_cache(maxsize=8192)
def read(frame: Frame, text: str) -> Reading:
    """What a message does, whatever it is; the same for everybody who has the same frame."""
    heard = text[:LONGEST]
    low = heard.lower()
    if pattern.LISTING(low):
        return NOTHING
    if pattern.TAKEN_BACK(low):
        return MANY
    if pattern.META(low):
        return NOTHING
    whole = pattern.REMINDER.sub("", template(frame, heard))
    guilty = accused(whole)
    if not guilty:
        return _acts(frame, heard, whole)
    rest = " ".join(u for s in pattern.SENTENCE.findall(whole) for u in _units(s) if not accused(u))
    person, *more = guilty
    if more or doubtful(template(frame, heard)) or _acts(frame, heard, rest).kind in ("act", "several"):
        return MANY
    return Reading("accuse", person=person)


# --- units -----------------------------------------------------------------------------------------------------------


def _acts(frame: Frame, heard: str, whole: str) -> Reading:
    """What all units of a template do, taken together."""
    whole = pattern.DISMISSED.sub(" ", pattern.ASIDE.sub(" ", whole).strip())
    here, found = Context(frame, tokens(heard)), list[tuple[str, Reading]]()
    for sentence in map(str.strip, pattern.SENTENCE.findall(pattern.CORRECTED.split(whole)[-1])):
        if called := addressed(sentence, bool(here.called)):
            here = here._replace(spoken_to=called, called=called)
        if "," in here.spoken_to or pattern.AND_THEN.search(sentence):
            return MANY
        asked = list[tuple[str, Reading]]()
        for unit in () if pattern.PLANNED(sentence) else _units(sentence):
            reading = _unit(here, unit, "?" in sentence)
            asked.append((unit, reading))
            here = _after(here, unit, reading)
        if _unread(sentence, asked):
            return MANY
        found += asked
        here = here._replace(before=f"{here.before} {sentence}")
    return _together(found)


def _units(sentence: str) -> list[str]:
    """The parts of a sentence that may do something each, with the mark at its end."""
    sentence = sentence.strip()
    *parts, last = pattern.CUT.split(sentence)
    end = sentence[-1:] if sentence[-1:] in (".", "?", "!", ";") else ""
    units = [f"{part.strip()} {end}".strip() for part in parts if part.strip(" ,.!")]
    return [*units, last.strip()] if last.strip(" ,.!") else units


def _unread(sentence: str, asked: list[tuple[str, Reading]]) -> bool:
    """Whether a question that is not understood is joined to others: "where were you, and who is Nadia to you?"."""
    acts = any(reading.act for _, reading in asked)
    return acts and bool(pattern.JOINED.search(sentence)) and any(r.kind == "talk" and "you" in u for u, r in asked)


def _after(here: Context, unit: str, reading: Reading) -> Context:
    """What is known after a unit."""
    said = f"{here.said} {unit}"
    asked = f"p{reading.person}" if reading.kind == "talk" else ""
    if reading.act and reading.act.verb == "ask":
        asked = reading.act.target
    if asked:
        return here._replace(said=said, last=unit, person=asked, spoken_to=asked)
    people = mentioned(unit, "pb")
    return here._replace(said=said, last=unit, person=people[0] if people else here.person)


def _unit(here: Context, unit: str, asks: bool) -> Reading:
    """What one unit does."""
    if pattern.EVERYBODY(unit):
        return MANY
    if told := ordered(unit) or ordered(f"{here.last} {unit}"):
        return talking_to(told)
    if does_nothing(unit, asks):
        return NOTHING
    if pattern.ACCUSE_TOO.match(unit):
        return MANY
    if pattern.ACCUSING.search(unit) and not pattern.ASK.search(unit):
        return NOTHING
    return looked_over(here, unit, asks) or asked(here, unit, asks) or inspected(here, unit, asks)


# --- together --------------------------------------------------------------------------------------------------------


def _together(found: list[tuple[str, Reading]]) -> Reading:
    """What the units do: one act, or several, or something less."""
    kinds = {reading.kind for _, reading in found}
    if "several" in kinds:
        return MANY
    if "act" in kinds:
        return _one_act(found)
    if "talk" in kinds:
        talks = {reading for _, reading in found if reading.kind == "talk"}
        return talks.pop() if len(talks) == 1 else MANY
    return BODY if "body" in kinds else NOTHING


def _one_act(found: list[tuple[str, Reading]]) -> Reading:
    """The act of units that do one, or several."""
    acts = [(unit, reading) for unit, reading in found if reading.act]
    # "I want to know more about his motive. Read the letter." does the second, which the first explains.
    acts = [row for row in acts if not pattern.WISH.search(row[0])] or acts
    while len(acts) > 1 and _travels(*acts[0]):
        acts = acts[1:]
    done = acts[0][1]
    return MANY if any(reading != done for _, reading in acts) or _asks_too(found, done) else done


def _travels(unit: str, reading: Reading) -> bool:
    """Whether somebody goes to a place, where something else may be done."""
    return bool(pattern.TRAVEL.match(unit)) and reading.act is not None and reading.act.target[0] == "l"


def _asks_too(found: list[tuple[str, Reading]], done: Reading) -> bool:
    """Whether somebody is to be asked as well: "Read the log, then ask him about it."."""
    others = (u for u, r in found if r.kind == "talk" and done.act and done.act.target != f"p{r.person}")
    return any(pattern.ASK.search(unit) for unit in others)
