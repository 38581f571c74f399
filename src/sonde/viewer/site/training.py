"""The page of a training: curves and settings as in the report, and the episodes it played, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sonde.core import content_hash

from ..figures.training import prepare_trainings
from ..templating import render_template
from ..training_history import DATA, HISTORY, SETTINGS, find_model_folders, model_path, read_histories
from .library import Library, Shelf
from .run import DRAWING

POINTS = 400
"""Maximum number of steps listed for an environment."""


@dataclass(frozen=True, kw_only=True)
class TrainingStep:
    """The episodes that a training played at a step."""

    step: int
    n: int
    success: float
    score: float
    turns: float
    first: str


@dataclass(frozen=True, kw_only=True)
class PlayedEpisodes:
    """The episodes that a training played in one environment, by step."""

    run: str
    env: str
    steps: Sequence[TrainingStep]
    n: int


@dataclass(frozen=True, kw_only=True)
class TrainingPage:
    """`evaluated` are the runs of the trained model, by name."""

    template = "training_page.html.j2"

    title: str
    name: str
    folder: str
    played: Sequence[PlayedEpisodes]
    evaluated: Sequence[tuple[str, str]]
    version: str


def make_training_page(library: Library, name: str) -> TrainingPage:
    """The page of one training; its curves are a separate part (`draw_figures`)."""
    folder = library.find_training(name)
    inside = [shelf for shelf in library.runs if folder in shelf.folder.parents]
    return TrainingPage(
        title=f"Training {name}",
        name=name,
        folder=str(folder),
        played=[_read_played(library.run(shelf.name)) for shelf in inside],
        evaluated=[
            (s.name, s.agent)
            for s in library.runs
            if s not in inside and model_path(s.seats.get("agent") or {}) in find_model_folders(folder)
        ],
        version=hash_version(folder),
    )


def hash_version(folder: Path) -> str:
    """A hash that changes when the training has logged something."""
    stats = [(folder / name).stat() for name in (HISTORY, SETTINGS, DATA) if (folder / name).is_file()]
    return content_hash([[stat.st_size, stat.st_mtime_ns] for stat in stats])


def _read_played(shelf: Shelf) -> PlayedEpisodes:
    rows = shelf.run.trajectories.select_columns(
        "CAST(json_extract(tags, '$.step') AS INTEGER), count(*), coalesce(avg(success), 0), "
        "coalesce(avg(agent_return), 0), avg(turns), min(id)",
        group="1",
        order="1",
        limit=POINTS,
    )
    steps = [TrainingStep(step=s or 0, n=n, success=w, score=v, turns=t, first=i) for s, n, w, v, t, i in rows]
    return PlayedEpisodes(run=shelf.name, env=str(shelf.env_config.get("name")), steps=steps, n=len(shelf.run))


def draw_figures(library: Library, name: str) -> str:
    """The curves and settings of this training as HTML."""
    folder = library.find_training(name)
    with DRAWING:
        trainings = prepare_trainings(read_histories([folder]), alone=True)
        return render_template("training.html.j2", trainings=trainings, titled=False)
