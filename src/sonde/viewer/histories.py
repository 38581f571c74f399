"""Folders of trainings as the page needs them: what was trained on what, with which settings, and what it logged.

Reads what `sonde.train` leaves in a folder: `history.jsonl` (needed), `settings.json` and `data.json` (said to be
missing where they are). Names of files are those of `train/trainer.py` and `train/learn.py`, which need torch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from sonde._util.escaping import plain
from sonde.core import UserError
from sonde.train.settings import TrainSettings, read_settings

from .loading import Agent, Source
from .text import compact, indented

HISTORY, SETTINGS, DATA = "history.jsonl", "settings.json", "data.json"
MODELS = ("model", "adapter")
"""Folders that a trained model may be in."""
_COUNTERS = ("step", "epoch", "episodes")
"""Of the entries of a history: how far training was."""


class Series(NamedTuple):
    """One logged number: the steps that have it, and its values."""

    steps: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class History:
    """A training. `agent` is that of the evaluated runs of the trained model, if there are any on the page."""

    folder: Path
    name: str
    steps: int
    entries: int
    counters: Mapping[str, float]
    series: Mapping[str, Series]
    notes: Sequence[str]
    settings: TrainSettings | None
    data: Mapping[str, Any]
    agent: Agent | None = None

    @property
    def objective(self) -> str:
        return str(self.data.get("objective", ""))

    @property
    def start(self) -> str:
        """The model that training began from."""
        return str(self.data.get("model", ""))

    @property
    def saved(self) -> str:
        """Settings and data as JSON."""
        settings = None if self.settings is None else self.settings.to_json()
        return indented({"settings": settings, "data": dict(self.data)})


def histories(folders: Sequence[Path], sources: Sequence[Source], agents: Sequence[Agent]) -> list[History]:
    """The trainings in these folders, in the order given. Raises `UserError` for a folder that holds none."""
    folders = list(dict.fromkeys(folders))
    players = {model_of(source): agent for source, agent in zip(sources, agents, strict=True)}
    names = _names(folders)
    return [_read(folder, name, _player(folder, players)) for folder, name in zip(folders, names, strict=True)]


def model_of(source: Source) -> str:
    """What the agent of a run says its model is; empty for agents without one."""
    model = source.evaluation.agent.get("model")
    return str(model.get("model", "")) if isinstance(model, Mapping) else ""


def _player(folder: Path, players: Mapping[str, Agent]) -> Agent | None:
    places = {(folder / name).resolve() for name in MODELS}
    return next((agent for model, agent in players.items() if model and Path(model).resolve() in places), None)


def _names(folders: Sequence[Path]) -> list[str]:
    """The last parts of their paths, as many as tell them apart."""
    resolved = [folder.resolve() for folder in folders]
    longest = max((len(path.parts) for path in resolved), default=1)
    for n in range(1, longest + 1):
        names = ["/".join(path.parts[-n:]) for path in resolved]
        if len(set(names)) == len(set(resolved)):
            return [plain(name) for name in names]
    return [plain(str(path)) for path in resolved]


def _read(folder: Path, name: str, agent: Agent | None) -> History:
    entries = _entries(folder)
    names = [key for key in dict.fromkeys(k for entry in entries for k in entry) if key not in _COUNTERS]
    series = {key: _series(entries, key) for key in names}
    settings, data = folder / SETTINGS, folder / DATA
    absent = [f"{path.name} is not in the folder" for path in (settings, data) if not path.is_file()]
    return History(
        folder=folder,
        name=agent.name if agent else name,
        steps=int(entries[-1]["step"]),
        entries=len(entries),
        counters={key: float(entries[-1][key]) for key in _COUNTERS if key in entries[-1]},
        series={key: found for key, found in series.items() if found.steps},
        notes=[*absent, *_gaps(entries, names)],
        settings=read_settings(settings) if settings.is_file() else None,
        data=_object(data) if data.is_file() else {},
        agent=agent,
    )


def _entries(folder: Path) -> list[dict[str, Any]]:
    path = folder / HISTORY
    if not path.is_file():
        raise UserError(f"{folder}: no {HISTORY}, so this is no folder of a training that logged a step")
    entries = [_entry(line, f"{path}, line {i}") for i, line in enumerate(path.read_bytes().splitlines(), 1) if line]
    if not entries:
        raise UserError(f"{path}: got no entries, allowed: one or more")
    return entries


def _entry(line: bytes, where: str) -> dict[str, Any]:
    try:
        entry = orjson.loads(line)
    except orjson.JSONDecodeError as e:
        raise UserError(f"{where}: no JSON ({e})") from e
    if not isinstance(entry, dict) or not isinstance(entry.get("step"), int):
        raise UserError(f"{where}: got {compact(entry, 60)}, allowed: an object with a whole number as its step")
    return entry


def _object(path: Path) -> Mapping[str, Any]:
    try:
        found = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as e:
        raise UserError(f"{path}: no JSON ({e})") from e
    if not isinstance(found, dict):
        raise UserError(f"{path}: got {compact(found, 60)}, allowed: an object")
    return found


def _series(entries: Sequence[Mapping[str, Any]], key: str) -> Series:
    found = [(int(e["step"]), float(e[key])) for e in entries if _number(e.get(key))]
    return Series(tuple(step for step, _ in found), tuple(value for _, value in found))


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _gaps(entries: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    """What was logged but is no number: the curve leaves it out, so the page has to say so."""
    found = {name: sum(name in entry and not _number(entry[name]) for entry in entries) for name in names}
    return [f"{plain(name)}: no number in {n} of {len(entries)} entries" for name, n in found.items() if n]
