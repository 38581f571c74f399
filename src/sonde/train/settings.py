"""The trainer's settings: every number of a run apart from its objective and its data. The papers': `train.presets`.

DeepSpeed is configured by the launcher (`accelerate launch --config_file ...`), not by a setting here; see
`trainer.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import orjson

from sonde._util.argument_checks import Checked
from sonde._util.folders import write_atomically
from sonde.core.errors import invalid

Schedule = Literal["cosine", "linear", "constant"]
Reference = Literal["start", "adapter_off", "given"]
Save = Literal["merged", "adapter"]
SaveDtype = Literal["base", "float32"]

FREE = (
    "folder", "report_to", "keep", "save_steps", "micro_batch", "micro_tokens", "packing", "gradient_checkpointing",
    "shard", "save_dtype",
)  # fmt: skip
"""Settings that a resumed run may change: they do not affect what is learned."""


def _check_whole(field: str, got: int, least: int) -> None:
    if got < least:
        raise invalid(field, got, f"a whole number, {least} or more")


def _check_above(field: str, got: float) -> None:
    if not 0 < got < math.inf:
        raise invalid(field, got, "a number above 0")


@dataclass(frozen=True, kw_only=True)
class LoraSettings(Checked):
    """A low-rank adapter. `targets` is "all-linear" or names of modules; `alpha / r` scales its output."""

    called = "lora"

    r: int = 16
    alpha: float = 32.0
    targets: str | tuple[str, ...] = "all-linear"
    dropout: float = 0.0

    def __post_init__(self) -> None:
        _check_whole("lora: r", self.r, 1)
        _check_above("lora: alpha", self.alpha)
        if not self.targets:
            raise invalid("lora: targets", self.targets, '"all-linear" or names of modules')
        if not 0 <= self.dropout < 1:
            raise invalid("lora: dropout", self.dropout, "0 or more, below 1")
        if not isinstance(self.targets, str):
            object.__setattr__(self, "targets", tuple(self.targets))


@dataclass(frozen=True, kw_only=True)
class TrainSettings(Checked):
    """The trainer's settings. Sizes count items: samples, or pairs.

    `folder`: where checkpoints, history and the model go. `max_steps`, if given, overrides `epochs`. `batch_size` items
    make an optimizer step, over all processes; a forward pass takes at most `micro_batch` of them and, with
    `micro_tokens`, at most so many tokens including padding: accumulation follows from these, and the loss does not
    depend on it. `packing` puts several rows in one line where they fit. `warmup` is the share of steps in which the
    learning rate rises, from 0 at the first; `clip` is the largest norm of the gradient (0: none). `bf16` computes in
    bfloat16 by autocast and leaves the weights as they are; with `lora` the frozen weights are kept in bfloat16, and
    the adapter in float32. `shard` divides weights, gradients and the optimizer's state over processes
    (`train.sharded`). `max_tokens`: longer rows are refused. `reference`: the source of reference log-probabilities:
    the weights at the start of the run, the model without its adapter, or the rows, where they are given. `save`:
    whether the model is saved with the adapter merged into it, or the adapter alone; `save_dtype`: in the number format
    of its base model, or in float32, the format of training (`train.model_io`). `save_steps`: steps between checkpoints
    (None: none are written), of which `keep` remain; `logging_steps`: steps that one entry of the history averages
    over. `report_to`: loggers that transformers knows, e.g. "tensorboard", "wandb", "trackio".
    """

    called = "train"

    folder: str = "trained"
    lr: float = 1e-6
    epochs: float = 1.0
    max_steps: int | None = None
    batch_size: int = 32
    micro_batch: int = 8
    micro_tokens: int | None = None
    packing: bool = False
    max_tokens: int | None = None
    schedule: Schedule = "cosine"
    warmup: float = 0.04
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: float = 0.0
    clip: float = 1.0
    seed: int = 0
    bf16: bool = False
    gradient_checkpointing: bool = False
    shard: bool = False
    lora: LoraSettings | None = None
    reference: Reference = "start"
    save: Save = "merged"
    save_dtype: SaveDtype = "base"
    save_steps: int | None = None
    keep: int = 2
    logging_steps: int = 1
    report_to: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.folder:
            raise invalid("train: folder", self.folder, "the name of a folder")
        for name in ("batch_size", "micro_batch", "keep", "logging_steps"):
            _check_whole(f"train: {name}", getattr(self, name), 1)
        for name in ("max_steps", "micro_tokens", "max_tokens", "save_steps"):
            if getattr(self, name) is not None:
                _check_whole(f"train: {name}", getattr(self, name), 1)
        _check_whole("train: seed", self.seed, 0)
        for name in ("lr", "epochs"):
            _check_above(f"train: {name}", getattr(self, name))
        self._check_ranges()
        self._check_combinations()

    def _check_ranges(self) -> None:
        object.__setattr__(self, "betas", tuple(self.betas))
        object.__setattr__(self, "report_to", tuple(self.report_to))
        if not 0 <= self.warmup < 1:
            raise invalid("train: warmup", self.warmup, "0 or more, below 1 (a share of the steps)")
        if not all(0 <= beta < 1 for beta in self.betas):
            raise invalid("train: betas", self.betas, "two numbers, 0 or more, below 1")
        for name in ("weight_decay", "clip"):
            if not 0 <= getattr(self, name) < math.inf:
                raise invalid(f"train: {name}", getattr(self, name), "0 or more")

    def _check_combinations(self) -> None:
        if self.reference == "adapter_off" and self.lora is None:
            raise invalid("train: reference", self.reference, '"start" where there is no adapter (lora is None)')
        if self.save == "adapter" and self.lora is None:
            raise invalid("train: save", self.save, '"merged" where there is no adapter (lora is None)')
        if self.save_steps is not None and self.save_steps % self.logging_steps:
            allowed = f"a multiple of logging_steps ({self.logging_steps}), so that resuming keeps the history"
            raise invalid("train: save_steps", self.save_steps, allowed)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; `from_json` restores an equal value."""
        return {**asdict(self), "betas": list(self.betas), "report_to": list(self.report_to), "lora": self._lora_json()}

    def _lora_json(self) -> dict[str, Any] | None:
        if self.lora is None:
            return None
        targets = self.lora.targets
        return {**asdict(self.lora), "targets": targets if isinstance(targets, str) else list(targets)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TrainSettings:
        """
        >>> TrainSettings.from_json(TrainSettings(lr=1e-4).to_json()) == TrainSettings(lr=1e-4)
        True"""
        lora = data.get("lora")
        return cls(**{**data, "lora": LoraSettings(**lora)} if isinstance(lora, Mapping) else data)

    def with_overrides(self, changes: Mapping[str, Any]) -> TrainSettings:
        """The settings with changes given as plain JSON; of an adapter's settings, too, unnamed ones stay."""
        lora = changes.get("lora")
        if isinstance(lora, Mapping):
            changes = {**changes, "lora": replace(self.lora or LoraSettings(), **lora)}
        return replace(self, **changes)


def read_settings(file: Path) -> TrainSettings:
    """Read the file of `write_settings`."""
    return TrainSettings.from_json(orjson.loads(file.read_bytes()))


def write_settings(file: Path, settings: TrainSettings) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, orjson.dumps(settings.to_json(), option=orjson.OPT_INDENT_2).decode())
