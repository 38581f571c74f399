"""Scoring recorded runs: wall and CPU seconds of playing, of scoring with gains, and of scoring a second time.

python benchmarks/scoring.py wordle       5,000 Wordle episodes (goal: 10 s on two cores, again in less than 2 s)
python benchmarks/scoring.py mastermind   2,000 Mastermind episodes (goal: 60 s on two cores, again in less than 2 s)
python benchmarks/scoring.py ENV -n N     any environment

The agent is `random`, the most expensive to score: hardly any two episodes share a history. CPU seconds are summed over
all processes.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sonde._util.processes import count_cores
from sonde.evaluation.run_evaluation import rescore_run
from sonde.runs.run import config_from, play_run, prepare_run

EPISODES = {"wordle": 5_000, "mastermind": 2_000}
T = TypeVar("T")


def time_scoring(what: str, work: Callable[[], T]) -> T:
    wall, cpu = time.perf_counter(), sum(os.times()[:4])
    result = work()
    wall, cpu = time.perf_counter() - wall, sum(os.times()[:4]) - cpu
    print(f"  {what:13} {wall:6.1f} s {cpu:6.1f} CPU s", flush=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("env")
    parser.add_argument("-n", type=int)
    args = parser.parse_args()
    n = args.n or EPISODES.get(args.env, 500)
    seats = {"agent": {"name": "agents:random"}}
    tasks = len(prepare_run(config_from({"env": {"name": args.env}, "seats": seats})).tasks)
    n_tasks = min(n, tasks)
    run = prepare_run(
        config_from({"env": {"name": args.env}, "seats": seats, "n_tasks": n_tasks, "k": -(-n // n_tasks)})
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "run"
        print(f"{args.env}: {run.config.k * n_tasks:,} episodes, {count_cores()} cores")
        time_scoring("played", lambda: play_run(run, folder))
        first = time_scoring("scored", lambda: rescore_run(run, folder))
        again = time_scoring("scored again", lambda: rescore_run(run, folder))
        assert again.rows == first.rows


if __name__ == "__main__":
    main()
