"""Earlier weights of the model in training: the initial ones, or a moving average.

    snapshots = WeightSnapshots(model, ("start", "average"))
    with snapshots.use_weights("start"):
        ...                                  # the module has its initial weights
    snapshots.update_average()               # average = .95 average + .05 weights: once per rollout

Only trained weights are copied, so with an adapter the copies are as small as it is, and its start is the model without
it; with sharded weights (`sharded.py`) each process copies its part. Source: ΔBelief-RL's code, which keeps a second
adapter for the average.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from sonde.core import UserError

from ..rewarders import Weights
from ..sharded import gather_tensor, take_part

DECAY = 0.95
"""Decay of the moving average, per rollout, as published."""
FILE = "average.safetensors"
"""File of the moving average in a checkpoint."""


class WeightSnapshots:
    """Copies of earlier weights; see the module. `kept` names the requested ones; nothing else is copied."""

    def __init__(self, module: Any, kept: Iterable[Weights]) -> None:
        self._module = module
        self._copies = {name: self._copy_weights() for name in sorted(set(kept) - {"current"})}

    def _trained_weights(self) -> dict[str, torch.Tensor]:
        return {name: p.data for name, p in self._module.named_parameters() if p.requires_grad}

    def _copy_weights(self) -> dict[str, torch.Tensor]:
        return {name: p.clone() for name, p in self._trained_weights().items()}

    @contextmanager
    def use_weights(self, name: Weights) -> Iterator[None]:
        """Use these weights within a context; the current ones are restored afterwards, exactly."""
        if name == "current":
            yield
            return
        now, other = self._trained_weights(), self._copies[name]
        held = {key: p.clone() for key, p in now.items()}
        try:
            for key, p in now.items():
                p.copy_(other[key])
            yield
        finally:
            for key, p in now.items():
                p.copy_(held[key])

    def update_average(self) -> None:
        """Move the average, if there is one, towards the current weights."""
        average = self._copies.get("average", {})
        for key, p in self._trained_weights().items():
            if key in average:
                average[key].mul_(DECAY).add_(p, alpha=1.0 - DECAY)

    def save_average(self, folder: Path, *, write: bool = True) -> None:
        """Save into a checkpoint; all processes call it, one of them with `write`."""
        average = {name: gather_tensor(p).contiguous() for name, p in self._copies.get("average", {}).items()}
        if average and write:
            save_file(average, folder / FILE)

    def load_average(self, folder: Path) -> None:
        """Load the average of a checkpoint."""
        average = self._copies.get("average")
        if average is None:
            return
        if not (folder / FILE).is_file():
            raise UserError(
                f"train: resume: {folder / FILE} is missing: the moving average of weights cannot be recomputed"
            )
        for name, p in load_file(folder / FILE).items():
            average[name].copy_(take_part(p, average[name]))
