"""Heads in the trainer: the loss is independent of passes; target heads, resuming, adapters, saving."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cases import each

pytest.importorskip("torch")
import torch
from safetensors.torch import load_file

from sonde import UserError
from sonde.models.local.heads import NAME, attach_heads, load_heads
from sonde.train.collate import collate, make_batch
from sonde.train.logprobs import token_values
from sonde.train.objectives.ilql import ILQL
from sonde.train.objectives.mc import MC
from sonde.train.settings import LoraSettings, TrainSettings
from sonde.train.types import Item, Objective, count_units

from .tiny import END, mixed, stop_at, tiny_model, tiny_tokenizer, train_offline

if TYPE_CHECKING:
    from sonde.train.trainer import SondeTrainer, TrainResult


def items(n: int = 8) -> list[Item]:
    """Of two rows each; a limit ended every other one."""
    return [replace(s, cut=i % 2 == 1, rewards=(1.0,) * s.turns) for i, s in enumerate(mixed(n, rows=2))]


def settings(folder: Path, **changes: Any) -> TrainSettings:
    given = {"lr": 1e-2, "batch_size": 4, "micro_batch": 2, "epochs": 2.0, "warmup": 0.0, "seed": 3}
    return TrainSettings(folder=str(folder), **{**given, **changes})


def trained(folder: Path, objective: Objective, **changes: Any) -> tuple[SondeTrainer, TrainResult]:
    from sonde.train.trainer import SondeTrainer

    trainer = SondeTrainer(tiny_model(), objective, items(), settings(folder, **changes), tiny_tokenizer())
    return trainer, trainer.train()


def losses(result: TrainResult) -> list[float]:
    return [entry["loss"] for entry in result.history]


FAST = ILQL(cql=0.1, bc=0.5, polyak=0.2, discount=0.9)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "objective",
    [
        pytest.param(FAST, id="ilql"), pytest.param(ILQL(trunk="frozen"), id="frozen"),
        pytest.param(MC(cql=0.1), id="mc", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_how_a_step_is_cut_changes_nothing(objective: Objective, tmp_path: Path) -> None:
    whole, first = trained(tmp_path / "4", objective, micro_batch=4)
    cuts: dict[str, dict[str, Any]] = {
        "1": {"micro_batch": 1}, "packed": {"micro_batch": 3, "packing": True},
        "recomputed": {"micro_batch": 2, "gradient_checkpointing": True},
    }  # fmt: skip
    for name, cut in cuts.items():
        again, result = trained(tmp_path / name, objective, **cut)
        assert losses(result)[0] == pytest.approx(losses(first)[0], abs=1e-5)
        assert losses(result) == pytest.approx(losses(first), abs=1e-3)
        assert whole.heads is not None and again.heads is not None
        for a, b in zip(whole.heads.parameters(), again.heads.parameters(), strict=True):
            assert (a - b.cpu()).abs().mean().item() <= 1e-4


def test_a_step_is_that_of_a_loop_written_by_hand(tmp_path: Path) -> None:
    from sonde.train.trainer import SondeTrainer

    trainer, result = trained(tmp_path, FAST, batch_size=8, epochs=3, schedule="constant", clip=0.0)
    model = tiny_model()
    heads = attach_heads(model, FAST.heads, 0)
    given = SondeTrainer(tiny_model(), FAST, items(), settings(tmp_path / "other"))  # the same seed: the same heads
    assert given.heads is not None
    for mine, theirs in zip(heads.parameters(), given.heads.parameters(), strict=True):
        mine.data.copy_(theirs)
    tensors = collate(items(), needs=FAST.needs, pad_id=END)
    batch = make_batch(tensors)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2, weight_decay=0.0)
    for entry in result.history:
        logprob_RT, head = token_values(model, heads, tensors)
        loss = FAST(logprob_RT, replace(batch, head=head)).total / count_units(batch, "token")
        assert entry["loss"] == pytest.approx(loss.item(), abs=5e-4)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for slow, fast in zip(heads.target.parameters(), heads.q.parameters(), strict=True):
            slow.data += 0.2 * (fast.data - slow.data)
    assert trainer.heads is not None
    for a, b in zip(heads.parameters(), trainer.heads.parameters(), strict=True):
        assert (a - b.cpu()).abs().mean().item() <= 1e-4


def test_hard_copies_come_every_so_many_steps(tmp_path: Path) -> None:
    from transformers import TrainerCallback

    from sonde.train.trainer import SondeTrainer

    trainer = SondeTrainer(tiny_model(), replace(FAST, polyak=1.0, every=3), items(), settings(tmp_path, epochs=4))
    heads, seen = trainer.heads, []
    assert heads is not None

    class Look(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            pairs = zip(heads.q.parameters(), heads.target.parameters(), strict=True)
            seen.append(all(torch.equal(a, b) for a, b in pairs))

    trainer.add_callback(Look())
    trainer.train()
    assert seen == [False, False, True, False, False, True, False, False]


@pytest.mark.thorough
@pytest.mark.parametrize("adapter", [None, LoraSettings(r=4, dropout=0.1)], ids=["full", "lora"])
def test_a_resumed_run_is_the_run(
    adapter: LoraSettings | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from transformers import AutoModelForCausalLM

    changes: dict[str, Any] = {"epochs": 3, "save_steps": 1, "lora": adapter, "warmup": 0.2}

    def run(folder: Path, **how: Any) -> TrainResult:
        return train_offline(tiny_model(), FAST, items(), settings(folder, **changes), **how)

    whole = run(tmp_path / "a")
    assert run(tmp_path / "b", callbacks=[stop_at(3)]).steps == 3
    rest = run(tmp_path / "b", resume=True)
    assert rest.history == whole.history
    assert NAME not in caplog.text
    kept, again = (load_file(r.model / "heads.safetensors") for r in (whole, rest))
    assert all(torch.equal(kept[name], again[name]) for name in kept)
    assert any(not torch.equal(kept[f"q.{n}"], kept[f"target.{n}"]) for n in ("0.2.weight", "1.2.bias"))
    for a, b in zip(*(AutoModelForCausalLM.from_pretrained(r.model).parameters() for r in (whole, rest)), strict=True):
        assert torch.equal(a, b)


@pytest.mark.thorough
def test_what_is_saved_is_a_model_and_its_heads(tmp_path: Path) -> None:
    """With an adapter merged into it: values of the saved pair are those of the trained one."""
    from transformers import AutoModelForCausalLM

    trainer, result = trained(tmp_path, FAST, lora=LoraSettings(r=4))
    names = set(load_file(result.model / "model.safetensors"))
    assert not any(NAME in name for name in names)
    trainer.model.cpu()  # and its heads with it
    loaded = AutoModelForCausalLM.from_pretrained(result.model)
    tensors = collate(items(3), needs=FAST.needs, pad_id=END)
    with torch.no_grad():
        assert trainer.heads is not None
        logprob, head = token_values(trainer.model, trainer.heads, tensors)
        again, of_again = token_values(loaded, load_heads(result.model, loaded), tensors)
    torch.testing.assert_close(again, logprob, atol=1e-5, rtol=0)
    for name, values in head.items():
        torch.testing.assert_close(of_again[name], values, atol=1e-4, rtol=0)
    assert (result.folder / "adapter" / "adapter_model.safetensors").exists()


@pytest.mark.thorough
def test_a_frozen_trunk_stays(tmp_path: Path) -> None:
    trainer, _ = trained(tmp_path, MC(trunk="frozen"), weight_decay=0.1)
    for (name, p), q in zip(trainer.model.named_parameters(), tiny_model().parameters(), strict=False):
        assert NAME not in name and torch.equal(p.cpu(), q)
    assert trainer.heads is not None and any(p.any() for p in trainer.heads.q[0][2].parameters())
    with pytest.raises(UserError, match=r"lora: got an adapter, allowed: none where trunk"):
        trained(tmp_path / "lora", MC(trunk="frozen"), lora=LoraSettings(r=2))


@pytest.mark.thorough
def test_bad_heads_of_a_checkpoint_are_named(tmp_path: Path) -> None:
    changed = settings(tmp_path, save_steps=2, max_steps=4)
    train_offline(tiny_model(), FAST, items(), changed, callbacks=[stop_at(2)])
    (tmp_path / "checkpoint-2" / "heads.safetensors").unlink()
    with pytest.raises(UserError, match=r"checkpoint-2.heads\.safetensors is missing"):
        train_offline(tiny_model(), FAST, items(), changed, resume=True)


@each("make, message",
    [
        (lambda: ILQL(tau=1.0), "ilql: tau"), (lambda: ILQL(discount=1.1), "ilql: discount"),
        (lambda: MC(cql=-1.0), "mc: cql"), (lambda: MC(trunk="detached"), "mc: trunk: got 'detached'"),
        (lambda: ILQL(trunk="frozen", bc=1.0), "ilql: trunk: got 'frozen'"), (lambda: ILQL(per="word"), "ilql: per"),
        (lambda: ILQL(polyak=0.0), "heads: polyak"), (lambda: ILQL(limit="stop"), "ilql: limit"),
        (lambda: MC(scale=0.0), "mc: scale: got 0.0, allowed: above 0"),
    ],
)  # fmt: skip
def test_bad_options_are_named(make: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        make()
