"""Which model a folder holds: what changes its fingerprint, what does not, and what goes by it."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import numpy as np
from safetensors.numpy import load_file, save_file

from sonde.core import Message, Sampling, UserError, build
from sonde.models.cached import Cached
from sonde.models.files import weights as module
from sonde.models.files.fetch import fetchable_models
from sonde.models.files.shipped import get_shipped_model
from sonde.models.files.weights import folder_fingerprint, model_fingerprint, short_name
from sonde.models.hf import HF

from ..tiny import model as random_model
from ..tiny import tokenizer, write

ASKED = (Message("user", "Guess the word."),)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "a" / "model")


def edit(file: Path, change: Any) -> None:
    tensors = {name: np.array(values) for name, values in load_file(file).items()}
    change(tensors)
    save_file(tensors, file, metadata={"format": "pt"})


def nudged(name: str) -> Any:
    def change(tensors: dict[str, Any]) -> None:
        tensors[name] += 1e-4

    return change


def test_a_copy_is_the_same_model_and_a_trained_one_is_not(folder: Path, tmp_path: Path) -> None:
    before = folder_fingerprint(folder)
    shutil.copytree(folder, tmp_path / "copy")
    os.utime(tmp_path / "copy" / "model.safetensors", (1, 1))
    assert folder_fingerprint(tmp_path / "copy") == before
    edit(folder / "model.safetensors", nudged("model.norm.weight"))
    assert folder_fingerprint(folder) != before


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("tokenizer.json", True), ("tokenizer_config.json", True), ("chat_template.jinja", True),
        ("generation_config.json", True), ("adapter_model.safetensors", True), ("merges.txt", True),
        ("README.md", False), ("training_args.bin", False), ("optimizer.pt", False), ("trainer_state.json", False),
        ("history.jsonl", False),
    ],
)  # fmt: skip
def test_what_is_read_counts_and_what_is_beside_it_does_not(folder: Path, file: str, counts: bool) -> None:
    before = folder_fingerprint(folder)
    path = folder / file
    path.write_bytes((path.read_bytes() if path.exists() else b"") + b" ")
    assert (folder_fingerprint(folder) != before) is counts


def test_of_large_files_a_change_of_any_tensor_is_noticed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WHOLE", 1000)
    monkeypatch.setattr(module, "BLOCK", 8)
    file = folder / "model.safetensors"
    seen = {folder_fingerprint(folder)}
    names = sorted(load_file(file))
    for name in names:
        edit(file, nudged(name))
        seen.add(folder_fingerprint(folder))
    assert len(seen) == len(names) + 1 > 10
    file.rename(folder / "pytorch_model.bin")
    other = folder_fingerprint(folder)
    data = bytearray((folder / "pytorch_model.bin").read_bytes())
    data[0] ^= 1
    (folder / "pytorch_model.bin").write_bytes(data)
    assert folder_fingerprint(folder) != other


def test_a_damaged_header_is_told_from_a_whole_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WHOLE", 1000)
    before, file = folder_fingerprint(folder), folder / "model.safetensors"
    data = bytearray(file.read_bytes())
    data[8] = ord("[")
    file.write_bytes(data)
    assert folder_fingerprint(folder) != before


def test_an_adapter_is_one_with_its_base(folder: Path, tmp_path: Path) -> None:
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": str(folder)}))
    (adapter / "adapter_model.safetensors").write_bytes(b"deltas")
    before = folder_fingerprint(adapter)
    edit(folder / "model.safetensors", nudged("model.norm.weight"))
    assert folder_fingerprint(adapter) != before


def test_names_that_sonde_knows_have_weights_before_they_are_fetched(tmp_path: Path) -> None:
    assert len({model_fingerprint(name) for name in fetchable_models()}) == len(fetchable_models()) > 2
    assert model_fingerprint("sonde-tiny-maze") == folder_fingerprint(get_shipped_model("sonde-tiny-maze").folder)
    assert model_fingerprint("Qwen/Qwen3-8B") is None
    assert short_name("sonde-tiny-maze", model_fingerprint("sonde-tiny-maze")) == "sonde-tiny-maze"
    assert short_name(str(tmp_path / "sft" / "adapter"), "0123456789abcdef") == "sft@012345"


def test_completions_and_configuration_say_which_weights_spoke(folder: Path) -> None:
    hf = HF(model=str(folder))
    assert hf.config["weights"] == folder_fingerprint(folder) and build(hf.config) == hf

    async def said() -> Any:
        try:
            return await hf.generate(ASKED, Sampling(max_new_tokens=2))
        finally:
            await hf.close()

    completion = asyncio.run(said())
    assert (completion.model, completion.weights) == (str(folder), hf.weights)
    edit(folder / "model.safetensors", nudged("model.norm.weight"))
    assert HF(model=str(folder)).fingerprint != hf.fingerprint
    with pytest.raises(
        UserError, match=f"hf: weights: .* holds the model {folder_fingerprint(folder)}, allowed: {hf.weights}"
    ):
        asyncio.run(said())


def test_a_cache_does_not_answer_for_a_model_that_was_trained(folder: Path, tmp_path: Path) -> None:
    async def said() -> tuple[str, int]:
        cached = Cached(model=HF(model=str(folder)), path=str(tmp_path / "cache"))
        try:
            found = await cached.generate(ASKED, Sampling(max_new_tokens=8, temperature=0.0))
            return found.weights, cached.stats.hits
        finally:
            await cached.close()

    before = folder_fingerprint(folder)
    assert [asyncio.run(said()) for _ in range(2)] == [(before, 0), (before, 1)]
    edit(folder / "model.safetensors", lambda tensors: tensors["model.norm.weight"].__imul__(-1))
    assert asyncio.run(said()) == (folder_fingerprint(folder), 0)


def test_a_cache_does_not_answer_for_weights_that_moved_in_this_process(tmp_path: Path) -> None:
    net = random_model()
    hf = HF.from_module(net, tokenizer(), model="policy", weights="step-0")
    cached = Cached(model=hf, path=str(tmp_path / "cache"))

    async def said() -> tuple[str, int]:
        found = await cached.generate(ASKED, Sampling(max_new_tokens=4, temperature=0.0))
        return found.weights, cached.stats.hits

    async def both() -> list[tuple[str, int]]:
        try:
            first = [await said(), await said()]
            hf.renew_weights("step-1")
            return [*first, await said()]
        finally:
            await cached.close()

    assert hf.config["weights"] == "step-0"
    assert asyncio.run(both()) == [("step-0", 0), ("step-0", 1), ("step-1", 1)]
    assert hf.config["weights"] == "step-1"
