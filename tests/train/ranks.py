"""The work of each process in the distributed tests; by hand, `torchrun --nproc-per-node 2 ranks.py FOLDER`."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from sonde.train.objectives.dpo import DPO
from sonde.train.objectives.grpo import GRPO
from sonde.train.objectives.ilql import ILQL
from sonde.train.objectives.mc import MC
from sonde.train.objectives.sft import SFT
from sonde.train.settings import LoraSettings, TrainSettings
from sonde.train.types import Item, Objective

if TYPE_CHECKING:
    from sonde.train.trainer import SondeTrainer


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


SHARDED = ("dpo", "packed")
"""Of these, those that are also trained with weights divided over the processes: an adapter, and the whole model."""


def run_case(
    name: str, folder: Path, resume: Any = False, **more: Any
) -> tuple[list[dict[str, float]], dict[str, torch.Tensor]]:
    """History and weights of one run; the same in one process as in two."""
    from sonde.train.sharded import gather_tensor
    from sonde.train.trainer import SondeTrainer

    objective, items, changes = CASES[name]
    settings = TrainSettings(
        folder=str(folder / name), lr=1e-2, batch_size=4, epochs=2, warmup=0.0, schedule="constant", **changes, **more
    )
    trainer = SondeTrainer(tiny.tiny_model(), objective, items, settings)
    history = trainer.train(resume).history
    held[name] = share_held(trainer)
    trained = {name: p.detach().cpu() for name, p in trainer.model.named_parameters() if p.requires_grad}
    return history, {name: gather_tensor(p).clone() for name, p in trained.items()}


held: dict[str, float] = {}
"""By case, of the latest run."""


def share_held(trainer: SondeTrainer) -> float:
    """What part of the weights and of the optimizer's state is in this process."""
    from torch.distributed.tensor import DTensor

    assert trainer.optimizer is not None
    state = [x for values in trainer.optimizer.state.values() for x in values.values()]
    tensors = [x for x in [*trainer.model.parameters(), *state] if isinstance(x, torch.Tensor) and x.dim()]
    mine = sum((x.to_local() if isinstance(x, DTensor) else x).numel() for x in tensors)
    return mine / sum(x.numel() for x in tensors)


def main(folder: Path) -> None:
    for name in CASES:
        made: dict[str, Any] = {"ddp": run_case(name, folder / "ddp")}
        if name in SHARDED:
            made["shard"] = run_case(name, folder / "shard", shard=True, save_steps=1, keep=9)
            middle = folder / "shard" / name / "checkpoint-2"
            made["held"] = held[name]
            made["resumed"] = run_case(name, folder / "shard", middle, shard=True, save_steps=1, keep=9)
        torch.save(made, folder / f"{name}.{torch.distributed.get_rank()}.pt")


if __name__ == "__main__":
    main(Path(sys.argv[1]))  # Trainer starts the process group
    torch.distributed.destroy_process_group()
