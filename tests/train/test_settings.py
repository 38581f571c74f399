"""Settings convert to JSON and back, and errors name every bad value."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from sonde import UserError
from sonde.train.settings import LoraSettings, TrainSettings, read_settings, write_settings
from tests.cases import each


def test_settings_survive_json(tmp_path: Path) -> None:
    settings = TrainSettings(lr=3e-4, max_steps=7, betas=(0.9, 0.95), lora=LoraSettings(r=4), report_to=("wandb",))
    assert TrainSettings.from_json(json.loads(json.dumps(settings.to_json()))) == settings
    write_settings(tmp_path / "run" / "settings.json", settings)
    assert read_settings(tmp_path / "run" / "settings.json") == settings


def test_an_adapter_survives_json() -> None:
    settings = TrainSettings(lora=LoraSettings(targets=("q_proj", "v_proj")))
    again = TrainSettings.from_json(json.loads(json.dumps(settings.to_json())))
    assert again == settings and hash(again) == hash(settings)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"folder": ""}, "train: folder: got ''"), ({"lr": 0.0}, "train: lr: got 0.0, allowed: a number above 0"),
    ({"lr": math.inf}, "train: lr: got inf"), ({"epochs": -1}, "train: epochs: got -1"),
    ({"max_steps": 0}, "train: max_steps: got 0"),
    ({"batch_size": 2.5}, "train: batch_size: got 2.5, allowed: a whole number"),
    ({"micro_batch": True}, "train: micro_batch: got True"), ({"micro_tokens": 0}, "train: micro_tokens: got 0"),
    ({"max_tokens": 0}, "train: max_tokens: got 0"),
    ({"schedule": "step"}, "train: schedule: got 'step', allowed: cosine, linear, constant"),
    ({"warmup": 1.0}, "train: warmup: got 1.0"), ({"betas": (0.9, 1.0)}, "train: betas"),
    ({"betas": (0.9,)}, "train: betas"), ({"weight_decay": -0.1}, "train: weight_decay"),
    ({"clip": -1.0}, "train: clip"), ({"seed": -1}, "train: seed"), ({"keep": 0}, "train: keep"),
    ({"logging_steps": 0}, "train: logging_steps"),
    ({"save_steps": 5, "logging_steps": 2}, r"train: save_steps: got 5, allowed: a multiple of logging_steps \(2\)"),
    ({"reference": "copy"}, "train: reference: got 'copy', allowed: start, adapter_off"),
    ({"reference": "adapter_off"}, "train: reference: got 'adapter_off'"),
    ({"save": "adapter"}, "train: save: got 'adapter'"),
]  # fmt: skip


@each("changes, message", BAD)
def test_bad_values_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        TrainSettings(**changes)


@each(
    "changes, message",
    [
        ({"r": 0}, "lora: r: got 0"),
        ({"alpha": 0.0}, "lora: alpha"),
        ({"targets": ()}, "lora: targets"),
        ({"dropout": 1.0}, "lora: dropout"),
    ],
)
def test_bad_adapters_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        LoraSettings(**changes)


def test_unknown_names_are_suggested() -> None:
    with pytest.raises(UserError, match=r"train: unknown name 'learning_rate'"):
        TrainSettings.from_json({"learning_rate": 1})
    with pytest.raises(UserError, match=r"lora: unknown name 'rank'"):
        TrainSettings.from_json({"lora": {"rank": 1}})
    with pytest.raises(UserError, match="train: lora: got 4, allowed: LoraSettings or none"):
        TrainSettings.from_json({"lora": 4})
