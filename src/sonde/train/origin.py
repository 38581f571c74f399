"""What a training comes from beside its settings: base model, data, objective and reference, by their content.

A folder's name says nothing: a model may have been trained again at its path, and a run may have grown. So a resumed
training compares what it would begin with, not what that is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import is_dataclass
from hashlib import blake2b
from typing import Any

import torch

from sonde.core.types import Json

from .collate import members, rows_of
from .reference import Compared, digest
from .types import Item, Objective

_SAMPLE = 1024
"""Weights at the beginning, in the middle and at the end of every tensor that identify a model."""


def origin_of(
    model: Any, objective: Objective, items: Sequence[Item] | None, compared: Compared | None = None
) -> dict[str, Json]:
    """What identifies a training beside its settings; online training finds its items on the way (None)."""
    return {
        "weights": model_digest(model),
        "items": None if items is None else items_digest(items),
        "objective": repr(objective) if is_dataclass(objective) else objective.name,
        "reference": None if compared is None else compared.weights,
    }


def model_digest(model: Any) -> str:
    """Of the names, types and sizes of all weights, and of some of each: training moves all of a tensor."""
    found = blake2b(digest_size=8)
    for name, tensor in sorted(model.state_dict().items()):
        found.update(f"{name} {tensor.dtype} {tuple(tensor.shape)} ".encode())
        flat = tensor.detach().reshape(-1)
        middle = max(0, (len(flat) - _SAMPLE) // 2)
        some = torch.cat([flat[:_SAMPLE], flat[middle : middle + _SAMPLE], flat[-_SAMPLE:]])
        found.update(some.cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return found.hexdigest()


def items_digest(items: Sequence[Item]) -> str:
    """Of all tokens, whose they are, and what they earned."""
    found = blake2b(digest(rows_of(items)), digest_size=8)
    for sample in (sample for item in items for sample in members(item)):
        found.update(f"{sample.score!r} {sample.rewards!r} {sample.cut} ".encode())
    return found.hexdigest()
