"""Online training in two gloo processes gives the episodes, numbers and weights of one process."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

from sonde.train.collect import Game
from sonde.train.credit import GAE, ReturnToGo
from sonde.train.curriculum import UCB
from sonde.train.objectives.grpo import GRPO
from sonde.train.objectives.ppo import PPO
from sonde.train.objectives.sft import SFT
from sonde.train.online.settings import OnlineSettings
from sonde.train.rewarders import BeliefGain
from sonde.train.rewards import RewardMix
from sonde.train.settings import TrainSettings


def neighbour(name: str) -> Any:
    """A module beside this file, which is no package when it is run as a script."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[1] / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def play(
    folder: Path, objective: Any, online: OnlineSettings, resume: bool | Path = False, **changes: Any
) -> dict[str, Any]:
    """Three steps of eight episodes."""
    from sonde.train.online.trainer import OnlineTrainer
    from sonde.train.sharded import gather_tensor

    tiny, asking = neighbour("tiny"), neighbour("asking")
    env, tokenizer = asking.Asking(), tiny.tiny_tokenizer(asking.WORDS)
    settings = TrainSettings(
        folder=str(folder),
        lr=3e-3,
        batch_size=8,
        max_steps=3,
        warmup=0.0,
        schedule="constant",
        micro_batch=4,
        **changes,
    )
    model, games = tiny.tiny_model(vocab=len(tokenizer)), [Game(env, env.tasks("train"), "asking")]
    trainer = OnlineTrainer(model, objective, games, settings, online, tokenizer=tokenizer)
    history = trainer.train(resume).history
    weights = {name: gather_tensor(p.detach()).cpu().clone() for name, p in trainer.model.named_parameters()}
    return {
        "history": history,
        "weights": weights,
        "progress": {**trainer.progress.state.to_json(), "kl": trainer.progress.kl},
    }


def with_critic(folder: Path) -> dict[str, Any]:
    """Whitened over what both have played, with a penalty that follows a target."""
    credit = GAE(discount=0.95, kl=0.1, kl_target=0.01, kl_horizon=100)
    return play(folder, PPO(), OnlineSettings(k=1, credit=credit, rewards=RewardMix({"success": 1.0, "turns": -0.1})))


def best_of_both(folder: Path) -> dict[str, Any]:
    return play(folder, SFT(), OnlineSettings(k=2, keep=0.4, rewards=RewardMix({"success": 1.0, "turns": -0.1})))


def train(folder: Path, resume: bool | Path = False, **changes: Any) -> dict[str, Any]:
    """Four groups of two, some flat; UCB chooses, so that both processes need all potentials; beliefs are
    compared with those of the weights' moving average, and the policy is held near the one of the start."""
    rewards, belief = RewardMix({"success": 1.0, "turns": -0.1, "belief": 0.1}), BeliefGain(baseline="average")
    online = OnlineSettings(
        k=2, by="difficulty", bandit=UCB(), rewards=rewards, rewarders=(belief,), credit=ReturnToGo()
    )
    return play(folder, GRPO(kl=0.1), online, resume, **changes)


def sharded(folder: Path) -> dict[str, Any]:
    """The same with weights divided between the processes, and gone on with from its second step."""
    whole = train(folder, shard=True, save_steps=1, keep=3)
    return {**whole, "resumed": train(folder, folder / "checkpoint-2", shard=True, save_steps=1, keep=3)}


CASES = {"group": train, "critic": with_critic, "best": best_of_both, "sharded": sharded}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What this file left when it ran in two processes."""
    folder = tmp_path_factory.mktemp("ranks")
    neighbour("processes").run_both(Path(__file__), folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", ["critic", "best"])
def test_two_processes_learn_as_one(name: str, folder: Path, tmp_path: Path) -> None:
    """Advantages, penalties and shares are of what all have played."""
    one = CASES[name](tmp_path)
    for rank in range(2):
        two = torch.load(folder / f"{name}.{rank}.pt")
        assert two["progress"]["kl"] == pytest.approx(one["progress"]["kl"], rel=1e-6)
        for before, after in zip(one["history"], two["history"], strict=True):
            names = [name for name in before if not name.startswith("seconds")]
            assert {n: after[n] for n in names} == pytest.approx({n: before[n] for n in names}, abs=2e-3)
        for key, weight in one["weights"].items():
            torch.testing.assert_close(two["weights"][key], weight, atol=2e-3, rtol=0)


@pytest.mark.slow
def test_two_processes_are_one(folder: Path, tmp_path: Path) -> None:
    """By DDP; with weights divided between them; where that goes on from a checkpoint, in two processes or in one."""
    one = train(tmp_path / "one")
    for rank in range(2):
        shards = torch.load(folder / f"sharded.{rank}.pt")
        for two in (torch.load(folder / f"group.{rank}.pt"), shards, shards["resumed"]):
            same(two, one)
    shutil.copytree(folder / "sharded", tmp_path / "on")
    same(train(tmp_path / "on", tmp_path / "on" / "checkpoint-2"), one)


def same(two: dict[str, Any], one: dict[str, Any]) -> None:
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
    for name, case in CASES.items():
        torch.save(case(folder / name), folder / f"{name}.{os.environ['RANK']}.pt")
    torch.distributed.destroy_process_group()
