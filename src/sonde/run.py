"""A run: one frozen configuration, from a file and the command line, and what comes of it in one folder.

    RUN/config.json           the configuration, resolved, with version, commit and fingerprint
    RUN/trajectories-*.zst    every episode, appended as it ends
    RUN/evaluation.json       the numbers, written when the run is complete

The same configuration continues the same folder: finished episodes are never played again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import orjson
import yaml

from .core import AGENT, AnyPolicy, Env, Task, UserError, build, content_hash, invalid, unknown
from .core.types import Json
from .evaluate import Evaluation, row, summarise
from .rollout import OnDone, Plan, record, seated
from .store import Run

EVALUATION = "evaluation.json"


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """Everything that decides what a run records. `seats` maps seats to policy configurations."""

    env: Mapping[str, Json]
    seats: Mapping[str, Mapping[str, Json]]
    split: str = "test"
    n_tasks: int | None = None
    k: int = 4
    seed: int = 0
    concurrency: int = 256
    budget: int | None = None
    gains: bool = True
    label: str = ""

    def __post_init__(self) -> None:
        if "name" not in self.env:
            raise UserError("env: missing name")
        if self.n_tasks is not None and self.n_tasks < 1:
            raise invalid("n_tasks", self.n_tasks, "1 or more")
        self.plan()

    def plan(self) -> Plan:
        return Plan(k=self.k, seed=self.seed, concurrency=self.concurrency, budget=self.budget)

    @property
    def identity(self) -> dict[str, Json]:
        """The part that decides which episodes exist; how many run at once, and the budget, do not."""
        free = ("concurrency", "budget", "gains", "label", "n_tasks", "k")
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in free}


@dataclass(frozen=True)
class Prepared:
    """A configuration with everything in it built: what will be played by whom."""

    config: RunConfig
    env: Env[Any]
    policies: Mapping[str, AnyPolicy]
    tasks: Sequence[Task]
    label: str
    fingerprint: str = field(default="")

    @property
    def resolved(self) -> dict[str, Json]:
        """What is saved: every default spelled out, so that the file alone builds the run again."""
        return {
            "env": self.env.config,
            "seats": {seat: policy.config for seat, policy in self.policies.items()},
            "split": self.config.split,
            "seed": self.config.seed,
            "version": self.env.spec.version,
        }

    @property
    def folder_name(self) -> str:
        """A readable name that only equal configurations share."""
        return f"{self.env.spec.name}-{self.env.spec.preset}--{_slug(self.label)}--{self.fingerprint[:8]}"


def prepare(config: RunConfig) -> Prepared:
    """Build environment and policies and pick the tasks; every mistake in the configuration shows here."""
    env = build(config.env)
    if not isinstance(env, Env):
        raise UserError(f"env: {config.env['name']!r} is not an environment")
    policies = seated(env, {seat: build(policy) for seat, policy in config.seats.items()})
    tasks = env.tasks(config.split)
    if config.n_tasks is not None and config.n_tasks > len(tasks):
        raise invalid("n_tasks", config.n_tasks, f"1 to {len(tasks)} for {env.name}, split {config.split}")
    chosen = tasks if config.n_tasks is None else tasks[: config.n_tasks]
    run = Prepared(config, env, policies, chosen, config.label or _label(policies[AGENT].config))
    return replace(run, fingerprint=content_hash(run.resolved))


def execute(run: Prepared, folder: Path, *, on_done: OnDone | None = None) -> Evaluation:
    """Play what the folder lacks, evaluate what it then holds, and keep the evaluation beside it."""
    begun = time.perf_counter()
    stored = record(run.env, run.policies, run.tasks, run.config.plan(), folder, run.resolved, on_done=on_done)
    return rescore(run, stored, folder, seconds=time.perf_counter() - begun)


def rescore(run: Prepared, stored: Run, folder: Path, *, seconds: float = 0.0) -> Evaluation:
    """The evaluation of a folder's episodes on the run's tasks, computed anew and saved."""
    wanted = {task.id for task in run.tasks}
    rows = [
        row(run.env, t, gains=run.config.gains)
        for t in stored
        if t.task.id in wanted and t.sample < run.config.k and t.seed == run.config.seed
    ]
    evaluation = summarise(
        run.env,
        rows,
        agent=run.policies[AGENT].config,
        label=run.label,
        split=run.config.split,
        seed=run.config.seed,
        k=run.config.k,
        tasks=[task.id for task in run.tasks],
        privileged=any(p.privileged for p in run.policies.values()),
        seconds=seconds,
    )
    temporary = folder / f".{EVALUATION}"
    temporary.write_bytes(orjson.dumps(evaluation.to_json(), option=orjson.OPT_INDENT_2))
    temporary.replace(folder / EVALUATION)
    return evaluation


def load_evaluation(folder: Path) -> Evaluation:
    """The saved evaluation of a run folder."""
    path = folder / EVALUATION
    if not path.is_file():
        raise UserError(f"{folder}: no {EVALUATION}; was the run finished? `sonde rescore {folder}` writes it")
    return Evaluation.from_json(orjson.loads(path.read_bytes()))


def read_config(path: Path) -> dict[str, Json]:
    """A configuration file: YAML, TOML or JSON by its ending."""
    if not path.is_file():
        raise UserError(f"config: no file {path}")
    text = path.read_text("utf-8")
    if path.suffix == ".toml":
        import tomllib

        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as e:
            raise UserError(f"config: {path}: {e}") from e
    if path.suffix not in (".yaml", ".yml", ".json"):
        raise invalid("config", path.name, "a file ending in .yaml, .yml, .toml or .json")
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as e:
        raise UserError(f"config: {path}: {' '.join(str(e).split())}") from e
    if not isinstance(found, dict):
        raise UserError(f"config: {path}: allowed: a mapping at the top")
    return found


def config_from(values: Mapping[str, Json]) -> RunConfig:
    """A `RunConfig` from plain values; unknown fields are named."""
    known = [f.name for f in fields(RunConfig)]
    for key in values:
        if key not in known:
            raise unknown("config", key, known)
    missing = [key for key in ("env", "seats") if key not in values]
    if missing:
        raise UserError(f"config: missing {missing[0]}")
    return RunConfig(**values)


def override(values: dict[str, Json], assignment: str) -> dict[str, Json]:
    """`values` with one dotted assignment applied, such as `seats.agent.examples=2`; values read as YAML."""
    path, sign, text = assignment.partition("=")
    if not sign or not path:
        raise invalid("override", assignment, "KEY.KEY=VALUE")
    *parents, last = path.strip().split(".")
    at = result = _copied(values)
    for key in parents:
        at = at.setdefault(key, {})
        if not isinstance(at, dict):
            raise UserError(f"override: {path}: {key} is not a mapping")
    at[last] = yaml.safe_load(text)
    return result


def _copied(values: Json) -> Json:
    return {k: _copied(v) for k, v in values.items()} if isinstance(values, Mapping) else values


def _label(config: Mapping[str, Json]) -> str:
    """`llm (smollm2)` for a model's policy, the policy's name for a program."""
    name = str(config["name"]).removeprefix("agents:")
    model = config.get("model")
    inner = model.get("model", model["name"].removeprefix("models:")) if isinstance(model, Mapping) else None
    return f"{name} ({str(inner).rstrip('/').rpartition('/')[2]})" if inner else name


def _slug(text: str) -> str:
    return "-".join("".join(c if c.isalnum() or c in ".-_" else " " for c in text).split())
