"""Test whether the demo's training helps with every seed: success before and after, at temperatures 1 and 0.

    python recipes/tiny/cure.py [--seeds 0 1 2] [--steps 12] [--tests 200] [--rate LR] [--to runs/cure.json]

`sonde-tiny-habit` plays `best_arm`, preset `small`: it tries three machines, and then mostly names the one that has won
least. It trains as in `make demo` and in `sonde train grpo --model sonde-tiny-habit` (GRPO with the settings that sonde
chooses), once per seed, which determines tasks, worlds and sampled tokens. All seeds are tested in the same worlds,
those of the test split; intervals are over its tasks. The script uses one thread. CPU seconds are those of the
training, including its evaluations on held-out tasks. `warnings` are those that the training would print, each with
the step at which it first shows; with a `--rate` that is too high, they can be compared with what became of the model.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

import sonde
from sonde.evaluation.metrics import paired_difference, rate
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.viewer.training_history import read_histories

sys.path.append(str(Path(__file__).parents[1]))
from demo import LEARNER, PLAYED, TEMPERATURES, train_learner


def play_tests(model: str, temperature: float, n: int) -> list[list[float]]:
    """1 or 0 for each test task."""
    env = sonde.make(PLAYED.env, preset=PLAYED.preset)
    agent = sonde.make(
        "agents:llm", model=sonde.make("models:hf", model=model, threads=1, max_batch=256), context=PLAYED.context,
        temperature=temperature, min_p=0.0, max_new_tokens=LEARNER.max_new_tokens,
    )  # fmt: skip
    played = collect_trajectories(env, {sonde.AGENT: agent}, env.tasks("test")[:n], Plan())
    return [[float(t.outcome is not None and t.outcome.success)] for t in played]


def cure_seed(
    seed: int, steps: int, tests: int, lr: float | None, before: dict[float, list[list[float]]]
) -> dict[str, Any]:
    """Train with a seed, test, and compare task by task."""
    with TemporaryDirectory() as folder:
        begun = time.process_time()
        model = train_learner(Path(folder), steps, seed, lr)
        row: dict[str, Any] = {"seed": seed, "cpu_seconds": round(time.process_time() - begun)}
        row["warnings"] = {problem.name: step for step, problem in read_histories([Path(folder)])[0].problems}
        for t in TEMPERATURES:
            after = play_tests(str(model), t, tests)
            gain = paired_difference(after, before[t])
            row[f"temperature {t:g}"] = {"after": str(rate(after)), "gain": str(gain), "helps": gain.low > 0}
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(10)))
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--tests", type=int, default=200)
    parser.add_argument("--rate", type=float, help="learning rate (by default the one that sonde chooses, 5e-4)")
    parser.add_argument("--to", type=Path, default=Path("runs/cure.json"))
    args = parser.parse_args()
    torch.set_num_threads(1)
    before = {t: play_tests(LEARNER.name, t, args.tests) for t in TEMPERATURES}
    start = {f"temperature {t:g}": str(rate(won)) for t, won in before.items()}
    found: dict[str, Any] = {"steps": args.steps, "tests": args.tests, "rate": args.rate, "before": start, "seeds": []}
    print(found["before"], flush=True)
    for seed in args.seeds:
        found["seeds"].append(cure_seed(seed, args.steps, args.tests, args.rate, before))
        print(found["seeds"][-1], flush=True)
        args.to.parent.mkdir(parents=True, exist_ok=True)
        args.to.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
