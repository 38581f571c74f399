"""The scale of scores: measured returns of random legal play and of the reference solver.

`reference_score = 100 (score - floor) / (reference - floor)` on the mean return of the test split: 0 is random legal
play (`Spec.floor`), 100 the reference solver (`Spec.reference`). It is not clipped, and n/a if the two intervals
overlap, because then there is no scale.

Entries of the shipped environments come with sonde (`scale.json` beside this file); `python -m sonde.evaluation.scale
[ENV ...]` measures all of them, or the given ones. `sonde scale ENV` measures any other environment, or a shipped one
in other settings, into `scale.json` in a folder of runs, where the evaluations of the runs in that folder find it
(`measured_bounds`). An entry holds n, interval, seed, version, the configuration of the environment, and the individual
returns on the first tasks, so that a test can detect a stale entry without measuring it again.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import shlex
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Any

from sonde._util.folders import write_atomically
from sonde.core import (
    AGENT,
    EMPTY,
    Env,
    Spec,
    StoreError,
    UserError,
    content_hash,
    default_policies,
    invalid,
    make,
    names,
    unknown,
)
from sonde.core.types import Json
from sonde.runs.rollout import OnDone, Plan, collect_trajectories

from . import metrics
from .metrics import Estimate

COMMAND = "python -m sonde.evaluation.scale"
ENDS = ("floor", "reference")
SAMPLES = {"floor": 16, "reference": 4}
"""Episodes per task and policy: the floor is noisier and cheaper."""
LONG = 200
"""The number of turns beyond which a quarter of the samples is enough."""
PREFIX = 8
"""Number of tasks whose returns are stored individually."""
SCALE = "scale.json"
"""The name of the file, in this package and in a folder of runs."""
ABOVE = 3
"""How many folders above a run may hold the file."""
SHORT = 40
"""Characters of a setting that a command shows."""
BELOW = "below 0: worse than random legal play, whose answers are always readable and allowed, or by chance (±)."
BEYOND = "above 100: better than the reference, a program that need not be the best possible, or by chance (±)."
"""What scores beyond the two ends mean."""

# --- entries ---------------------------------------------------------------------------------------------------------


def make_agent(name: str) -> Any:
    """The agent that `Spec.floor` or `Spec.reference` names: a registered name, or `module:Class`."""
    return make(name if ":" in name else f"agents:{name}")


def scale_fingerprint(env: Env[Any]) -> str:
    """A hash of the environment's configuration and version, and of the configurations of all policies that play.

    Where the environment names its ends, `prompts` are left out: neither these programs nor the environment's own users
    go by the texts (a test plays all of them with others). Where it names no reference, floor and reference are left
    out: whoever measures it chooses them, and they may read.
    """
    spec = env.spec
    config = {name: value for name, value in env.config.items() if name != "prompts" or not spec.reference}
    ends = [make_agent(spec.floor), make_agent(spec.reference)] if spec.reference else []
    others = [make(name) for name in spec.seats.values() if name is not None]
    return content_hash([config, spec.version, *(policy.fingerprint for policy in (*ends, *others))])


@cache
def load_entries() -> Mapping[str, Mapping[str, Json]]:
    """The shipped measurements, by fingerprint."""
    source = files("sonde.evaluation").joinpath(SCALE)
    return json.loads(source.read_text("utf-8")) if source.is_file() else {}


def find_scale_file(folder: Path) -> Path | None:
    """The file of `sonde scale` that belongs to a run, or to a folder of runs: the nearest in it or above it."""
    here = folder.absolute()
    places = (place / SCALE for place in islice((here, *here.parents), ABOVE + 1))
    return next((file for file in places if file.is_file()), None)


def read_entries(file: Path) -> dict[str, dict[str, Json]]:
    """The measurements in a file of `sonde scale`. Raises `StoreError` for a file that is none."""
    try:
        found = json.loads(file.read_text("utf-8"))
        for entry in found.values():
            entry_ends(entry)
    except (ValueError, TypeError, KeyError, AttributeError) as e:
        raise StoreError(f"{file}: not a file of `sonde scale` ({type(e).__name__}: {e}); remove it") from e
    return found


def find_entry(env: Env[Any], folder: Path | None = None) -> Mapping[str, Json] | None:
    """The measurement of this configuration: the shipped one, or that of `sonde scale` near `folder`."""
    key = scale_fingerprint(env)
    if (shipped := load_entries().get(key)) is not None or folder is None:
        return shipped
    file = find_scale_file(folder)
    return None if file is None else read_entries(file).get(key)


def save_entry(env: Env[Any], entry: Mapping[str, Json], folder: Path) -> Path:
    """Add a measurement to the file in a folder of runs."""
    file = folder / SCALE
    folder.mkdir(parents=True, exist_ok=True)
    found = {**(read_entries(file) if file.is_file() else {}), scale_fingerprint(env): entry}
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in found.items()]
    write_atomically(file, "{\n" + ",\n".join(lines) + "\n}\n")
    return file


# --- scores ----------------------------------------------------------------------------------------------------------


def entry_bounds(entry: Mapping[str, Json]) -> tuple[Estimate, Estimate]:
    """Floor and reference of an entry."""
    return Estimate(**entry["floor"]["score"]), Estimate(**entry["reference"]["score"])


def entry_ends(entry: Mapping[str, Json]) -> list[tuple[str, Estimate]]:
    """Floor and reference of an entry, each with its agent."""
    return [(entry[end]["agent"], bound) for end, bound in zip(ENDS, entry_bounds(entry), strict=True)]


def measured_bounds(env: Env[Any], split: str = "test", folder: Path | None = None) -> tuple[Estimate, Estimate] | None:
    """Floor and reference of the mean return; None if this configuration was not measured. `folder`: a run, or a folder
    of runs, near which `sonde scale` may have measured it."""
    entry = find_entry(env, folder) if split == "test" else None
    return None if entry is None else entry_bounds(entry)


def reference_score(
    env: Env[Any], split: str, score: Estimate, others: Mapping[str, str] = EMPTY, folder: Path | None = None
) -> Estimate | None:
    """`score` on the scale from floor to reference; None (n/a) if there is no scale (`explain_no_score`).

    `others` holds the fingerprints of the policies in the other seats; the scale applies to the default ones only.
    """
    bounds = measured_bounds(env, split, folder)
    if bounds is None or not is_scale(bounds) or _replaced_seats(env, others):
        return None
    floor, top = (bound.mean for bound in bounds)

    def scale_value(value: float) -> float:
        return 100.0 * (value - floor) / (top - floor)

    return Estimate(scale_value(score.mean), scale_value(score.low), scale_value(score.high), score.n)


def is_scale(bounds: tuple[Estimate, Estimate]) -> bool:
    """Whether the reference plays better than the floor, by intervals that do not overlap."""
    return bounds[0].high < bounds[1].low


def explain_no_score(env: Env[Any], split: str, others: Mapping[str, str] = EMPTY, folder: Path | None = None) -> str:
    """Why results of an environment have no `reference_score`; empty if they have one."""
    if split != "test":
        return f"scores are of the test split, not of {split}"
    if seats := _replaced_seats(env, others):
        return f"the scale holds for the environment's own {' and '.join(seats)}"
    bounds = measured_bounds(env, split, folder)
    if bounds is None:
        return f"floor and reference are not measured for this configuration: {scale_command(env)}"
    if not is_scale(bounds):
        return f"the reference ({bounds[1]}) is not clearly above the floor ({bounds[0]}), so there is no scale"
    return ""


def scale_command(env: Env[Any]) -> str:
    """The command that measures an environment's floor and reference."""
    config, name = env.config, str(env.config["name"])
    preset = config.get("preset")
    usual = make(name, **({"preset": preset} if preset else {})).config
    told = {key: json.dumps(value) for key, value in config.items() if usual.get(key) != value}
    changed = [f"env.{key}={value if len(value) <= SHORT else '...'}" for key, value in told.items()]
    first = [] if preset in (None, *type(env).presets[:1]) else ["--preset", str(preset)]
    last = [] if env.spec.reference else ["--reference", "AGENT"]
    return shlex.join(["sonde", "scale", name, *first, *(word for text in changed for word in ("-o", text)), *last])


def _replaced_seats(env: Env[Any], others: Mapping[str, str]) -> list[str]:
    """The seats whose policy is not the environment's own."""
    own = {seat: policy.fingerprint for seat, policy in default_policies(env).items()}
    return sorted(seat for seat, fingerprint in others.items() if own.get(seat) != fingerprint)


def explain_range(scores: Sequence[Estimate | None]) -> list[str]:
    """A line for scores below 0 and one for scores above 100, where there are such."""
    known = [score.mean for score in scores if score is not None]
    return [*([BELOW] if any(v <= -0.5 for v in known) else []), *([BEYOND] if any(v >= 100.5 for v in known) else [])]


def return_bounds(spec: Spec) -> metrics.Bounds:
    """The lowest and the highest possible return: the bounds of a turn's reward, in every turn."""
    low, high = spec.reward_range
    return min(0.0, low) * spec.max_turns, max(0.0, high) * spec.max_turns


# --- measure ---------------------------------------------------------------------------------------------------------


def samples_per_task(env: Env[Any], end: str) -> int:
    """Episodes of each task that measure an end of the scale."""
    return SAMPLES[end] if env.spec.max_turns <= LONG else SAMPLES[end] // 4


def play_returns(
    env: Env[Any], agent: str, k: int, n_tasks: int | None = None, seed: int = 0, on_done: OnDone | None = None
) -> list[list[float]]:
    """Play the first `n_tasks` test tasks; the agent's returns, one row per task. Raises `UserError` for an episode
    that failed."""
    tasks = env.tasks("test")[:n_tasks]
    rows: dict[str, list[float]] = {task.id: [] for task in tasks}
    for t in collect_trajectories(env, {AGENT: make_agent(agent)}, tasks, Plan(k=k, seed=seed), on_done=on_done):
        if t.error:
            raise UserError(f"scale: an episode of {agent} in {env.name} failed: {t.error}")
        rows[t.task.id].append(sum(turn.rewards.get(AGENT, 0.0) for turn in t.turns))
    return list(rows.values())


def check_ends(env: Env[Any], floor: str, reference: str) -> None:
    """Raise `UserError` unless an environment has exactly one policy for each end: its own, or these."""
    own = env.spec
    for end, agent in {"floor": floor, "reference": reference}.items():
        if own.reference and agent not in ("", getattr(own, end)):
            raise invalid(f"scale: {end}", agent, f"none, or {getattr(own, end)}, which {env.name} names in its spec")
    if not (own.reference or reference):
        raise UserError(f"scale: {env.name} names no reference; say an agent that plays it well: --reference NAME")


def measure_environment(
    env: Env[Any],
    *,
    floor: str = "",
    reference: str = "",
    n_tasks: int | None = None,
    command: str = COMMAND,
    on_done: OnDone | None = None,
) -> dict[str, Json]:
    """Measure the entry of one environment, on all test tasks or the first `n_tasks`. `floor` and `reference` are for
    environments that name no reference."""
    check_ends(env, floor, reference)
    spec = env.spec
    agents = {"floor": floor or spec.floor, "reference": reference or spec.reference}
    entry: dict[str, Json] = {"env": env.config, "version": spec.version, "seed": 0, "command": command}
    for end, agent in agents.items():
        table = play_returns(env, agent, samples_per_task(env, end), n_tasks, on_done=on_done)
        entry[end] = {
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
    path = Path(str(files("sonde.evaluation").joinpath(SCALE)))
    lines = [f"{json.dumps(key)}: {json.dumps(found[key])}" for key in all_envs if key in found]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    for entry in measured.values():
        floor, top = entry_bounds(entry)
        sys.stdout.write(f"{entry['env']['name']:20} {entry['env']['preset']:10} floor {floor}  reference {top}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        prog=COMMAND, description="Measure floors and references, and write the shipped file."
    )
    parser.add_argument(
        "only", nargs="*", metavar="ENV", help="only these; entries of the others are kept if they are still valid"
    )
    measure_all(parser.parse_args().only)
