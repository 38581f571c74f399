"""The work of each process where two train with one server; the file `url` in the folder holds its address."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import torch

import sonde
from sonde.train.collect import Game
from sonde.train.objectives.grpo import GRPO
from sonde.train.online.settings import OnlineSettings
from sonde.train.rewards import RewardMix
from sonde.train.settings import LoraSettings, TrainSettings


def neighbour(name: str) -> Any:
    """A module beside this file, which is no package when it is run as a script."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def train(folder: Path, url: str, **changes: Any) -> dict[str, Any]:
    """Two steps of eight episodes, four groups of two, an adapter published before each."""
    from sonde.train.online.trainer import OnlineTrainer
    from sonde.train.sharded import gather_tensor

    tiny, asking = neighbour("tiny"), neighbour("asking")
    env, tokenizer = asking.Asking(), tiny.tiny_tokenizer(asking.WORDS)
    settings = TrainSettings(
        folder=str(folder), lr=3e-3, batch_size=8, max_steps=2, warmup=0.0, schedule="constant", lora=LoraSettings(r=4),
        **changes,
    )  # fmt: skip
    online = OnlineSettings(k=2, max_new_tokens=3, rewards=RewardMix({"success": 1.0, "turns": -0.1}), overlap=True)
    trainer = OnlineTrainer(
        tiny.tiny_model(0, vocab=len(tokenizer)), GRPO(cap=2.0), [Game(env, env.tasks("train"), "asking")], settings,
        online, tokenizer=tokenizer,
        server=sonde.make("models:vllm", base_url=url, model="served", api_key_env="", retries=0),
    )  # fmt: skip
    history = trainer.train().history
    trained = {name: p.detach().cpu() for name, p in trainer.model.named_parameters() if p.requires_grad}
    return {"history": history, "weights": {name: gather_tensor(p).clone() for name, p in trained.items()}}


def main(folder: Path) -> None:
    import torch.distributed as dist

    made = train(folder / "two", (folder / "url").read_text(), shard=True)
    torch.save(made, folder / f"rank-{dist.get_rank()}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
