"""Playing and training in two processes on gloo: the episodes, numbers and weights of one process."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

from sonde.train.algos.grpo import GRPO
from sonde.train.credit import ReturnToGo
from sonde.train.curriculum import UCB
from sonde.train.gather import Game
from sonde.train.groups import OnlineSettings
from sonde.train.online import OnlineTrainer
from sonde.train.rewarders import BeliefGain
from sonde.train.rewards import RewardMix
from sonde.train.settings import TrainSettings


def neighbour(name: str) -> Any:
    """A module beside this file, which is no package when it is run as a script."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def train(folder: Path) -> dict[str, Any]:
    """Three steps of four groups of two, some flat; UCB chooses, so that both processes need all potentials; beliefs
    are those of the weights' moving average."""
    tiny, asking = neighbour("tiny"), neighbour("asking")
    env, tokenizer = asking.Asking(), tiny.tiny_tokenizer(asking.WORDS)
    rewards, belief = RewardMix({"success": 1.0, "turns": -0.1, "belief": 0.1}), BeliefGain(of="average")
    online = OnlineSettings(
        k=2, by="difficulty", bandit=UCB(), rewards=rewards, rewarders=(belief,), credit=ReturnToGo()
    )
    settings = TrainSettings(
        folder=str(folder), lr=3e-3, batch_size=8, max_steps=3, warmup=0.0, schedule="constant", micro_batch=4
    )
    model, games = tiny.tiny_model(vocab=len(tokenizer)), [Game(env, env.tasks("train"), "asking")]
    trainer = OnlineTrainer(model, GRPO(), games, settings, online, tokenizer=tokenizer)
    history = trainer.train().history
    weights = {name: p.detach().clone() for name, p in trainer.model.named_parameters()}
    return {"history": history, "weights": weights, "progress": trainer.progress.state.to_json()}


@pytest.mark.slow
def test_two_processes_are_one(tmp_path: Path) -> None:
    neighbour("processes").run_both(Path(__file__), tmp_path)
    one = train(tmp_path / "one")
    for rank in range(2):
        two = torch.load(tmp_path / f"{rank}.pt")
        for before, after in zip(one["history"], two["history"], strict=True):
            names = [name for name in before if not name.startswith("seconds")]
            assert {n: after[n] for n in names} == pytest.approx({n: before[n] for n in names}, abs=1e-3)
        assert two["progress"]["pending"] == {} and two["progress"]["chosen"] == one["progress"]["chosen"] == 12
        for name, (n, total) in one["progress"]["arms"].items():
            assert two["progress"]["arms"][name] == [n, pytest.approx(total)]
        for name, weight in one["weights"].items():
            torch.testing.assert_close(two["weights"][name], weight, atol=1e-3, rtol=0)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    torch.save(train(folder / "two"), folder / f"{os.environ['RANK']}.pt")
    torch.distributed.destroy_process_group()
