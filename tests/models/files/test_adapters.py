"""An adapter is a model: it plays and is trained as its base with the adapter merged."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("peft")

import torch

from sonde import UserError
from sonde.models.files.loading import load_causal_model, load_tokenizer, locate_parts
from sonde.models.hf import HF
from sonde.train.automatic import read_model_facts
from sonde.train.model_io import attach_adapter, disable_adapter, has_adapter, load_model, save_folder
from sonde.train.settings import LoraSettings
from tests.train.tiny import tiny_tokenizer, write

IDS = torch.arange(1, 20)[None]


def load_whole(model: str) -> Any:
    return load_causal_model(locate_parts(model))


def load_words(model: str) -> Any:
    return load_tokenizer(locate_parts(model))


def write_adapter(base: Path, to: Path, *, seed: int = 1, tokenizer: bool = True, **options: Any) -> Any:
    """Save an adapter of `base` that changes something, and return the logits of the adapted model."""
    trained = attach_adapter(load_whole(str(base)), LoraSettings(r=2, **options), seed=seed).eval()
    draws = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in trained.named_parameters():
            if "lora_B" in name:
                p.normal_(0, 0.3, generator=draws)
    save_folder(trained, tiny_tokenizer() if tokenizer else None, to)
    return logits(trained)


def logits(model: Any) -> torch.Tensor:
    with torch.no_grad():
        return model.eval()(input_ids=IDS.to(model.device)).logits


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return write(tmp_path / "base")


@pytest.mark.filterwarnings("ignore:.*tie_word_embeddings")
@pytest.mark.parametrize("targets", ["all-linear", ("lm_head",)])
def test_an_adapter_is_loaded_merged(base: Path, tmp_path: Path, targets: Any) -> None:
    wanted = write_adapter(base, tmp_path / "adapter", targets=targets)
    for model in (load_model(str(tmp_path / "adapter"))[0], load_whole(str(tmp_path / "adapter"))):
        assert torch.allclose(logits(model), wanted, atol=1e-5) and not has_adapter(model)
        assert not any("lora" in name for name, _ in model.named_parameters())
    assert not torch.allclose(logits(load_whole(str(base))), wanted, atol=1e-2)


def test_it_is_trained_from_there_with_a_fresh_adapter_and_compared_with_it(base: Path, tmp_path: Path) -> None:
    """Without the fresh adapter it is the model at the start of the training, not the base of the first one."""
    wanted = write_adapter(base, tmp_path / "first")
    model = attach_adapter(load_model(str(tmp_path / "first"))[0], LoraSettings(r=2), seed=2)
    assert torch.allclose(logits(model), wanted, atol=1e-5)
    with disable_adapter(model):
        assert torch.allclose(logits(model), wanted, atol=1e-5)


def test_an_adapter_of_an_adapter_is_merged_in_order(base: Path, tmp_path: Path) -> None:
    write_adapter(base, tmp_path / "first")
    wanted = write_adapter(tmp_path / "first", tmp_path / "second", seed=2, tokenizer=False)
    named = json.loads((tmp_path / "second" / "adapter_config.json").read_text())["base_model_name_or_path"]
    assert named == str(tmp_path / "first")
    assert torch.allclose(logits(load_whole(str(tmp_path / "second"))), wanted, atol=1e-3)
    facts, whole = read_model_facts(str(tmp_path / "second")), read_model_facts(str(base))
    assert (facts.weights, facts.layers) == (whole.weights, whole.layers)
    assert HF(model=str(tmp_path / "second")).weights != HF(model=str(tmp_path / "first")).weights


def test_without_a_tokenizer_it_has_that_of_its_base(base: Path, tmp_path: Path) -> None:
    """As peft alone saves it."""
    write_adapter(base, tmp_path / "adapter", tokenizer=False)
    assert load_words(str(tmp_path / "adapter")).chat_template == load_words(str(base)).chat_template


@pytest.mark.parametrize(
    ("named", "message"),
    [
        (None, "base_model_name_or_path: got None, allowed: the folder or the name of a model"),
        ("/no/such/model", "is an adapter, and its base model cannot be loaded: model: '/no/such/model' is neither"),
        ("adapter", "is an adapter whose base models lead back to"),
    ],
)
def test_a_base_that_is_not_there_is_named(base: Path, tmp_path: Path, named: str | None, message: str) -> None:
    write_adapter(base, tmp_path / "adapter")
    file = tmp_path / "adapter" / "adapter_config.json"
    wrong = str(tmp_path / named) if named == "adapter" else named
    file.write_text(json.dumps({**json.loads(file.read_text()), "base_model_name_or_path": wrong}))
    for load in (load_whole, load_words, load_model, read_model_facts):
        with pytest.raises(UserError, match=message):
            load(str(tmp_path / "adapter"))


def test_an_adapter_that_is_a_program_is_not_run(base: Path, tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return open, (str(tmp_path / "ran"), "w")

    write_adapter(base, tmp_path / "adapter")
    (tmp_path / "adapter" / "adapter_model.safetensors").unlink()
    (tmp_path / "adapter" / "adapter_model.bin").write_bytes(pickle.dumps({"x": Evil()}))
    with pytest.raises(UserError, match="cannot be loaded"):
        load_whole(str(tmp_path / "adapter"))
    assert not (tmp_path / "ran").exists()
