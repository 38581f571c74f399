"""In which number format a trained model is saved: by default in that of the model it was made of.

Weights are trained in float32, whatever they were stored in. Saved in bfloat16 again they take half the space, and play
in the arithmetic that their base plays in; each is rounded to 8 significant bits, so a change of a weight by less than
some 0.4 % may be lost. `settings.save_dtype="float32"` keeps every bit. Checkpoints are in float32 always.
"""

from __future__ import annotations

import copy
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open

from sonde.models.files.saving import no_bars, saving

_MARK = "sonde_stored_dtype"
_FORMATS = {"F64": torch.float64, "F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16}


def stored_dtype(path: str, config: Any) -> torch.dtype:
    """The format in which the weights of a model are stored: what its configuration says, else the first of its tensors
    that is no whole number; float32 where neither is to be had."""
    if isinstance(config.dtype, torch.dtype):
        return config.dtype
    for file in sorted(Path(path).glob("*.safetensors")):
        with safe_open(file, "pt") as tensors:
            found = (_FORMATS.get(tensors.get_slice(name).get_dtype()) for name in tensors.offset_keys())
            if (first := next((dtype for dtype in found if dtype is not None), None)) is not None:
                return first
    return torch.float32


def mark(model: Any, dtype: torch.dtype) -> Any:
    """The model, which remembers that it was stored so."""
    setattr(model, _MARK, dtype)
    return model


def base_dtype(model: Any) -> torch.dtype:
    """How a model was stored, or else how it is now."""
    return getattr(model, _MARK, None) or next(p.dtype for p in model.parameters() if p.is_floating_point())


def in_dtype(model: Any, dtype: torch.dtype) -> Any:
    """A copy in the memory of the processor with its numbers in this format; the model itself where all are."""
    tensors = [*model.parameters(), *model.buffers()]
    if all(p.dtype == dtype for p in tensors if p.is_floating_point()):
        return model
    known = {id(p): _converted(p, dtype) for p in tensors}
    return copy.deepcopy(model, known)  # which takes these for copies of its tensors, so that none is made twice


def _converted(p: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    made = p.detach().to("cpu", dtype if p.is_floating_point() else p.dtype)
    return torch.nn.Parameter(made, requires_grad=False) if isinstance(p, torch.nn.Parameter) else made


def convert_folder(folder: Path, dtype: torch.dtype) -> None:
    """The same for a model that several processes have written together."""
    from transformers import AutoModelForCausalLM

    beside = folder.with_name(f"{folder.name}.{str(dtype).removeprefix('torch.')}")
    with no_bars(), saving(beside):
        AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, local_files_only=True).save_pretrained(beside)
    for file in folder.glob("*model*.safetensors*"):
        file.unlink()
    for file in beside.iterdir():
        file.replace(folder / file.name)
    shutil.rmtree(beside)
