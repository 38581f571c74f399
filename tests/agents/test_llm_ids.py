"""LLM-IDS: fed exact values it plays as exact information-directed sampling does, and says what it could not read."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import numpy as np
import pytest

import sonde
from sonde.agents._shared.calls import number_reader
from sonde.agents._shared.ratio import minimise_ratio
from sonde.agents.llm_ids import LLMIDS
from sonde.core import Env, Episode, Rng
from sonde.evaluation import regret
from sonde.models.oracle import Oracle
from sonde.runs.rollout import collect_trajectories
from tests.cases import each

from .test_calls import Scripted


def make_agent(**config: Any) -> LLMIDS:
    return sonde.make("agents:llm_ids", **{"model": Oracle(), **config})


def read_estimates(ep: Episode, agent: LLMIDS) -> tuple[list[float], list[float]]:
    """What the calls of one act said: costs and gains, in the order of the actions."""
    said = asyncio.run(agent.act(ep.view())).completions
    kinds = ("expected_regret", "expected_value", "information_gain")
    rows = {kind: [number_reader(":")(c.text) or 0.0 for c in said if c.name == kind] for kind in kinds}
    values = [1.0 - value for value in rows["expected_value"]]
    return rows["expected_regret"] or values, rows["information_gain"]


@each(
    "config, prior",
    [
        ({"env": "bernoulli_bandit"}, "worlds"),
        ({"env": "bernoulli_bandit", "preset": "informative"}, "well-specified"),
        ({"env": "combination_lock"}, "well-specified"),
    ],
)
def test_equal_to_exact_ids_when_fed_exact_values(config: dict[str, str], prior: str) -> None:
    """At every point of an episode: the same costs and gains, so the same ratio, up to the grid."""
    env: Env[Any] = sonde.make(config["env"], **{k: v for k, v in config.items() if k != "env"})
    agent = make_agent(prior=prior)
    ep = Episode.begin(env, env.tasks("train")[3], seed=2)
    for i in range(9):
        if ep.to_act is None:
            break
        known: Any = ep.view().filter
        regrets, gains = read_estimates(ep, agent)
        np.testing.assert_allclose(gains, known.expected_gains, atol=1e-5)
        if ep.view().turn % known.problem.horizon == 0 or known.right:
            np.testing.assert_allclose(regrets, known.expected_regrets, atol=1e-5)
            exact = minimise_ratio(known.expected_regrets, known.expected_gains, Rng(i))
            found = minimise_ratio(regrets, gains, Rng(i), agent.grid)
            assert found.ratio == pytest.approx(exact.ratio, rel=1e-3, abs=1e-6)
        ep = ep.step(asyncio.run(agent.act(ep.view())))


def test_one_informative_pull_then_the_best_arm() -> None:
    """Figures 16 and 17: the optimal way to explore, found exactly."""
    env = sonde.make("bernoulli_bandit", preset="informative", max_turns=5)
    for t in collect_trajectories(env, {"agent": make_agent()}, env.tasks("test")[:10]):
        assert t.turns[0].info["action"] == "0"
        assert [turn.info["reward"] for turn in t.turns[1:]] == [1.0] * 4


@pytest.mark.slow
def test_regret_on_the_lock_is_that_of_exact_ids() -> None:
    env = sonde.make("combination_lock")
    rows = [
        regret.regret_table(env, collect_trajectories(env, {"agent": agent}, env.tasks("train")[:120])).sum(axis=1)
        for agent in (make_agent(), sonde.make("agents:ids"))
    ]
    assert abs(rows[0].mean() - rows[1].mean()) < 3.0 * np.sqrt(sum(row.var(ddof=1) / 120 for row in rows))


def test_two_calls_per_action_and_an_update_per_step() -> None:
    env, agent = sonde.make("bernoulli_bandit", max_turns=3), make_agent(prior="worlds")
    (t,) = collect_trajectories(env, {"agent": agent}, env.tasks("train")[:1])
    said = [Counter(c.name for c in turn.acts[0].action.completions) for turn in t.turns]
    assert said[0] == {"expected_regret": 5, "information_gain": 5}
    assert said[1] == said[2] == said[0] | {"posterior_update": 1}
    assert agent.model.stats.calls == 3 * (2 * 5 + 1)


def test_unreadable_estimates_are_the_safe_ones_and_counted() -> None:
    """All costs unreadable but one, all gains unreadable but one: the cheap action has no gain, the other one has."""
    env = sonde.make("bernoulli_bandit", arms=2)
    replies = ("who knows", "Expected regret: 0.1", "Information gain: 0.5", "Information gain: many")
    agent = make_agent(model=Scripted(replies=replies), retries=0)
    action = asyncio.run(agent.act(Episode.begin(env, env.tasks("train")[0]).view()))
    assert [(c.name, c.unread) for c in action.completions] == [
        ("expected_regret", "fallback"),
        ("expected_regret", ""),
        ("information_gain", ""),
        ("information_gain", "fallback"),
    ]
    assert action.memory["calls"] == {"expected_regret:fallback": 1, "information_gain:fallback": 1}
