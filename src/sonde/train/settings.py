"""How to train: every number of a run apart from its objective and its data, and the settings of the papers by name.

Sources: PAPRIKA (Tajwar et al. 2025), section 4 and appendix C, and its code; ΔBelief-RL (2026), section 4.1 and
appendices E and F, and its code; what they do not print is named in `Preset.source`. `tiny_*`: ours, measured on models
of 0.4 M weights.

DeepSpeed and FSDP are chosen by the launcher (`accelerate launch --config_file ...`); no setting here names them. What
the trainer does under them is described in `trainer.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import orjson

from sonde.core.checked import Checked
from sonde.core.errors import invalid, unknown
from sonde.core.frozen import freeze, frozen
from sonde.core.types import EMPTY, Json

Schedule = Literal["cosine", "linear", "constant"]
Reference = Literal["start", "adapter_off", "given"]
Save = Literal["merged", "adapter"]


def _whole(field: str, got: int, least: int) -> None:
    if got < least:
        raise invalid(field, got, f"a whole number, {least} or more")


def _above(field: str, got: float) -> None:
    if not 0 < got < math.inf:
        raise invalid(field, got, "a number above 0")


@dataclass(frozen=True, kw_only=True)
class LoraSettings(Checked):
    """A low-rank adapter. `targets` is "all-linear" or names of modules; `alpha / r` scales what it adds."""

    called = "lora"

    r: int = 16
    alpha: float = 32.0
    targets: str | tuple[str, ...] = "all-linear"
    dropout: float = 0.0

    def __post_init__(self) -> None:
        _whole("lora: r", self.r, 1)
        _above("lora: alpha", self.alpha)
        if not self.targets:
            raise invalid("lora: targets", self.targets, '"all-linear" or names of modules')
        if not 0 <= self.dropout < 1:
            raise invalid("lora: dropout", self.dropout, "0 or more, below 1")
        if not isinstance(self.targets, str):
            object.__setattr__(self, "targets", tuple(self.targets))


@dataclass(frozen=True, kw_only=True)
class TrainSettings(Checked):
    """See the module. Sizes count items: samples, or pairs.

    `folder`: where checkpoints, history and the model go. `max_steps`, where given, counts instead of `epochs`.
    `batch_size` items make an optimizer step, over all processes; a forward pass takes at most `micro_batch` of them
    and, where `micro_tokens` is given, at most so many tokens with padding: accumulation follows from these, and the
    loss does not depend on it. `packing` puts several rows in one line where they fit.
    `warmup` is the share of steps in which the learning rate rises, from 0 at the first; `clip` is the largest norm of
    the gradient (0: none).
    `bf16` computes in bfloat16 by autocast and keeps the weights as they are. `max_tokens`: longer rows are refused.
    `reference`: where reference log-probabilities come from, the weights at the start of the run, the model without its
    adapter, or the rows, where they are given. `save`: whether the model is saved with the adapter merged into it, or
    the adapter alone.
    `save_steps`: steps between checkpoints (None: none are written), of which `keep` remain; `logging_steps`: steps
    that one entry of the history averages over. `report_to`: names that transformers knows, e.g. "tensorboard",
    "wandb", "trackio".
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
    lora: LoraSettings | None = None
    reference: Reference = "start"
    save: Save = "merged"
    save_steps: int | None = None
    keep: int = 2
    logging_steps: int = 1
    report_to: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.folder:
            raise invalid("train: folder", self.folder, "the name of a folder")
        for name in ("batch_size", "micro_batch", "keep", "logging_steps"):
            _whole(f"train: {name}", getattr(self, name), 1)
        for name in ("max_steps", "micro_tokens", "max_tokens", "save_steps"):
            if getattr(self, name) is not None:
                _whole(f"train: {name}", getattr(self, name), 1)
        _whole("train: seed", self.seed, 0)
        for name in ("lr", "epochs"):
            _above(f"train: {name}", getattr(self, name))
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
        """Plain JSON; `from_json` gives an equal value."""
        return {**asdict(self), "betas": list(self.betas), "report_to": list(self.report_to), "lora": self._lora_json()}

    def _lora_json(self) -> dict[str, Any] | None:
        if self.lora is None:
            return None
        targets = self.lora.targets
        return {**asdict(self.lora), "targets": targets if isinstance(targets, str) else list(targets)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TrainSettings:
        """
        >>> TrainSettings.from_json(preset("starpo").to_json()) == preset("starpo")
        True
        """
        lora = data.get("lora")
        return cls(**{**data, "lora": LoraSettings(**lora)} if isinstance(lora, Mapping) else data)


class Preset(NamedTuple):
    """Settings, where they are from, and what the same source fixes beside them (sampling, objective)."""

    settings: TrainSettings
    source: str
    beside: Mapping[str, Json] = EMPTY


def preset(name: str, **changes: Any) -> TrainSettings:
    """The settings of that name, with some of them changed.

    >>> preset("paprika_rpo", folder="runs/rpo").lr
    2e-07
    """
    if name not in PRESETS:
        raise unknown("train: preset", name, PRESETS)
    return replace(PRESETS[name].settings, **changes)


_PAPRIKA = TrainSettings(
    lr=1e-6, batch_size=32, micro_batch=1, bf16=True, gradient_checkpointing=True, max_tokens=12_000
)
_PAPRIKA_SOURCE = (
    "PAPRIKA section 4: AdamW, batch 32, cosine, warm-up .04; appendix C: token limit of fine-tuning; "
    "1 epoch, no weight decay, limit of 8,192 tokens in RPO, bfloat16: its code, not the paper"
)
_GRPO = TrainSettings(
    lr=3e-5, batch_size=128, micro_batch=8, schedule="constant", warmup=0.0, betas=(0.9, 0.95), weight_decay=0.01,
    clip=1.0, bf16=True, lora=LoraSettings(r=64, alpha=64.0),
)  # fmt: skip
_GRPO_BESIDE: dict[str, Json] = {
    "k": 16,
    "temperature": 1.0,
    "clip_low": 0.2,
    "clip_high": 0.28,
    "dual_clip": 3.0,
    "kl": 0,
}
_GRPO_SOURCE = (
    "ΔBelief-RL section 4.1: G = 16, temperature 1, LoRA of rank 64 with alpha 64; appendix F: clip .2 / .28, no KL; "
    "betas, weight decay, clip 1, constant rate, dual clip 3: its code, not the paper; batch_size is ours (8 groups)"
)
_TINY = TrainSettings(batch_size=32, micro_batch=32, micro_tokens=8192, warmup=0.0)
_TINY_SOURCE = "ours: models of 0.4 M weights on their own play of maze and best_arm, one CPU thread; not tuned"

PRESETS: Mapping[str, Preset] = frozen({
    "paprika_sft": Preset(_PAPRIKA, _PAPRIKA_SOURCE, freeze({"temperature": 1.5, "min_p": 0.3, "k": 20})),
    "paprika_rpo": Preset(
        replace(_PAPRIKA, lr=2e-7, max_tokens=8192),
        _PAPRIKA_SOURCE,
        freeze({"temperature": 1.5, "min_p": 0.3, "k": 20, "beta": 0.1, "alpha": 1.0}),
    ),
    "starpo": Preset(
        replace(_GRPO, lr=1e-5),
        f"{_GRPO_SOURCE}; rate of the model of 1.7 B weights (table 5), 3e-5 for 4 B (table 6)",
        freeze({**_GRPO_BESIDE, "aggregation": "seq-mean-token-mean"}),
    ),
    "delta_belief": Preset(_GRPO, _GRPO_SOURCE, freeze({**_GRPO_BESIDE, "aggregation": "token-mean"})),
    "delta_belief_sft": Preset(
        TrainSettings(
            lr=1e-5, epochs=2.0, batch_size=256, micro_batch=16, warmup=0.1, betas=(0.9, 0.95), weight_decay=0.01,
            bf16=True, max_tokens=650,
        ),
        "ΔBelief-RL appendix E.2: 2 epochs, cosine, warm-up .1, batch 256 questions, 650 tokens; bfloat16 is ours",
        freeze({"one_turn_per_row": True}),
    ),
    "tiny_sft": Preset(replace(_TINY, lr=5e-4, epochs=3.0), _TINY_SOURCE),
    "tiny_rpo": Preset(
        replace(_TINY, lr=2e-4, epochs=2.0, batch_size=16), _TINY_SOURCE, freeze({"beta": 0.1, "alpha": 1.0})
    ),
    "tiny_grpo": Preset(
        replace(_TINY, lr=5e-4, batch_size=64, micro_batch=64, schedule="constant", warmup=0.0, max_steps=40),
        _TINY_SOURCE,
        freeze({"tasks": 8, "k": 8, "temperature": 1.0}),
    ),
})  # fmt: skip


def read_settings(file: Path) -> TrainSettings:
    """What `write_settings` wrote."""
    return TrainSettings.from_json(orjson.loads(file.read_bytes()))


def write_settings(file: Path, settings: TrainSettings) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(orjson.dumps(settings.to_json(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
