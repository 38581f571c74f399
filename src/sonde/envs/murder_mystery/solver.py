"""The reference of murder mysteries: takes the most informative action, in everyday words, and accuses when sure.

It maximises the expected gain of each action on the exact posterior (`View.filter`). The mark at the scene and a
person's own mark are informative only together, so the first of the two gets a share of their joint gain. It accuses
when one person's probability is at least `sure`, when nothing is left to find out, or in the last turn.

It knows which record is about whom and who saw whom, as the prior does; an agent that reads only the briefing must
first find that out. On the 50 test tasks:

| `sure` | solved | turns |
|---|---|---|
| 0.80 | 88 % | 6.8 |
| 0.90 | 96 % | 7.6 |
| 0.97 | 100 % | 8.0 |
| random legal answers (4 samples) | 17.5 % | 8.4 |
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from sonde.core import Action, ProgramPolicy, Rng, View, invalid

from .._shared.english.tokens import read_rows
from .._shared.needs import require_filter
from .belief import MysteryFilter
from .cases import TOPICS, CaseAct, Frame
from .filter import MARK, Slot
from .telling import definite_name, format_time

_TINY = 1e-9
_SHARE = 0.8
"""The value of one half of a comparison while the other half is unknown, as a share of the joint gain of the mark at
the scene and a person's own mark. It is more than half, because the mark at the scene is compared with everybody's."""


@dataclass(frozen=True, kw_only=True)
class MurderMysterySolver(ProgramPolicy):
    """See the module."""

    sure: float = 0.97

    def __post_init__(self) -> None:
        if not 0.0 < self.sure <= 1.0:
            raise invalid("agents:murder_mystery: sure", self.sure, "above 0, at most 1")

    def act_now(self, view: View) -> Action:
        known = require_filter(view, MysteryFilter, "murder_mystery", "over culprits")
        name, probability = known.likeliest_culprit
        act = best_act(known)
        if act is None or probability >= self.sure or view.turn >= view.spec.max_turns - 1:
            return Action(view.say(name))
        return Action(word_act(known.frame, act, Rng(view.seed)))


def best_act(known: MysteryFilter) -> CaseAct | None:
    """The most valuable act, the first of equals; None if nothing is left to find out."""
    worth = {act: max(gain, _half_comparison_worth(known, act)) for act, gain in known.act_gains().items()}
    best = max(worth, key=lambda act: worth[act], default=None)
    return None if best is None or worth[best] <= _TINY else best


def _half_comparison_worth(known: MysteryFilter, act: CaseAct) -> float:
    """The value of one half of a comparison while the other half is unknown."""
    slots = known.frame.acts[act]
    if MARK in known.seen or not slots or slots[0].channel != "trace":
        return 0.0
    if slots[0] != MARK:
        return _SHARE * known.frame.model.expected_gain(known.seen, (MARK, *slots))
    people = [Slot(p, "trace") for p in range(len(known.frame.people))]
    return _SHARE * max(known.frame.model.expected_gain(known.seen, (MARK, slot)) for slot in people) + _TINY


def word_act(frame: Frame, act: CaseAct, rng: random.Random) -> str:
    """A message that performs an act."""
    words = {"v": frame.victim, "near": frame.near, "thing": frame.thing}
    words |= {f"t{i}": format_time(m) for i, m in enumerate(frame.minutes)}
    if act.target[0] == "p":
        person = frame.people[int(act.target[1:])]
        words |= {"p": person.name, "g": person.given_name, "role": person.role}
    else:
        words["it"] = definite_name(frame.names[act.target])
    if act.topic in frame.names:
        other = frame.people[int(act.topic[1:])]
        words |= {"q": other.name, "h": other.given_name}
    text = rng.choice(act_wordings(frame, act)).format_map(words)
    return text[0].upper() + text[1:]


def act_wordings(frame: Frame, act: CaseAct) -> Sequence[str]:
    """The patterns for an act (`data/wordings.txt`)."""
    if act.verb == "ask":
        kind = f"access_{frame.means}" if act.topic == "access" else act.topic if act.topic in TOPICS else "person"
    elif act.verb == "check":
        kind = "bystander" if frame.records[int(act.target[1:])].kind == "bystander" else "record"
    else:
        kind = {"p": "look", "l": "place", "i": "item"}[act.target[0]]
    return next(ways for name, *ways in read_rows("murder_mystery", "wordings.txt") if name == kind)
