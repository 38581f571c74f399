"""Murder mysteries: settings, the people and things of a case, what a detective can do, and how cases are drawn.

Inspired by the murder-mystery task group of PAPRIKA (arXiv:2502.17543, table 1, appendix B.4.4: 203 training and 50
test tasks, written and played by a language model). Ours: a program draws the cases from a stated distribution.

A case has two parts. The *frame* is everything that may be public: people, places, things, and which act reveals what.
The *truth* (`filter.Truth`) is drawn after it and independently of it, so nothing in a briefing can point at the
culprit. `telling` writes every text from the frame and the revealed values, and from nothing else.

Everybody speaks the truth, except in three statements about themselves, each of which can be refuted. The statement
about their whereabouts is false if the alibi implicates them; the denial of a quarrel with the victim is false if the
motive implicates them; the denial of having been close to the scene is false if somebody saw them there. The wording of
these three statements never depends on the truth. What people say about the death states no facts: it consists of
questions, hearsay, and, as a slip, knowledge that was kept from everybody.

`sources/compile.py` builds the data.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal, NamedTuple, cast

from sonde._util.folders import data_file
from sonde.core import Frozen, Rng, freeze, invalid, unknown

from .filter import CHANNELS, MARK, CaseModel, Channel, Slot, Truth

Verb = Literal["ask", "examine", "check"]
Kind = Literal["sheet", "camera", "door", "phone", "bystander", "access"]
Means = Literal["key", "code", "skill"]

TASKS: Mapping[str, int] = Frozen(train=203, test=50)
"""Cases per split: the published numbers."""
TOPICS = ("alibi", "access", "victim", "scene", "death", "others")
"""The topics of questions to a person, apart from other people: where they were; their key, code or skill; how they got
on with the victim; whether they were close to the scene; what they know about the death; about whom they know
something."""

_SIZES = ((3, 1), (3, 2), (3, 3), (4, 1), (4, 2))
_CHANNELS: tuple[tuple[Channel, ...], ...] = (
    CHANNELS,
    tuple(c for c in CHANNELS if c != "sighting"),
    tuple(c for c in CHANNELS if c != "slip"),
)


class CaseAct(NamedTuple):
    """Something the detective can do. Targets are ids: `p0` a person, `l0` a place, `i0` an item, `r0` a record. The
    topic of an "ask" is one of `TOPICS` or the id of the person asked about."""

    verb: Verb
    target: str
    topic: str = ""


class Person(NamedTuple):
    """A suspect or a witness. `place` is where they say they were, `seen_by` the person who can say whether they were
    near the scene, `told_by` the person who knows how they got on with the victim, or -1 if a paper (`Item.person`)
    shows it."""

    id: str
    name: str
    role: str
    suspect: bool
    place: int
    seen_by: int
    told_by: int
    motive: int

    @property
    def given_name(self) -> str:
        return self.name.split()[0]


class Place(NamedTuple):
    """A place to go to. The scene is the first place of a case."""

    id: str
    name: str
    at: str


class Record(NamedTuple):
    """A log, a camera, or somebody from outside (`bystander`): evidence about the people in `covers`, on the channel
    "access" or, for all other kinds, "alibi"."""

    id: str
    name: str
    place: int
    kind: Kind
    covers: tuple[int, ...]


class Item(NamedTuple):
    """A thing. A paper shows the motive of `person`; `text` describes a plain thing."""

    id: str
    name: str
    place: int
    kind: Literal["trace", "weapon", "paper", "plain"]
    person: int = -1
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Frame:
    """Everything about a case that is not hidden. Ids number each group in order: `people[3].id == "p3"`."""

    setting: str
    victim: str
    method: Literal["blow", "poison"]
    weapon: str
    means: Means
    thing: str
    trace: str
    where: str
    near: str
    minutes: tuple[int, int, int]
    """The time in question, in minutes of the day: a little before, begin and end."""
    channels: tuple[Channel, ...]
    people: tuple[Person, ...]
    places: tuple[Place, ...]
    records: tuple[Record, ...]
    items: tuple[Item, ...]
    salt: int
    """Selects among sentences of the same meaning."""

    def __hash__(self) -> int:
        # Equal frames share all of this, and few others do.
        return hash((self.setting, self.victim, self.salt))

    @cached_property
    def model(self) -> CaseModel:
        """The distribution of the truth."""
        suspects = sum(p.suspect for p in self.people)
        return CaseModel(
            self.channels, suspects, len(self.people) - suspects, len(case_data()["traces"][self.trace]["values"])
        )

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Maps the ids of all possible targets of acts to their names."""
        groups = (self.people, self.places, self.records, self.items)
        return Frozen({entry.id: entry.name for group in groups for entry in group})

    @cached_property
    def acts(self) -> Mapping[CaseAct, tuple[Slot, ...]]:
        """Maps every act that has an answer to the slots that it reveals; most reveal none or one."""
        rows = {CaseAct("examine", p.id): () for p in self.places}
        rows |= {CaseAct("examine", i.id): self._item_slots(i) for i in self.items}
        rows |= {CaseAct("check", r.id): tuple(Slot(p, _record_channel(r)) for p in r.covers) for r in self.records}
        for number, person in enumerate(self.people):
            rows[CaseAct("examine", person.id)] = (Slot(number, "trace"),)
            rows |= {CaseAct("ask", person.id, topic): self._own_slots(number, topic) for topic in TOPICS}
            others = (p for p in range(len(self.people)) if p != number)
            rows |= {CaseAct("ask", person.id, f"p{p}"): self._teller_slots(number, p) for p in others}
        return rows

    def _item_slots(self, item: Item) -> tuple[Slot, ...]:
        if item.kind == "trace":
            return (MARK,)
        return (Slot(item.person, "motive"),) if item.kind == "paper" else ()

    def _own_slots(self, person: int, topic: str) -> tuple[Slot, ...]:
        if topic == "access":
            return (Slot(person, "access"),)
        return (Slot(person, "slip"),) if topic == "death" and "slip" in self.channels else ()

    def _teller_slots(self, teller: int, person: int) -> tuple[Slot, ...]:
        known = self.people[person]
        if teller == known.seen_by:
            return (Slot(person, "sighting"),)
        return (Slot(person, "motive"),) if teller == known.told_by else ()


class Case(NamedTuple):
    """A frame and its truth."""

    frame: Frame
    truth: Truth


def _record_channel(record: Record) -> Channel:
    return "access" if record.kind == "access" else "alibi"


# --- data ------------------------------------------------------------------------------------------------------------


@cache
def case_data() -> Mapping[str, Any]:
    """Settings by id, names, traces and sentences, read-only (`sources/compile.py`)."""
    raw = json.loads(data_file("murder_mystery", "cases.json").read_text("utf-8"))
    raw["settings"] = {row["id"]: row for row in raw["settings"]}
    return cast("Mapping[str, Any]", freeze(raw))


def split_settings(split: str) -> tuple[str, ...]:
    """The settings of a split's cases. Training has its own; half of the test cases are in settings unseen there."""
    return tuple(name for name, row in case_data()["settings"].items() if row["split"] == split)


# --- drawing ---------------------------------------------------------------------------------------------------------


def generate_case(rng: random.Random, setting: str) -> Case:
    """Draw a case: the frame, then the truth, which depends only on the frame's sizes."""
    frame = draw_frame(rng, setting)
    return Case(frame, frame.model.draw_truth(rng))


@cache
def numbered_case(split: str, index: int) -> Case:
    """The index-th case of a split."""
    if split not in TASKS:
        raise unknown("murder_mystery: split", split, TASKS)
    if not 0 <= index < TASKS[split]:
        raise invalid("murder_mystery: index", index, f"0 to {TASKS[split] - 1}")
    return generate_case(Rng(0, "task", "murder_mystery", "paprika", split, index), _case_setting(split, index))


def _case_setting(split: str, index: int) -> str:
    shared, new = split_settings("train"), split_settings("test")
    if split == "train":
        return shared[index % len(shared)]
    return (new, shared)[index % 2][index // 2 % len((new, shared)[index % 2])]


def draw_frame(rng: random.Random, setting: str) -> Frame:
    """Draw everything that is not hidden."""
    if setting not in case_data()["settings"]:
        raise unknown("murder_mystery: setting", setting, case_data()["settings"])
    row = case_data()["settings"][setting]
    channels = rng.choice(_CHANNELS)
    victim, *names = _draw_names(rng, 7)
    places = [Place("l0", row["scene"], row["at"])]
    places += [Place(f"l{i + 1}", name, f"{at} {name}") for i, (at, name, _, _) in enumerate(row["places"])]
    people = _draw_people(rng, row["roles"], names, channels)
    (method, weapon), (means, thing, record) = rng.choice(row["weapons"]), rng.choice(row["means"])
    trace, where = rng.choice(row["traces"])
    begin = 60 * row["hour"] + rng.randrange(5, 45, 5)
    return Frame(
        setting=setting,
        victim=victim,
        method=method,
        weapon=weapon,
        means=means,
        thing=thing,
        trace=trace,
        where=where,
        near=rng.choice(row["near"]),
        minutes=(begin - 5, begin, begin + rng.randrange(10, 25, 5)),
        channels=channels,
        people=people,
        places=tuple(places),
        records=_draw_records(rng, row["places"], people, record),
        items=_draw_items(rng, row, people, (trace, weapon)),
        salt=rng.randrange(1 << 16),
    )


def is_name(text: str) -> bool:
    """Whether somebody in some case may have this name: a given name, or a full one.

    >>> is_name("Wanda"), is_name("Who was in the library")
    (True, False)
    """
    given, _, family = text.partition(" ")
    known = case_data()["names"]
    return given in known["given"] and (given == text or family in known["family"])


def _draw_names(rng: random.Random, n: int) -> list[str]:
    """Full names; no two share an initial of the given name, or a family name."""
    pool: dict[str, list[str]] = {}
    for given in case_data()["names"]["given"]:
        pool.setdefault(given[0], []).append(given)
    given = [rng.choice(pool[initial]) for initial in rng.sample(sorted(pool), n)]
    return [f"{g} {f}" for g, f in zip(given, rng.sample(case_data()["names"]["family"], n), strict=True)]


def _draw_people(
    rng: random.Random, roles: tuple[str, ...], names: list[str], channels: tuple[Channel, ...]
) -> tuple[Person, ...]:
    suspects, witnesses = rng.choice(_SIZES)
    n = suspects + witnesses
    places, motives = rng.sample(range(1, 8), n), _draw_motives(rng, n)
    people: list[Person] = []
    for i, (name, role) in enumerate(zip(names[:n], rng.sample(roles, n), strict=True)):
        seen_by, told_by = rng.sample([p for p in range(n) if p != i], 2)
        sources = (seen_by if "sighting" in channels else -1, told_by if rng.random() < 0.5 else -1)
        people.append(Person(f"p{i}", name, role, i < suspects, places[i], *sources, motives[i]))
    return tuple(people)


def _draw_motives(rng: random.Random, n: int) -> list[int]:
    """Distinct motive numbers: the setting's own motives (0 to 2) for about half of the people, then the general
    ones."""
    own = rng.sample(range(3), min(3, (n + 1) // 2))
    chosen = own + rng.sample(range(3, 3 + len(case_data()["text"]["motive"]["implicates"])), n - len(own))
    rng.shuffle(chosen)
    return chosen


def _draw_records(
    rng: random.Random, places: tuple[tuple[str, str, Kind, str], ...], people: tuple[Person, ...], access: str
) -> tuple[Record, ...]:
    """One proof per place, and the list of those who had access, which covers half of the people."""
    claims = {person.place: number for number, person in enumerate(people)}
    rows = [
        Record(f"r{i}", proof, i + 1, kind, (claims[i + 1],) if i + 1 in claims else ())
        for i, (_, _, kind, proof) in enumerate(places)
    ]
    covered = sorted(rng.sample(range(len(people)), len(people) // 2))
    return (*rows, Record(f"r{len(rows)}", access, rng.randint(1, len(places)), "access", tuple(covered)))


def _draw_items(
    rng: random.Random, row: Mapping[str, Any], people: tuple[Person, ...], used: tuple[str, str]
) -> tuple[Item, ...]:
    """The trace, the weapon and two plain things at the scene; two plain things and all papers elsewhere."""
    trace, weapon = used
    texts = case_data()["text"]["motive"]["papers"]
    plain = rng.sample(row["items"], len(row["items"]))
    holders = [(i, p) for i, p in enumerate(people) if p.told_by < 0]
    papers = zip(holders, rng.sample(texts, len(holders)), strict=True)
    rows: list[tuple[Any, ...]] = [(case_data()["traces"][trace]["name"], 0, "trace"), (weapon, 0, "weapon")]
    rows += [(name, 0 if i < 2 else rng.randint(1, 7), "plain", -1, text) for i, (name, text) in enumerate(plain)]
    rows += [(text.format(p=p.name), rng.randint(1, 7), "paper", i) for (i, p), text in papers]
    return tuple(Item(f"i{number}", *fields) for number, fields in enumerate(rows))
