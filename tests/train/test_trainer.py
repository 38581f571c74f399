"""The trainer: the loss is independent of passes; resuming, references, saving, refusals."""

from __future__ import annotations

import json
import logging
import random
from array import array
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("torch")

import torch

from sonde import UserError
from sonde.train.collate import collate, make_batch
from sonde.train.logprobs import LogprobScorer, token_logprobs
from sonde.train.model_io import attach_adapter, merge_adapter
from sonde.train.objectives.dpo import DPO
from sonde.train.objectives.grpo import GRPO
from sonde.train.objectives.sft import SFT
from sonde.train.settings import LoraSettings, TrainSettings
from sonde.train.types import Item, Objective, count_units, item_rows

from .tiny import END, bare, mixed, pairs, sample, samples, stop_at, tiny_model, tiny_tokenizer, train_offline

if TYPE_CHECKING:
    from sonde.train.trainer import TrainResult

OBJECTIVES: list[tuple[Objective, Sequence[Item]]] = [
    (SFT(), mixed(8)),
    (GRPO(), mixed(8, rows=2)),
    (DPO(alpha=1.0), pairs(8)),
]
IDS = ["token", "sample", "pair"]


def settings(folder: Path, **changes: Any) -> TrainSettings:
    given = {"lr": 1e-2, "batch_size": 4, "micro_batch": 2, "epochs": 2.0, "warmup": 0.0, "seed": 3}
    return TrainSettings(folder=str(folder), **{**given, **changes})


def fit(folder: Path, objective: Objective, items: Sequence[Item], **changes: Any) -> tuple[Any, TrainResult]:
    model = tiny_model()
    return model, train_offline(model, objective, items, settings(folder, **changes), tiny_tokenizer())


def losses(result: TrainResult) -> list[float]:
    return [entry["loss"] for entry in result.history]


def same_weights(a: Any, b: Any, most: float = 1e-5) -> None:
    """On average over a tensor: Adam's first steps turn the sign of a gradient near zero into a whole step."""
    for x, y in zip(a.parameters(), b.parameters(), strict=True):
        assert (x.cpu() - y.cpu()).abs().mean().item() <= most


# --- the loss of a step -----------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize(("objective", "items"), OBJECTIVES, ids=IDS)
def test_how_a_step_is_cut_changes_nothing(objective: Objective, items: Sequence[Item], tmp_path: Path) -> None:
    whole, first = fit(tmp_path / "4", objective, items, micro_batch=4)
    cuts: dict[str, dict[str, Any]] = {
        "1": {"micro_batch": 1},
        "tokens": {"micro_batch": 4, "micro_tokens": 60},
        "packed": {"micro_batch": 3, "packing": True},
        "recomputed": {"micro_batch": 2, "gradient_checkpointing": True},
    }
    for name, cut in cuts.items():
        model, result = fit(tmp_path / name, objective, items, **cut)
        assert losses(result)[0] == pytest.approx(losses(first)[0], abs=1e-6)
        assert losses(result) == pytest.approx(losses(first), abs=2e-5)  # later steps: Adam magnifies rounding
        same_weights(model, whole)
        for key in first.history[1]:  # at step 1 policy and reference are equal, and which is above is rounding
            assert result.history[1][key] == pytest.approx(first.history[1][key], abs=1e-3), key


@pytest.mark.parametrize(("objective", "items"), OBJECTIVES, ids=IDS)
def test_a_step_is_that_of_a_loop_written_by_hand(objective: Objective, items: Sequence[Item], tmp_path: Path) -> None:
    """Three epochs of one step each: the total over all items, divided by their units, one AdamW step, clipped."""
    trained, result = fit(
        tmp_path, objective, items, batch_size=8, epochs=3, betas=(0.8, 0.9), weight_decay=0.1, clip=0.5,
        schedule="constant",
    )  # fmt: skip
    model = tiny_model()
    if "reference" in objective.needs:
        items = LogprobScorer(model=tiny_model(), pad_id=END)(items)
    tensors = collate(items, needs=objective.needs, pad_id=END)
    batch = make_batch(tensors)
    decayed = [p for n, p in model.named_parameters() if "norm" not in n]
    rest = [p for n, p in model.named_parameters() if "norm" in n]
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-2, betas=(0.8, 0.9))
    for entry in result.history:
        loss = objective(token_logprobs(model, tensors), batch).total / count_units(batch, objective.unit)
        assert entry["loss"] == pytest.approx(loss.item(), abs=2e-5)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        assert entry["grad_norm"] == pytest.approx(norm.item(), rel=1e-3)
        optimizer.step()
        optimizer.zero_grad()
    same_weights(trained, model)


def test_the_last_mini_batch_may_be_small_and_every_item_is_seen_once(tmp_path: Path) -> None:
    from sonde.train.trainer import SondeTrainer

    items = samples(7)
    seen: list[int] = []

    class Watch(SondeTrainer):
        def make_passes(self, items: Sequence[Item]) -> Any:
            seen.extend(int(item.trajectory.partition("-")[2]) for item in items)  # type: ignore[union-attr]
            return super().make_passes(items)

    result = Watch(tiny_model(), SFT(), items, settings(tmp_path, epochs=2)).train()
    assert result.steps == 4 and len(result.history) == 4
    assert sorted(seen[:7]) == sorted(seen[7:]) == list(range(7)) and seen[:7] != seen[7:]


def test_history_averages_over_units_and_is_written(tmp_path: Path) -> None:
    _, each = fit(tmp_path / "1", SFT(), samples(8), schedule="constant", max_steps=3)
    _, every_other = fit(tmp_path / "2", SFT(), samples(8), schedule="constant", max_steps=3, logging_steps=2)
    assert [e["step"] for e in every_other.history] == [2, 3]
    assert every_other.history[1]["loss"] == pytest.approx(losses(each)[2])
    assert every_other.history[0]["loss"] == pytest.approx(sum(losses(each)[:2]) / 2)
    for result in (each, every_other):
        lines = (result.folder / "history.jsonl").read_text().splitlines()
        assert [json.loads(line) for line in lines] == result.history
    assert each.history[0]["nll"] == pytest.approx(each.history[0]["loss"])


def test_a_constant_rate_rises_first_too(tmp_path: Path) -> None:
    _, result = fit(tmp_path, SFT(), samples(4), schedule="constant", warmup=0.5, max_steps=4)
    rates = [entry["learning_rate"] for entry in result.history]
    assert rates[0] < rates[1] <= rates[2] == rates[3] == pytest.approx(0.01)


def test_bf16_learns_and_keeps_weights_in_float32(tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    model, result = fit(tmp_path, SFT(), samples(8), bf16=True, epochs=6)
    assert losses(result)[-1] < losses(result)[0] - 0.5
    assert {p.dtype for p in model.cpu().parameters()} == {torch.float32}
    tensors = collate(samples(2), needs=frozenset(), pad_id=END)
    assert token_logprobs(model, tensors).dtype == torch.float32
    exact = AutoModelForCausalLM.from_pretrained(result.model)
    assert torch.equal(token_logprobs(model, tensors), token_logprobs(exact, tensors))  # autocast ended with training


def test_nothing_outside_is_touched(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model, before = tiny_model(), tiny_model()
    before.save_pretrained(tmp_path / "before")  # which notes type and architecture in the configuration
    capfd.readouterr()
    states = random.getstate(), torch.random.get_rng_state()
    train_offline(model, SFT(), samples(4), settings(tmp_path / "run"), tiny_tokenizer())
    assert random.getstate() == states[0] and torch.equal(torch.random.get_rng_state(), states[1])
    assert model.config.to_dict() == before.config.to_dict()
    assert model.generation_config.to_dict() == before.generation_config.to_dict()
    assert not model.training
    assert capfd.readouterr() == ("", "")


def test_loggers_of_transformers_are_told(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    fit(tmp_path, SFT(), samples(4), report_to=("tensorboard",))
    assert list(tmp_path.rglob("events.out.tfevents*"))


# --- resuming and references ------------------------------------------------------------------------------------------


def dropping() -> Any:
    return tiny_model(attention_dropout=0.2)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("objective", "items", "adapter", "stop"),
    [(SFT(), samples(8), None, 3), (DPO(), pairs(8), LoraSettings(r=4, dropout=0.1), 2)],
    ids=["full", "lora"],
)
def test_a_resumed_run_is_the_run(
    objective: Objective, items: Sequence[Item], adapter: LoraSettings | None, stop: int, tmp_path: Path
) -> None:
    """With dropout, and a reference that weights on the way could not give; epochs end after steps 2, 4 and 6."""
    from transformers import AutoModelForCausalLM

    changes: dict[str, Any] = {"epochs": 3, "save_steps": 1, "lora": adapter, "schedule": "cosine", "warmup": 0.2}
    straight, broken = settings(tmp_path / "a", **changes), settings(tmp_path / "b", **changes)
    whole = train_offline(dropping(), objective, items, straight)
    first = train_offline(dropping(), objective, items, broken, callbacks=[stop_at(stop)])
    assert first.steps == stop and whole.steps == 6
    (tmp_path / "b" / "checkpoint-5").mkdir()  # cut short while it was written
    rest = train_offline(dropping(), objective, items, broken, resume=True)
    assert rest.history == whole.history
    lines = (tmp_path / "b" / "history.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == whole.history
    for a, b in zip(*(AutoModelForCausalLM.from_pretrained(r.model).parameters() for r in (whole, rest)), strict=True):
        assert torch.equal(a, b)


def test_a_folder_is_not_used_twice_and_a_resumed_run_keeps_its_settings(tmp_path: Path) -> None:
    given = settings(tmp_path, save_steps=2)
    train_offline(tiny_model(), DPO(), pairs(4), given)
    with pytest.raises(UserError, match="holds checkpoint-2"):
        train_offline(tiny_model(), DPO(), pairs(4), given)
    with pytest.raises(
        UserError, match=r"resume: lr \(0.01 -> 0.5\) .* or a new training of .*model in another folder"
    ):
        train_offline(tiny_model(), DPO(), pairs(4), replace(given, lr=0.5), resume=True)
    with pytest.raises(UserError, match="was begun with other training data"):
        train_offline(tiny_model(), DPO(), pairs(5)[1:], given, resume=True)
    with pytest.raises(UserError, match=r"resume: got '.*nowhere', allowed: a complete checkpoint folder"):
        train_offline(tiny_model(), DPO(), pairs(4), given, resume=tmp_path / "nowhere")
    (tmp_path / "reference.npz").unlink()
    with pytest.raises(UserError, match=r"reference\.npz is missing"):
        train_offline(tiny_model(), DPO(), pairs(4), given, resume=True)


@pytest.mark.thorough
@pytest.mark.parametrize("steps", [2, 3])
def test_a_finished_run_that_is_resumed_is_finished(steps: int, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    given = settings(tmp_path, max_steps=steps, save_steps=1)  # an epoch has two steps
    done = train_offline(tiny_model(), SFT(), samples(8), given)
    again = train_offline(tiny_model(), SFT(), samples(8), given, resume=True)
    assert again.steps == done.steps == steps and again.history == done.history
    for a, b in zip(*(AutoModelForCausalLM.from_pretrained(r.model).parameters() for r in (done, again)), strict=True):
        assert torch.equal(a, b)


def test_a_resumed_run_warns_of_missing_weights_that_no_others_are_tied_to(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from safetensors.torch import load_file, save_file

    monkeypatch.setattr(logging.getLogger("transformers"), "propagate", True)
    given = settings(tmp_path, save_steps=2)
    train_offline(tiny_model(), SFT(), samples(4), given)
    train_offline(tiny_model(), SFT(), samples(4), given, resume=True)
    assert "missing keys" not in caplog.text, "embeddings and head are the same weights"
    (file,) = tmp_path.glob("checkpoint-2/model.safetensors")
    weights = load_file(file)
    del weights["model.norm.weight"]
    save_file(weights, file, metadata={"format": "pt"})
    train_offline(tiny_model(), SFT(), samples(4), given, resume=True)
    assert "missing keys in the checkpoint model loaded: ['model.norm.weight']" in caplog.text


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(UserError, match="a is a file; allowed: a folder"):
        train_offline(tiny_model(), SFT(), samples(4), settings(tmp_path / "a"))


def test_to_resume_before_the_first_checkpoint_is_to_start(tmp_path: Path) -> None:
    model = tiny_model()
    assert train_offline(model, SFT(), samples(4), settings(tmp_path), resume=True).steps == 2


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_the_reference_is_the_start_of_the_run(dropout: float, tmp_path: Path) -> None:
    """Whatever the dropout of the model: it is off in both."""
    items = [replace_references(pair) for pair in pairs(4)]
    result = train_offline(tiny_model(attention_dropout=dropout), DPO(beta=0.1), items, settings(tmp_path))
    assert result.history[0]["loss"] == pytest.approx(0.6931472, abs=1e-5)
    assert result.history[1]["loss"] != pytest.approx(0.6931472, abs=1e-3)


def replace_references(pair: Any) -> Any:
    return type(pair)(*map(bare, pair))


def test_a_fresh_adapter_that_is_off_is_the_start(tmp_path: Path) -> None:
    model = attach_adapter(tiny_model(), LoraSettings(r=4), seed=0)
    items = pairs(3)
    on, off = (LogprobScorer(model=model, pad_id=END, off=off)(items) for off in (False, True))
    base = LogprobScorer(model=tiny_model(), pad_id=END)(items)
    for a, b, c in zip(*map(item_rows, (on, off, base)), strict=True):
        assert a.reference is not None and b.reference is not None and c.reference is not None
        said = [i for i, agent in enumerate(a.agent) if agent]
        assert [a.reference[i] for i in said] == [b.reference[i] for i in said] == [c.reference[i] for i in said]
    histories = [
        fit(tmp_path / kind, DPO(), items, lora=LoraSettings(r=4), reference=kind)[1].history
        for kind in ("start", "adapter_off")
    ]
    assert histories[0] == histories[1]
    with pytest.raises(UserError, match="has no adapter"):
        LogprobScorer(model=tiny_model(), pad_id=END, off=True)(items)


def test_rows_that_pairs_share_are_computed_once() -> None:
    model, calls = tiny_model(), 0
    forward = model.forward

    def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += kwargs["input_ids"].shape[0]
        return forward(*args, **kwargs)

    model.forward = counted
    best, others = sample(0), samples(4)[1:]
    items = [type(pairs(1)[0])(best, other) for other in others]
    done = item_rows(LogprobScorer(model=model, pad_id=END)(items))
    assert calls == 4 and done[0].reference is done[2].reference is done[4].reference


# --- what is saved ----------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")  # peft 0.21, on loading
def test_an_adapter_leaves_the_model_alone_and_can_be_merged(tmp_path: Path) -> None:
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    from sonde.train.trainer import SondeTrainer

    model, start = tiny_model(), tiny_model()
    trainer = SondeTrainer(model, SFT(), samples(8), settings(tmp_path, lora=LoraSettings(r=4)), tiny_tokenizer())
    result = trainer.train()
    tensors = collate(samples(3), needs=frozenset(), pad_id=END)
    trainer.model.cpu()
    with torch.no_grad():
        trained = token_logprobs(trainer.model, tensors)
        with trainer.model.disable_adapter():
            torch.testing.assert_close(token_logprobs(trainer.model, tensors), token_logprobs(start, tensors))
        for again in (
            AutoModelForCausalLM.from_pretrained(result.model),
            merge_adapter(trainer.model),
            PeftModel.from_pretrained(tiny_model(), tmp_path / "adapter"),
        ):
            torch.testing.assert_close(token_logprobs(again, tensors), trained, atol=1e-5, rtol=0)
    assert not torch.allclose(trained, token_logprobs(start, tensors), atol=1e-2)
    assert sum(p.requires_grad for p in trainer.model.parameters()) < len(list(trainer.model.parameters()))
    saved = json.loads((tmp_path / "adapter" / "adapter_config.json").read_text())["target_modules"]
    assert saved == sorted(saved) and len(saved) == 14, "equal adapters are equal files, and so have one fingerprint"


def test_an_adapter_alone(tmp_path: Path) -> None:
    _, result = fit(tmp_path, SFT(), samples(4), lora=LoraSettings(r=2, targets=("q_proj",)), save="adapter")
    names = {file.name for file in result.model.iterdir()}
    assert {"adapter_model.safetensors", "adapter_config.json", "tokenizer.json"} <= names
    assert "model.safetensors" not in names and not (tmp_path / "model").exists()


# --- what is refused --------------------------------------------------------------------------------------------------


def spoiled(name: str, value: float) -> Item:
    given = sample(0)
    row = given.rows[0]
    return replace(given, rows=(replace(row, **{name: array("d", [value] * len(row))}),))


def foreign() -> Item:
    row = sample(0).rows[0]
    return replace(sample(0), rows=(replace(row, ids=array("i", [99] * len(row))),))


def mute() -> Item:
    row = sample(0).rows[0]
    return replace(sample(0), rows=(replace(row, agent=bytes(len(row))),))


@pytest.mark.parametrize(
    ("objective", "items", "changes", "message"),
    [
        (SFT(), [], {}, "items: got none"),
        (SFT(), pairs(1), {}, r"items\[0\]: got 'Pair', allowed: a Sample"),
        (DPO(), [*pairs(1), sample(0)], {}, r"items\[1\]: got 'Sample', allowed: a Pair"),
        (SFT(), samples(4, turns=4), {"max_tokens": 10}, r"4 of 4 items have rows beyond max_tokens \(10 tokens"),
        (
            SFT(),
            [sample(0, turns=400)],
            {},
            r"beyond the model's context.* leave them out: -o settings.max_tokens=\d+, or",
        ),
        (SFT(), [foreign()], {}, "token id 99 is not in the model's vocabulary of 59"),
        (SFT(), [sample(1), mute()], {}, "1 samples contain no agent token"),
        (GRPO(), [sample(0), bare(sample(1))], {}, "needs `advantages`, which 1 rows do not carry"),
        (GRPO(), [spoiled("advantages", float("nan"))], {}, "advantages: .* no finite number"),
        (GRPO(), [spoiled("logprobs", float("nan"))], {}, "at sampling: .* no finite number"),
        (SFT(), samples(4), {"lora": LoraSettings(targets=("nothing",))}, "lora: targets: got"),
    ],
)
def test_bad_data_is_named(
    objective: Objective, items: Sequence[Item], changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=message):
        train_offline(tiny_model(), objective, items, settings(tmp_path, **changes))


def test_weights_that_are_no_numbers_end_the_run(tmp_path: Path) -> None:
    from sonde.train.trainer import SondeTrainer

    model = tiny_model()
    with torch.no_grad():
        model.lm_head.weight[7] = float("nan")
    with pytest.raises(UserError, match="step 1: the loss is nan"):
        train_offline(model, SFT(), samples(4), settings(tmp_path))
    with pytest.raises(UserError, match="max_steps: got None"):
        SondeTrainer(tiny_model(), SFT(), None, settings(tmp_path))
