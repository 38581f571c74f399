"""The reference seller sells nearly always, near the highest price that the buyer would pay."""

from __future__ import annotations

import sonde
from sonde.envs.car_dealer.negotiation import TalkSummary, price_limit
from sonde.runs.rollout import collect_trajectories


def test_sells_close_to_the_limit() -> None:
    env = sonde.make("car_dealer", reward="price")
    tasks = env.tasks("test")[:60]
    played = collect_trajectories(env, {"agent": sonde.make("agents:car_dealer")}, tasks)
    paid = sum(turn.rewards.get("agent", 0.0) for t in played for turn in t.turns)
    best = 0.0
    for task in tasks:
        buyer, listed = env.reset(task, None).buyer, task.public["listed"]
        treated = TalkSummary(explained=frozenset(buyer.wants), concessions=4 if buyer.character == "bargain" else 0)
        best += price_limit(buyer, treated, listed) / 1000
    assert 0.95 * best < paid <= best
