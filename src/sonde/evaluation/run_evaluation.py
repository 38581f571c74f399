"""Evaluate a run and keep its evaluation in its folder (`evaluation.json`)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson

from sonde._util.folders import write_atomically
from sonde.core import AGENT, StoreError, Trajectory, UserError
from sonde.core.types import Json
from sonde.runs.rollout import OnDone
from sonde.runs.run import Prepared, config_from, play, prepare
from sonde.runs.store import Run, discard, scoring

from .evaluate import Evaluation, rows_of, summarise

EVALUATION = "evaluation.json"


def execute(run: Prepared, folder: Path, *, on_done: OnDone | None = None) -> Evaluation:
    """Play the missing episodes, evaluate the run, and save the evaluation in its folder."""
    begun = time.perf_counter()
    play(run, folder, on_done=on_done)
    return rescore(run, folder, seconds=time.perf_counter() - begun)


def reopen(stored: Run, *, gains: bool = True) -> Prepared:
    """The run in a folder, to the extent of its last evaluation, or else of its episodes."""
    saved = ("env", "seats", "split", "seed", "tasks_file")
    config: dict[str, Json] = {key: stored.config[key] for key in saved if key in stored.config}
    if (stored.folder / EVALUATION).is_file():
        last = load_evaluation(stored.folder)
        extent = {"k": last.k, "n_tasks": last.n_tasks, "label": last.label}
    elif len(stored):
        known = list(stored.trajectories.entries())
        extent = {"k": 1 + max(e.sample for e in known), "n_tasks": 1 + max(e.task_index for e in known)}
    else:
        raise UserError(f"{stored.folder}: no episodes")
    return prepare(config_from({**config, **extent, "gains": gains}), recorded=True)


def rescore(run: Prepared, folder: Path, *, seconds: float = 0.0, on_done: OnDone | None = None) -> Evaluation:
    """Recompute and save the evaluation of a folder's episodes on the run's tasks. Information gain is computed once
    and stored in the folder. Several processes that finish one run score it one after the other, so the last evaluation
    includes what all of them have played. `seconds` of playing are added to those of the previous evaluation."""
    with scoring(folder):
        return _rescored(run, folder, seconds + (spent(folder) or 0.0), on_done)


def spent(folder: Path) -> float | None:
    """The seconds of playing in a folder's evaluation; None where there are none."""
    try:
        return load_evaluation(folder).seconds or None
    except (UserError, StoreError):
        return None


def _rescored(run: Prepared, folder: Path, seconds: float, on_done: OnDone | None) -> Evaluation:
    episodes = _Episodes(run, Run.load(folder))
    rows = rows_of(run.env, episodes, gains=run.config.gains, folder=folder, on_done=on_done)
    evaluation = summarise(
        run.env,
        rows,
        agent=run.policies[AGENT].config,
        label=run.label,
        split=run.split,
        seed=run.config.seed,
        k=run.config.k,
        tasks=run.ids,
        others={
            seat: {"fingerprint": policy.fingerprint, **policy.config}
            for seat, policy in run.policies.items()
            if seat != AGENT
        },
        privileged=any(p.privileged for p in run.policies.values()),
        seconds=seconds,
    )
    write_atomically(folder / EVALUATION, orjson.dumps(evaluation, default=dict, option=orjson.OPT_INDENT_2))
    return evaluation


@dataclass(frozen=True)
class _Episodes:
    """The episodes of a folder that belong to a run, read from disk on every iteration."""

    run: Prepared
    stored: Run

    def __iter__(self) -> Iterator[Trajectory]:
        config, wanted = self.run.config, set(self.run.ids)
        mine = self.stored.trajectories.where("sample < ? AND seed = ?", config.k, config.seed)
        return (t for t in mine if t.task.id in wanted)


def begin_anew(folder: Path) -> None:
    """Remove the run in a folder, with its evaluation. Raises `UserError` where the folder holds anything else."""
    discard(folder, also=(EVALUATION,))


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
