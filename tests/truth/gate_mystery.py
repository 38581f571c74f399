"""What detectives say as language models put it, in every test case: the measure of `gate.py` for murder mysteries.

A message has slots for what the introduction of a case tells: `{P}` somebody's name, `{p}` the given name, `{r}` what
they are, `{Q}`, `{q}`, `{qr}` somebody else, `{V}`, `{v}` the victim, `{S}` the scene, `{L}` a place, `{R}` a record
and `{RL}` where it is kept, `{B}` somebody from outside and `{BL}` where, `{T}` a thing at the scene, `{from}` and
`{to}` the time. Its sort is what it asks for: topics of a person, `look:` with what is looked at, `record`,
`bystander`; of several, apart by commas, any one is right. "Yes" counts the cases in which the reply is the one to
the plainest message for that, "no" those in which it is the reply to something else that can be found out.

The sorts `accuses` and `none` are accusations and what is none, of the culprit and of somebody else in turn. "Yes" is
an accusation of whoever was named, "no" one of anybody else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from sonde.envs.murder_mystery.cases import TASKS, Case, CaseAct, Frame, Record, numbered_case
from sonde.envs.murder_mystery.reading import read_case_message
from sonde.envs.murder_mystery.replies import act_message, answer_message
from sonde.envs.murder_mystery.telling import all_clues

_OWN = {
    "where": "alibi",
    "access": "access",
    "relation": "victim",
    "near": "scene",
    "death": "death",
    "knows": "others",
}
_ACCUSED = "accused"


class _Filling(NamedTuple):
    """The words for the slots, and the ids of whom and what they stand for."""

    words: dict[str, str]
    ids: dict[str, str]


def _clock(minute: int) -> str:
    return f"{minute // 60 % 24:02d}:{minute % 60:02d}"


def _one(rows: Sequence[Any], turn: int) -> Any:
    return rows[turn % len(rows)]


def _filling(frame: Frame, turn: int, person: int | None = None) -> _Filling:
    """Somebody and something of a case, others for every turn."""
    people, places, told = frame.people, frame.places, frame.records
    who = people[turn % len(people) if person is None else person]
    other = _one([p for p in people if p is not who], turn // len(people))
    place, thing = _one(places[1:], turn), _one([i for i in frame.items if i.place == 0], turn)
    record: Record = _one([r for r in told if r.kind != "bystander"], turn)
    outside: Record | None = _one([r for r in told if r.kind == "bystander"] or [None], turn)
    words = {
        "P": who.name, "p": who.given_name, "r": f"the {who.role}", "Q": other.name, "q": other.given_name,
        "qr": f"the {other.role}", "V": frame.victim, "v": frame.victim.split()[0], "S": places[0].name,
        "L": place.name, "R": record.name, "RL": places[record.place].name, "from": _clock(frame.minutes[1]),
        "to": _clock(frame.minutes[2]), "T": re.sub("^an? ", "", thing.name),
    }  # fmt: skip
    ids = {"P": who.id, "Q": other.id, "L": place.id, "R": record.id, "T": thing.id}
    if outside:
        words |= {"B": outside.name, "BL": places[outside.place].name}
        ids["B"] = outside.id
    return _Filling(words, ids)


def _acts(sort: str, ids: dict[str, str]) -> Iterator[CaseAct]:
    for kind in sort.split(","):
        if kind in _OWN:
            yield CaseAct("ask", ids["P"], _OWN[kind])
        elif kind == "about":
            yield CaseAct("ask", ids["P"], ids["Q"])
        elif kind in ("record", "bystander"):
            yield CaseAct("check", ids["R" if kind == "record" else "B"])
        else:
            yield CaseAct(
                "examine", {"scene": "l0", "place": ids["L"], "thing": ids["T"], "person": ids["P"]}[kind[5:]]
            )


@cache
def _found_out(known: Case) -> frozenset[str]:
    """The replies to everything that can be done."""
    return frozenset(clue.text for clue in all_clues(known))


def _heard(known: Case, sort: str, message: str, turn: int) -> bool | None:
    """Whether the reply is what was asked for; None if it is neither that nor anything else."""
    filling = _filling(known.frame, turn)
    if "B" not in filling.words and "{B" in message:
        return None
    told = answer_message(known, message.format_map(filling.words), _ACCUSED)
    if told in {answer_message(known, act_message(known.frame, act), _ACCUSED) for act in _acts(sort, filling.ids)}:
        return True
    return False if told in _found_out(known) or told == _ACCUSED else None


def _named(known: Case, message: str, turn: int) -> bool | None:
    """Whether the message accuses whom it names; None if nobody."""
    number = (known.truth.culprit + turn % 2) % len(known.frame.people)
    found = read_case_message(known.frame, message.format_map(_filling(known.frame, turn, number).words | _BLANK))
    return found.person == number if found.kind == "accuse" else None


_BLANK = {"B": "the porter", "BL": "the hall"}


def measured(sort: str, message: str) -> tuple[int, int, int]:
    """In how many test cases the message gets what it asks for, something else, and neither."""
    found: list[bool | None] = []
    for index in range(TASKS["test"]):
        known = numbered_case("test", index)
        turn = index + len(message)
        if sort in ("accuses", "none"):
            found.append(_named(known, message, turn))
        elif "{B" not in message or any(r.kind == "bystander" for r in known.frame.records):
            found.append(_heard(known, sort, message, turn))
    return found.count(True), found.count(False), found.count(None)
