"""Settings: what the papers print, JSON both ways, and every bad value named."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from sonde import UserError
from sonde.train.settings import PRESETS, LoraSettings, TrainSettings, preset, read_settings, write_settings


@pytest.mark.parametrize("name", PRESETS)
def test_presets_survive_json(name: str, tmp_path: Path) -> None:
    settings = preset(name)
    assert TrainSettings.from_json(json.loads(json.dumps(settings.to_json()))) == settings
    write_settings(tmp_path / "run" / "settings.json", settings)
    assert read_settings(tmp_path / "run" / "settings.json") == settings
    assert PRESETS[name].source


def test_what_the_papers_print() -> None:
    sft, rpo = preset("paprika_sft"), preset("paprika_rpo")
    assert (sft.lr, rpo.lr) == (1e-6, 2e-7) and (sft.max_tokens, rpo.max_tokens) == (12_000, 8_192)
    for settings in (sft, rpo):
        assert (settings.batch_size, settings.epochs, settings.schedule, settings.warmup) == (32, 1, "cosine", 0.04)
    for name, lr in (("starpo", 1e-5), ("delta_belief", 3e-5)):
        settings, beside = preset(name), PRESETS[name].beside
        assert settings.lr == lr and settings.lora == LoraSettings(r=64, alpha=64.0, targets="all-linear")
        assert (settings.betas, settings.weight_decay, settings.schedule) == ((0.9, 0.95), 0.01, "constant")
        assert (beside["k"], beside["clip_low"], beside["clip_high"]) == (16, 0.2, 0.28)
    assert preset("tiny_sft", seed=4, folder="x") == TrainSettings.from_json(
        {**preset("tiny_sft").to_json(), "seed": 4, "folder": "x"}
    )


def test_an_adapter_survives_json() -> None:
    settings = TrainSettings(lora=LoraSettings(targets=("q_proj", "v_proj")))
    again = TrainSettings.from_json(json.loads(json.dumps(settings.to_json())))
    assert again == settings and hash(again) == hash(settings)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"folder": ""}, "train: folder: got ''"),
    ({"lr": 0.0}, "train: lr: got 0.0, allowed: a number above 0"),
    ({"lr": math.inf}, "train: lr: got inf"),
    ({"epochs": -1}, "train: epochs: got -1"),
    ({"max_steps": 0}, "train: max_steps: got 0"),
    ({"batch_size": 2.5}, "train: batch_size: got 2.5, allowed: a whole number"),
    ({"micro_batch": True}, "train: micro_batch: got True"),
    ({"micro_tokens": 0}, "train: micro_tokens: got 0"),
    ({"max_tokens": 0}, "train: max_tokens: got 0"),
    ({"schedule": "step"}, "train: schedule: got 'step', allowed: cosine, linear, constant"),
    ({"warmup": 1.0}, "train: warmup: got 1.0"),
    ({"betas": (0.9, 1.0)}, "train: betas"),
    ({"betas": (0.9,)}, "train: betas"),
    ({"weight_decay": -0.1}, "train: weight_decay"),
    ({"clip": -1.0}, "train: clip"),
    ({"seed": -1}, "train: seed"),
    ({"keep": 0}, "train: keep"),
    ({"logging_steps": 0}, "train: logging_steps"),
    ({"save_steps": 5, "logging_steps": 2}, r"train: save_steps: got 5, allowed: a multiple of logging_steps \(2\)"),
    ({"reference": "copy"}, "train: reference: got 'copy', allowed: start, adapter_off"),
    ({"reference": "adapter_off"}, "train: reference: got 'adapter_off'"),
    ({"save": "adapter"}, "train: save: got 'adapter'"),
]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_bad_values_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        TrainSettings(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
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
    with pytest.raises(UserError, match="did you mean 'paprika_rpo'"):
        preset("paprika_dpo")
    with pytest.raises(UserError, match=r"train: unknown name 'learning_rate'"):
        TrainSettings.from_json({"learning_rate": 1})
    with pytest.raises(UserError, match=r"lora: unknown name 'rank'"):
        TrainSettings.from_json({"lora": {"rank": 1}})
    with pytest.raises(UserError, match="train: lora: got 4, allowed: LoraSettings or none"):
        TrainSettings.from_json({"lora": 4})
