"""Which checkpoint of a training to go on from: the latest that is whole.

Trainer writes its state last, so a checkpoint that lacks it, or has a part of it, was cut short. In one that has it a
file may still be truncated (a full disk, a lost power supply); then the one before is taken, and that is said.
"""

from __future__ import annotations

import json
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError

from sonde.core import StoreError
from sonde.runs.store import StoreWarning

STATE = "trainer_state.json"
_LENGTH = 8
"""Bytes of the number with which a safetensors file begins: the length of its header."""


def last_checkpoint(folder: Path) -> Path | None:
    """The latest whole one; None where there is none at all. Raises `StoreError` where all there are damaged."""
    complete = [path for path in folder.glob("checkpoint-*") if is_complete(path)]
    complete.sort(key=lambda path: int(path.name.rpartition("-")[2]), reverse=True)
    faults: list[str] = []
    for path in complete:
        fault = damaged(path)
        if not fault:
            if faults:
                warnings.warn(f"{'; '.join(faults)}; going back to {path.name}", StoreWarning, 2)
            return path
        faults.append(fault)
    if faults:
        raise StoreError(f"train: resume: {'; '.join(faults)}; no other checkpoint is kept")
    return None


@contextmanager
def restoring(checkpoint: Path | str | None) -> Iterator[None]:
    """Around what goes on from a checkpoint: objects of others in its files, which are not unpickled, are said."""
    try:
        yield
    except UnpicklingError as e:
        why = next(iter(str(e).splitlines()), "")
        raise StoreError(f"train: resume: {checkpoint} holds what no checkpoint does, and is not read ({why})") from e


def is_complete(checkpoint: Path) -> bool:
    """Whether it was written to the end."""
    try:
        return "global_step" in json.loads((checkpoint / STATE).read_bytes())
    except (FileNotFoundError, ValueError):
        return False


def damaged(checkpoint: Path) -> str:
    """The first file of a checkpoint that is not whole, and why; empty if all are."""
    for file in sorted(path for path in checkpoint.iterdir() if path.is_file()):
        try:
            _read(file)
        except (ValueError, zipfile.BadZipFile) as e:
            return f"{file}: damaged ({e})"
    return ""


def _read(file: Path) -> None:
    """Raise unless the file is as long as it says. Weights are not read."""
    if file.suffix == ".json":
        json.loads(file.read_bytes())
    elif file.suffix in (".pt", ".pth", ".bin"):
        zipfile.ZipFile(file).close()
    elif file.suffix == ".safetensors":
        _read_header(file)


def _read_header(file: Path) -> None:
    size = file.stat().st_size
    with file.open("rb") as f:
        length = int.from_bytes(f.read(_LENGTH), "little")
        parts = json.loads(f.read(min(length, size)))
    ends = [part["data_offsets"][1] for name, part in parts.items() if name != "__metadata__"]
    if size != (expected := _LENGTH + length + max(ends, default=0)):
        raise ValueError(f"{size} bytes, its header says {expected}")
