"""Training on a damaged or full disk, and with missing loggers."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

from sonde import StoreError, UnknownName
from sonde.models.files.saving import report_full_disk
from sonde.runs.store import StoreWarning
from sonde.train.model_io import save_folder
from sonde.train.objectives.sft import SFT
from sonde.train.settings import TrainSettings
from sonde.train.training_folder import find_damage, last_checkpoint

from ..full_disk import files_of_at_most
from .tiny import mixed, tiny_model, train_offline


def settings(folder: Path, **changes: Any) -> TrainSettings:
    return TrainSettings(folder=str(folder), lr=1e-2, batch_size=4, micro_batch=4, warmup=0.0, save_steps=1, **changes)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a training of three steps."""
    folder = tmp_path_factory.mktemp("finished")
    train_offline(tiny_model(), SFT(), mixed(12), settings(folder))
    return folder


@pytest.mark.thorough
@pytest.mark.parametrize("file", ["model.safetensors", "optimizer.pt", "scheduler.pt", "config.json"])
@pytest.mark.parametrize("left", [pytest.param(0.0, marks=pytest.mark.slow), 0.9])
def test_a_truncated_checkpoint_is_told_and_the_one_before_is_taken(
    file: str, left: float, finished: Path, tmp_path: Path
) -> None:
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    spoilt = tmp_path / "checkpoint-3" / file
    spoilt.write_bytes(spoilt.read_bytes()[: int(left * spoilt.stat().st_size)])
    with pytest.warns(StoreWarning, match=rf"checkpoint-3/{file}: damaged .*; going back to checkpoint-2"):
        again = train_offline(tiny_model(), SFT(), mixed(12), settings(tmp_path), resume=True)
    assert (again.steps, len(again.history)) == (3, 3)
    weights = again.model.relative_to(tmp_path) / "model.safetensors"
    assert (tmp_path / weights).read_bytes() == (finished / weights).read_bytes()
    assert find_damage(tmp_path / "checkpoint-3") == ""


def test_where_no_checkpoint_reads_it_is_said(tmp_path: Path) -> None:
    assert last_checkpoint(tmp_path) is None
    train_offline(tiny_model(), SFT(), mixed(8), settings(tmp_path))
    for path in tmp_path.glob("checkpoint-*"):
        (path / "optimizer.pt").write_bytes(b"")
    with pytest.raises(StoreError, match=r"checkpoint-2/optimizer.pt: damaged .*checkpoint-1/optimizer.pt: damaged"):
        train_offline(tiny_model(), SFT(), mixed(8), settings(tmp_path), resume=True)
    with pytest.raises(StoreError, match=r"checkpoint-1/optimizer.pt: damaged"):
        train_offline(tiny_model(), SFT(), mixed(8), settings(tmp_path), resume=tmp_path / "checkpoint-1")


class Foreign:
    def __reduce__(self) -> Any:
        return print, ("this ran",)


@pytest.mark.parametrize("file", ["optimizer.pt", "scheduler.pt"])
def test_objects_of_others_in_a_checkpoint_are_one_line(
    file: str, finished: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    shutil.rmtree(tmp_path / "checkpoint-3")
    torch.save({"x": Foreign()}, tmp_path / "checkpoint-2" / file)
    with pytest.raises(
        StoreError, match=r"^train: resume: .*checkpoint-2 contains foreign objects and is not loaded.*$"
    ):
        train_offline(tiny_model(), SFT(), mixed(12), settings(tmp_path), resume=True)
    assert "this ran" not in capfd.readouterr().out


@pytest.mark.thorough
def test_a_full_disk_ends_a_training_with_one_clear_error(tmp_path: Path) -> None:
    with files_of_at_most(20_000), pytest.raises((StoreError, OSError), match=r"cannot be written|File too large"):
        train_offline(tiny_model(), SFT(), mixed(8), settings(tmp_path))
    done = train_offline(tiny_model(), SFT(), mixed(8), settings(tmp_path), resume=True)
    assert done.steps == 2 and find_damage(tmp_path / "checkpoint-2") == ""


def test_a_full_disk_while_a_model_is_saved_names_the_folder(tmp_path: Path) -> None:
    with files_of_at_most(20_000), pytest.raises(StoreError, match=rf"{tmp_path}: cannot be written; is the disk full"):
        save_folder(tiny_model(), None, tmp_path)


WORDS = ("[enforce fail at inline_container.cc:672] . unexpected pos 64 vs 0", "basic_ios::clear: iostream error")


@pytest.mark.parametrize("words", WORDS)
def test_what_torch_raises_on_a_full_disk_is_told_by_the_disk(words: str, tmp_path: Path) -> None:
    """Not by its words: with room for a file the same error is a defect."""
    told = f"{tmp_path}: cannot be written; is the disk full"
    with files_of_at_most(20_000), pytest.raises(StoreError, match=told), report_full_disk(tmp_path):
        raise RuntimeError(words)
    with pytest.raises(RuntimeError, match=re.escape(words)), report_full_disk(tmp_path):
        raise RuntimeError(words)
    assert not any(tmp_path.iterdir())


def test_a_logger_that_is_not_there_is_named_before_training(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"train: report_to: unknown name 'tensorbord' .did you mean 'tensorboard'"):
        train_offline(tiny_model(), SFT(), mixed(8), settings(tmp_path, report_to=("tensorbord",)))
    assert not any(tmp_path.iterdir()) and torch.is_grad_enabled()
