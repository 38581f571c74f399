"""The folder of a training run: file names, the lock, and the checkpoint to resume from.

command.txt    the command line, if `sonde train` ran, preceded by the commands that made the initial model
.lock          held by the process that writes here
origin.json    provenance of the run (`provenance.py`); a resumed run must match it

Trainer writes its state last, so a checkpoint without it, or with a part of it, was cut short. A checkpoint with a
state may still hold a truncated file (a full disk, a power failure); then the previous one is used, with a warning.
"""

from __future__ import annotations

import json
import os
import shutil
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError

from sonde.core import StoreError
from sonde.core.errors import UserError
from sonde.models.files.saving import COMMAND
from sonde.runs.store import StoreWarning

LOCK, ORIGIN = ".lock", "origin.json"
DATA, EPISODES, HISTORY, REFERENCE, SETTINGS = (
    "data.json", "episodes", "history.jsonl", "reference.npz", "settings.json",
)  # fmt: skip
AGREEMENT = "agreement.json"
"""Distance between a server and this process at the first publish (`online.off_policy`)."""
MODEL, ADAPTER, BEST = "model", "adapter", "best"
"""Subfolders of the results; `best` holds the weights that were best on held-out tasks (`online.held_out`)."""

_MARKS = (SETTINGS, ORIGIN)
"""Removed last, so that a half-removed folder is still recognised."""
_LEFT = ("checkpoint-*", MODEL, ADAPTER, BEST, f"{BEST}.json", HISTORY, REFERENCE, COMMAND, AGREEMENT, *_MARKS)
REMEDIES = "to begin anew (--fresh), or another folder"


# --- the folder ------------------------------------------------------------------------------------------------------


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, creating the folder if needed; the process that already holds it may enter again.

    Of several processes that train together the first one holds it.
    """
    from filelock import FileLock, Timeout

    if not _is_first():
        yield
        return
    check_no_file(folder)
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


def check_no_file(folder: Path) -> None:
    """Raise `UserError` for a file in the place of the folder."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"train: folder: {folder} is a file; allowed: a folder, which need not exist")


def check_free(folder: Path) -> None:
    """Raise `UserError` where a training would overwrite another one, or a run or a model."""
    leftovers = _list_leftovers(folder)
    if leftovers:
        kinds = f"to resume it (--resume), {REMEDIES}"
        raise UserError(f"train: folder: {folder} holds {leftovers[0].name} of an earlier training; allowed: {kinds}")
    if (folder / "config.json").exists():
        raise UserError(f"train: folder: {folder} holds a run or a model (config.json); allowed: another folder")


def discard_training(folder: Path) -> None:
    """Remove an earlier training; other files stay. Raises `UserError` for a folder with files but without any that
    mark a training."""
    if not _is_first():
        return
    with lock_folder(folder):
        if not any((folder / name).is_file() for name in (*_MARKS, DATA)):
            if any(not path.name.startswith(".") for path in folder.iterdir()):
                raise UserError(f"train: folder: {folder} contains files but is not the folder of a training")
            return
        left = [*_list_leftovers(folder), folder / DATA, *folder.glob(f"{EPISODES}*")]
        for path in sorted(left, key=lambda path: path.name in _MARKS):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _is_first() -> bool:
    """Whether this is the first process of torchrun, before process groups exist."""
    return os.environ.get("RANK", "0") == "0"


def _list_leftovers(folder: Path) -> list[Path]:
    return [path for pattern in _LEFT for path in sorted(folder.glob(pattern))]


# --- checkpoints -----------------------------------------------------------------------------------------------------


STATE = "trainer_state.json"
_LENGTH = 8
"""Size in bytes of the number at the start of a safetensors file: the length of its header."""


def last_checkpoint(folder: Path) -> Path | None:
    """The latest intact checkpoint; None if there is none at all. Raises `StoreError` where all are damaged."""
    complete = [path for path in folder.glob("checkpoint-*") if is_complete(path)]
    complete.sort(key=lambda path: int(path.name.rpartition("-")[2]), reverse=True)
    faults: list[str] = []
    for path in complete:
        fault = find_damage(path)
        if not fault:
            if faults:
                warnings.warn(f"{'; '.join(faults)}; going back to {path.name}", StoreWarning, 2)
            return path
        faults.append(fault)
    if faults:
        raise StoreError(f"train: resume: {'; '.join(faults)}; no other checkpoint is kept")
    return None


@contextmanager
def report_bad_pickles(checkpoint: Path | str | None) -> Iterator[None]:
    """Report foreign pickled objects in a checkpoint's files, which are not unpickled."""
    try:
        yield
    except UnpicklingError as e:
        why = next(iter(str(e).splitlines()), "")
        raise StoreError(f"train: resume: {checkpoint} contains foreign objects and is not loaded ({why})") from e


def is_complete(checkpoint: Path) -> bool:
    """Whether the checkpoint was written to the end."""
    try:
        return "global_step" in json.loads((checkpoint / STATE).read_bytes())
    except (FileNotFoundError, ValueError):
        return False


def find_damage(checkpoint: Path) -> str:
    """The first damaged file of a checkpoint, and why; empty if all are intact."""
    for file in sorted(path for path in checkpoint.iterdir() if path.is_file()):
        try:
            _check_file(file)
        except (ValueError, zipfile.BadZipFile) as e:
            return f"{file}: damaged ({e})"
    return ""


def _check_file(file: Path) -> None:
    """Raise unless the file has the length it declares. Weights are not read."""
    if file.suffix == ".json":
        json.loads(file.read_bytes())
    elif file.suffix in (".pt", ".pth", ".bin"):
        zipfile.ZipFile(file).close()
    elif file.suffix == ".safetensors":
        _check_header(file)


def _check_header(file: Path) -> None:
    size = file.stat().st_size
    with file.open("rb") as f:
        length = int.from_bytes(f.read(_LENGTH), "little")
        parts = json.loads(f.read(min(length, size)))
    ends = [part["data_offsets"][1] for name, part in parts.items() if name != "__metadata__"]
    if size != (expected := _LENGTH + length + max(ends, default=0)):
        raise ValueError(f"{size} bytes, its header says {expected}")
