"""Two processes on gloo: the same losses, metrics and weights as one; and the objectives on sharded weights."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("peft")

import torch

from sonde.train.collate import batch_of, collate
from sonde.train.logprobs import token_logprobs
from sonde.train.types import units

from .processes import run_both
from .ranks import CASES, run_case
from .tiny import END, tiny_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `ranks.py` left when it ran in two processes, as torchrun would run it."""
    folder = tmp_path_factory.mktemp("ranks")
    run_both(Path(__file__).with_name("ranks.py"), folder)
    return folder


@pytest.mark.thorough
def test_two_processes_are_one(folder: Path, tmp_path: Path) -> None:
    for name in CASES:
        history, weights = run_case(name, tmp_path)
        for rank in range(2):
            found = torch.load(folder / f"{name}.{rank}.pt")
            assert len(found["history"]) == len(history) >= 2
            assert found["history"][0]["loss"] == pytest.approx(history[0]["loss"], abs=1e-6)
            for one, two in zip(history[1:], found["history"][1:], strict=True):
                assert {k: two[k] for k in one} == pytest.approx(one, abs=1e-3, rel=1e-3), name
            for key, weight in weights.items():
                assert (found["weights"][key] - weight).abs().mean().item() <= 1e-5, key
        lines = (folder / name / "history.jsonl").read_text().splitlines()
        assert [json.loads(line)["step"] for line in lines] == [entry["step"] for entry in history]


@pytest.mark.thorough
def test_objectives_on_sharded_weights(folder: Path) -> None:
    found = [json.loads((folder / f"fsdp.{rank}.json").read_text()) for rank in range(2)]
    assert found[0] == found[1]
    for name, losses in found[0].items():
        objective, items, _ = CASES[name]
        model = tiny_model()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        tensors = collate(items[: len(items) // 2 * 2], needs=objective.needs, pad_id=END)
        for at_two in losses:
            loss = objective(token_logprobs(model, tensors), batch_of(tensors)).total
            loss = loss / units(batch_of(tensors), objective.unit)
            assert at_two == pytest.approx(loss.item(), abs=1e-4)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        assert losses[0] != pytest.approx(losses[-1], abs=1e-2)
