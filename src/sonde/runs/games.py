"""What is played, as plain values: an environment with its arguments, which of its tasks, and who takes other seats.

The same fields, under the same names, in a run (`runs.run.RunConfig`), a training, a pipeline, a dataset and in
configuration files:

    env: {name: twenty_questions, preset: paprika, max_turns: 10}
    split: train
    tasks_file: game_configs/twenty_questions.json
    n_tasks: 100
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from sonde._util.argument_checks import Checked
from sonde.core import EMPTY, Env, Task, UserError, build, content_hash, find, invalid, unknown
from sonde.core.types import Json

from .task_files import read_tasks

JUDGE = "judge"
BESIDE = ("split", "tasks_file", "n_tasks")
"""Fields of a `GameConfig` that may stand beside an environment's own arguments, in a list of environments."""


@dataclass(frozen=True, kw_only=True)
class GameConfig(Checked):
    """An environment and its tasks. `tasks_file` replaces the environment's own tasks (`runs.task_files`); `n_tasks`
    takes the first ones. `seats` maps seats to policy configurations; other seats keep the environment's policies."""

    called = "config"

    env: Mapping[str, Json]
    seats: Mapping[str, Mapping[str, Json]] = EMPTY
    split: str = "test"
    tasks_file: str = ""
    n_tasks: int | None = None

    def __post_init__(self) -> None:
        for field_, config in {"env": self.env, **{f"seats.{seat}": c for seat, c in self.seats.items()}}.items():
            if not isinstance(config.get("name"), str):
                raise invalid(f"{field_}.name", config.get("name"), "text")
        if self.n_tasks is not None and self.n_tasks < 1:
            raise invalid("n_tasks", self.n_tasks, "1 or more")

    @classmethod
    def from_entry(cls, entry: Mapping[str, Json], **defaults: Any) -> GameConfig:
        """From an entry of a list of environments: the environment's configuration, in which `split`, `tasks_file` and
        `n_tasks` may stand too; they win over the `defaults`.

        >>> GameConfig.from_entry({"name": "wordle", "preset": "lmrl", "n_tasks": 5}, split="train").n_tasks
        5
        """
        env, own = split_entry(entry)
        return cls(env=env, **{**defaults, **own})

    def make_env(self, make_from: Callable[[Mapping[str, Json]], Any] = build) -> Env[Any]:
        env = make_from(self.env)
        if not isinstance(env, Env):
            raise UserError(f"env: {self.env['name']!r} is not an environment; see `sonde list envs`")
        return env

    def select_tasks(self, env: Env[Any], *, at_most: bool = False) -> Sequence[Task]:
        """The tasks that are played. Fewer than `n_tasks` are an error, or with `at_most` all of them."""
        tasks = read_tasks(self.tasks_file, env, self.split) if self.tasks_file else env.tasks(self.split)
        if self.n_tasks is not None and self.n_tasks > len(tasks) and not at_most:
            raise invalid("n_tasks", self.n_tasks, f"1 to {len(tasks)} for {env.name}, split {self.split}")
        return tasks if self.n_tasks is None else tasks[: self.n_tasks]

    def tasks_config(self, tasks: Sequence[Task]) -> dict[str, Json]:
        """The file of tasks, and a hash of the tasks in it: what a record says of them. Empty without a file."""
        name = self.tasks_file
        return {"tasks_file": name, "tasks_read": content_hash(tuple(task.id for task in tasks))} if name else {}

    @property
    def title(self) -> str:
        """The name of the tasks: a split of the environment, or a part of a file."""
        return f"{self.split} of {Path(self.tasks_file).name}" if self.tasks_file else self.split


def split_entry(entry: Mapping[str, Json]) -> tuple[dict[str, Json], dict[str, Json]]:
    """The environment's configuration in an entry of a list of environments, and what stands beside it."""
    known = {"name", *BESIDE, *env_fields(entry)} if isinstance(entry.get("name"), str) else entry.keys()
    for name in entry:
        if name not in known:
            raise unknown(str(entry["name"]), name, known)
    own = {name: entry[name] for name in BESIDE if name in entry}
    return {name: value for name, value in entry.items() if name not in BESIDE}, own


def env_fields(config: Mapping[str, Json]) -> frozenset[str]:
    """The arguments of the environment that a configuration names."""
    return frozenset(f.name for f in fields(find(str(config["name"]))))  # type: ignore[arg-type]


def add_judge_seat(config: Mapping[str, Json], seats: Mapping[str, Any]) -> Mapping[str, Json]:
    """The environment's configuration with a seat for the judge, if there is one and it can have it."""
    return {JUDGE: "seat", **config} if JUDGE in seats and JUDGE in env_fields(config) else config
