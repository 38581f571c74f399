"""The floor: legal answers, uniformly, from the view's seed alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pytest

import sonde
from sonde.agents.random import Random
from sonde.core import Episode, ProgramPolicy, UserError
from sonde.envs.mastermind.env import Mastermind

ENV = sonde.make("mastermind", length=1, digits=5)


def answers(n: int) -> list[str]:
    eps = (Episode.begin(ENV, ENV.task("3"), sample=s) for s in range(n))
    return [Random().act_now(ep.view()).text for ep in eps]


def test_it_says_a_legal_answer() -> None:
    ep = Episode.begin(ENV, ENV.task("3"))
    agent = sonde.make("agents:random")
    assert isinstance(agent, ProgramPolicy)
    legal = {ENV.say(a) for a in ep.view().legal or ()}
    while ep.to_act:
        action = agent.act_now(ep.view())
        assert action.text in legal
        assert action.memory is None
        ep = ep.step(action)
    assert ep.outcome is not None


def test_it_is_uniform() -> None:
    counts = Counter(answers(5000))
    assert len(counts) == 5
    # Chi-squared with 4 degrees of freedom exceeds 18.5 once in a thousand.
    assert sum((c - 1000) ** 2 / 1000 for c in counts.values()) < 18.5


def test_it_repeats_under_the_same_seeds() -> None:
    assert answers(50) == answers(50)


def test_it_needs_a_list() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Open(Mastermind):
        def actions(self, state: object) -> None:
            return None

    env = Open()
    task = sonde.Task(env.name, "paprika", "custom", 0, {"length": 4, "digits": 10}, "0427")
    with pytest.raises(UserError, match="allowed: environments that list their legal answers"):
        Random().act_now(Episode.begin(env, task).view())
