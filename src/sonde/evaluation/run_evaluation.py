"""Evaluate a run and store its evaluation in its folder (`evaluation.json`)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson

from sonde._util.folders import write_atomically
from sonde.core import AGENT, StoreError, Trajectory, UserError, invalid
from sonde.core.types import Json
from sonde.runs.rollout import OnDone
from sonde.runs.run import PreparedRun, config_from, play_run, prepare_run
from sonde.runs.store import Run, discard_run, lock_scoring

from .evaluate import Evaluation, make_evaluation, summarise_trajectories

EVALUATION = "evaluation.json"
MOST_SAMPLES = 100_000
"""Upper bound of the samples of a task in an evaluation, which has a number for each: samples count from 0."""


def execute_run(run: PreparedRun, folder: Path, *, on_done: OnDone | None = None) -> Evaluation:
    """Play the missing episodes, evaluate the run, and save the evaluation in its folder."""
    begun = time.perf_counter()
    play_run(run, folder, on_done=on_done)
    return rescore_run(run, folder, seconds=time.perf_counter() - begun)


def reopen_run(stored: Run, *, gains: bool = True) -> PreparedRun:
    """The run in a folder, limited to what its last evaluation covers, or else all of its episodes. A configuration
    without split or world seed (`rollout.record_plan`) gets those of its episodes; these have to agree in them."""
    if not len(stored):
        raise UserError(f"{stored.folder}: no episodes")
    saved = ("env", "seats", "split", "seed", "tasks_file")
    config: dict[str, Json] = {key: stored.config[key] for key in saved if key in stored.config}
    for name in ("split", "seed"):
        if name not in config:
            config[name] = _common_value(stored, name)
    if (stored.folder / EVALUATION).is_file():
        last = load_evaluation(stored.folder)
        extent = {"k": last.k, "n_tasks": last.n_tasks, "label": last.label}
    else:
        ((sample, index),) = stored.trajectories.select_columns("max(sample), max(task_index)", order="1")
        if sample >= MOST_SAMPLES:
            raise invalid(f"{stored.folder}: sample", sample, f"0 to {MOST_SAMPLES - 1} in a run that is evaluated")
        extent = {"k": 1 + sample, "n_tasks": 1 + index}
    return prepare_run(config_from({**config, **extent, "gains": gains}), recorded=True)


def _common_value(stored: Run, column: str) -> Json:
    """The split or the seed of all episodes."""
    first, *others = (value for (value,) in stored.trajectories.select_columns(column, group=column))
    if others:
        raise UserError(
            f"{stored.folder}: {column}: got episodes of {first} and {others[0]}, allowed: one {column}; "
            "`sonde.evaluate` takes a part of the episodes"
        )
    return int(first) if column == "seed" else first


def rescore_run(run: PreparedRun, folder: Path, *, seconds: float = 0.0, on_done: OnDone | None = None) -> Evaluation:
    """Recompute and save the evaluation of a folder's episodes on the run's tasks. Information gain is computed once
    and stored in the folder. Processes that finish one run at the same time score it one after the other, so the last
    evaluation covers all of their episodes. `seconds` of playing are added to those of the previous evaluation."""
    with lock_scoring(folder):
        return _rescore_run(run, folder, seconds + (read_seconds_played(folder) or 0.0), on_done)


def read_seconds_played(folder: Path) -> float | None:
    """The seconds of playing in a folder's evaluation; None if it has none."""
    try:
        return load_evaluation(folder).seconds or None
    except (UserError, StoreError):
        return None


def _rescore_run(run: PreparedRun, folder: Path, seconds: float, on_done: OnDone | None) -> Evaluation:
    episodes = _FinishedEpisodes(run, Run.load(folder))
    rows = summarise_trajectories(run.env, episodes, gains=run.config.gains, folder=folder, on_done=on_done)
    evaluation = make_evaluation(
        run.env,
        rows,
        agent=run.policies[AGENT].config,
        label=run.label,
        split=run.split,
        seed=run.config.seed,
        k=run.config.k,
        tasks=run.ids,
        tags={task.id: task.tags for task in run.tasks},
        others={
            seat: {"fingerprint": policy.fingerprint, **policy.config}
            for seat, policy in run.policies.items()
            if seat != AGENT
        },
        privileged=any(p.privileged for p in run.policies.values()),
        seconds=seconds,
        folder=folder,
    )
    write_atomically(folder / EVALUATION, orjson.dumps(evaluation, default=dict, option=orjson.OPT_INDENT_2))
    return evaluation


@dataclass(frozen=True)
class _FinishedEpisodes:
    """The episodes of a folder that belong to a run, read from disk on every iteration."""

    run: PreparedRun
    stored: Run

    def __iter__(self) -> Iterator[Trajectory]:
        config, wanted = self.run.config, set(self.run.ids)
        mine = self.stored.trajectories.select_where("sample < ? AND seed = ?", config.k, config.seed)
        return (t for t in mine if t.task.id in wanted)


def remove_run(folder: Path) -> None:
    """Remove the run in a folder, with its evaluation. Raises `UserError` if the folder holds anything else."""
    discard_run(folder, also=(EVALUATION,))


def load_evaluation(folder: Path) -> Evaluation:
    """The saved evaluation of a run folder."""
    path = folder / EVALUATION
    if not folder.is_dir():
        raise UserError(f"{folder}: no such run folder")
    if not path.is_file():
        raise UserError(f"{folder}: no {EVALUATION}; was the run finished? `sonde rescore {folder}` writes it")
    try:
        return Evaluation.from_json(orjson.loads(path.read_bytes()))
    except ValueError as e:  # not JSON, or not an evaluation
        raise StoreError(f"{path}: not an evaluation ({e}); `sonde rescore {folder}` after removing it") from e
