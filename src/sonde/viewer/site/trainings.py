"""A training: its curves and settings as in the report, and what it played, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sonde.core import content_hash

from ..histories import DATA, HISTORY, SETTINGS
from .library import Library, Shelf
from .run import DRAWING

POINTS = 400
"""Steps that are listed for a game."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """The episodes that a training played at a step."""

    step: int
    n: int
    success: float
    score: float
    turns: float
    first: str


@dataclass(frozen=True, kw_only=True)
class Played:
    """What a training played of one game, by step."""

    run: str
    env: str
    steps: Sequence[Step]
    n: int


@dataclass(frozen=True, kw_only=True)
class TrainingPage:
    """`evaluated` are the runs here whose agent is the trained model or one of its stages, by name."""

    template = "training_page.html.j2"

    title: str
    name: str
    folder: str
    played: Sequence[Played]
    evaluated: Sequence[tuple[str, str]]
    version: str


def page(library: Library, name: str) -> TrainingPage:
    """The page of one training; its curves come separately (`figures`)."""
    folder = library.training(name)
    inside = [shelf for shelf in library.runs if folder in shelf.folder.parents]
    return TrainingPage(
        title=f"Training {name}",
        name=name,
        folder=str(folder),
        played=[_played(library.run(shelf.name)) for shelf in inside],
        evaluated=[(s.name, s.agent) for s in library.runs if s not in inside and _model(s) in _models(folder)],
        version=version(folder),
    )


def version(folder: Path) -> str:
    """Differs when the training has logged something."""
    stats = [(folder / name).stat() for name in (HISTORY, SETTINGS, DATA) if (folder / name).is_file()]
    return content_hash([[stat.st_size, stat.st_mtime_ns] for stat in stats])


def _models(folder: Path) -> set[Path]:
    return {(folder / name).resolve() for name in ("model", "adapter")}


def _model(shelf: Shelf) -> Path | None:
    seats = shelf.config.get("seats") or {}
    model = (seats.get("agent") or {}).get("model")
    name = model.get("model") if isinstance(model, dict) else model
    return Path(name).resolve() if isinstance(name, str) and name else None


def _played(shelf: Shelf) -> Played:
    rows = shelf.run.trajectories.select(
        "CAST(json_extract(tags, '$.step') AS INTEGER), count(*), coalesce(avg(success), 0), coalesce(avg(score), 0), "
        "avg(turns), min(id)",
        group="1",
        order="1",
        limit=POINTS,
    )
    steps = [Step(step=s or 0, n=n, success=w, score=v, turns=t, first=i) for s, n, w, v, t, i in rows]
    return Played(run=shelf.name, env=str(shelf.env_config.get("name")), steps=steps, n=len(shelf.run))


def figures(library: Library, name: str) -> str:
    """The curves of the report about this training, as HTML."""
    folder = library.training(name)
    with DRAWING:
        return drawn(str(folder))


def drawn(folder: str) -> str:
    """The curves of a training as HTML."""
    from ..report import curves  # which brings matplotlib

    return curves(Path(folder))
