"""Held-out tasks while training: when they are played, what is kept, and that a resumed run keeps the same."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("torch")

import torch

from sonde.core import UserError
from sonde.models.hf import HF
from sonde.train.collect import Game
from sonde.train.credit import GAE
from sonde.train.model_io import mark_stored_dtype
from sonde.train.objectives.ppo import PPO
from sonde.train.online.settings import OnlineSettings
from sonde.train.rewards import RewardMix

from ..asking import WORDS
from ..tiny import stop_at, tiny_model, tiny_tokenizer
from .test_trainer import ENV, trainer

if TYPE_CHECKING:
    from sonde.train.online.held_out import HeldOut

TASKS = ENV.tasks("test")
GAME = Game(ENV, ENV.tasks("train"), "asking", held_out=TASKS[:4])


def scripted(*args: Any, **options: Any) -> Any:
    """A trainer whose held-out results are given, not played."""
    from sonde.train.online.held_out import HeldOut
    from sonde.train.online.trainer import OnlineTrainer

    class Scripted(OnlineTrainer):
        results: tuple[float, ...] = ()

        def measure_held_out(self) -> HeldOut:
            step = self.state.global_step
            return HeldOut(step=step, split="val", episodes=10, success=self.results[step - 1], score=0.0)

    return Scripted(*args, **options)


SCRIPTED: Any = scripted


def online(**changes: Any) -> OnlineSettings:
    return OnlineSettings(k=4, rewards=RewardMix({"success": 1.0, "turns": -0.1}), **changes)


def test_results_are_of_all_processes_and_failures_do_not_count() -> None:
    from sonde.train.online.held_out import HeldOut, sum_results

    found = sum_results(3, "val", [[(4, 1, 1.0)], [(4, 3, 3.5)]])
    assert found == HeldOut(step=3, split="val", episodes=8, success=0.5, score=0.5625)
    with pytest.raises(UserError, match="step 3: no episode of the split val came to an end"):
        sum_results(3, "val", [[(0, 0, 0.0)]])


def test_equal_results_keep_the_earlier_weights() -> None:
    from sonde.train.online.held_out import HeldOut

    first = HeldOut(step=1, split="val", episodes=4, success=0.5, score=0.5)
    assert first.is_better(None) and not replace(first, step=2).is_better(first)
    assert replace(first, score=0.6).is_better(first) and not replace(first, success=0.4, score=0.9).is_better(first)


def test_the_worlds_are_the_same_each_time_and_a_split_must_exist() -> None:
    from sonde.train.online.held_out import plan_held_out

    game = replace(GAME, held_out=None)
    assert plan_held_out([game], "test", 0) == plan_held_out([game], "test", 0)
    assert [one.task for one in plan_held_out([game], "test", 0)] == list(TASKS)
    assert [one.task for one in plan_held_out([GAME], "test", 0)] == list(TASKS[:4])
    with pytest.raises(UserError, match="eval_split: asking: unknown name 'val'"):
        plan_held_out([game], "val", 0)


@pytest.mark.parametrize("changes", [{"eval_every": 3, "updates_per_rollout": 2}, {"eval_k": 0}, {"eval_every": -1},
                                     {"eval_every": 1, "overlap": True}])  # fmt: skip
def test_settings_are_checked(changes: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="online: eval_"):
        OnlineSettings(**changes)


@pytest.mark.thorough
def test_the_best_weights_are_kept_and_play_as_they_did(tmp_path: Path) -> None:
    """Success .2, .6, .6, .1: the weights of the second step stay, and are those that the model had then."""
    t = trainer(tmp_path, kind=SCRIPTED, games=[GAME], online=online(eval_every=1), max_steps=4, lr=3e-2, save_steps=1,
                keep=4)  # fmt: skip
    t.results = (0.2, 0.6, 0.6, 0.1)  # type: ignore[attr-defined]
    result = t.train()
    assert result.best == tmp_path / "best"
    assert json.loads((tmp_path / "best.json").read_text())["step"] == 2
    assert [entry["held_out"] for entry in result.history] == [0.2, 0.6, 0.6, 0.1]
    best, then, last = (load(folder) for folder in (tmp_path / "best", tmp_path / "checkpoint-2", result.model))
    assert all(torch.equal(best[name], then[name]) for name in then)
    assert any(not torch.equal(best[name], last[name]) for name in last)
    HF(model=str(tmp_path / "best"))


def test_training_ends_after_evaluations_without_a_better_one(tmp_path: Path) -> None:
    """Success .1 before training, then .3, .5, .4, .4: with a patience of two it ends after the fourth step,
    and a resumed run is at its end."""
    changes: dict[str, Any] = {"online": online(eval_every=1, patience=2), "max_steps": 6, "save_steps": 1}
    t, again = (trainer(tmp_path, kind=SCRIPTED, games=[GAME], **changes) for _ in range(2))
    t.results = again.results = (0.3, 0.5, 0.4, 0.4, 0.9, 0.1)  # type: ignore[attr-defined]
    result = t.train()
    assert again.train(resume=True).history == result.history
    assert result.steps == 4 and [entry["held_out"] for entry in result.history] == [0.3, 0.5, 0.4, 0.4]
    assert result.history[0]["held_out_start"] == 0.1 and "held_out_start" not in result.history[1]
    assert json.loads((tmp_path / "best.json").read_text())["step"] == 2
    with pytest.raises(UserError, match="online: patience: got 2, allowed: 0, or with eval_every"):
        online(patience=2)


@pytest.mark.thorough
def test_weights_that_training_never_improves_are_kept_as_they_were(tmp_path: Path) -> None:
    """Success .6 before training, then .2 and .6."""
    t = trainer(tmp_path, kind=SCRIPTED, games=[GAME], online=online(eval_every=1), max_steps=2, lr=3e-2)
    start = {name: weight.clone() for name, weight in t.model.state_dict().items()}
    t.results = (0.2, 0.6)  # type: ignore[attr-defined]
    t.train()
    assert json.loads((tmp_path / "best.json").read_text())["step"] == 0
    best = load(tmp_path / "best")
    assert all(torch.equal(weight, start[name]) for name, weight in best.items())


def test_the_best_weights_are_saved_as_the_last_ones_are(tmp_path: Path) -> None:
    """In the number format of the base model, and with the heads of a critic."""
    model = mark_stored_dtype(tiny_model(vocab=len(tiny_tokenizer(WORDS))), torch.bfloat16)
    credit = online(credit=GAE(), eval_every=1)
    t = trainer(tmp_path, kind=SCRIPTED, model=model, objective=PPO(), games=[GAME], online=credit, max_steps=1)
    t.results = (0.2,)  # type: ignore[attr-defined]
    result = t.train()
    assert result.best is not None
    best, last = (sorted(file.name for file in folder.iterdir()) for folder in (result.best, result.model))
    assert best == last
    assert {weight.dtype for weight in load(result.best).values()} == {torch.bfloat16}


def test_a_resumed_run_keeps_better_weights_of_later_steps(tmp_path: Path) -> None:
    """Success .2, .6, .9, and an end after the third step; made again from the second, it is .3, and then .7."""
    changes: dict[str, Any] = {"kind": SCRIPTED, "games": [GAME], "max_steps": 4, "save_steps": 2, "lr": 3e-2}
    first = trainer(tmp_path, online=online(eval_every=1), **changes)
    first.results = (0.2, 0.6, 0.9, 0.1)  # type: ignore[attr-defined]
    first.add_callback(stop_at(3))
    first.train()
    kept = load(tmp_path / "best")
    rest = trainer(tmp_path, online=online(eval_every=1), **changes)
    rest.results = (0.2, 0.6, 0.3, 0.7)  # type: ignore[attr-defined]
    assert rest.train(resume=True).steps == 4
    assert json.loads((tmp_path / "best.json").read_text())["success"] == 0.9
    assert all(torch.equal(weight, kept[name]) for name, weight in load(tmp_path / "best").items())


def load(folder: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return load_file(folder / "model.safetensors")


@pytest.mark.thorough
def test_evaluating_changes_nothing_of_the_training_and_a_resumed_run_has_the_same(tmp_path: Path) -> None:
    changes: dict[str, Any] = {"max_steps": 4, "save_steps": 2, "lr": 3e-2, "games": [GAME]}
    plain = trainer(tmp_path / "plain", online=online(lock_step=True), **changes).train().history
    watched = trainer(tmp_path / "whole", online=online(lock_step=True, eval_every=1, eval_k=2), **changes).train()
    assert [entry["grad_norm"] for entry in watched.history] == [entry["grad_norm"] for entry in plain]
    assert all(0.0 <= entry["held_out"] <= 1.0 for entry in watched.history)
    resumed = trainer(tmp_path / "whole", online=online(lock_step=True, eval_every=1, eval_k=2), **changes)
    again = resumed.train(resume=tmp_path / "whole" / "checkpoint-2")
    assert [entry["held_out"] for entry in again.history] == [entry["held_out"] for entry in watched.history]
    assert again.best == watched.best
