"""Cost of a step, a turn and a posterior update: CPU microseconds, best of several rounds.

    python benchmarks/core.py [--json]

`step` is `env.step` alone, with its own generator, as every step has; `turn` is `view` plus `Episode.step`, for the
agent alone; `update` is the slowest of 20 filter updates at the prior (the costliest, because everything is still
possible); `turn 400 / 10` compares the cost of a turn late and early in one long episode. A budget of 0 means none.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import sonde

BUDGET_STEP = {
    "wordle": 4,
    "mastermind": 4,
    "best_arm": 4,
    "text_nav": 10,
    "cellular_automata": 15,
    "battleship": 15,
    "minesweeper": 15,
}
BUDGET_TURN = {
    "wordle": 10,
    "mastermind": 10,
    "best_arm": 10,
    "text_nav": 25,
    "cellular_automata": 25,
    "battleship": 25,
    "minesweeper": 25,
}


def best_time(call: Callable[[], Any], n: int, rounds: int = 7) -> float:
    """CPU microseconds per call in the best round."""
    fastest = float("inf")
    for _ in range(rounds):
        begun = time.process_time()
        for _ in range(n):
            call()
        fastest = min(fastest, (time.process_time() - begun) / n)
    return fastest * 1e6


def time_awaited(ep: sonde.Episode) -> sonde.Episode:
    """The episode when the agent must act again, other seats played by their default policies."""
    return sonde.core.run_sync(sonde.core.advance_to_agent(ep, sonde.core.default_policies(ep.env)))


def typical_episode(env: Any) -> tuple[sonde.Episode, str]:
    """An episode at its second turn, and a legal text for it."""
    start = time_awaited(sonde.Episode.begin(env, env.tasks("train")[0]))
    random = sonde.make("agents:random")
    ep = time_awaited(start.step(random.act_now(start.view())))
    ep = start if ep.to_act is None else ep
    answer = random.act_now(ep.view()).text
    return ep, "<Think>Let me see what is left after the last answer.</Think> " + answer


def worst_update(env: Any) -> float | None:
    """CPU milliseconds of the slowest of 20 first updates, each of an answer that no filter has seen before.

    The largest board or the longest word among the first 100 tasks is taken.
    """
    tasks = env.tasks("test")[:100]
    task = max(tasks, key=lambda t: len(env.actions(env.reset(t, sonde.Rng(0, "benchmark"))) or ()))
    ep = time_awaited(sonde.Episode.begin(env, task))
    prior = env.filter(task.public)
    if prior is None:
        return None
    legal = ep.view().legal or ()
    slowest = 0.0
    for i in range(20):
        turn = time_awaited(ep.step(env.say(legal[(i * 997 + 11) % len(legal)]))).turns[-1]
        begun = time.process_time()
        prior.observe(turn).entropy  # noqa: B018
        slowest = max(slowest, time.process_time() - begun)
    return slowest * 1e3


def measure_env(name: str, preset: str) -> dict[str, Any]:
    env = sonde.make(name, preset=preset)
    ep, text = typical_episode(env)
    row: dict[str, Any] = {"env": name, "preset": preset}
    row["step us"] = best_time(lambda: env.step(ep.state, text, sonde.Rng(0, "benchmark")), 5000)
    row["turn us"] = best_time(lambda: (ep.view().messages, ep.step(text)), 5000)
    row["update ms"] = worst_update(env)
    row["make us"] = best_time(lambda: sonde.make(name, preset=preset), 200)
    row["budget step"], row["budget turn"] = BUDGET_STEP.get(name), BUDGET_TURN.get(name)
    return row


def measure_flatness() -> float:
    """Cost of turn 400 over that of turn 10, in Mastermind with 1,000 turns."""
    env = sonde.make("mastermind", max_turns=1000)
    ep = sonde.Episode.begin(env, env.task("0427"))
    costs: dict[int, float] = {}
    for turn in range(401):
        if turn in (10, 400):
            now = ep
            costs[turn] = best_time(lambda now=now: (now.view().messages, now.step("<Answer>1 1 2 2</Answer>")), 3000)
        ep = ep.step("<Answer>1 1 2 2</Answer>")
    return costs[400] / costs[10]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    rows = [measure_env(name, preset) for name in sonde.names() for preset in sonde.make(name).presets]
    ratio = measure_flatness()
    if args.json:
        print(json.dumps({"rows": rows, "turn 400 / turn 10": ratio}, indent=1))
        return
    print(f"{'':28}{'step us':>9}{'(budget)':>9}{'turn us':>9}{'(budget)':>9}{'update ms':>11}{'make us':>9}")
    for r in rows:
        update = f"{r['update ms']:.3f}" if r["update ms"] is not None else "n/a"
        print(
            f"{r['env'] + ' ' + r['preset']:28}{r['step us']:9.2f}{r['budget step'] or 0:9}{r['turn us']:9.2f}"
            f"{r['budget turn'] or 0:9}{update:>11}{r['make us']:9.1f}"
        )
    print(f"turn 400 / turn 10: {ratio:.2f}")


if __name__ == "__main__":
    main()
