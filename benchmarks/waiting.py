"""One process with a slow endpoint: the cost of thousands of episodes in flight.

    python benchmarks/waiting.py [--episodes 10000] [--latency 1.0] [--env twenty_questions]

The model is `models:fake`, whose replies take 0 to twice the latency, so nothing here computes but sonde: prompts,
rules, the rule user, records, the run folder. Prints CPU per turn, episodes and turns per second of this core, peak
memory, bytes on disk, and the time that the endpoint alone would need for as many turns.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from sonde.runs.rollout import record_plan
from sonde.runs.run import RunConfig, prepare_run

ASKED = ("Is it alive?", "Is it an animal?", "Is it bigger than a car?", "Is it used every day?", "Is it a tool?")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=10_000, help="all of them at once (default 10,000)")
    parser.add_argument("--latency", type=float, default=1.0, help="mean seconds of a reply (default 1)")
    parser.add_argument("--env", default="twenty_questions")
    given = parser.parse_args()
    model = {"name": "models:fake", "script": list(ASKED), "latency": given.latency}
    seats = {"agent": {"name": "agents:llm", "model": model}}
    config = RunConfig(env={"name": given.env}, seats=seats, concurrency=given.episodes, gains=False)
    ready = prepare_run(config)
    with tempfile.TemporaryDirectory() as folder:
        begun, cpu = time.perf_counter(), time.process_time()
        plan = replace(config.make_plan(), span=(0, given.episodes))
        run = record_plan(ready.env, ready.policies, ready.tasks, plan, Path(folder), ready.resolved_config)
        wall, cpu = time.perf_counter() - begun, time.process_time() - cpu
        turns = sum(entry.turns for entry in run.trajectories.index_entries())
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    per_turn, alone = 1e6 * cpu / turns, given.latency * turns / given.episodes
    print(f"{given.episodes:,} episodes, {turns:,} turns: {wall:.1f} s, {cpu:.1f} of them CPU; peak {peak:.0f} MB")
    print(
        f"{per_turn:.0f} us of CPU per turn; {turns / cpu:,.0f} turns and {given.episodes / cpu:,.0f} episodes a second"
    )
    print(f"the endpoint alone: {alone:.1f} s; {size / given.episodes:,.0f} bytes per episode")


if __name__ == "__main__":
    main()
