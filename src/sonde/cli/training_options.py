"""The options that `sonde train` and `sonde paprika` share, and what both make of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from sonde.core import UserError, find
from sonde.core.types import Json
from sonde.models.remote.token_client import TokenEndpoint
from sonde.runs.games import GameConfig, add_judge_seat, split_entry

from . import options as opt
from .games import (
    Fit,
    GameOptions,
    check_places,
    check_tasks_files,
    env_config,
    fit_overrides,
    is_about_env,
    override_env,
    tasks_file_of,
)
from .players import model_config
from .terminal import print_result

MODEL = "The model to train: a name of `sonde models list`, hf:NAME, or a folder."


@dataclass(frozen=True, kw_only=True)
class TrainingOptions(GameOptions):
    """See the module."""

    split: opt.TrainSplitOpt = None
    config: opt.ConfigOpt = None
    report: opt.ReportOpt = None
    dry_run: opt.DryRunOpt = False
    as_json: opt.JsonOpt = False

    def list_env_entries(self, specs: Sequence[str] | None) -> list[dict[str, Json]]:
        """The environments of the command line, each as NAME or NAME:PRESET."""
        return [env_config(spec, self.preset) for spec in specs or ()]

    def set_entries(
        self, entries: Sequence[Mapping[str, Json]], seats: Mapping[str, Any], **own: Json
    ) -> list[dict[str, Json]]:
        """Entries of environments with the options that are about what is played: each takes what it has a place
        for, and something that none has a place for is an error."""
        assigned = [given for given in self.overrides or () if is_about_env(given)]
        if self.max_turns is not None:
            assigned.insert(0, f"env.max_turns={self.max_turns}")
        own = {name: value for name, value in {"split": self.split, **own}.items() if value is not None}
        envs = [add_judge_seat(split_entry(entry)[0], seats) for entry in entries]
        check_tasks_files(self.tasks_files, envs, self.split)
        fits = [fit_overrides(env, assigned) for env in envs] if len(envs) > 1 else [Fit(assigned)] * len(envs)
        if len(envs) > 1:
            check_places(fits, assigned, ())
        return [
            {
                **split_entry(entry)[1], **own,
                **({"tasks_file": file} if (file := tasks_file_of(self.tasks_files, env)) else {}),
                **override_env(env, fit.overrides),
            }
            for entry, env, fit in zip(entries, envs, fits, strict=True)
        ]  # fmt: skip

    def make_game_configs(
        self, entries: Sequence[Mapping[str, Json]], beside: Mapping[str, Json], seats: Mapping[str, Any]
    ) -> list[GameConfig]:
        """The games of these entries. `beside` are defaults of all of them."""
        changed = self.set_entries(entries, seats, n_tasks=self.n_tasks)
        return [GameConfig.from_entry(entry, **{"split": "train", **beside}) for entry in changed]

    def write_report(self, runs: Sequence[Path], trainings: Sequence[Path]) -> None:
        if self.report is not None:
            from sonde.viewer import write_report

            write_report(runs, self.report, training=trainings)

    def print_outcome(self, data: Json, table: RenderableType, *written: Path) -> None:
        print_result(data, table, self.as_json, *written, *([self.report] if self.report else []))


def server_config(spec: str, base_url: str | None) -> dict[str, Json]:
    """The configuration of the inference server that plays."""
    config = model_config(spec, base_url, "--server")
    if not issubclass(find(str(config["name"])), TokenEndpoint):
        raise UserError(f"--server: got {spec!r}, allowed: vllm:NAME or sglang:NAME, which return token ids")
    return config
