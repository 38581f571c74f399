"""What each process of the distributed tests does; by hand, `torchrun --nproc-per-node 2 ranks.py FOLDER`."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from sonde.train.algos.dpo import DPO
from sonde.train.algos.grpo import GRPO
from sonde.train.algos.ilql import ILQL
from sonde.train.algos.mc import MC
from sonde.train.algos.sft import SFT
from sonde.train.collate import batch_of, collate
from sonde.train.logprobs import token_logprobs
from sonde.train.settings import LoraSettings, TrainSettings
from sonde.train.trainer import SondeTrainer
from sonde.train.types import Item, Objective, units


def neighbour(name: str) -> Any:
    """A module beside this file, which is no package when it is run as a script."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tiny = neighbour("tiny")

# 7 items in steps of 4 and 3: the second step gives one process fewer passes. 9 in steps of 4, 4, 1: none at all.
CASES: dict[str, tuple[Objective, Sequence[Item], dict[str, Any]]] = {
    "sft": (SFT(), tiny.samples(7), {"micro_batch": 1}),
    "grpo": (GRPO(), tiny.samples(9, rows=2), {"micro_batch": 2}),
    "dpo": (DPO(alpha=1.0), tiny.pairs(5), {"micro_tokens": 60, "lora": LoraSettings(r=4)}),
    "ilql": (ILQL(bc=0.5, polyak=0.2), tiny.mixed(9, rows=2), {"micro_batch": 1}),
    "mc": (MC(trunk="frozen"), tiny.samples(7), {"micro_batch": 2}),
    "packed": (SFT(), tiny.mixed(8), {"packing": True, "gradient_checkpointing": True}),
}


def run_case(name: str, folder: Path) -> tuple[list[dict[str, float]], dict[str, Any]]:
    """History and weights of one run; the same in one process as in two."""
    objective, items, changes = CASES[name]
    settings = TrainSettings(
        folder=str(folder / name), lr=1e-2, batch_size=4, epochs=2, warmup=0.0, schedule="constant", **changes
    )
    trainer = SondeTrainer(tiny.tiny_model(), objective, items, settings)
    history = trainer.train().history
    return history, {name: p.detach().clone() for name, p in trainer.model.named_parameters() if p.requires_grad}


def ddp(folder: Path) -> None:
    for name in CASES:
        history, weights = run_case(name, folder)
        rank = torch.distributed.get_rank()
        torch.save({"history": history, "weights": weights}, folder / f"{name}.{rank}.pt")


def fsdp(folder: Path) -> None:
    """Three AdamW steps with every layer sharded; each process takes every other item."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import DTensor

    rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
    mesh = init_device_mesh("cpu", (world,))
    found: dict[str, list[float]] = {}
    for name in ("sft", "grpo"):
        objective, items, _ = CASES[name]
        items = items[: len(items) // world * world]
        model = tiny.tiny_model()
        for layer in model.model.layers:
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
        assert all(isinstance(p, DTensor) for p in model.parameters())
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        tensors = collate(items[rank::world], needs=objective.needs, pad_id=tiny.END)
        count = torch.tensor(units(batch_of(tensors), objective.unit))
        torch.distributed.all_reduce(count)
        found[name] = []
        for _ in range(3):
            loss = objective(token_logprobs(model, tensors), batch_of(tensors)).total / count
            (loss * world).backward()
            whole = loss.detach()
            torch.distributed.all_reduce(whole)
            found[name].append(whole.item())
            optimizer.step()
            optimizer.zero_grad()
    (folder / f"fsdp.{rank}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    ddp(Path(sys.argv[1]))  # Trainer starts the process group
    fsdp(Path(sys.argv[1]))
    torch.distributed.destroy_process_group()
