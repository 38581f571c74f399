"""Learning curves for the pages of the algorithms: success of one small model under each objective, step by step.

    python benchmarks/learning_curves.py [NAME ...]          # writes docs/algorithms/learning.json

`sonde-tiny-best_arm` plays 400 training tasks of `best_arm`, preset `small`, 4 times each at temperature 1. Objectives
that learn from recorded episodes learn from these 1,600; `grpo`, `ppo` and `online_filtered_bc` play 64 episodes a
step. Every ten steps the model is tested: success on 300 test tasks, a game of each, at temperature 1, and the share of
episodes without unreadable replies. `mc` and `ilql` are tested by playing with their values. One training seed, and
settings that were not tuned (except the rate of the preference objectives: with `dpo`, 60 steps and 150 tasks, 2e-4
reached .73 and 5e-5 .67), so the curves show how a training proceeds and not which objective is best. Each curve is
saved when it is finished; existing ones are measured again only where they are named.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import sonde
from sonde.core import AGENT, Env, Trajectory
from sonde.core.types import Json
from sonde.evaluation.evaluate import evaluate
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.train.by_name import learn, learn_online
from sonde.train.collect import Game
from sonde.train.presets import describe_preset, preset
from sonde.train.training import Training

DATA = Path(__file__).parents[1] / "docs" / "algorithms" / "learning.json"
BASE, CONTEXT = "sonde-tiny-best_arm", "render"
LESSONS, SAMPLES, TESTS = 400, 4, 300
STEPS, EVERY = 40, 10
BETA = 16.0
"""How strongly values count where they are played by."""


class CurveSettings(NamedTuple):
    """A preset with changes to the trainer's settings and the objective's options."""

    preset: str
    settings: Mapping[str, Any] = {}
    options: Mapping[str, Json] = {}
    objective: str = ""


_FASTER = {"lr": 2e-4}
WAYS: Mapping[str, CurveSettings] = {
    "sft": CurveSettings("tiny_sft"),
    "filtered_bc": CurveSettings("tiny_filtered_bc"),
    "rwr": CurveSettings("tiny_sft", options={"temperature": 0.25, "max_weight": 30.0}, objective="rwr"),
    **{
        name: CurveSettings("tiny_rpo", _FASTER, objective=name)
        for name in ("dpo", "rpo", "ipo", "ln_dpo", "simpo", "kto")
    },
    "mc": CurveSettings("tiny_mc"),
    "ilql": CurveSettings("tiny_ilql"),
    "grpo": CurveSettings("tiny_grpo"),
    "ppo": CurveSettings("tiny_ppo"),
    "online_filtered_bc": CurveSettings("tiny_online_filtered_bc"),
}
"""How every curve comes about."""


def make_training(name: str, folder: Path) -> Training:
    """The complete training settings of the curve of this name."""
    way = WAYS[name]
    settings = {"folder": str(folder), "max_steps": STEPS, "save_steps": EVERY, "keep": STEPS // EVERY, **way.settings}
    known: Training = preset(way.preset, **settings)
    known = known.for_objective(way.objective or known.objective)
    return replace(
        known, options={**known.options, **way.options}, learning=replace(known.learning, context=CONTEXT),
        online=replace(known.online, context=CONTEXT),
    )  # fmt: skip


def make_env() -> Env[Any]:
    return sonde.make("best_arm", preset="small")


def make_player(model: str, **values: Any) -> Any:
    backend = sonde.make("models:hf", model=model, max_batch=256, threads=1, **values)
    return sonde.make("agents:llm", model=backend, context=CONTEXT, temperature=1.0, min_p=0.0, max_new_tokens=8)


@cache
def test_model(model: str, valued: bool = False) -> tuple[list[float], float]:
    """Success on the test tasks with its interval, and the share of episodes without unreadable replies."""
    env = make_env()
    values = {"heads": model, "beta": BETA} if valued else {}
    played = collect_trajectories(env, {AGENT: make_player(model, **values)}, env.tasks("test")[:TESTS])
    won = evaluate(played, gains=False).metrics["success"]
    assert won is not None
    read = sum(t.outcome is not None and t.outcome.kind != "unreadable" for t in played) / len(played)
    return [round(value, 3) for value in (won.mean, won.low, won.high)], round(read, 3)


def learn_curve(name: str, played: Sequence[Trajectory], folder: Path) -> dict[str, Json]:
    """Steps, and after each of them success with its interval and the share that was read."""
    how, clock = make_training(name, folder), time.process_time()
    if how.is_online:
        env = make_env()
        done = learn_online(BASE, how, [Game(env, env.tasks("train"), "best_arm")])
    else:
        done = learn(BASE, how, played)
    seconds = time.process_time() - clock
    found = sorted((int(place.name.partition("-")[2]), place) for place in folder.glob("checkpoint-*"))
    places = dict(found) | {done.steps: Path(done.model)}
    valued = how.objective in ("mc", "ilql")
    tests = [test_model(BASE), *(test_model(str(place), valued) for place in places.values())]
    return {
        "steps": [0, *places], "success": [won for won, _ in tests], "read": [read for _, read in tests],
        "settings": describe_preset(how), "cpu_seconds": round(seconds),
    }  # fmt: skip


def read_known() -> dict[str, Json]:
    """The curves measured so far."""
    return json.loads(DATA.read_text("utf-8")) if DATA.is_file() else {}


def write_curves(name: str, measured: Mapping[str, Json]) -> None:
    """Write the curves, one objective per line."""
    every = {**read_known(), name: measured}
    lines = (f"{json.dumps(key)}: {json.dumps(every[key])}" for key in sorted(every))
    DATA.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(WAYS)} (default: those not measured yet)")
    asked = parser.parse_args().names or [name for name in WAYS if name not in read_known()]
    env = make_env()
    played = collect_trajectories(env, {AGENT: make_player(BASE)}, env.tasks("train")[:LESSONS], Plan(k=SAMPLES))
    with tempfile.TemporaryDirectory() as place:
        for name in asked:
            found = learn_curve(name, played, Path(place) / name)
            print(f"{name}: {found}", flush=True)
            write_curves(name, found)


if __name__ == "__main__":
    main()
