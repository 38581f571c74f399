"""Low-rank adapters (peft) and how models are saved: a folder that `HF(model=folder)` plays, or the adapter alone.

Source: LoRA (Hu et al. 2021) as peft implements it. A fresh adapter changes nothing (its second factor is zero), so the
model with its adapter off is the model at the start of the run.
Limits: saving merged weights copies the model once in memory, in float32, so that what is trained stays as it is.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sonde._util.extras import need
from sonde.core.errors import UserError
from sonde.core.seeding import derive
from sonde.models.files.saving import no_bars, saving

from .settings import LoraSettings


def has_adapter(model: Any) -> bool:
    """Whether peft has wrapped this model."""
    return hasattr(model, "peft_config")


def attach(model: Any, settings: LoraSettings, seed: int, *, bf16: bool = False) -> Any:
    """The model with a fresh adapter in float32, the same for the same seed. Its own weights are frozen from now on, in
    bfloat16 with `bf16`."""
    import torch

    peft = _peft()
    if has_adapter(model):
        raise UserError("lora: the model has an adapter already; merge it (`lora.merged`) or train without `lora`")
    config = peft.LoraConfig(
        r=settings.r,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        target_modules=settings.targets if isinstance(settings.targets, str) else list(settings.targets),
        task_type="CAUSAL_LM",
    )
    if bf16:
        model.to(torch.bfloat16)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive(seed, "train", "lora") >> 1)
        try:
            with warnings.catch_warnings():  # peft 0.21 asks transformers 5.23 by an old name
                warnings.filterwarnings("ignore", r"`is_gradient_checkpointing` is deprecated", FutureWarning)
                wrapped = peft.get_peft_model(model, config)
        except ValueError as error:
            raise UserError(f"lora: targets: got {settings.targets!r}: {error}") from error
    for made in wrapped.peft_config.values():  # peft keeps a set, whose order would be saved as it comes
        if not isinstance(made.target_modules, str):
            made.target_modules = sorted(made.target_modules)
    return wrapped


def adapter_off(model: Any) -> Any:
    """A context in which the model computes without its adapter."""
    if not has_adapter(model):
        raise UserError('train: reference: got "adapter_off", but the model has no adapter; allowed: "start"')
    return model.disable_adapter()


def merged(model: Any) -> Any:
    """A plain model that computes what `model` does with its adapter, in float32, so that nothing is rounded but once,
    when it is saved (`train.saved`); itself where there is none."""
    return copy.deepcopy(model).float().merge_and_unload() if has_adapter(model) else model


def save(model: Any, tokenizer: Any, folder: Path, weights: Mapping[str, Any] | None = None) -> None:
    """Weights as the model holds them (an adapter alone where there is one), configuration, tokenizer and template.
    `weights`: what they are, where the model holds only parts of them."""
    with no_bars(), saving(folder):
        model.save_pretrained(folder, state_dict=weights)
        if tokenizer is not None:
            tokenizer.save_pretrained(folder)


def _peft() -> Any:
    need("lora", "peft")
    import peft

    return peft
