"""Load a model for training, attach a low-rank adapter (peft), and save it as a folder that `models:hf` plays.

**Adapters.** LoRA (Hu et al. 2021) as peft implements it. A fresh adapter changes nothing (its second factor is zero),
so the model with its adapter disabled is the model at the start of the run. Saving merged weights copies the model once
in memory, in float32, so that what is trained stays as it is.

**Number formats.** Weights are trained in float32, whatever format they were stored in. By default a model is saved in
the format of the model it was made from: bfloat16 takes half the space and plays in the arithmetic of its base, but
rounds each weight to 8 significant bits, so a change of a weight by less than some 0.4 % may be lost.
`settings.save_dtype="float32"` keeps every bit. Checkpoints are always in float32.
"""

from __future__ import annotations

import copy
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open

from sonde._util.extras import require_extra
from sonde.core.errors import UserError
from sonde.core.seeding import derive
from sonde.models.files.hub import report_loading_errors
from sonde.models.files.loading import (
    hide_peft_warnings,
    load_causal_model,
    load_config,
    load_tokenizer,
    locate_parts,
    merge_adapter_in_place,
)
from sonde.models.files.saving import hide_progress_bars, report_full_disk

from .settings import LoraSettings
from .training import NEEDED

# --- adapters --------------------------------------------------------------------------------------------------------


def has_adapter(model: Any) -> bool:
    """Whether peft has wrapped this model."""
    return hasattr(model, "peft_config")


def attach_adapter(model: Any, settings: LoraSettings, seed: int, *, bf16: bool = False) -> Any:
    """The model with a fresh adapter in float32, the same for the same seed. Its own weights are frozen, and with
    `bf16` converted to bfloat16."""
    peft = _import_peft()
    if has_adapter(model):
        raise UserError("lora: the model has an adapter already; merge it (`merge_adapter`) or train without `lora`")
    config = peft.LoraConfig(
        r=settings.r,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        target_modules=settings.targets if isinstance(settings.targets, str) else list(settings.targets),
        task_type="CAUSAL_LM",
    )
    if bf16:
        for weight in filter(torch.is_floating_point, model.parameters()):
            weight.data = weight.data.to(torch.bfloat16)  # no buffers: rotary frequencies would be off by up to .4 %
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive(seed, "train", "lora") >> 1)
        try:
            with hide_peft_warnings():
                wrapped = peft.get_peft_model(model, config)
        except ValueError as error:
            raise UserError(f"lora: targets: got {settings.targets!r}: {error}") from error
    for made in wrapped.peft_config.values():  # peft keeps a set, whose order would be saved as it is
        if not isinstance(made.target_modules, str):
            made.target_modules = sorted(made.target_modules)
    return wrapped


def disable_adapter(model: Any) -> Any:
    """A context in which the model computes without its adapter."""
    if not has_adapter(model):
        raise UserError('train: reference: got "adapter_off", but the model has no adapter; allowed: "start"')
    return model.disable_adapter()


def disable_dropout(model: Any) -> None:
    """Put a model in training mode out of its own dropout, until its next `train()`. An adapter's dropout, which is a
    setting, stays on, and so do layers that the backward pass computes again: they do so in training mode alone."""
    for name, module in model.named_modules():
        if "lora_dropout" not in name and not getattr(module, "gradient_checkpointing", False):
            module.training = False


def merge_adapter(model: Any) -> Any:
    """A plain model that computes what `model` does with its adapter, in float32, so that it is rounded only once, when
    saved; the model itself where there is no adapter."""
    if not has_adapter(model):
        return model
    return merge_adapter_in_place(copy.deepcopy(model).float())


def save_folder(model: Any, tokenizer: Any, folder: Path, weights: Mapping[str, Any] | None = None) -> None:
    """Save weights as the model holds them (an adapter alone where there is one), configuration, tokenizer and
    template. `weights`: the full weights, where the model holds only shards."""
    alone = {"save_embedding_layers": False} if has_adapter(model) else {}  # its base has them
    with hide_progress_bars(), report_full_disk(folder):
        model.save_pretrained(folder, state_dict=weights, **alone)
        if tokenizer is not None:
            tokenizer.save_pretrained(folder)


def _import_peft() -> Any:
    require_extra("lora", "peft")
    import peft

    return peft


# --- number formats --------------------------------------------------------------------------------------------------


_MARK = "sonde_stored_dtype"
_FORMATS = {"F64": torch.float64, "F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16}


def stored_dtype(path: str, config: Any) -> torch.dtype:
    """The format of a model's stored weights: that of its configuration, else of its first floating-point tensor, else
    float32."""
    if isinstance(config.dtype, torch.dtype):
        return config.dtype
    for file in sorted(Path(path).glob("*.safetensors")):
        with safe_open(file, "pt") as tensors:
            dtypes = (_FORMATS.get(tensors.get_slice(name).get_dtype()) for name in tensors.offset_keys())
            if (first := next((dtype for dtype in dtypes if dtype is not None), None)) is not None:
                return first
    return torch.float32


def mark_stored_dtype(model: Any, dtype: torch.dtype) -> Any:
    """The model, marked with its stored format."""
    setattr(model, _MARK, dtype)
    return model


def base_dtype(model: Any) -> torch.dtype:
    """The stored format of a model, else its current one."""
    return getattr(model, _MARK, None) or next(p.dtype for p in model.parameters() if p.is_floating_point())


def convert_model(model: Any, dtype: torch.dtype) -> Any:
    """A copy in CPU memory in this number format; the model itself if it has that format."""
    tensors = [*model.parameters(), *model.buffers()]
    if all(p.dtype == dtype for p in tensors if p.is_floating_point()):
        return model
    known = {id(p): _convert_tensor(p, dtype) for p in tensors}
    return copy.deepcopy(model, known)  # deepcopy treats these as existing copies, so that no tensor is copied twice


def _convert_tensor(p: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    made = p.detach().to("cpu", dtype if p.is_floating_point() else p.dtype)
    return torch.nn.Parameter(made, requires_grad=False) if isinstance(p, torch.nn.Parameter) else made


def convert_folder(folder: Path, dtype: torch.dtype) -> None:
    """Convert a saved model that several processes have written together."""
    from transformers import AutoModelForCausalLM

    beside = folder.with_name(f"{folder.name}.{str(dtype).removeprefix('torch.')}")
    with hide_progress_bars(), report_full_disk(beside):
        AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, local_files_only=True).save_pretrained(beside)
    for file in folder.glob("*model*.safetensors*"):
        file.unlink()
    for file in beside.iterdir():
        file.replace(folder / file.name)
    shutil.rmtree(beside)


# --- loading ---------------------------------------------------------------------------------------------------------


def load_model(name: str) -> tuple[Any, Any]:
    """Load module (in float32) and tokenizer for training: a folder, a name listed by `sonde models list`, or a hub
    name; an adapter merged into its base. The module is marked with the stored format of the whole model, in which it
    is saved again."""
    require_extra("training", *NEEDED)
    parts = locate_parts(name)
    tokenizer = load_tokenizer(parts)
    with report_loading_errors(name):
        stored = stored_dtype(parts.base.source.path, load_config(parts))
    return mark_stored_dtype(load_causal_model(parts, dtype="float32"), stored), tokenizer
