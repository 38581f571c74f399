"""The reference detective: says what it means in many ways, finds culprits, and is sure before it accuses."""

from __future__ import annotations

import random
from typing import Any

import pytest

import sonde
from sonde.core import Episode, ProgramPolicy, default_policies
from sonde.envs.murder_mystery.belief import MysteryFilter
from sonde.envs.murder_mystery.cases import CaseAct, numbered_case
from sonde.envs.murder_mystery.filter import MARK
from sonde.envs.murder_mystery.reading import read_case_message
from sonde.envs.murder_mystery.solver import MurderMysterySolver, act_wordings, best_act, word_act

ENV = sonde.make("murder_mystery")


class Nth(random.Random):
    """Chooses the n-th."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.n = n

    def choice(self, seq: Any) -> Any:
        return seq[self.n % len(seq)]


@pytest.mark.thorough
def test_every_wording_does_its_act() -> None:
    for split, i in [("train", i) for i in range(0, 203, 20)] + [("test", i) for i in range(0, 50, 10)]:
        frame = numbered_case(split, i).frame
        for act in frame.acts:
            for n in range(len(act_wordings(frame, act))):
                said = word_act(frame, act, Nth(n))
                assert read_case_message(frame, said).act == act, said


def play(task: int, split: str = "test", **config: float) -> Episode:
    agent, user = MurderMysterySolver(**config), default_policies(ENV)["user"]
    assert isinstance(user, ProgramPolicy)
    ep = Episode.begin(ENV, ENV.tasks(split)[task])
    while ep.to_act is not None:
        ep = ep.step((agent if ep.to_act == "agent" else user).act_now(ep.view(ep.to_act)))
    return ep


@pytest.mark.thorough
def test_solves_cases() -> None:
    played = [play(i) for i in range(0, 50, 4)]
    assert sum(bool(ep.outcome and ep.outcome.success) for ep in played) >= len(played) - 1
    assert sum(len(ep.turns) for ep in played) / len(played) < 12


def test_is_sure_before_it_accuses() -> None:
    ep = play(3)
    known = ep.filter()
    assert isinstance(known, MysteryFilter)
    assert known.likeliest_culprit[1] >= 0.97
    assert ep.turns[-1].info["accused"] == known.likeliest_culprit[0]


def test_accuses_in_the_last_turn() -> None:
    env = sonde.make("murder_mystery", max_turns=1)
    view = Episode.begin(env, env.tasks("test")[0]).view()
    assert MurderMysterySolver().act_now(view).text.startswith("I accuse ")


def test_a_comparison_is_worth_its_first_half() -> None:
    known = MysteryFilter(numbered_case("train", 4).frame, 1000)
    marks = [act for act, slots in known.frame.acts.items() if slots == (MARK,)]
    assert known.act_gains()[marks[0]] == pytest.approx(0.0, abs=1e-9)
    acts: list[CaseAct] = []
    while (act := best_act(known)) is not None and len(acts) < 6:
        acts.append(act)
        slots = known.frame.acts[act]
        truth = numbered_case("train", 4).truth
        seen = {**known.seen, **{s: known.frame.model.slot_value(truth, s) for s in slots}}
        known = MysteryFilter(known.frame, 1000, seen=seen)
    assert marks[0] in acts
