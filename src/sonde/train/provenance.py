"""Content hashes of a training run's inputs: base model, data, objective, reference model.

A folder's name proves nothing: a model may have been retrained at its path, and a run may have grown. A resumed
training therefore compares what it would begin with, not what that is called.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson

from sonde._util.folders import write_atomically
from sonde.core.errors import UserError
from sonde.core.types import Json

from .training_folder import ORIGIN, REMEDIES
from .types import Item, Objective, Row, item_rows, item_samples

_SAMPLE = 1024
"""Number of weights hashed at the beginning, in the middle and at the end of every tensor."""
_MISMATCH = {"weights": "another base model", "items": "other training data", "reference": "another reference model"}


def describe_origin(
    model: Any, objective: Objective, items: Sequence[Item] | None, reference: str | None = None
) -> dict[str, Json]:
    """The provenance of a training; online training finds its items on the way (None)."""
    return {
        "weights": hash_model(model),
        "items": None if items is None else hash_items(items),
        "objective": repr(objective) if is_dataclass(objective) else objective.name,
        "reference": reference,
    }


def hash_model(model: Any) -> str:
    """Hash of the names, types and sizes of all weights, and of some of each: training moves all of a tensor."""
    import torch

    hasher = blake2b(digest_size=8)
    for name, tensor in sorted(model.state_dict().items()):
        hasher.update(f"{name} {tensor.dtype} {tuple(tensor.shape)} ".encode())
        flat = tensor.detach().reshape(-1)
        middle = max(0, (len(flat) - _SAMPLE) // 2)
        some = torch.cat([flat[:_SAMPLE], flat[middle : middle + _SAMPLE], flat[-_SAMPLE:]])
        hasher.update(some.cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return hasher.hexdigest()


def hash_items(items: Sequence[Item]) -> str:
    """Hash of all tokens, agent masks and rewards."""
    hasher = blake2b(hash_rows(item_rows(items)), digest_size=8)
    for sample in (sample for item in items for sample in item_samples(item)):
        hasher.update(f"{sample.score!r} {sample.rewards!r} {sample.cut} ".encode())
    return hasher.hexdigest()


def hash_rows(rows: Iterable[Row]) -> bytes:
    """Hash of every row's tokens and agent mask."""
    hasher = blake2b(digest_size=16)
    for row in rows:
        hasher.update(len(row).to_bytes(8, "big") + row.ids.tobytes() + row.agent)
    return hasher.digest()


def check_origin(folder: Path, origin: Mapping[str, Json]) -> None:
    """Raise `UserError` where the training in the folder began with something else."""
    file = folder / ORIGIN
    if not file.is_file():
        return
    try:
        before = json.loads(file.read_text("utf-8"))
        changed = [name for name in origin if before.get(name) != origin[name]]
    except (ValueError, AttributeError) as e:
        raise UserError(f"train: resume: {file}: not a provenance record ({e}); allowed: {REMEDIES}") from e
    if changed:
        name = changed[0]
        what = _MISMATCH.get(name) or f"{name} {before.get(name)}"
        raise UserError(
            f"train: resume: {folder} was begun with {what} ({name}: got {origin[name]}, it has {before.get(name)}); "
            f"allowed: the same one, {REMEDIES}"
        )


def write_origin(folder: Path, origin: Mapping[str, Json]) -> None:
    write_atomically(
        folder / ORIGIN, orjson.dumps(dict(origin), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    )
