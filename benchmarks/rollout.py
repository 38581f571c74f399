"""Thousands of episodes at once: wall seconds, turns per second and peak memory.

python benchmarks/rollout.py fake     10,000 concurrent Mastermind episodes, fake model (budget: 2 GB)
python benchmarks/rollout.py exact    2,000 concurrent Mastermind episodes, entropy agent
python benchmarks/rollout.py random   10,000 Mastermind episodes, random agent
python benchmarks/rollout.py lane     10,000 one-turn episodes answered one by one: CPU seconds
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import time
from dataclasses import dataclass, field

import sonde
from sonde.core import Action, Policy, View
from sonde.runs.rollout import Plan, collect_trajectories

RUNS = {"fake": 10_000, "exact": 2_000, "random": 10_000, "lane": 10_000}
LANES = (256, 5_000)


@dataclass(frozen=True, kw_only=True)
class SequentialPolicy(Policy):
    """A policy that answers one call at a time, so that episodes end one by one and each is awaited alone."""

    lane: asyncio.Lock = field(default_factory=asyncio.Lock, metadata={"config": False})

    async def act(self, view: View) -> Action:
        async with self.lane:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        return Action("no answer at all")


def play_lane(n: int) -> None:
    """Cost of waiting: the same episodes at low and at high concurrency."""
    env = sonde.make("mastermind")
    tasks = env.tasks("train")
    for concurrency in LANES:
        begun = time.process_time()
        found = collect_trajectories(
            env, {"agent": SequentialPolicy()}, tasks, Plan(k=n // len(tasks), concurrency=concurrency)
        )
        print(f"lane: {len(found)} episodes at concurrency {concurrency}: {time.process_time() - begun:.1f} CPU s")


def make_policy(kind: str) -> sonde.core.AnyPolicy:
    if kind == "fake":
        model = sonde.make("models:fake", script=("<Answer>1 1 2 2</Answer>", "<Answer>3 4 5 6</Answer>"))
        return sonde.make("agents:llm", model=model)
    return sonde.make("agents:entropy" if kind == "exact" else "agents:random")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=RUNS)
    kind = parser.parse_args().kind
    if kind == "lane":
        play_lane(RUNS[kind])
        return
    env = sonde.make("mastermind")
    tasks, n = env.tasks("train"), RUNS[kind]
    plan = Plan(k=n // len(tasks), concurrency=n)
    begun = time.perf_counter()
    found = collect_trajectories(env, {"agent": make_policy(kind)}, tasks, plan)
    seconds = time.perf_counter() - begun
    turns = sum(len(t.turns) for t in found)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{kind}: {len(found)} episodes, {turns} turns in {seconds:.1f} s, {turns / seconds:,.0f} turns/s, "
        f"{peak:.0f} MB"
    )


if __name__ == "__main__":
    main()
