"""One policy hands over to another, and neither reads the other's notes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import sonde
from sonde.agents.switch import Switch
from sonde.core import AGENT, Action, Episode, Policy, View, build
from sonde.runs.rollout import collect_trajectories
from tests.cases import each

ENV = sonde.make("mastermind", max_turns=6)


@dataclass(frozen=True, kw_only=True)
class Counter(Policy):
    """Guesses its code and counts its own acts in its memory."""

    code: str
    remembers: bool = True
    seen: list[Any] = field(default_factory=list, compare=False, metadata={"config": False})
    ends: list[Any] = field(default_factory=list, compare=False, metadata={"config": False})

    async def act(self, view: View) -> Action:
        self.seen.append((view.turn, view.memory))
        count = (view.memory or {"n": 0})["n"] + 1
        return Action(view.say(self.code), memory={"n": count} if self.remembers else None)

    async def finish(self, view: View) -> None:
        self.ends.append(view.memory)

    async def close(self) -> None:
        self.ends.append("closed")


@dataclass(frozen=True, kw_only=True)
class Seer(Counter):
    privileged = True


def test_the_first_plays_the_turns_below_the_switch() -> None:
    switch = Switch(first=Counter(code="1111"), then=Counter(code="2222"), turn=4)
    (found,) = collect_trajectories(ENV, {AGENT: switch}, [ENV.task("9999")])
    assert [t.info["guess"] for t in found.turns] == ["1111"] * 4 + ["2222"] * 2


@each("turn, guess", [(0, "2222"), (6, "1111"), (99, "1111")])
def test_either_may_play_alone(turn: int, guess: str) -> None:
    switch = Switch(first=Counter(code="1111"), then=Counter(code="2222"), turn=turn)
    (found,) = collect_trajectories(ENV, {AGENT: switch}, [ENV.task("9999")])
    assert [t.info["guess"] for t in found.turns] == [guess] * 6


def test_each_finds_only_its_own_memory() -> None:
    first, then = Counter(code="1111"), Counter(code="2222")
    collect_trajectories(ENV, {AGENT: Switch(first=first, then=then, turn=3)}, [ENV.task("9999")])
    assert first.seen == [(0, None), (1, {"n": 1}), (2, {"n": 2})]
    assert then.seen == [(3, None), (4, {"n": 1}), (5, {"n": 2})]
    assert first.ends == then.ends == [{"n": 3}, "closed"]


def test_a_policy_without_memory_leaves_the_others_alone() -> None:
    first, then = Counter(code="1111"), Counter(code="2222", remembers=False)
    collect_trajectories(ENV, {AGENT: Switch(first=first, then=then, turn=3)}, [ENV.task("9999")])
    assert then.seen == [(3, None), (4, None), (5, None)]
    assert (first.ends[0], then.ends[0]) == ({"n": 3}, None)


def test_nothing_is_carried_where_nobody_remembers() -> None:
    none = Counter(code="1111", remembers=False)
    (found,) = collect_trajectories(ENV, {AGENT: Switch(first=none, then=none, turn=2)}, [ENV.task("9999")])
    assert all(act.action.memory is None for act in found.acts)


def test_programs_switch_as_they_play_alone() -> None:
    """Seeds belong to the act, so the second half is what the second policy would have done there."""
    agent = sonde.make("agents:entropy")
    switch = Switch(first=sonde.make("agents:random"), then=agent, turn=2)
    (found,) = collect_trajectories(ENV, {AGENT: switch}, [ENV.task("0427")])
    ep = Episode.begin(ENV, ENV.task("0427"))
    for turn in found.turns[:2]:
        ep = ep.step(turn.text)
    assert found.turns[2].text == asyncio.run(agent.act(ep.view())).text


def test_it_is_built_from_its_configuration() -> None:
    switch = Switch(first=sonde.make("agents:random"), then=sonde.make("agents:entropy"), turn=2)
    assert build(switch.config) == switch
    assert switch.config["first"] == {"name": "agents:random"}


def test_one_privileged_policy_makes_the_switch_privileged() -> None:
    plain, seer = Counter(code="1111"), Seer(code="2222")
    for first, then, privileged in ((plain, plain, False), (seer, plain, True), (plain, seer, True)):
        switch = Switch(first=first, then=then, turn=1)
        assert switch.privileged is privileged
        (found,) = collect_trajectories(ENV, {AGENT: switch}, [ENV.task("9999")])
        assert found.privileged is privileged
