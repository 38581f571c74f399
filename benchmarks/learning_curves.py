"""Learning curves for the pages of the algorithms: what each objective makes of one small model, step by step.

    python benchmarks/learning_curves.py [NAME ...]          # writes docs/algorithms/learning.json

`sonde-tiny-maze` plays 300 training tasks of `maze`, preset `pairs`, 3 times each at temperature 1. Objectives that
learn from recorded episodes learn from these 900, and every ten steps the model is tested: success on 60 test tasks, a
game of each, at temperature 1. Those that play by themselves, 64 episodes a step, are not tested: their curve is the
success of what they played in the ten steps before. One training seed, nothing was tuned beyond the settings named
`tiny_*`, so the curves say how a training goes, and not which objective is best.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import sonde
from sonde import metrics
from sonde.core import AGENT, Trajectory
from sonde.evaluate import evaluate
from sonde.rollout import Plan, collect
from sonde.train.gather import Game
from sonde.train.learn import learn, learn_online
from sonde.train.presets import Training, preset

DATA = Path(__file__).parents[1] / "docs" / "algorithms" / "learning.json"
BASE = "sonde-tiny-maze"
LESSONS, SAMPLES, TESTS = 300, 3, 60
STEPS, EVERY = 40, 10
KNOWN: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "sft": ("tiny_sft", {}),
    "filtered_bc": ("tiny_filtered_bc", {}),
    "rwr": ("tiny_sft", {"lr": 5e-4}),
    **{name: ("tiny_rpo", {}) for name in ("dpo", "rpo", "ipo", "ln_dpo", "simpo", "kto")},
    "grpo": ("tiny_grpo", {}),
    "ppo": ("tiny_ppo", {}),
}
"""The settings of every curve, and what is changed in them."""


@cache
def tested(model: str) -> list[float]:
    """Success on the test tasks with its interval."""
    env = sonde.make("maze", preset="pairs")
    played = collect(env, {AGENT: player(model)}, env.tasks("test")[:TESTS])
    won = evaluate(played, gains=False).metrics["success"]
    assert won is not None
    return [round(value, 3) for value in (won.mean, won.low, won.high)]


def player(model: str) -> Any:
    backend = sonde.make("models:hf", model=model, max_batch=256, threads=1)
    return sonde.make("agents:llm", model=backend, temperature=1.0, min_p=0.0, max_new_tokens=8)


def curve(name: str, played: Sequence[Trajectory], folder: Path) -> list[list[float]]:
    """Step, mean, low and high after every ten steps, and at first."""
    known, changes = KNOWN[name]
    objective = name if name != "filtered_bc" else "sft"
    settings = {"folder": str(folder), "max_steps": STEPS, "save_steps": EVERY, "keep": STEPS // EVERY, **changes}
    training: Training = preset(known, **settings).of(objective)
    if training.plays:
        env = sonde.make("maze", preset="pairs")
        done = learn_online(BASE, training, [Game(env, env.tasks("train"), "maze")])
        return by_play([float(entry["success"]) for entry in done.history if "success" in entry])
    done = learn(BASE, training, played)
    found = [(int(place.name.partition("-")[2]), place) for place in folder.glob("checkpoint-*")]
    places = dict(sorted(found)) | {done.steps: Path(done.model)}
    return [[0, *tested(BASE)], *([step, *tested(str(place))] for step, place in places.items())]


def by_play(success: Sequence[float]) -> list[list[float]]:
    """Of every ten steps the mean, with an interval over the steps, each of which played other tasks."""
    found: list[list[float]] = []
    for end in range(EVERY, len(success) + 1, EVERY):
        e = metrics.mean([[value] for value in success[end - EVERY : end]], bounds=(0.0, 1.0))
        found.append([end, *(round(value, 3) for value in (e.mean, e.low, e.high))])
    return found


def keep(name: str, points: list[list[float]]) -> None:
    """Beside those of the other objectives, one on each line."""
    known = json.loads(DATA.read_text("utf-8")) if DATA.is_file() else {}
    known[name] = points
    lines = (f"{json.dumps(key)}: {json.dumps(known[key])}" for key in sorted(known))
    DATA.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(KNOWN)} (default: all)")
    asked = parser.parse_args().names or list(KNOWN)
    env = sonde.make("maze", preset="pairs")
    played = collect(env, {AGENT: player(BASE)}, env.tasks("train")[:LESSONS], Plan(k=SAMPLES))
    with tempfile.TemporaryDirectory() as place:
        for name in asked:
            clock = time.process_time()
            points = curve(name, played, Path(place) / name)
            print(f"{name}: {points} ({time.process_time() - clock:.0f} CPU s)", flush=True)
            keep(name, points)


if __name__ == "__main__":
    main()
