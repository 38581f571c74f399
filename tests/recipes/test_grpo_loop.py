"""The recipe of GRPO: its advantages and its loss are those of the library, and it learns."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs the extra: pip install 'sonde-rl[train]'")

import torch

import sonde
from sonde.models.files.shipped import get_shipped_model
from sonde.models.hf import HF
from sonde.train.collate import collate
from sonde.train.credit import GroupRelative, with_advantages
from sonde.train.data import make_samples
from sonde.train.logprobs import token_logprobs
from sonde.train.objectives.grpo import GRPO
from sonde.train.types import Batch, count_units

from .loading import count_lines, load


@cache
def recipe() -> Any:
    return load("grpo_loop")


@pytest.fixture(scope="module")
def played() -> Any:
    """A model, and two groups of four episodes with it."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    base = get_shipped_model("sonde-tiny-best_arm")
    model = AutoModelForCausalLM.from_pretrained(base.folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(base.folder)
    hf = HF.from_module(model, tokenizer, model=base.name, lock_step=True)
    env = sonde.make("best_arm", preset="small")
    trajectories = recipe().play(env, recipe().make_agent(hf, 1.0), env.tasks("train")[:2], 4, seed=5)
    sonde.core.run_sync(hf.close())
    return model, tokenizer, make_samples(trajectories)[0]


def test_advantages_are_those_of_the_library(played: Any) -> None:
    _, _, episodes = played
    groups: dict[str, list[Any]] = {}
    for episode in episodes:
        groups.setdefault(episode.group, []).append(episode)
    credit = GroupRelative()({name: [torch.tensor(e.rewards).numpy() for e in rows] for name, rows in groups.items()})
    ours = [float(values[0]) for rows in credit.values() for values in rows]
    assert recipe().compute_advantages(episodes) == pytest.approx(ours) and len(groups) == 2
    assert max(map(abs, ours)) > 0.4


def test_loss_and_gradient_are_those_of_the_library(played: Any) -> None:
    """Also where the weights have moved, so that ratios are not 1, and whatever the size of a pass."""
    model, tokenizer, episodes = played
    advantages = [0.7, -1.1, 0.3, 0.0, -0.2, 1.5, -0.4, -0.8]
    with torch.no_grad():
        model.get_input_embeddings().weight.mul_(1.1)
    found = []
    for rows_per_pass in (128, 5):
        model.zero_grad()
        batches = recipe().make_batches(episodes, advantages, tokenizer.pad_token_id, rows_per_pass)
        losses = [recipe().compute_loss(model, batch, 0.2, 0.28) for batch in batches]
        total = torch.stack(losses).sum()
        total.backward()
        found.append((float(total.detach()), model.get_input_embeddings().weight.grad.clone()))
    model.zero_grad()
    grpo = GRPO()
    credited = [with_advantages(episode, value) for episode, value in zip(episodes, advantages, strict=True)]
    tensors = collate(credited, needs=grpo.needs, pad_id=tokenizer.pad_token_id)
    batch = Batch(**{name: tensors[name] for name in Batch.__dataclass_fields__ if name in tensors})
    loss = grpo(token_logprobs(model, tensors), batch).total / count_units(batch, grpo.unit)
    loss.backward()
    gradient = model.get_input_embeddings().weight.grad
    for total, theirs in found:
        assert total == pytest.approx(float(loss.detach()), abs=1e-6) and abs(total) > 1e-3
        assert torch.allclose(theirs, gradient, atol=1e-6) and float(gradient.abs().max()) > 1e-3


@pytest.mark.thorough
def test_it_learns(capsys: pytest.CaptureFixture[str]) -> None:
    """Fewer steps, small and real: more test tasks are won, by more than chance."""
    found = recipe().train(recipe().Config(steps=8, learning_rate=5e-4, test_tasks=150))
    assert found["gains"][1.0].low > 0 and found["gains"][1.0].mean > 0.05
    assert len(capsys.readouterr().out.splitlines()) == 8 + 2
    assert count_lines("grpo_loop") <= 250
