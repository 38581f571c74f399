"""An evaluation in one file: tasks, play, score, intervals, bits per turn.

    python recipes/evaluate_loop.py                                                          # two programs, seconds
    python recipes/evaluate_loop.py --model Qwen/Qwen3-8B --base-url http://localhost:8000/v1

The problem is Mastermind as in PAPRIKA: k episodes of each test task, at temperature 0.7 and min-p 0.3. The information
gain of a turn is H(before) - H(after), the decrease of the exact posterior's entropy over the hidden code: a model can
ask well and lose, or win by luck. `sonde eval mastermind --model ...` does this and more: run folders that survive a
crash, budgets, normalised scores, reports.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

import sonde


@dataclass(frozen=True)
class Result:
    """The measurements of one episode."""

    success: float
    turns: int
    bits: tuple[float, ...]  # one number per turn


# --- play ------------------------------------------------------------------------------------------------------------


async def play(env: sonde.Env[Any], agent: sonde.Policy, task: sonde.Task, sample: int) -> Result:
    """Play one episode. `seed` is that of the world; episodes of a task differ in their sample number."""
    ep = sonde.Episode.begin(env, task, seed=0, sample=sample)
    entropies = [measure_entropy(ep)]
    while ep.to_act is not None:
        action = await agent.act(ep.view())  # a view has only what the seat was told
        ep = ep.step(action)
        entropies.append(measure_entropy(ep))
    assert ep.outcome is not None
    bits = tuple(before - after for before, after in pairwise(entropies))
    return Result(float(ep.outcome.success), len(ep.turns), bits)


def measure_entropy(ep: sonde.Episode) -> float:
    """The entropy of the exact posterior, in bits."""
    posterior = ep.posterior()
    assert posterior is not None, "the environment has no filter"
    return posterior.entropy


async def play_all(
    env: sonde.Env[Any], agent: sonde.Policy, tasks: Sequence[sonde.Task], k: int, concurrency: int
) -> list[list[Result]]:
    """Play k episodes of each task, at most `concurrency` at a time; one row per task."""
    gate = asyncio.Semaphore(concurrency)

    async def play_one(task: sonde.Task, sample: int) -> Result:
        async with gate:
            return await play(env, agent, task, sample)

    async def play_task(task: sonde.Task) -> list[Result]:
        return await asyncio.gather(*(play_one(task, sample) for sample in range(k)))

    return await asyncio.gather(*map(play_task, tasks))


# --- score -----------------------------------------------------------------------------------------------------------


def estimate(values_TK: np.ndarray, resamples: int = 2000) -> tuple[float, float, float]:
    """Mean with a 95 % interval. Episodes of a task are correlated, so tasks are resampled (cluster bootstrap)."""
    means_T = values_TK.mean(axis=1)
    rng = np.random.Generator(np.random.PCG64(0))
    drawn_BT = rng.integers(0, len(means_T), (resamples, len(means_T)))
    low, high = np.quantile(means_T[drawn_BT].mean(axis=1), [0.025, 0.975])
    return float(means_T.mean()), float(low), float(high)


def report(name: str, rows: Sequence[Sequence[Result]]) -> None:
    tables = {
        "success": np.array([[result.success for result in row] for row in rows]),
        "turns": np.array([[result.turns for result in row] for row in rows], float),
        "bits per turn": np.array([[sum(result.bits) / result.turns for result in row] for row in rows]),
    }
    for measure, table in tables.items():
        mean, low, high = estimate(table)
        print(f"{name:10} {measure:14} {mean:.2f} [{low:.2f}, {high:.2f}]")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a model of an OpenAI-compatible endpoint, in addition to the two programs")
    parser.add_argument("--base-url", default="http://localhost:8000/v1")
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("-k", type=int, default=4)
    args = parser.parse_args()
    agents = {"random": sonde.make("agents:random"), "entropy": sonde.make("agents:entropy")}
    if args.model:
        endpoint = sonde.make("models:http", model=args.model, base_url=args.base_url)
        agents[args.model] = sonde.make("agents:llm", model=endpoint, temperature=0.7, min_p=0.3)
    env = sonde.make("mastermind", preset="paprika")
    for name, agent in agents.items():
        report(name, asyncio.run(play_all(env, agent, env.tasks("test")[: args.tasks], args.k, concurrency=32)))


if __name__ == "__main__":
    main()
