"""`sonde paprika`: play, select, train and evaluate from the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from sonde.core import UserError, unknown
from sonde.core.types import Json
from sonde.runs.rollout import OnDone
from sonde.runs.run import read_config
from sonde.train import paprika
from sonde.train.paprika import PAPER, TINY, PipelineResult
from sonde.train.presets import describe_preset

from . import options as opt
from . import tables
from .estimate_pipeline import print_pipeline_estimate
from .evaluate import with_seats
from .games import is_about_env
from .overrides import apply_overrides
from .players import model_config, model_seats, model_to_train
from .progress import episode_progress
from .terminal import out, stderr
from .training_options import MODEL, TrainingOptions, server_config


@dataclass(frozen=True, kw_only=True)
class PaprikaCommand(TrainingOptions):
    """Run PAPRIKA from start to end: play, select, train, evaluate.

    The same command continues where it was interrupted.
    """

    envs: Annotated[list[str] | None, Argument(help="Environments to learn from, as NAME or NAME:PRESET.")] = None
    model: Annotated[str | None, Option(help=MODEL)] = None
    settings: Annotated[str | None, Option(help="paper, or tiny for the models that come with sonde.")] = None
    k: Annotated[int | None, opt.tasks_option("-k", help="Samples per task.", show_default="20, mastermind 100")] = None
    server: Annotated[
        str | None,
        Option(help="Inference server that plays, with the weights of every stage: vllm:NAME, sglang:NAME."),
    ] = None
    player: Annotated[
        str | None, Option(help="Another model that plays the training episodes, such as http:NAME; for one round.")
    ] = None
    base_url: Annotated[str | None, Option(help="Address of --server or --player.")] = None
    folder: Annotated[Path, Option("--out", help="Folder for episodes, trainings, evaluations and models.")]

    def run(self) -> None:
        overrides = [given for given in self.overrides or () if not is_about_env(given)]
        values = apply_overrides(self._config_values(), overrides, names=[f.name for f in fields(paprika.Paprika)])
        asked = paprika.Paprika.from_json(values)
        for stage in asked.stages:
            stderr.print(f"{stage}: {describe_preset(asked.stage_training(stage))}", highlight=False)
        if self.dry_run:
            print_pipeline_estimate(paprika.plan_pipeline(asked), out, self.as_json)
            return
        outcome = paprika.run_pipeline(asked, self.folder, watch=_stage_progress)
        self.write_report(_evaluation_folders(outcome), _training_folders(outcome))
        self.print_outcome(outcome.to_json(), tables.stage_table(outcome), self.folder)

    def _config_values(self) -> dict[str, Json]:
        """The configuration of the file, changed by the options that are given."""
        if self.base_url is not None and self.player is None and self.server is None:
            raise UserError("--base-url: allowed: only with --server or --player")
        given: dict[str, Json] = {
            "model": self.model and model_to_train(self.model),
            "n_tasks": self.n_tasks,
            "k": self.k,
            "envs": self.list_env_entries(self.envs) or None,
            "presets": None if self.settings is None else _stage_presets(self.settings),
            "server": self.server and server_config(self.server, self.base_url),
            "player": self.player and model_config(self.player, self.base_url, "--player"),
        }
        values = read_config(self.config) if self.config else {}
        values |= {key: value for key, value in given.items() if value is not None}
        values = with_seats(values, model_seats(self.user, self.judge, self.user_url, self.base_url))
        lists = {name: list(values[name]) for name in ("envs", "held_out") if values.get(name)}
        changed = iter(
            self.set_entries([entry for group in lists.values() for entry in group], values.get("seats", {}))
        )
        values |= {name: list(islice(changed, len(group))) for name, group in lists.items()}
        return {"presets": dict(PAPER), **values}  # of which one may be changed alone


def _stage_presets(name: str) -> dict[str, str]:
    known = {"paper": PAPER, "tiny": TINY}
    if name not in known:
        raise unknown("--settings", name, known)
    return dict(known[name])


def _evaluation_folders(outcome: PipelineResult) -> list[Path]:
    root = outcome.folder / "evaluation"
    return [folder for stage in outcome.stages for folder in sorted((root / stage.name).iterdir())]


def _training_folders(outcome: PipelineResult) -> list[Path]:
    """The folders of its trainings, in order."""
    return sorted(
        (path.parent for path in outcome.folder.glob("round-*/*/history.jsonl")), key=lambda p: p.stat().st_mtime
    )


def _stage_progress(title: str, total: int, before: int) -> Any:
    return episode_progress(title, total, before) if total else _print_stage(title)


@contextmanager
def _print_stage(title: str) -> Iterator[OnDone | None]:
    stderr.print(title, highlight=False)
    yield None
