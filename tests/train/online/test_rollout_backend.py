"""The player of online training is `agents:llm` on `models:hf`, with the same view for equal options."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("torch")

import torch

import sonde
from sonde.agents.llm import LLM
from sonde.core import Env, Message, Sampling, Trajectory, UserError
from sonde.models.hf import HF
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.train.collect import Game
from sonde.train.curriculum import Choice
from sonde.train.model_io import load_model
from sonde.train.objectives.grpo import GRPO
from sonde.train.online.groups import plan_tasks
from sonde.train.online.rollout_backend import BackgroundPlay
from sonde.train.online.settings import OnlineSettings
from sonde.train.rewards import RewardMix
from sonde.train.settings import LoraSettings, TrainSettings

from ..asking import WORDS, Asking
from ..tiny import TEMPLATE, tiny_model, tiny_tokenizer, write

if TYPE_CHECKING:
    from sonde.train.online.trainer import OnlineTrainer

LOUD = "{% if loud %}ask {% endif %}" + TEMPLATE
SHOWN: dict[str, Any] = {"system": "won lost", "keep_thinking": True}


def folder_of(path: Path) -> Path:
    """A model that sometimes thinks, with a template that takes an argument."""
    return write(path, 3, f"{WORDS} <think> </think>", template=LOUD)


def calls(played: Sequence[Trajectory]) -> list[tuple[list[int], int, list[int]]]:
    """Of every call: the new part of the prompt, how much it shared with the one before, what was said."""
    ordered = sorted(played, key=lambda t: t.sample)
    found = [c for t in ordered for act in t.acts for c in act.action.completions]
    return [(list(c.prompt_ids), c.shared, list(c.ids)) for c in found]


def online(path: Path, folder: Path, env: Env[Any, Any], **options: Any) -> tuple[list[Any], int]:
    """The calls of the first task as online training plays it, and its world."""
    from sonde.train.online.trainer import OnlineTrainer

    model, tokenizer = load_model(str(folder))
    games = [Game(env, env.tasks("train")[:4], "game")]
    settings = TrainSettings(folder=str(path), batch_size=8, micro_batch=8, max_steps=1)
    chosen = OnlineSettings(k=8, lock_step=True, max_new_tokens=6, **options)
    trainer = OnlineTrainer(model, GRPO(), games, settings, chosen, tokenizer=tokenizer)
    (name,) = trainer.groups
    places = plan_tasks(trainer.groups, [Choice(name, 0)], 0, 0)
    (played,) = trainer.play_tasks(places)
    asyncio.run(trainer.hf.close())
    return calls(played), places[0].seed


def evaluated(folder: Path, env: Env[Any, Any], seed: int, template: Any, **options: Any) -> list[Any]:
    hf = HF(model=str(folder), template=template)
    agent = LLM(model=hf, temperature=1.0, min_p=0.0, max_new_tokens=6, **options)
    return calls(list(collect_trajectories(env, {"agent": agent}, env.tasks("train")[:1], Plan(k=8, seed=seed))))


def test_play_in_the_background_is_stopped_or_has_ended_already() -> None:
    async def wait(seconds: float) -> str:
        await asyncio.sleep(seconds)
        return "played"

    ended, running = BackgroundPlay(wait(0.0)), BackgroundPlay(wait(3600.0))
    assert ended.result() == "played"
    for play in (ended, ended, running, running):  # its loop may be closed, or about to be
        play.stop()
    assert ended.result() == "played"
    with pytest.raises(asyncio.CancelledError):
        running.result()


def test_what_is_played_online_is_what_is_evaluated(tmp_path: Path) -> None:
    folder, env, template = folder_of(tmp_path / "model"), Asking(), {"loud": True}
    played, seed = online(tmp_path / "all", folder, env, template=template, kv_bytes=0, **SHOWN)
    assert played == evaluated(folder, env, seed, template, **SHOWN)
    tokenizer = tiny_tokenizer(f"{WORDS} <think> </think>")
    ask, system = tokenizer.convert_tokens_to_ids(["ask", "<|system|>"])
    assert played[0][0][:2] == [ask, system]
    assert any(tokenizer.convert_tokens_to_ids("<think>") in said for _, _, said in played)
    for name, usual in (("template", {}), ("system", ""), ("keep_thinking", False)):  # each of them reaches the prompts
        other, _ = online(tmp_path / name, folder, env, **{"template": template, **SHOWN, name: usual})
        assert other != played


def test_examples_are_shown_online_too(tmp_path: Path) -> None:
    folder, env = folder_of(tmp_path / "model"), sonde.make("combination_lock", preset="psrl")
    options = {"examples": 1, "answer_only": True}
    played, seed = online(tmp_path / "one", folder, env, **options)
    assert played == evaluated(folder, env, seed, {}, **options)
    bare, _ = online(tmp_path / "none", folder, env)
    assert len(bare[0][0]) < len(played[0][0])


def test_bad_options_are_refused_before_anything_is_played(tmp_path: Path) -> None:
    folder, env = folder_of(tmp_path / "model"), Asking()
    with pytest.raises(UserError, match=r"online: kv_bytes: got -1, allowed: 0 or more"):
        OnlineSettings(kv_bytes=-1)
    with pytest.raises(UserError, match=r"agents:llm: context: got 'some'"):
        online(tmp_path / "a", folder, env, context="some")


# --- memory ----------------------------------------------------------------------------------------------------------


def asking(folder: Path, kind: type[OnlineTrainer] | None = None, **changes: Any) -> OnlineTrainer:
    from sonde.train.online.trainer import OnlineTrainer

    tokenizer, env = tiny_tokenizer(WORDS), Asking()
    usual: dict[str, Any] = {"lr": 1e-2, "batch_size": 8, "micro_batch": 8, "max_steps": 2, "warmup": 0.0}
    settings = TrainSettings(folder=str(folder), **{**usual, **changes})
    rewards = RewardMix({"success": 1.0, "turns": -0.1})
    games, online = [Game(env, env.tasks("train"), "asking")], OnlineSettings(k=8, max_new_tokens=3, rewards=rewards)
    return (kind or OnlineTrainer)(
        tiny_model(vocab=len(tokenizer)), GRPO(), games, settings, online, tokenizer=tokenizer
    )


def kept(trainer: OnlineTrainer) -> list[Any]:
    """The tensors that the player holds."""
    engine = trainer.hf._loaded_model.engine
    slots = [t for node in engine.slots._iterate_nodes() for t in node.kv if t is not None]
    return slots + [t for t in engine.batch._stacks if t is not None]


def test_what_play_keeps_is_freed_before_training(tmp_path: Path) -> None:
    from sonde.train.online.trainer import OnlineTrainer

    held: list[int] = []

    class Watched(OnlineTrainer):
        def training_step(self, *args: Any, **kwargs: Any) -> Any:
            held.append(len(kept(self)))
            return super().training_step(*args, **kwargs)

        def _check_played(self, *args: Any) -> None:
            assert self.hf.stats.prefilled > 0 and self.hf.stats.kept_bytes == 0
            super()._check_played(*args)

    asking(tmp_path, Watched).train()
    assert held == [0, 0]


@pytest.mark.parametrize("bf16", [False, True])
def test_keys_and_values_are_kept_in_the_type_that_is_computed_in(tmp_path: Path, bf16: bool) -> None:
    trainer = asking(tmp_path, bf16=bf16)
    trainer.accelerator.prepare_model(trainer.model)
    with trainer.evaluation_mode():
        asyncio.run(trainer.hf.generate((Message("user", "start again"),), Sampling(max_new_tokens=3)))
        found = kept(trainer)
    assert found and {t.dtype for t in found} == {torch.bfloat16 if bf16 else torch.float32}
    asyncio.run(trainer.hf.close())


def test_frozen_weights_are_in_bfloat16_and_the_adapter_is_not(tmp_path: Path) -> None:
    trainer = asking(tmp_path, bf16=True, lora=LoraSettings(r=4), max_steps=4)
    weights = dict(trainer.model.named_parameters())
    before = {name: p.detach().clone() for name, p in weights.items()}
    assert {p.dtype for p in weights.values() if p.requires_grad} == {torch.float32}
    assert {p.dtype for p in weights.values() if not p.requires_grad} == {torch.bfloat16}
    result = trainer.train()
    assert abs(result.history[0]["ratio"] - 1.0) < 0.02
    for name, p in trainer.model.named_parameters():
        if "lora_A" not in name:  # the second factor starts at zero, so the first moves one step later
            assert torch.equal(p, before[name]) != p.requires_grad, name
    merged, _ = load_model(str(result.model))
    layer = trainer.model.cpu().base_model.model.model.layers[0].self_attn.q_proj
    expected = layer.base_layer.weight.float() + layer.get_delta_weight("default").float()
    torch.testing.assert_close(merged.model.layers[0].self_attn.q_proj.weight, expected, atol=1e-6, rtol=0)


def test_where_a_user_is_served_is_no_part_of_what_a_checkpoint_is_tied_to(tmp_path: Path) -> None:
    """A job that goes on gets another host; another model would be another training."""
    from sonde.train.online.trainer import OnlineTrainer

    env, tokenizer = sonde.make("twenty_questions"), tiny_tokenizer(WORDS)
    settings = TrainSettings(folder=str(tmp_path), batch_size=8, max_steps=1)

    def tied(model: str, host: str) -> dict[str, Any]:
        served = sonde.make("models:http", model=model, base_url=f"http://{host}/v1")
        games = [Game(env, env.tasks("train")[:1], "game")]
        trainer = OnlineTrainer(
            tiny_model(0, vocab=len(tokenizer)), GRPO(), games, settings, tokenizer=tokenizer,
            policies={"user": sonde.make("users:llm", model=served)},
        )  # fmt: skip
        return trainer.resume_identity

    assert tied("m", "a:8000") == tied("m", "b:8000") != tied("n", "a:8000")
