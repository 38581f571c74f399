"""Write what a detective reads: the briefing, and the answer to every act.

A text depends only on the frame and on the values that an act reveals, never on anything else that is hidden: two cases
that agree in these give the same words. Who did it, and what shows it, is told only after the game, outside the
episode. The frame's salt and the subject of a sentence choose among sentences of the same meaning, so that people do
not all say the same. No text calls anybody he or she.

Own design; see `cases`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from zlib import crc32

from .cases import TOPICS, Case, CaseAct, Frame, Item, Person, Place, Record, case_data
from .filter import IMPLICATES, OPEN, VALUES, Channel, Slot

_DENIED: tuple[tuple[str, Channel], ...] = (("alibi", "alibi"), ("victim", "motive"), ("scene", "sighting"))
"""Topics on which a person's statement does not depend on the truth, each with the channel whose implicating value
refutes the statement."""
_START = re.compile(r'(^"?|[.!?]"? "?|: ")([a-z])')


class Clue(NamedTuple):
    """The result of an act: `values[i]` is the value of `slots[i]`."""

    act: CaseAct
    slots: tuple[Slot, ...]
    values: tuple[int, ...]
    text: str

    @property
    def facts(self) -> dict[Slot, int]:
        """The revealed slots with their values, to merge into the earlier ones."""
        return dict(zip(self.slots, self.values, strict=True))


class Lie(NamedTuple):
    """A false statement, and the act that refutes it."""

    act: CaseAct
    refuted: CaseAct


def observe_act(case: Case, act: CaseAct) -> Clue:
    """The result of an act of `frame.acts`; raises KeyError for any other act."""
    slots = case.frame.acts[act]
    values = tuple(case.frame.model.slot_value(case.truth, s) for s in slots)
    return Clue(act, slots, values, describe_act(case.frame, act, values))


def all_clues(case: Case) -> tuple[Clue, ...]:
    """The results of all acts."""
    return tuple(observe_act(case, act) for act in case.frame.acts)


def act_gains(frame: Frame, seen: Mapping[Slot, int]) -> dict[CaseAct, float]:
    """The expected information about the culprit, in bits, of every act that can still reveal something."""
    open_slots = dict.fromkeys(slots for slots in frame.acts.values() if any(s not in seen for s in slots))
    rows = {slots: frame.model.expected_gain(seen, slots) for slots in open_slots}
    return {act: rows[slots] for act, slots in frame.acts.items() if slots in rows}


def find_lies(case: Case) -> tuple[Lie, ...]:
    """All false statements that people make if everybody is asked everything."""
    frame, found = case.frame, list[Lie]()
    for number, person in enumerate(frame.people):
        for topic, channel in _DENIED:
            slot = Slot(number, channel)
            if channel in frame.channels and frame.model.slot_value(case.truth, slot) == IMPLICATES:
                source = next(act for act, slots in frame.acts.items() if slot in slots)
                found.append(Lie(CaseAct("ask", person.id, topic), source))
    return tuple(found)


# --- briefing --------------------------------------------------------------------------------------------------------


def write_briefing(frame: Frame) -> str:
    """Write the detective's briefing: the victim, the people, visible things, and places to go."""
    say, row = case_data()["text"]["briefing"], case_data()["settings"][frame.setting]
    about = {key: row[key] for key in ("occasion", "site", "victim")}
    means = frame.means
    told = [
        pick_sentence(frame, say["found"], "found"),
        pick_sentence(frame, say[frame.method], "how"),
        pick_sentence(frame, say[means], "by"),
    ]
    names = [i.name for i in frame.items if i.place == 0]
    lines = [
        " ".join(fill_sentence(frame, text, **about) for text in told),
        "",
        *(f"{title}: {_list_people(frame, kind)}." for title, kind in (("Suspects", True), ("Witnesses", False))),
        f"To be seen at the scene: {join_names(names)}.",
        f"Places: {'; '.join(_format_place(frame, p) for p in frame.places)}.",
    ]
    return "\n".join(lines)


def _list_people(frame: Frame, suspects: bool) -> str:
    return "; ".join(f"{p.name}, {p.role}" for p in frame.people if p.suspect is suspects)


def _format_place(frame: Frame, place: Place) -> str:
    """Format the name of a place and the records that can be checked there."""
    kept = [r.name for r in frame.records if frame.places[r.place] is place]
    return f"{place.name} ({join_names(kept)})" if kept else f"{place.name} (the scene)"


# --- acts ------------------------------------------------------------------------------------------------------------


def describe_act(frame: Frame, act: CaseAct, values: Sequence[int]) -> str:
    """The answer to an act that reveals these values."""
    number = int(act.target[1:])
    if act.verb == "check":
        return _describe_record(frame, frame.records[number], values)
    if act.verb == "ask":
        person = frame.people[number]
        said = (
            _own_statement(frame, number, act.topic, values)
            if act.topic in TOPICS
            else _statement_about(frame, act, values)
        )
        return f'{person.name}: "{said}"'
    if act.target[0] == "p":
        return _describe_trait(frame, number, values[0])
    if act.target[0] == "i":
        return _describe_item(frame, frame.items[number], values)
    return _describe_place(frame, number)


def _own_statement(frame: Frame, number: int, topic: str, values: Sequence[int]) -> str:
    """A person's statement about themselves."""
    text, person = case_data()["text"], frame.people[number]
    if topic == "alibi":
        return _alibi_claim(frame, number)
    if topic == "others":
        return _offer_names(frame, number)
    if topic == "access":
        pool = text["access"][frame.means][VALUES[values[0]]]
    elif topic == "death":
        pool = text[f"slip_{frame.method}"][VALUES[values[0] if values else OPEN]]
    else:
        pool = text["motive" if topic == "victim" else "scene"]["deny"]
    return fill_sentence(frame, pick_sentence(frame, pool, topic, number), person)


def _alibi_claim(frame: Frame, number: int) -> str:
    """A person's statement about where they were; the same whether it is true or not."""
    text, person = case_data()["text"]["claim"], frame.people[number]
    record = next(r for r in frame.records if number in r.covers and r.kind != "access")
    tail = "_bystander" if record.kind == "bystander" else ""
    said = pick_sentence(frame, text[f"say{tail}"], "alibi", number)
    return fill_sentence(frame, said, person, record=record.name, ask=text[f"ask{tail}"])


def _offer_names(frame: Frame, number: int) -> str:
    """A person's list of the people they know something about."""
    text = case_data()["text"]["others"]
    known = [p.given_name for p in frame.people if number in (p.seen_by, p.told_by)]
    pool = text["none" if not known else "one" if len(known) == 1 else "more"]
    return fill_sentence(
        frame, pick_sentence(frame, pool, "others", number), a=", ".join(known[:-1] or known), b="".join(known[-1:])
    )


def _statement_about(frame: Frame, act: CaseAct, values: Sequence[int]) -> str:
    """A person's statement about another."""
    text, teller, about = case_data()["text"], int(act.target[1:]), int(act.topic[1:])
    slots, person = frame.acts[act], frame.people[about]
    if not slots:
        return fill_sentence(frame, pick_sentence(frame, text["others"]["unknown"], "unknown", teller + about), person)
    if slots[0].channel == "sighting":
        return fill_sentence(
            frame, pick_sentence(frame, text["sighting"][VALUES[values[0]]], "sighting", about), person
        )
    clause = describe_motive(frame, about, values[0])
    return fill_sentence(frame, pick_sentence(frame, text["motive"]["friend"], "friend", about), person, clause=clause)


def describe_motive(frame: Frame, number: int, value: int) -> str:
    """A sentence about how a person got on with the victim."""
    person, pools = frame.people[number], case_data()["text"]["motive"]
    own = case_data()["settings"][frame.setting]["motives"]
    pool = own + pools["implicates"]
    text = pool[person.motive] if value == IMPLICATES else pick_sentence(frame, pools[VALUES[value]], "motive", number)
    first, name, rest = text.partition("{p}")
    return fill_sentence(frame, first + name + rest.replace("{p}", "{g}"), person)


def _describe_record(frame: Frame, record: Record, values: Sequence[int]) -> str:
    text, name = case_data()["text"], record.name
    if record.kind == "access":
        pools = text["access"][frame.means]
        rows = [
            fill_sentence(frame, pools[f"{VALUES[value]}_record"][0], frame.people[p])
            for p, value in zip(record.covers, values, strict=True)
        ]
        return fill_sentence(
            frame,
            " ".join([text["access"]["text"]["head"][0], *rows, text["access"]["text"]["other_page"][0]]),
            record=name,
        )
    if not record.covers:
        blank = "bystander_blank" if record.kind == "bystander" else "blank"
        return fill_sentence(frame, text["act"][blank][0], record=name)
    number = record.covers[0]
    pool = text["alibi"][record.kind][VALUES[values[0]]]
    return fill_sentence(frame, pick_sentence(frame, pool, "check", number), frame.people[number], record=name)


def _describe_trait(frame: Frame, number: int, value: int) -> str:
    trace = case_data()["traces"][frame.trace]
    pool = trace["open"] if value == len(trace["values"]) else trace["person"]
    shown = "" if value == len(trace["values"]) else trace["values"][value]
    return fill_sentence(frame, pick_sentence(frame, pool, "trait", number), frame.people[number], value=shown)


def _describe_item(frame: Frame, item: Item, values: Sequence[int]) -> str:
    text = case_data()["text"]
    if item.kind == "trace":
        trace = case_data()["traces"][frame.trace]
        return fill_sentence(
            frame, pick_sentence(frame, trace["scene"], "mark"), value=trace["values"][values[0]], where=frame.where
        )
    if item.kind == "weapon":
        return fill_sentence(frame, text["act"][f"weapon_{frame.method}"][0], item=definite_name(item.name))
    if item.kind == "plain":
        return fill_sentence(frame, f"{definite_name(item.name)}. {item.text}")
    clause, said = (
        describe_motive(frame, item.person, values[0]),
        pick_sentence(frame, text["motive"]["paper"], "paper", item.person),
    )
    return fill_sentence(frame, said, item=definite_name(item.name), clause=clause)


def _describe_place(frame: Frame, number: int) -> str:
    """Describe a place: its records and the things in it."""
    text, place = case_data()["text"]["act"], frame.places[number]
    records = [r for r in frame.records if r.place == number]
    kinds = ["bystander" if r.kind == "bystander" else "look" for r in records] or ["scene"]
    said = pick_sentence(frame, text[kinds[0]], "look", number)
    name = records[0].name if records else ""
    more = [r.name for r in records[1:]] + [i.name for i in frame.items if i.place == number]
    tail = f" {pick_sentence(frame, text['here'], 'here', number)}" if more else ""
    return fill_sentence(frame, said + tail, room=place.name, record=name, items=join_names(more))


# --- the end ----------------------------------------------------------------------------------------------------------


def write_ending(case: Case) -> str:
    """Write who did it, why, and how one can know it."""
    frame, number = case.frame, case.truth.culprit
    text, person, found = case_data()["text"]["ending"], frame.people[number], _implicating_channels(case)
    why = [describe_motive(frame, number, IMPLICATES)] if "motive" in found else []
    trace = case_data()["traces"][frame.trace]["name"]
    keys = [f"access_{frame.means}" if c == "access" else c for c in found if c != "motive"]
    how = fill_sentence(frame, f"{{g}} {join_names([text[key] for key in keys])}.", person, item=trace)
    return " ".join([fill_sentence(frame, text["who"], person, a=person.role), *why, how])


def _implicating_channels(case: Case) -> list[str]:
    """The channels that implicate the culprit: at least two."""
    frame, truth = case.frame, case.truth
    own = zip(frame.channels, truth.vectors[truth.culprit], strict=True)
    return [channel for channel, value in own if value == IMPLICATES]


# --- words -----------------------------------------------------------------------------------------------------------


def pick_sentence(frame: Frame, pool: Sequence[str], key: str, number: int = 0) -> str:
    """One sentence of a pool: consecutive numbers get different ones, and other keys and frames start elsewhere."""
    return pool[(crc32(f"{key} {frame.salt}".encode()) + number) % len(pool)]


def fill_sentence(frame: Frame, text: str, person: Person | None = None, **more: Any) -> str:
    """A sentence with its names, and with capitals where sentences begin."""
    row = case_data()["settings"][frame.setting]
    words: dict[str, Any] = {key: row[key] for key in ("scene", "at")}
    words |= {key: getattr(frame, key) for key in ("near", "weapon", "thing")}
    words |= {f"t{i}": format_time(m) for i, m in enumerate(frame.minutes)}
    words |= {"v": frame.victim, "w": frame.victim.split()[0], "tool": definite_name(frame.weapon)}
    if person is not None:
        place = frame.places[person.place]
        words |= {"p": person.name, "g": person.given_name, "room": place.name, "place": place.at}
    return _START.sub(lambda found: found[1] + found[2].upper(), text.format_map(words | more))


def format_time(minute: int) -> str:
    """The time of day, as 07:05."""
    return f"{minute // 60 % 24:02d}:{minute % 60:02d}"


def definite_name(name: str) -> str:
    """The definite form of a name: "the letter" for "a letter"."""
    return re.sub(r"^an? ", "the ", name)


def join_names(names: Sequence[str]) -> str:
    """Join names: "one and another", or "one, another and a third"."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)
