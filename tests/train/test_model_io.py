"""A trained model is saved in the number format of its base."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from safetensors import safe_open
from safetensors.torch import load_file

from sonde.train.model_io import (
    attach_adapter,
    base_dtype,
    convert_folder,
    convert_model,
    load_model,
    merge_adapter,
    save_folder,
)
from sonde.train.objectives.sft import SFT
from sonde.train.settings import LoraSettings, TrainSettings

from .tiny import samples, tiny_model, tiny_tokenizer, write

FORMATS = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}


def stored(folder: Path, dtype: str, *, said: bool = True) -> str:
    """A model in this format, whose configuration says so, or not."""
    tiny_model().to(FORMATS[dtype]).save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    if not said:
        file = folder / "config.json"
        config = json.loads(file.read_text())
        file.write_text(json.dumps({k: v for k, v in config.items() if k not in ("dtype", "torch_dtype")}))
    return str(folder)


def formats(folder: Path) -> set[Any]:
    return {tensor.dtype for file in folder.glob("*model.safetensors") for tensor in load_file(file).values()}


def trained(base: str, folder: Path, **changes: Any) -> Any:
    from sonde.train.trainer import SondeTrainer

    model, tokenizer = load_model(base)
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    made = TrainSettings(folder=str(folder), lr=1e-2, max_steps=2, batch_size=4, save_steps=1, **changes)
    trainer = SondeTrainer(model, SFT(), samples(8), made, tokenizer)
    return trainer, trainer.train()


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("lora", [None, LoraSettings(r=4)])
def test_what_was_stored_so_is_saved_so(tmp_path: Path, dtype: str, lora: Any) -> None:
    """To the bit: what was trained in float32, rounded once; and tied weights are written once, as in the base."""
    from transformers import AutoModelForCausalLM

    base = stored(tmp_path / "base", dtype)
    trainer, done = trained(base, tmp_path / "t", lora=lora)
    assert formats(done.model) == {FORMATS[dtype]}
    again = AutoModelForCausalLM.from_pretrained(done.model, dtype="auto")
    assert again.dtype == FORMATS[dtype] == base_dtype(load_model(str(done.model))[0])
    whole = merge_adapter(trainer.model)
    assert {p.dtype for p in whole.parameters()} == {torch.float32}, "what is in memory is not rounded"
    for (name, p), (_, q) in zip(again.named_parameters(), whole.named_parameters(), strict=True):
        assert torch.equal(p, q.detach().cpu().to(FORMATS[dtype])), name
    with safe_open(done.model / "model.safetensors", "pt") as new, safe_open(f"{base}/model.safetensors", "pt") as old:
        assert set(new.offset_keys()) == set(old.offset_keys())
    assert formats(tmp_path / "t" / "checkpoint-1") == {torch.float32}
    if lora is not None:
        assert formats(tmp_path / "t" / "adapter") == {torch.float32}


@pytest.mark.thorough
@pytest.mark.parametrize("lora", [None, LoraSettings(r=4)])
def test_float32_keeps_every_bit(tmp_path: Path, lora: Any) -> None:
    from transformers import AutoModelForCausalLM

    trainer, done = trained(stored(tmp_path / "base", "bfloat16"), tmp_path / "t", lora=lora, save_dtype="float32")
    assert formats(done.model) == {torch.float32}
    again = AutoModelForCausalLM.from_pretrained(done.model, dtype="auto")
    for p, q in zip(again.parameters(), merge_adapter(trainer.model).parameters(), strict=True):
        assert torch.equal(p, q.detach().cpu())


def test_a_configuration_that_says_nothing_is_looked_up_in_the_weights(tmp_path: Path) -> None:
    for name, dtype in FORMATS.items():
        model, _ = load_model(stored(tmp_path / name, name, said=False))
        assert base_dtype(model) == dtype


def test_a_model_that_was_not_loaded_here_is_saved_as_it_was_given(tmp_path: Path) -> None:
    """Also where `bf16` keeps its frozen weights in bfloat16 meanwhile."""
    from sonde.train.trainer import SondeTrainer

    made = TrainSettings(folder=str(tmp_path), lora=LoraSettings(r=4), bf16=True, max_steps=1, batch_size=4)
    done = SondeTrainer(tiny_model(), SFT(), samples(4), made, tiny_tokenizer()).train()
    assert formats(done.model) == {torch.float32}


def test_frozen_weights_are_rounded_and_buffers_are_not() -> None:
    """As where a model is loaded in bfloat16: rotary positions keep their frequencies."""
    pytest.importorskip("peft")
    adapted = attach_adapter(tiny_model(), LoraSettings(r=2), seed=0, bf16=True)
    exact = [buffer for buffer in tiny_model().buffers() if buffer.is_floating_point()]
    assert exact and all(map(torch.equal, (b for b in adapted.buffers() if b.is_floating_point()), exact))
    assert {p.dtype for p in adapted.parameters() if not p.requires_grad} == {torch.bfloat16}
    assert {p.dtype for p in adapted.parameters() if p.requires_grad} == {torch.float32}
    plain = adapted.get_base_model()
    assert plain.get_input_embeddings().weight is plain.get_output_embeddings().weight


def test_the_same_format_is_no_copy() -> None:
    model = tiny_model()
    assert convert_model(model, torch.float32) is model
    other = convert_model(model, torch.bfloat16)
    assert other.lm_head.weight is other.model.embed_tokens.weight and model.dtype == torch.float32


def test_a_folder_that_processes_wrote_together_is_converted_in_its_place(tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    folder = write(tmp_path / "model")
    names = {file.name for file in folder.iterdir()}
    whole = AutoModelForCausalLM.from_pretrained(folder)
    convert_folder(folder, torch.bfloat16)
    again = AutoModelForCausalLM.from_pretrained(folder, dtype="auto")
    assert formats(folder) == {torch.bfloat16} and names == {file.name for file in folder.iterdir()}
    assert [*tmp_path.iterdir()] == [folder]
    for p, q in zip(again.parameters(), whole.parameters(), strict=True):
        assert torch.equal(p, q.to(torch.bfloat16))


@pytest.mark.filterwarnings("ignore:.*tie_word_embeddings")
@pytest.mark.parametrize("targets", [("lm_head",), ("lm_head", "embed_tokens"), ("q_proj",)])
def test_a_head_that_shares_its_weights_is_merged_alone(tmp_path: Path, targets: tuple[str, ...]) -> None:
    pytest.importorskip("peft")
    trained = attach_adapter(tiny_model(), LoraSettings(r=2, targets=targets), seed=0).eval()
    with torch.no_grad():
        for name, p in trained.named_parameters():
            if "lora_" in name:
                p.normal_(0, 0.5)
        ids = torch.tensor([[5, 6, 7]])
        wanted = trained(ids).logits
        save_folder(merged := merge_adapter(trained), tiny_tokenizer(), tmp_path)
        again, _ = load_model(str(tmp_path))
        for plain in (merged, again.eval()):
            assert torch.allclose(plain(ids).logits, wanted, atol=1e-4)
    assert again.config.tie_word_embeddings == ("lm_head" not in targets)
