"""The reference of murder mysteries: do what tells most about the culprit, in everyday words, and accuse when sure.

Greedy expected gain on the exact posterior (`View.filter`). A mark at the scene and a person's own tell nothing by
themselves, so the first of the two is worth a share of what both together tell. An accusation comes when one person is
at least as probable as `sure`, when nothing more can be found out, or in the last turn.

It knows which record tells of whom and who saw whom, as the prior does; whoever reads only the briefing has to find
that out first. On the 50 test tasks:

| `sure` | solved | turns |
|---|---|---|
| 0.80 | 88 % | 6.8 |
| 0.90 | 96 % | 7.6 |
| 0.97 | 100 % | 8.0 |
| random legal answers (4 samples) | 17.5 % | 8.4 |
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sonde.core import Action, ProgramPolicy, Rng, UserError, View, invalid

from .belief import MysteryFilter
from .cases import Act, Frame
from .filter import MARK, Slot
from .replies import thing

_TINY = 1e-9
_SHARE = 0.8
"""Of the joint gain of the mark at the scene and one person's own, what either is worth while the other is unknown:
more than half, because the mark at the scene is compared with everybody."""

_ALIBI = (
    "{p}, where were you at the time of the murder?", "Where were you when it happened, {g}?", "I ask {p} for an "
    "alibi.",
    "{g}, what were you doing between {t1} and {t2}?", "Please tell me where you were at {t1}, {p}.",
)  # fmt: skip
_ACCESS: Mapping[str, Sequence[str]] = {
    "key": (
        "{p}, did you have a key to {thing}?", "{g}, do you own a key to {thing}?", "Ask {p} about the key to {thing}.",
        "Ask {g}, the {role}, about having had a key to {thing}.", "Could you unlock {thing} with a key of your own, "
        "{g}?",
    ),
    "code": (
        "{p}, did you know the code of {thing}?", "{g}, were you given the code of {thing}?", "Ask {p} about the "
        "code of {thing}.",
        "Who told you the code of {thing}, {g}?", "I want to ask {g} whether the code of {thing} was known to the "
        "{role}.",
    ),
    "skill": (
        "{p}, do you know how to {thing}?", "{g}, can you {thing}?", "Ask {p} about being able to {thing}.",
        "Have you ever been taught to {thing}, {g}?", "I ask {g} for an honest answer: could you {thing}?",
    ),
}  # fmt: skip
_VICTIM = (
    "{p}, how did you stand with {v}?", "{g}, did you get along with {v}?", "Ask {p} about any quarrel with {v}.",
    "Was there bad blood between you and {v}, {g}?", "How were your relations with {v}, {p}?",
)  # fmt: skip
_SCENE = (
    "{p}, were you {near} before it happened?", "{g}, did anybody see you {near}?", "Ask {p} about having been {near}.",
    "Did you go by {near} that day, {g}?", "I have to ask you this, {g}: were you {near}?",
)  # fmt: skip
_DEATH = (
    "{p}, what do you know about the death of {v}?", "{g}, what have you heard about how {v} died?",
    "Ask {p} about the murder.",
    "What do you think happened to {v}, {g}?", "Tell me what you have been told of the death, {p}.",
)  # fmt: skip
_OTHERS = (
    "{p}, about whom of the others can you tell me something?", "{g}, did you notice anybody else?",
    "Ask {p} about the others.",
    "Did you see anyone at the time, {g}?", "Is there somebody else you can tell me about, {p}?",
)  # fmt: skip
_TOLD = (
    "{p}, what can you tell me about {q}?", "{g}, what do you know about {h}?", "Ask {p} about {q}.",
    "Did you see {q} that day, {g}?", "I would like to hear from {p} about {h}.",
)  # fmt: skip
_ITEM = (
    "Examine {it}.", "I take a closer look at {it}.", "Let me see {it}.", "Look at {it}.", "I would like to inspect "
    "{it}, please.",
)  # fmt: skip
_RECORD = (
    "Check {it}.",
    "Let me see {it}.",
    "I go through {it}.",
    "I would like to read {it}, please.",
    "Look at {it}.",
)
_BYSTANDER = (
    "Talk to {it}.", "I ask {it} who was there.", "Question {it}.", "Let me have a word with {it}.",
    "I would like to speak to {it}.",
)  # fmt: skip
_PLACE = (
    "Search {it}.",
    "I go to {it} and look around.",
    "Look around {it}.",
    "Let me see {it}.",
    "I want to visit {it}.",
)
_PERSON = (
    "Examine {p}.", "Look closely at {p}'s clothes.", "I inspect what {p} has on.", "Let me see what {p} wears and "
    "carries.",
    "Take a good look at {g}.",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class MurderMysterySolver(ProgramPolicy):
    """See the module."""

    sure: float = 0.97

    def __post_init__(self) -> None:
        if not 0.0 < self.sure <= 1.0:
            raise invalid("agents:murder_mystery: sure", self.sure, "above 0, at most 1")

    def act_now(self, view: View) -> Action:
        known = view.filter
        if not isinstance(known, MysteryFilter):
            raise UserError(f"agents:murder_mystery: {view.spec.name} has no filter over culprits")
        name, probability = known.likeliest
        act = best_act(known)
        if act is None or probability >= self.sure or view.turn >= view.spec.max_turns - 1:
            return Action(view.say(name))
        return Action(phrase(known.frame, act, Rng(view.seed)))


def best_act(known: MysteryFilter) -> Act | None:
    """The act that is worth most, the first of equals; None if nothing is left to find out."""
    worth = {act: max(gain, _worth(known, act)) for act, gain in known.gains().items()}
    best = max(worth, key=lambda act: worth[act], default=None)
    return None if best is None or worth[best] <= _TINY else best


def _worth(known: MysteryFilter, act: Act) -> float:
    """What one half of a comparison is worth while the other is unknown."""
    slots = known.frame.acts[act]
    if MARK in known.seen or not slots or slots[0].channel != "trace":
        return 0.0
    if slots[0] != MARK:
        return _SHARE * known.frame.model.gain(known.seen, (MARK, *slots))
    people = [Slot(p, "trace") for p in range(len(known.frame.people))]
    return _SHARE * max(known.frame.model.gain(known.seen, (MARK, slot)) for slot in people) + _TINY


def phrase(frame: Frame, act: Act, rng: random.Random) -> str:
    """A message that does an act."""
    words = {"v": frame.victim, "near": frame.near, "thing": frame.thing}
    words |= {f"t{i}": f"{m // 60 % 24:02d}:{m % 60:02d}" for i, m in enumerate(frame.minutes)}
    if act.target[0] == "p":
        person = frame.people[int(act.target[1:])]
        words |= {"p": person.name, "g": person.given, "role": person.role}
    else:
        words["it"] = thing(frame.names[act.target])
    if act.topic in frame.names:
        other = frame.people[int(act.topic[1:])]
        words |= {"q": other.name, "h": other.given}
    text = rng.choice(phrases(frame, act)).format_map(words)
    return text[0].upper() + text[1:]


def phrases(frame: Frame, act: Act) -> Sequence[str]:
    """The patterns for an act."""
    if act.verb == "ask":
        own = {"alibi": _ALIBI, "access": _ACCESS[frame.means], "victim": _VICTIM, "scene": _SCENE, "death": _DEATH}
        return {**own, "others": _OTHERS}.get(act.topic, _TOLD)
    if act.verb == "check":
        return _BYSTANDER if frame.records[int(act.target[1:])].kind == "bystander" else _RECORD
    return {"p": _PERSON, "l": _PLACE, "i": _ITEM}[act.target[0]]
