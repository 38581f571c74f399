"""The folder of a training: one writer at a time, one training in it, and what its weights come from.

command.txt    what was typed, where it was `sonde train`, after what made the model that it began with
.lock          held by the training that writes here
origin.json    what it began with (`origin.py`): what a resumed one is tied to
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import orjson

from sonde._util.folders import write_atomically
from sonde.core.errors import UserError
from sonde.core.types import Json

LOCK, ORIGIN, COMMAND = ".lock", "origin.json", "command.txt"
DATA, EPISODES, HISTORY, REFERENCE, SETTINGS = (
    "data.json", "episodes", "history.jsonl", "reference.npz", "settings.json",
)  # fmt: skip
AGREEMENT = "agreement.json"
"""How far a server and this process were apart when it was first published to (`agreement.py`)."""
MODEL, ADAPTER = "model", "adapter"
"""Folders of what was trained, in the run's folder."""

_MARKS = (SETTINGS, ORIGIN)
"""Removed last, so that what is left of a folder is known for what it was."""
_LEFT = ("checkpoint-*", MODEL, ADAPTER, HISTORY, REFERENCE, COMMAND, AGREEMENT, *_MARKS)
_WORDS = {"weights": "another base model", "items": "other training data", "reference": "another reference model"}
_REMEDIES = "to begin anew (--fresh), or another folder"


def made_by(model: str) -> str:
    """The commands that made the model of a folder, joined by `&&`; empty where none stands in it or beside it."""
    folder = Path(model)
    told = (place / COMMAND for place in (folder, folder.parent)) if folder.is_dir() else ()
    return next((file.read_text("utf-8").strip() for file in told if file.is_file()), "")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other trainings out of the folder, which is made if need be; one that is held already is held by its caller.

    Of several processes that train together the first one holds it.
    """
    from filelock import FileLock, Timeout

    if not _is_first():
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder.resolve() / LOCK, timeout=0, is_singleton=True)
    try:
        lock.acquire()
    except Timeout:
        raise UserError(f"train: folder: another training is writing to {folder}; allowed: another folder") from None
    try:
        yield
    finally:
        lock.release()


def check_free(folder: Path) -> None:
    """Raise `UserError` where a training would write over another one, or into a run or a model."""
    found = _left(folder)
    if found:
        kinds = f"to resume it (--resume), {_REMEDIES}"
        raise UserError(f"train: folder: {folder} holds {found[0].name} of an earlier training; allowed: {kinds}")
    if (folder / "config.json").exists():
        raise UserError(f"train: folder: {folder} holds a run or a model (config.json); allowed: another folder")


def discard_training(folder: Path) -> None:
    """Remove what a training left, so that another one may begin; other files stay. Raises `UserError` for a folder
    that has files in it but none that tells a training."""
    if not _is_first():
        return
    with locked(folder):
        if not any((folder / name).is_file() for name in (*_MARKS, DATA)):
            if any(not path.name.startswith(".") for path in folder.iterdir()):
                raise UserError(f"train: folder: {folder} has files in it but is not the folder of a training")
            return
        left = [*_left(folder), folder / DATA, *folder.glob(f"{EPISODES}*")]
        for path in sorted(left, key=lambda path: path.name in _MARKS):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _is_first() -> bool:
    """Of the processes that torchrun started, before they know each other."""
    return os.environ.get("RANK", "0") == "0"


def _left(folder: Path) -> list[Path]:
    return [path for pattern in _LEFT for path in sorted(folder.glob(pattern))]


# --- what it comes from ----------------------------------------------------------------------------------------------


def check_origin(folder: Path, origin: Mapping[str, Json]) -> None:
    """Raise `UserError` where the training in the folder began with something else."""
    file = folder / ORIGIN
    if not file.is_file():
        return
    try:
        before = json.loads(file.read_text("utf-8"))
        changed = [name for name in origin if before.get(name) != origin[name]]
    except (ValueError, AttributeError) as e:
        raise UserError(f"train: resume: {file}: not what a training came from ({e}); allowed: {_REMEDIES}") from e
    if changed:
        name = changed[0]
        what = _WORDS.get(name) or f"{name} {before.get(name)}"
        raise UserError(
            f"train: resume: {folder} was begun with {what} ({name}: got {origin[name]}, it has {before.get(name)}); "
            f"allowed: the same one, {_REMEDIES}"
        )


def write_origin(folder: Path, origin: Mapping[str, Json]) -> None:
    write_atomically(
        folder / ORIGIN, orjson.dumps(dict(origin), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    )
