"""What a detective reads: the briefing, and the answer to every act.

Texts are written from the frame and from the values that an act reveals, never from anything else that is hidden: two
cases that agree in those give the same words; only when a game is over, whoever played it is told who did it and what
shows it, which is no part of an episode. Sentences of the same meaning are chosen by the frame's salt and by whom
they are about, so that people do not all say the same thing. Nobody is called he or she.

Source: ours; see `cases`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from zlib import crc32

from .cases import TOPICS, Act, Case, Frame, Item, Person, Place, Record, data
from .filter import IMPLICATES, OPEN, VALUES, Channel, Slot

_DENIED: tuple[tuple[str, Channel], ...] = (("alibi", "alibi"), ("victim", "motive"), ("scene", "sighting"))
"""What a person says the same about whatever is true, and the channel that refutes it if it implicates."""
_START = re.compile(r'(^"?|[.!?]"? "?|: ")([a-z])')


class Clue(NamedTuple):
    """The result of an act: `values[i]` is the value of `slots[i]`."""

    act: Act
    slots: tuple[Slot, ...]
    values: tuple[int, ...]
    text: str

    @property
    def facts(self) -> dict[Slot, int]:
        """The revealed slots and values, to merge into those seen before."""
        return dict(zip(self.slots, self.values, strict=True))


class Lie(NamedTuple):
    """A false statement, and the act that refutes it."""

    act: Act
    refuted: Act


def observe(case: Case, act: Act) -> Clue:
    """Return the result of an act of `frame.acts`; KeyError for any other act."""
    slots = case.frame.acts[act]
    values = tuple(case.frame.model.value(case.truth, s) for s in slots)
    return Clue(act, slots, values, describe(case.frame, act, values))


def clues(case: Case) -> tuple[Clue, ...]:
    """Return the results of all acts."""
    return tuple(observe(case, act) for act in case.frame.acts)


def gains(frame: Frame, seen: Mapping[Slot, int]) -> dict[Act, float]:
    """The expected information about the culprit, in bits, of every act that can still reveal something."""
    rows = {slots: 0.0 for slots in frame.acts.values() if any(s not in seen for s in slots)}
    rows = {slots: frame.model.gain(seen, slots) for slots in rows}
    return {act: rows[slots] for act, slots in frame.acts.items() if slots in rows}


def lies(case: Case) -> tuple[Lie, ...]:
    """List all false statements that people make if everybody is asked everything."""
    frame, found = case.frame, list[Lie]()
    for number, person in enumerate(frame.people):
        for topic, channel in _DENIED:
            slot = Slot(number, channel)
            if channel in frame.channels and frame.model.value(case.truth, slot) == IMPLICATES:
                source = next(act for act, slots in frame.acts.items() if slot in slots)
                found.append(Lie(Act("ask", person.id, topic), source))
    return tuple(found)


# --- briefing --------------------------------------------------------------------------------------------------------


def briefing(frame: Frame) -> str:
    """Write the detective's briefing: the victim, the people, what is to be seen, and where to go."""
    say, row = data()["text"]["briefing"], data()["settings"][frame.setting]
    about = {key: row[key] for key in ("occasion", "site", "victim")}
    means = frame.means
    told = [pick(frame, say["found"], "found"), pick(frame, say[frame.method], "how"), pick(frame, say[means], "by")]
    names = [i.name for i in frame.items if i.place == 0]
    lines = [
        " ".join(fill(frame, text, **about) for text in told),
        "",
        *(f"{title}: {_people(frame, kind)}." for title, kind in (("Suspects", True), ("Witnesses", False))),
        f"To be seen at the scene: {listed(names)}.",
        f"Places: {'; '.join(_place(frame, p) for p in frame.places)}.",
    ]
    return "\n".join(lines)


def _people(frame: Frame, suspects: bool) -> str:
    return "; ".join(f"{p.name}, {p.role}" for p in frame.people if p.suspect is suspects)


def _place(frame: Frame, place: Place) -> str:
    """Format the name of a place and what can be checked there."""
    kept = [r.name for r in frame.records if frame.places[r.place] is place]
    return f"{place.name} ({listed(kept)})" if kept else f"{place.name} (the scene)"


# --- acts ------------------------------------------------------------------------------------------------------------


def describe(frame: Frame, act: Act, values: Sequence[int]) -> str:
    """The answer to an act that reveals these values."""
    number = int(act.target[1:])
    if act.verb == "check":
        return _check(frame, frame.records[number], values)
    if act.verb == "ask":
        person = frame.people[number]
        said = _own(frame, number, act.topic, values) if act.topic in TOPICS else _told(frame, act, values)
        return f'{person.name}: "{said}"'
    if act.target[0] == "p":
        return _trait(frame, number, values[0])
    if act.target[0] == "i":
        return _item(frame, frame.items[number], values)
    return _look(frame, number)


def _own(frame: Frame, number: int, topic: str, values: Sequence[int]) -> str:
    """Return what a person says about themselves."""
    text, person = data()["text"], frame.people[number]
    if topic == "alibi":
        return _claim(frame, number)
    if topic == "others":
        return _offer(frame, number)
    if topic == "access":
        pool = text["access"][frame.means][VALUES[values[0]]]
    elif topic == "death":
        pool = text[f"slip_{frame.method}"][VALUES[values[0] if values else OPEN]]
    else:
        pool = text["motive" if topic == "victim" else "scene"]["deny"]
    return fill(frame, pick(frame, pool, topic, number), person)


def _claim(frame: Frame, number: int) -> str:
    """Return where a person says they were; the same whether it is true or not."""
    text, person = data()["text"]["claim"], frame.people[number]
    record = next(r for r in frame.records if number in r.covers and r.kind != "access")
    tail = "_bystander" if record.kind == "bystander" else ""
    said = pick(frame, text[f"say{tail}"], "alibi", number)
    return fill(frame, said, person, record=record.name, ask=text[f"ask{tail}"])


def _offer(frame: Frame, number: int) -> str:
    """Say about whom a person knows something."""
    text = data()["text"]["others"]
    known = [p.given for p in frame.people if number in (p.seen_by, p.told_by)]
    pool = text["none" if not known else "one" if len(known) == 1 else "more"]
    return fill(frame, pick(frame, pool, "others", number), a=", ".join(known[:-1] or known), b="".join(known[-1:]))


def _told(frame: Frame, act: Act, values: Sequence[int]) -> str:
    """Return what a person says about another."""
    text, teller, about = data()["text"], int(act.target[1:]), int(act.topic[1:])
    slots, person = frame.acts[act], frame.people[about]
    if not slots:
        return fill(frame, pick(frame, text["others"]["unknown"], "unknown", teller + about), person)
    if slots[0].channel == "sighting":
        return fill(frame, pick(frame, text["sighting"][VALUES[values[0]]], "sighting", about), person)
    clause = motive(frame, about, values[0])
    return fill(frame, pick(frame, text["motive"]["friend"], "friend", about), person, clause=clause)


def motive(frame: Frame, number: int, value: int) -> str:
    """Describe how a person stood with the victim, in a sentence."""
    person, pools = frame.people[number], data()["text"]["motive"]
    own = data()["settings"][frame.setting]["motives"]
    pool = own + pools["implicates"]
    text = pool[person.motive] if value == IMPLICATES else pick(frame, pools[VALUES[value]], "motive", number)
    first, name, rest = text.partition("{p}")
    return fill(frame, first + name + rest.replace("{p}", "{g}"), person)


def _check(frame: Frame, record: Record, values: Sequence[int]) -> str:
    text, name = data()["text"], record.name
    if record.kind == "access":
        pools = text["access"][frame.means]
        rows = [
            fill(frame, pools[f"{VALUES[value]}_record"][0], frame.people[p])
            for p, value in zip(record.covers, values, strict=True)
        ]
        return fill(
            frame,
            " ".join([text["access"]["text"]["head"][0], *rows, text["access"]["text"]["other_page"][0]]),
            record=name,
        )
    if not record.covers:
        blank = "bystander_blank" if record.kind == "bystander" else "blank"
        return fill(frame, text["act"][blank][0], record=name)
    number = record.covers[0]
    pool = text["alibi"][record.kind][VALUES[values[0]]]
    return fill(frame, pick(frame, pool, "check", number), frame.people[number], record=name)


def _trait(frame: Frame, number: int, value: int) -> str:
    trace = data()["traces"][frame.trace]
    pool = trace["open"] if value == len(trace["values"]) else trace["person"]
    shown = "" if value == len(trace["values"]) else trace["values"][value]
    return fill(frame, pick(frame, pool, "trait", number), frame.people[number], value=shown)


def _item(frame: Frame, item: Item, values: Sequence[int]) -> str:
    text = data()["text"]
    if item.kind == "trace":
        trace = data()["traces"][frame.trace]
        return fill(frame, pick(frame, trace["scene"], "mark"), value=trace["values"][values[0]], where=frame.where)
    if item.kind == "weapon":
        return fill(frame, text["act"][f"weapon_{frame.method}"][0], item=_the(item.name))
    if item.kind == "plain":
        return fill(frame, f"{_the(item.name)}. {item.text}")
    clause, said = motive(frame, item.person, values[0]), pick(frame, text["motive"]["paper"], "paper", item.person)
    return fill(frame, said, item=_the(item.name), clause=clause)


def _look(frame: Frame, number: int) -> str:
    """Describe a place: its records and the things in it."""
    text, place = data()["text"]["act"], frame.places[number]
    records = [r for r in frame.records if r.place == number]
    kinds = ["bystander" if r.kind == "bystander" else "look" for r in records] or ["scene"]
    said = pick(frame, text[kinds[0]], "look", number)
    name = records[0].name if records else ""
    more = [r.name for r in records[1:]] + [i.name for i in frame.items if i.place == number]
    tail = f" {pick(frame, text['here'], 'here', number)}" if more else ""
    return fill(frame, said + tail, room=place.name, record=name, items=listed(more))


# --- the end ----------------------------------------------------------------------------------------------------------


def ending(case: Case) -> str:
    """Write who did it, why, and how it can be known."""
    frame, number = case.frame, case.truth.culprit
    text, person, found = data()["text"]["ending"], frame.people[number], _found(case)
    why = [motive(frame, number, IMPLICATES)] if "motive" in found else []
    trace = data()["traces"][frame.trace]["name"]
    keys = [f"access_{frame.means}" if c == "access" else c for c in found if c != "motive"]
    how = fill(frame, f"{{g}} {listed([text[key] for key in keys])}.", person, item=trace)
    return " ".join([fill(frame, text["who"], person, a=person.role), *why, how])


def _found(case: Case) -> list[str]:
    """The channels that implicate the culprit: at least two."""
    frame, truth = case.frame, case.truth
    own = zip(frame.channels, truth.vectors[truth.culprit], strict=True)
    return [channel for channel, value in own if value == IMPLICATES]


# --- words -----------------------------------------------------------------------------------------------------------


def pick(frame: Frame, pool: Sequence[str], key: str, number: int = 0) -> str:
    """One sentence of a pool: neighbours in number get different ones, other keys and frames start elsewhere."""
    return pool[(crc32(f"{key} {frame.salt}".encode()) + number) % len(pool)]


def fill(frame: Frame, text: str, person: Person | None = None, **more: Any) -> str:
    """A sentence with its names, and with capitals where sentences begin."""
    row = data()["settings"][frame.setting]
    words: dict[str, Any] = {key: row[key] for key in ("scene", "at")}
    words |= {key: getattr(frame, key) for key in ("near", "weapon", "thing")}
    words |= {f"t{i}": _time(m) for i, m in enumerate(frame.minutes)}
    words |= {"v": frame.victim, "w": frame.victim.split()[0], "tool": _the(frame.weapon)}
    if person is not None:
        place = frame.places[person.place]
        words |= {"p": person.name, "g": person.given, "room": place.name, "place": place.at}
    return _START.sub(lambda found: found[1] + found[2].upper(), text.format_map(words | more))


def _time(minute: int) -> str:
    """The time of day, as 07:05."""
    return f"{minute // 60 % 24:02d}:{minute % 60:02d}"


def _the(name: str) -> str:
    """A thing that has been mentioned."""
    return re.sub(r"^an? ", "the ", name)


def listed(names: Sequence[str]) -> str:
    """One and another, or one, another and a third."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
