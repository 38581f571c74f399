"""Sharded training: weights, gradients and optimizer state divided over processes (`settings.shard`) by FSDP2.

    torchrun --nproc-per-node 8 -m sonde train grpo maze --model M -o settings.shard=true

A layer is gathered for its passes and freed after them, so each of N processes stores an Nth of the training state (16
bytes per trained weight, with AdamW in float32). Losses and weights equal those of one process.

Computations of a single process (play, beliefs, the reference: as many passes as they take, in others fewer or more)
cannot wait for the others in every layer. `gather_weights` gathers all weights into this very module first and frees
them afterwards. Meanwhile they take their full size on every device, 4 bytes per weight (2 where an adapter is
trained with `bf16`); where that is too much, let a server play, which gets them from the first process's memory.

Checkpoints are those of one process, gathered and written by the first: a run may continue with more processes, fewer,
or without sharding. Loading needs the full model in CPU memory of every process. Adapters are saved separately: shards
cannot be merged.

Departures: no mixed precision of FSDP's own, so that numbers equal those of DDP; every pass of a step reduces. Source:
ours; FSDP as in Zhao et al. 2023.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from safetensors import safe_open
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
from transformers import Trainer
from transformers.modeling_layers import GradientCheckpointingLayer

from sonde.core.errors import StoreError, UserError, invalid
from sonde.models.files.loading import hide_peft_warnings

from .model_io import has_adapter
from .settings import TrainSettings


def is_sharded(model: Any) -> bool:
    return isinstance(model, FSDPModule)


def shard_model(model: Any, device: torch.device) -> None:
    """Divide the weights in place, layer by layer."""
    if not dist.is_initialized():
        raise invalid("train: shard", True, "false in one process; torchrun starts several")
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))
    for layer in _list_layers(model):
        fully_shard(layer, mesh=mesh, reshard_after_forward=True)
    fully_shard(model, mesh=mesh, reshard_after_forward=False)


def _list_layers(model: Any) -> list[Any]:
    return [module for module in model.modules() if isinstance(module, GradientCheckpointingLayer)]


@contextmanager
def gather_weights(model: Any) -> Iterator[None]:
    """Gather all weights in this process, so that it can compute alone; all processes enter together."""
    if not is_sharded(model):
        yield
        return
    parts = [module for module in model.modules() if isinstance(module, FSDPModule)]
    for part in parts:
        part.set_reshard_after_forward(False, recurse=False)
        part.unshard()
    try:
        yield
    finally:
        for part in parts:
            part.reshard()
            part.set_reshard_after_forward(part is not model, recurse=False)


def gather_tensor(tensor: torch.Tensor) -> torch.Tensor:
    """The full tensor, gathered by all processes where it is sharded."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def take_part(tensor: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """This process's part of a full tensor, which all processes hold."""
    if not isinstance(like, DTensor) or isinstance(tensor, DTensor):
        return tensor
    on_device = tensor.to(like.device)
    return distribute_tensor(on_device, like.device_mesh, like.placements, src_data_rank=None)


def full_weights(model: Any) -> dict[str, torch.Tensor]:
    """The full weights to save: in the first process's memory, nothing in the others, which take part. With an adapter,
    only the trained ones."""
    tensors, by_id = dict[str, torch.Tensor](), dict[int, torch.Tensor]()
    trained_only, first = has_adapter(model), dist.get_rank() == 0
    for name, p in model.named_parameters(remove_duplicate=False):
        if trained_only and not p.requires_grad:
            continue
        if id(p) not in by_id:
            tensor = gather_tensor(p.detach())
            by_id[id(p)] = tensor.cpu() if first else torch.empty(0)
        tensors[name] = by_id[id(p)]
    return tensors if first else {}


def load_sharded(model: Any, folder: Path) -> None:
    """Load the weights of a checkpoint into a sharded model; with an adapter, only the trained ones."""
    wanted = {_saved_name(name): p for name, p in model.named_parameters() if p.requires_grad or not has_adapter(model)}
    with torch.no_grad():
        for file in sorted(folder.glob("*model*.safetensors")):
            with safe_open(file, "pt") as tensors:
                for name in sorted(set(tensors.keys()) & set(wanted)):
                    p = wanted.pop(name)
                    p.copy_(take_part(tensors.get_tensor(name).to(p.dtype), p))
    if wanted:
        raise StoreError(
            f"train: resume: {folder} lacks {len(wanted)} tensors of the model, {next(iter(wanted))} first"
        )


def _saved_name(name: str) -> str:
    """The name of a weight in saved files: peft omits its adapter's name."""
    return re.sub(r"\.default(?=\.|$)", "", name)


# --- the optimizer ---------------------------------------------------------------------------------------------------


@contextmanager
def full_optimizer_state(optimizer: Any) -> Iterator[None]:
    """Context in which `state_dict()` is complete in the first process; all processes enter together."""
    first, saved = dist.get_rank() == 0, optimizer.state_dict()
    state = {i: {name: _gather_value(x, first) for name, x in values.items()} for i, values in saved["state"].items()}
    handle = optimizer.register_state_dict_post_hook(lambda *_: {**saved, "state": state})
    try:
        yield
    finally:
        handle.remove()


def _gather_value(value: Any, first: bool) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    tensor = gather_tensor(value)
    return tensor.cpu() if first else None


def shard_loaded_state(optimizer: Any) -> None:
    """Shard a loaded optimizer state, which is complete, like the weights."""

    def shard_state(optimizer: Any, saved: Mapping[str, Any]) -> dict[str, Any]:
        params = [p for group in optimizer.param_groups for p in group["params"]]
        state = {
            i: {name: take_part(x, params[i]) if _is_like(x, params[i]) else x for name, x in values.items()}
            for i, values in saved["state"].items()
        }
        return {**saved, "state": state}

    optimizer.register_load_state_dict_pre_hook(shard_state)


def _is_like(value: Any, p: torch.Tensor) -> bool:
    return isinstance(value, torch.Tensor) and value.shape == p.shape


class ShardedTrainer(Trainer):
    """transformers' trainer, with sharded weights where `settings.shard` says so."""

    settings: TrainSettings
    model: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.settings.shard and (self.is_fsdp_enabled or self.is_deepspeed_enabled):
            raise UserError(
                "train: shard: got true and FSDP or DeepSpeed by accelerate, allowed: one of them; use torchrun"
            )
        # transformers treats it as a model that was loaded sharded: nobody wraps it, and it reduces gradients itself.
        self.is_distributed_loading_by_transformers |= self.settings.shard

    def _move_model_to_device(self, model: Any, device: torch.device) -> None:
        if not self.settings.shard:
            super()._move_model_to_device(model, device)
        elif not is_sharded(model):
            shard_model(model, device)

    def create_optimizer(self, model: Any = None) -> Any:
        optimizer = super().create_optimizer(model)
        if self.settings.shard:
            shard_loaded_state(optimizer)
        return optimizer

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        if self.settings.shard:
            state_dict = full_weights(self.model)
        if self.args.should_save:
            with hide_peft_warnings():
                super()._save(output_dir, state_dict)

    def _save_optimizer_and_scheduler(self, output_dir: str) -> None:
        if not self.settings.shard:
            super()._save_optimizer_and_scheduler(output_dir)
            return
        assert self.optimizer is not None
        with full_optimizer_state(getattr(self.optimizer, "optimizer", self.optimizer)):
            super()._save_optimizer_and_scheduler(output_dir)

    def _issue_warnings_after_load(self, load_result: Any) -> None:
        """Warn of missing weights, but not of those that are tied to others: a checkpoint holds them once."""
        weights = self.model.state_dict(keep_vars=True)
        absent = set(load_result.missing_keys)
        loaded = {weight.data_ptr() for name, weight in weights.items() if name not in absent}
        missing = [n for n in load_result.missing_keys if n not in weights or weights[n].data_ptr() not in loaded]
        super()._issue_warnings_after_load(load_result._replace(missing_keys=missing))

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        if self.settings.shard:
            load_sharded(self.model, Path(resume_from_checkpoint))
        else:
            super()._load_from_checkpoint(resume_from_checkpoint, model)
