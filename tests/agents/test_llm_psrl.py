"""PSRL made of language models: without mistakes it does what PSRL does; with mistakes, nothing is silent."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import Any

import numpy as np
import pytest

import sonde
from sonde.agents._shared.priors import well_specified_prior
from sonde.agents.llm_psrl import LLMPSRL
from sonde.core import Env, Episode, Policy, Trajectory, UserError, build
from sonde.evaluation import regret
from sonde.models._shared.json_beliefs import read_blocks
from sonde.models.oracle import Oracle
from sonde.runs.rollout import collect_trajectories
from tests.cases import each

from .test_calls import Scripted


def make_agent(**config: Any) -> LLMPSRL:
    return sonde.make("agents:llm_psrl", **{"model": Oracle(), **config})


def count_calls(trajectory: Trajectory) -> Counter[str]:
    """How often each sub-call was made, and, after a colon, how often for nothing."""
    said = [c for turn in trajectory.turns for c in turn.acts[0].action.completions]
    return Counter(f"{c.name}:{c.unread}" if c.unread else c.name for c in said)


def play_episode(env: Env[Any], agent: Policy, n_acts: int, task: int = 0) -> Episode:
    ep = Episode.begin(env, env.tasks("train")[task], seed=5)
    for _ in range(n_acts):
        ep = ep.step(asyncio.run(agent.act(ep.view())))
    return ep


# --- calls -----------------------------------------------------------------------------------------------------------


def test_k_times_h_plus_2_calls() -> None:
    """Whole-trajectory updates, no cache; the last update happens in `finish` and so is on no act."""
    env, agent = sonde.make("river_swim"), make_agent()
    (t,) = collect_trajectories(env, {"agent": agent}, env.tasks("train")[:1])
    assert agent.model.stats.calls == 35 * (6 + 2)
    assert count_calls(t) == {"posterior_sample": 35, "policy": 35 * 6, "posterior_update": 34}


def test_three_calls_a_pull_in_bandits() -> None:
    env, agent = sonde.make("bernoulli_bandit", max_turns=40), make_agent(updates="step")
    (t,) = collect_trajectories(env, {"agent": agent}, env.tasks("train")[:1])
    assert agent.model.stats.calls == 3 * 40
    assert count_calls(t) == {"posterior_sample": 40, "policy": 40, "posterior_update": 39}


def test_updates_by_step() -> None:
    env, agent = sonde.make("river_swim", max_turns=12), make_agent(updates="step")
    (t,) = collect_trajectories(env, {"agent": agent}, env.tasks("train")[:1])
    assert count_calls(t) == {"posterior_sample": 2, "policy": 12, "posterior_update": 11}
    assert agent.model.stats.calls == 26


def test_the_cache_asks_once_per_state_and_sub_episode() -> None:
    env, agent = sonde.make("river_swim"), make_agent(cache=True)
    (t,) = collect_trajectories(env, {"agent": agent}, env.tasks("train")[:1])
    for k in range(35):
        acts = [turn.acts[0].action for turn in t.turns if turn.info["sub_episode"] == k]
        states = [turn.info["state"] for turn in t.turns if turn.info["sub_episode"] == k]
        asked = [any(c.name == "policy" for c in act.completions) for act in acts]
        assert asked == [state not in states[:i] for i, state in enumerate(states)]
        assert len({(s, act.text) for s, act in zip(states, acts, strict=True)}) == len(set(states))


def test_each_sub_call_has_its_own_model_and_temperature() -> None:
    env = sonde.make("combination_lock")
    models = {name: Oracle() for name in ("model", "sampler_model", "policy_model", "updater_model")}
    agent = sonde.make("agents:llm_psrl", **models, sampler_temperature=1.2)
    (t,) = collect_trajectories(env, {"agent": agent}, env.tasks("train")[:1])
    k = t.turns[-1].info["sub_episode"] + 1
    assert [m.stats.calls for m in models.values()] == [0, k, 3 * k, k]
    assert agent.config["sampler_temperature"] == 1.2
    assert build(agent.config) == agent


# --- what it does on a model that makes no mistakes ------------------------------------------------------------------


@pytest.mark.slow
@each(
    "env, preset, n, updates",
    [
        ("river_swim", "length3", 60, "trajectory"),
        ("river_swim", "length3", 40, "step"),
        ("combination_lock", "psrl", 200, "trajectory"),
        ("bernoulli_bandit", "informative", 100, "step"),
    ],
)
def test_regret_is_that_of_classic_psrl(env: str, preset: str, n: int, updates: str) -> None:
    """Mean cumulative regrets within three standard errors of their difference, in the same worlds."""
    game = sonde.make(env, preset=preset)
    rows = [
        regret.regret_table(game, collect_trajectories(game, {"agent": agent}, game.tasks("train")[:n])).sum(axis=1)
        for agent in (make_agent(updates=updates), sonde.make("agents:psrl"))
    ]
    error = np.sqrt(sum(row.var(ddof=1) / n for row in rows))
    assert abs(rows[0].mean() - rows[1].mean()) < 3.0 * error
    assert error < 0.25 * rows[1].mean()


@pytest.mark.thorough
def test_on_bernoulli_bandits_it_is_thompson_sampling() -> None:
    game = sonde.make("bernoulli_bandit")
    rows = [
        regret.regret_table(game, collect_trajectories(game, {"agent": agent}, game.tasks("train")[:60])).sum(axis=1)
        for agent in (make_agent(), sonde.make("agents:thompson"))
    ]
    assert abs(rows[0].mean() - rows[1].mean()) < 3.0 * np.sqrt(sum(row.var(ddof=1) / 60 for row in rows))


def test_beliefs_hold_everything_that_was_seen() -> None:
    """The oracle's text after two sub-episodes: prior counts plus one for every move, rewards as they were paid."""
    ep = play_episode(sonde.make("river_swim"), make_agent(), 13)
    (belief,) = json.loads(ep.view().memory["beliefs"].split("```json\n")[1].split("\n```")[0]).values()
    counts = Counter((t.info["state"], t.info["action"], t.info["next"]) for t in ep.turns[:12])
    for s, rows in belief["transitions"].items():
        for a, row in rows.items():
            assert {t: round(x - 0.333333) for t, x in row.items()} == {t: counts[s, a, t] for t in row}
    paid = {(t.info["state"], t.info["action"]): t.info["reward"] for t in ep.turns[:12]}
    assert all(r == paid.get((s, a)) for s, row in belief["rewards"].items() for a, r in row.items())


def test_beliefs_hold_rewards_by_next_cave_where_they_depend_on_it() -> None:
    env = sonde.make("river_swim", rewards="transition")
    ep = play_episode(env, make_agent(), 25)
    text = ep.view().memory["beliefs"]
    (belief,) = json.loads(text.split("```json\n")[1].split("\n```")[0]).values()
    paid = {(t.info["state"], t.info["action"], t.info["next"]): t.info["reward"] for t in ep.turns[:24]}
    seen = {(s, a, t): r for s, rows in belief["rewards"].items() for a, row in rows.items() for t, r in row.items()}
    assert len(seen) == 18 and {at: r for at, r in seen.items() if r is not None} == paid
    first = Episode.begin(env, env.tasks("train")[0]).view()
    assert "when it leads to a given next state" in well_specified_prior(first)


def test_certain_transitions_are_told_in_the_prior() -> None:
    env = sonde.make("river_swim", downstream_known=True)
    ep = play_episode(env, make_agent(), 1)
    known = env.decision_problem(ep.task.public).known
    assert len(known) == 3
    for s, a, t in known:
        assert f"{a} in {s} leads to {t}" in ep.view().memory["beliefs"]


@each(
    "config, words",
    [
        ({"env": "bernoulli_bandit"}, "Beta(1, 1)"),
        ({"env": "bernoulli_bandit", "preset": "informative"}, "0: 0.05"),
        ({"env": "river_swim"}, "0.333333"),
        ({"env": "combination_lock"}, "3 different symbols out of 0 to 9"),
        ({"env": "letter_wordle"}, "word of 5 letters"),
    ],
)
def test_well_specified_priors(config: dict[str, str], words: str) -> None:
    env = sonde.make(config.pop("env"), **config)
    assert words in well_specified_prior(Episode.begin(env, env.tasks("train")[0]).view())


# --- forks, replay, resume -------------------------------------------------------------------------------------------


# --- mistakes --------------------------------------------------------------------------------------------------------


def test_malformed_replies_are_retried_and_counted() -> None:
    env, agent = sonde.make("combination_lock"), make_agent(model=Oracle(malformed=0.3), retries=8)
    for t in collect_trajectories(env, {"agent": agent}, env.tasks("train")[:5]):
        counted = t.turns[-1].acts[0].action.memory["calls"]
        assert counted == {name: n for name, n in count_calls(t).items() if ":" in name}
        assert sum(counted.values()) > 0 and not any("fallback" in name for name in counted)
        assert t.outcome is not None and t.outcome.success


def test_fallbacks_keep_the_episode_going_and_are_counted() -> None:
    env, agent = sonde.make("combination_lock"), make_agent(model=Oracle(malformed=1.0), retries=1)
    for t in collect_trajectories(env, {"agent": agent}, env.tasks("train")[:3]):
        found = count_calls(t)
        memory = t.turns[-1].acts[0].action.memory
        k = t.turns[-1].info["sub_episode"] + 1
        assert not t.error and found["policy:fallback"] == len(t.turns) == memory["calls"]["policy:fallback"]
        assert found["posterior_sample:fallback"] == found["posterior_sample:malformed"] == k
        assert memory["absorbed"] == 0 and memory["hypothesis"] == ""
        assert {turn.info["result"] for turn in t.turns} == {"step"}


def test_an_update_that_failed_is_made_up_for() -> None:
    """The sub-episode whose update could not be read is part of the next update."""
    noise = "?"
    sample, act = 'Hypothesis: {"code": "123"}', "Action: 1"
    replies = (sample, act, act, act, noise, sample, act, act, act, "Beliefs: all of it", sample, act)
    model = Scripted(replies=replies)
    ep = play_episode(sonde.make("combination_lock"), make_agent(model=model, retries=0), 7)
    memory = ep.view().memory
    assert (memory["beliefs"], memory["absorbed"]) == ("all of it", 6)
    assert memory["calls"] == {"posterior_update:fallback": 1}
    lengths = [len(read_blocks(model.asked[i][0])["experience"]) for i in (4, 9)]
    assert lengths == [3, 6]


def test_without_a_hypothesis_the_policy_acts_on_the_beliefs() -> None:
    model = Scripted(replies=("?", "Action: 1"))
    ep = play_episode(sonde.make("combination_lock"), make_agent(model=model, retries=0, prior="It may be 123."), 1)
    assert "It may be 123." in model.asked[1][0][0].content
    assert ep.view().memory["calls"] == {"posterior_sample:fallback": 1}


def test_a_model_may_write_the_prior() -> None:
    model = Scripted(replies=("Beliefs: It is likely 123.", "Hypothesis: 123", "Action: 1"))
    ep = play_episode(sonde.make("combination_lock"), make_agent(model=model, prior="model"), 1)
    assert ep.view().memory["beliefs"] == "It is likely 123."
    assert [c.name for c in ep.turns[0].acts[0].action.completions] == ["prior", "posterior_sample", "policy"]


def test_other_environments_are_played_turn_by_turn() -> None:
    """Without a finite problem each turn is a sub-episode: sample, act, update."""
    env = sonde.make("mastermind", length=2)
    replies = ("Hypothesis: 12", "Action: 12", "Beliefs: not 12", "Hypothesis: 34", "Action: <Answer>34</Answer>")
    model = Scripted(replies=replies)
    ep = play_episode(env, make_agent(model=model, prior="Any code."), 2)
    assert [turn.text for turn in ep.turns] == [env.say("12"), env.say("34")]
    assert read_blocks(model.asked[2][0])["experience"][0]["action"] == "12"
    with pytest.raises(UserError, match="mastermind describes no finite problem"):
        play_episode(env, make_agent(), 1)


def test_beliefs_that_would_not_fit_are_malformed() -> None:
    huge = "Beliefs: " + "海" * 5000
    model = Scripted(
        replies=("Hypothesis: 1", *("Action: 1",) * 3, huge, "Beliefs: short", "Hypothesis: 2", "Action: 1")
    )
    ep = play_episode(sonde.make("combination_lock"), make_agent(model=model), 4)
    assert ep.view().memory["beliefs"] == "short" and ep.view().memory["calls"] == {"posterior_update:malformed": 1}
    with pytest.raises(UserError, match="prior: got 30,002 bytes of JSON, allowed: at most 24,000"):
        play_episode(sonde.make("combination_lock"), make_agent(prior="海" * 5000), 1)
