"""The scale of scores: measured returns of random legal play and of the reference solver, shipped with sonde.

`reference_score = 100 (score - floor) / (reference - floor)` on the mean return of the test split: 0 is random legal
play (`Spec.floor`), 100 the reference solver (`Spec.reference`). It is not clipped, and n/a if the two intervals
overlap, because then there is no scale.

`python -m sonde.evaluation.scale [ENV ...]` measures all environments, or the given ones, and writes
`sonde/evaluation/scale.json`. An entry holds n, interval, seed, version, the fingerprints of the environment and all
policies, and the individual returns on the first tasks, so that a test can detect a stale entry without measuring it
again.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from sonde.core import AGENT, EMPTY, Env, Spec, content_hash, default_policies, make, names, unknown
from sonde.core.types import Json
from sonde.runs.rollout import Plan, collect_trajectories

from . import metrics
from .metrics import Estimate

COMMAND = "python -m sonde.evaluation.scale"
SAMPLES = {"floor": 16, "reference": 4}
"""Episodes per task and policy: the floor is noisier and cheaper."""
LONG = 200
"""The number of turns beyond which a quarter of the samples is enough."""
PREFIX = 8
"""Number of tasks whose returns are stored individually."""


def scale_fingerprint(env: Env[Any]) -> str:
    """A hash of the environment's configuration and version, and of the configurations of all policies that play."""
    spec = env.spec
    others = [name for name in spec.seats.values() if name is not None]
    policies = [f"agents:{spec.floor}", f"agents:{spec.reference}", *others]
    return content_hash([env.config, spec.version, *(make(name).fingerprint for name in policies)])


@cache
def load_entries() -> Mapping[str, Mapping[str, Json]]:
    """The shipped measurements, by fingerprint."""
    source = files("sonde.evaluation").joinpath("scale.json")
    return json.loads(source.read_text("utf-8")) if source.is_file() else {}


def measured_bounds(env: Env[Any], split: str = "test") -> tuple[Estimate, Estimate] | None:
    """Floor and reference of the mean return; None if this configuration was not measured."""
    if split != "test" or not env.spec.reference:
        return None
    entry = load_entries().get(scale_fingerprint(env))
    if entry is None:
        return None
    return Estimate(**entry["floor"]["score"]), Estimate(**entry["reference"]["score"])


def reference_score(env: Env[Any], split: str, score: Estimate, others: Mapping[str, str] = EMPTY) -> Estimate | None:
    """`score` on the scale from floor to reference; None (n/a) if there is no scale.

    `others` holds the fingerprints of the policies in the other seats; the scale applies to the default ones only.
    """
    default = {seat: policy.fingerprint for seat, policy in default_policies(env).items()}
    found = measured_bounds(env, split) if {**default, **others} == default else None
    if found is None or found[0].high >= found[1].low:
        return None
    floor, top = found[0].mean, found[1].mean

    def scale_value(value: float) -> float:
        return 100.0 * (value - floor) / (top - floor)

    return Estimate(scale_value(score.mean), scale_value(score.low), scale_value(score.high), score.n)


def return_bounds(spec: Spec) -> metrics.Bounds:
    """The lowest and the highest possible return: the bounds of a turn's reward, in every turn."""
    low, high = spec.reward_range
    return min(0.0, low) * spec.max_turns, max(0.0, high) * spec.max_turns


def play_returns(env: Env[Any], agent: str, k: int, n_tasks: int | None = None, seed: int = 0) -> list[list[float]]:
    """Play the first `n_tasks` test tasks; the agent's returns, one row per task."""
    tasks = env.tasks("test")[:n_tasks]
    rows: dict[str, list[float]] = {task.id: [] for task in tasks}
    for t in collect_trajectories(env, {AGENT: make(f"agents:{agent}")}, tasks, Plan(k=k, seed=seed)):
        rows[t.task.id].append(sum(turn.rewards.get(AGENT, 0.0) for turn in t.turns))
    return list(rows.values())


def measure_environment(env: Env[Any]) -> dict[str, Json]:
    """Measure the entry of one environment."""
    spec = env.spec
    entry: dict[str, Json] = {"env": env.config, "version": spec.version, "seed": 0, "command": COMMAND}
    for role, agent in (("floor", spec.floor), ("reference", spec.reference)):
        samples = SAMPLES[role]
        table = play_returns(env, agent, samples if spec.max_turns <= LONG else samples // 4)
        entry[role] = {
            "agent": agent,
            "score": asdict(metrics.estimate(table, bounds=return_bounds(spec))),
            "k": len(table[0]),
            "prefix": table[:PREFIX],
        }
    return entry


def all_environments() -> Sequence[Env[Any]]:
    """Every shipped environment in every preset."""
    found: list[Env[Any]] = []
    for name in names("envs"):
        default: Env[Any] = make(name)
        found += [make(name, preset=preset) for preset in default.presets]
    return found


def measure_all(only: Sequence[str]) -> None:
    """Measure environments, one process per CPU, and write the shipped file.

    `only` names the environments to measure, by default all; entries of the others are kept if they are still valid.
    """
    all_envs = {scale_fingerprint(env): env for env in all_environments() if env.spec.reference}
    for name in only:
        if name not in {env.spec.name for env in all_envs.values()}:
            raise unknown("environment", name, sorted({env.spec.name for env in all_envs.values()}))
    todo = {key: env for key, env in all_envs.items() if not only or env.spec.name in only}
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        measured = dict(zip(todo, pool.map(measure_environment, todo.values()), strict=True))
    found = {**load_entries(), **measured}
    path = Path(str(files("sonde.evaluation").joinpath("scale.json")))
    lines = [f"{json.dumps(key)}: {json.dumps(found[key])}" for key in all_envs if key in found]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    for entry in measured.values():
        floor, top = (Estimate(**entry[role]["score"]) for role in ("floor", "reference"))
        sys.stdout.write(f"{entry['env']['name']:20} {entry['env']['preset']:10} floor {floor}  reference {top}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog=COMMAND, description="Measure floors and references, and write the shipped file."
    )
    parser.add_argument(
        "only", nargs="*", metavar="ENV", help="only these; entries of the others are kept if they are still valid"
    )
    measure_all(parser.parse_args().only)
