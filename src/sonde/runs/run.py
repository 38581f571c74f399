"""A run: one configuration, from a file and the command line, played in one folder.

    RUN/config.json           the resolved configuration, with version, commit and fingerprint
    RUN/trajectories-*.zst    every episode, appended when it ends
    RUN/evaluation.json       the numbers, written when the run is complete (`evaluation.run_evaluation`)

The same configuration continues the same folder; finished episodes are never played again. The weights of a local model
are part of the configuration, so training a model in between gives a new run, even at the same path. The run also
stores an imprint of a server's weights, and a server with other weights cannot continue it
(`models.remote.served_weights`).
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from sonde._util.argument_checks import check_call
from sonde._util.workers import LocalWorkers, Workers, run_parts
from sonde.core import (
    AGENT,
    AnyPolicy,
    Env,
    EpisodePolicy,
    Policy,
    Task,
    UserError,
    build,
    build_recorded,
    content_hash,
    identity,
    invalid,
    names,
    run_sync,
)
from sonde.core.types import Json
from sonde.models.remote.served_weights import saved_imprint, served_models, tie_weights

from .display_names import policy_label
from .games import GameConfig
from .rollout import Key, OnAct, OnDone, Plan, fill_seats, record_plan
from .store import Run, discard_unplayed
from .store.index import WRITERS
from .task_files import warn_of_rule_user


@dataclass(frozen=True, kw_only=True)
class RunConfig(GameConfig):
    """The configuration of a run: what is played (`GameConfig`), with a policy in every seat that the environment does
    not fill, and how often. Without `processes` this process plays; `on` is a cluster that they run on, `ray` or
    `ray:ADDRESS`, by default with one process per CPU."""

    seats: Mapping[str, Mapping[str, Json]] = field()
    k: int = 4
    seed: int = 0
    concurrency: int = 256
    budget: int | None = None
    share: tuple[int, int] = (0, 1)
    processes: int | None = None
    on: str = ""
    gains: bool = True
    label: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.processes is not None and not 1 <= self.processes <= WRITERS:
            raise invalid("processes", self.processes, f"1 to {WRITERS}")
        if self.on and self.on.partition(":")[0] != "ray":
            raise invalid("on", self.on, "ray, or ray:ADDRESS")
        self.make_plan()

    def make_plan(self) -> Plan:
        return Plan(k=self.k, seed=self.seed, concurrency=self.concurrency, budget=self.budget, share=self.share)

    def split_over(self, n: int) -> Sequence[RunConfig]:
        """Split the configuration over n processes, dividing its share, concurrency and budget."""
        mine, of = self.share
        at_once = -(-self.concurrency // n)
        budgets = [None if self.budget is None else max(1, (self.budget + i) // n) for i in range(n)]
        shared: dict[str, Any] = {"processes": None, "on": "", "concurrency": at_once}
        return [replace(self, share=(mine + of * i, of * n), budget=b, **shared) for i, b in enumerate(budgets)]


@dataclass(frozen=True)
class PreparedRun:
    """A validated configuration with its environment, policies and tasks instantiated."""

    config: RunConfig
    env: Env[Any]
    policies: Mapping[str, AnyPolicy]
    tasks: Sequence[Task]
    label: str
    fingerprint: str = field(default="")

    @property
    def resolved_config(self) -> dict[str, Json]:
        """The saved configuration: everything that determines the episodes, with all defaults. It omits their number,
        concurrency and budget, so a run can be extended. How models are accessed (`core.config.HOW`) is saved, but may
        differ when a run is resumed."""
        return {
            "env": self.env.config,
            "seats": {seat: policy.config for seat, policy in self.policies.items()},
            "split": self.config.split,
            "seed": self.config.seed,
            "version": self.env.spec.version,
            **self.config.tasks_config(self.tasks),
        }

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The ids of the tasks, in order."""
        return tuple(task.id for task in self.tasks)

    @property
    def split(self) -> str:
        """The name of the tasks: a split of the environment, or a part of a file."""
        return self.config.title

    @property
    def folder_name(self) -> str:
        """A readable name shared only by equal configurations; endpoint addresses do not count."""
        return (
            f"{_make_slug(self.env.spec.name)}-{self.env.spec.preset}--{_make_slug(self.label)}--{self.fingerprint[:8]}"
        )


@check_call
def prepare_run(config: RunConfig, *, recorded: bool = False, at_most: bool = False) -> PreparedRun:
    """Build the environment and the policies and select the tasks; every error in the configuration is raised here. For
    a `recorded` configuration, which may come from someone else, no code is imported and no address is contacted
    (`core.registry.build_recorded`). With `at_most`, an environment with fewer than `n_tasks` tasks plays all of them.
    """
    make_from = build_recorded if recorded else build
    env = config.make_env(make_from)
    for seat, policy in config.seats.items():
        check_policy_name(seat, policy.get("name"))
    policies = fill_seats(env, {seat: make_from(policy) for seat, policy in config.seats.items()})
    for seat, policy in policies.items():
        if not isinstance(policy, Policy | EpisodePolicy):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UserError(f"seats.{seat}: {config.seats[seat]['name']!r} is not a policy")
    label = config.label or policy_label(policies[AGENT].config)
    tasks = config.select_tasks(env, at_most=at_most)
    if at_most and config.n_tasks is not None:
        config = replace(config, n_tasks=len(tasks))
    if config.tasks_file and not recorded:
        warn_of_rule_user(tasks, policies.get("user"))
    run = PreparedRun(config, env, policies, tasks, label)
    return replace(run, fingerprint=content_hash(identity(run.resolved_config)))


def check_policy_name(seat: str, name: Json) -> None:
    """Raise `UserError` for a policy that is named without its kind."""
    if isinstance(name, str) and ":" not in name and name not in names("envs"):
        kinds = ("agents", "users") if seat == AGENT else ("users", "agents")
        kind = next((kind for kind in kinds if name in names(kind)), kinds[0])
        raise invalid(f"seats.{seat}.name", name, f"the kind and the name of a policy, such as {kind}:{name}")


def count_missing(run: PreparedRun, folder: Path) -> int:
    """The number of episodes of the run, over all shares, that the folder lacks because they failed or were never
    played."""
    begun = (folder / "config.json").is_file()
    held = (
        {e.episode_key for e in Run.load(folder).trajectories.index_entries() if not e.is_failed}
        if begun
        else set[Key]()
    )
    return sum(1 for _ in replace(run.config.make_plan(), share=(0, 1)).list_jobs(run.tasks, held))


def play_run(run: PreparedRun, folder: Path, *, on_done: OnDone | None = None, on_act: OnAct | None = None) -> Run:
    """Play the missing episodes with the configured number of processes; each writes its own share. A killed process is
    restarted and plays what its share still lacks. `on_done` receives the records, from other processes without their
    acts. `on_act` as in `stream_trajectories`, for the episodes of this process."""
    found = _choose_workers(run.config)
    if found is None:
        _tie_to_weights(run, folder)
        return record_plan(
            run.env, run.policies, run.tasks, run.config.make_plan(), folder, run.resolved_config,
            on_done=on_done, on_act=on_act,
        )  # fmt: skip
    n, workers = found
    parts = [(part, folder.absolute()) for part in run.config.split_over(n)]
    try:
        with closing(run_parts(_play_part, parts, workers)) as told:
            for trajectory in told:
                if on_done is not None:
                    on_done(trajectory)
    except BaseException:
        discard_unplayed(folder)
        raise
    return Run.load(folder)


def _tie_to_weights(run: PreparedRun, folder: Path) -> None:
    """If episodes are missing, check that servers hold the weights with which the folder was started."""
    models = list(served_models(dict(run.policies)))
    if not models:
        return
    begun = (folder / "config.json").is_file()
    saved = Run.load(folder).config.get("seats", {}) if begun else {}
    ask = count_missing(run, folder) > 0

    async def all_of_them() -> None:
        for path, model in models:
            await tie_weights(model, saved_imprint(saved, path), str(folder), ask=ask)

    run_sync(all_of_them())


def _choose_workers(config: RunConfig) -> tuple[int, Workers] | None:
    """The number of processes and the pool that runs them; None where this process plays."""
    if config.on:
        from .on_ray import OnRay

        ray = OnRay(config.on.partition(":")[2], config.processes)
        return ray.n, ray
    return None if config.processes in (None, 1) else (config.processes, LocalWorkers(config.processes))


def _play_part(part: tuple[RunConfig, Path], tell: OnDone) -> None:
    """The work of another process."""
    config, folder = part
    play_run(prepare_run(config), folder, on_done=lambda trajectory: tell(replace(trajectory, opening=(), turns=())))


READERS: Mapping[str, Callable[[str], Json]] = {
    ".toml": tomllib.loads, ".yaml": yaml.safe_load, ".yml": yaml.safe_load, ".json": json.loads,
}  # fmt: skip


def read_config(path: Path) -> dict[str, Json]:
    """A configuration file: YAML, TOML or JSON by its ending. `$schema`, which is for editors, is left out."""
    if path.suffix not in READERS:
        raise invalid("config", path.name, f"a file ending in {', '.join(READERS)}")
    try:
        found = READERS[path.suffix](path.read_text("utf-8-sig"))
    except FileNotFoundError:
        raise UserError(f"config: no file {path}") from None
    except (ValueError, RecursionError, yaml.YAMLError) as e:  # bad UTF-8, TOML and JSON are ValueErrors
        raise UserError(f"config: {path}: {' '.join(str(e).split())}") from e
    if not isinstance(found, dict):
        raise UserError(f"config: {path}: allowed: a mapping at the top")
    check_keys(f"config: {path}", found)
    return {name: value for name, value in found.items() if name != "$schema"}


def check_keys(field: str, value: Json) -> None:
    """Raise `UserError` for keys that are not text: YAML reads `1` and `yes` as other types."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise invalid(f"{field}: key", key, "text; put it in quotes")
            check_keys(f"{field}: {key}", inner)
    elif isinstance(value, list):
        for inner in value:
            check_keys(field, inner)


def config_from(values: Mapping[str, Json]) -> RunConfig:
    """A `RunConfig` from plain values; unknown fields are named."""
    return RunConfig(**values)


def _make_slug(text: str) -> str:
    return "-".join("".join(c if c.isalnum() or c in ".-_" else " " for c in text).split())
