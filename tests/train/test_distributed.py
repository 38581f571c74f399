"""Two gloo processes give the losses, metrics and weights of one, with DDP and with sharded weights."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch

from sonde.core import UserError

from .processes import run_both
from .ranks import CASES, SHARDED, run_case


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `ranks.py` left when it ran in two processes, as torchrun would run it."""
    folder = tmp_path_factory.mktemp("ranks")
    run_both(Path(__file__).with_name("ranks.py"), folder)
    return folder


@pytest.mark.thorough
def test_two_processes_are_one(folder: Path, tmp_path: Path) -> None:
    """By DDP; with weights divided between them; and where such a run goes on from a checkpoint."""
    for name in CASES:
        history, weights = run_case(name, tmp_path)
        found = [torch.load(folder / f"{name}.{rank}.pt") for rank in range(2)]
        for kind in ("ddp", "shard", "resumed") if name in SHARDED else ("ddp",):
            for two, after in (made[kind] for made in found):
                close(two, history)
                for key, weight in weights.items():
                    assert (after[key] - weight).abs().mean().item() <= 1e-5, (name, kind, key)
            lines = (folder / kind.replace("resumed", "shard") / name / "history.jsonl").read_text().splitlines()
            assert [json.loads(line)["step"] for line in lines] == [entry["step"] for entry in history]
        if name in SHARDED:
            assert [made["held"] for made in found] == pytest.approx([0.5, 0.5], abs=0.01)


def close(two: list[dict[str, float]], one: list[dict[str, float]]) -> None:
    assert len(two) == len(one) >= 2 and two[0]["loss"] == pytest.approx(one[0]["loss"], abs=1e-6)
    for before, after in zip(one[1:], two[1:], strict=True):
        assert {k: after[k] for k in before} == pytest.approx(before, abs=1e-3, rel=1e-3)


@pytest.mark.thorough
@pytest.mark.parametrize("name", SHARDED)
def test_a_checkpoint_of_divided_weights_is_one_of_whole_ones(name: str, folder: Path, tmp_path: Path) -> None:
    """One process goes on where two were, with the whole model or its adapter."""
    shutil.copytree(folder / "shard" / name, tmp_path / name)
    history, _ = run_case(name, tmp_path, tmp_path / name / "checkpoint-2")
    close(history, torch.load(folder / f"{name}.0.pt")["shard"][0])


def test_divided_weights_need_processes(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="shard: got True, allowed: false in one process; torchrun starts several"):
        run_case("sft", tmp_path, shard=True)
