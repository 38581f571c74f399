"""The model that goes by records: every call by hand, and the agents that are made of such calls on it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

import sonde
from sonde.core import Message, Sampling, UserError
from sonde.evaluation import regret
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.testing.records import World

MODEL = sonde.make("sonde.testing.records:Records")
STEPS = [
    {"observation": "1", "action": "x", "next": "2", "reward": 0.0},
    {"observation": "1", "action": "x", "next": "1", "reward": 0.5},
    {"observation": "2", "action": "y", "next": "2", "reward": 1.0},
    {"observation": "2", "action": None, "next": "2", "reward": 0.0},
]


def asked(call: str, shown: Mapping[str, Sequence[Any]], seed: int = 0, **situation: Any) -> str:
    """The reply to a call that shows these blocks, with x, y and z to choose from."""
    blocks = [*({name: rows} for name, rows in shown.items()), {"situation": {"call": call, **situation}}]
    text = "\n\n".join(f"```json\n{json.dumps(block)}\n```" for block in blocks)
    prompt = f"{text}\n\nThe available actions: x, y, z.\n\nWhich one?"
    return asyncio.run(MODEL.generate([Message("user", prompt)], Sampling(seed=seed))).text


def replies(call: str, shown: Mapping[str, Sequence[Any]], **situation: Any) -> set[str]:
    return {asked(call, shown, seed, **situation) for seed in range(40)}


def test_a_simulation_repeats_what_was_seen() -> None:
    shown = {"examples": STEPS}
    assert replies("transition", shown, simulated="1", action="x") == {"Next: 1", "Next: 2"}
    assert replies("transition", shown, simulated="1", action="y") == {"Next: 1"}
    assert asked("reward", shown, simulated="1", action="x") == "Reward: 0.25"
    assert asked("reward", shown, simulated="2", action="x") == "Reward: 0.0"
    assert replies("rollout_policy", shown, simulated="2") == {"Action: y"}
    assert replies("rollout_policy", shown, simulated="3") == {"Action: x", "Action: y", "Action: z"}


def test_a_policy_plans_in_the_world_of_the_records() -> None:
    """From 1, x leads to 2 every other time, where y pays; what was never tried stays and pays nothing."""
    world = World(STEPS[:3], ["x", "y"])
    assert world.action_value("1", "x", 1) == 0.25 and world.action_value("1", "y", 1) == 0.0
    assert world.action_value("1", "x", 2) == 0.25 + (1.0 + 0.25) / 2 and world.action_value("1", "y", 2) == 0.25
    assert replies("policy", {"experience": STEPS}, state="1", horizon=2, step=0) == {"Action: x"}
    assert replies("policy", {}, state="1", horizon=2, step=0) == {"Action: x", "Action: y", "Action: z"}


def test_what_is_not_repeated_in_a_list_is_what_came_before() -> None:
    told = [STEPS[0], {"action": "y", "next": "3", "reward": 1.0}]
    assert asked("reflection", {"experience": told}).endswith(
        '{"observation": "2", "action": "y", "next": "3", "reward": 1.0}]}\n```'
    )


def test_a_note_says_all_that_a_round_showed() -> None:
    """Reflexion plays as in-context learning does that is shown everything: the first rewarded arm, again and again."""
    env = sonde.make("bernoulli_bandit", max_turns=30)
    found: list[list[float]] = []
    for name in ("reflexion", "icrl"):
        agent = sonde.make(f"agents:{name}", model=MODEL)
        played = collect_trajectories(env, {"agent": agent}, env.tasks("train")[:20], Plan(k=1))
        for t in played:
            arms = [turn.info["action"] for turn in t.turns]
            paid = [turn.info["reward"] for turn in t.turns].index(1.0)
            assert set(arms[paid:]) == {arms[paid]}
        found.append(list(regret.cumulative_regret(regret.regret_table(env, played)).mean))
    assert found[0][0] == pytest.approx(found[1][0], abs=0.1)


def test_policy_iteration_takes_the_small_reward_that_it_knows() -> None:
    """Nothing else has paid when the first cave does: the distant reward is not found, as PSRL finds it."""
    env = sonde.make("river_swim", sub_episodes=8)
    (t,) = collect_trajectories(env, {"agent": sonde.make("agents:icpi", model=MODEL)}, env.tasks("test")[:1])
    rewards = [turn.info["reward"] for turn in t.turns]
    first = rewards.index(0.005)
    assert set(rewards[first + 6 :]) <= {0.0, 0.005} and rewards.count(0.005) > 20


def test_a_call_of_another_kind_is_an_error() -> None:
    with pytest.raises(UserError, match="call: got 'posterior_update', allowed: transition"):
        asked("posterior_update", {})
    with pytest.raises(UserError, match="call: got None"):
        asyncio.run(MODEL.generate([Message("user", "```json\n{oops\n```")], Sampling()))
