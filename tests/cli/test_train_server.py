"""`sonde train --server`: another process plays what is learned from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from sonde.models.files.shipped import SHIPPED
from sonde.train.training_folder import HISTORY

from ..models.engines import VllmDouble
from .invoke import failure, invoke

COLUMNS = 120

GRPO = ("train", "grpo", "maze", "--preset", "pairs", "--model", "sonde-tiny-maze", "--settings", "tiny_grpo")


def test_a_server_plays_and_its_drift_is_on_record(tmp_path: Path) -> None:
    changes = ("settings.max_steps=2", "settings.batch_size=8", "settings.save_steps=2", "online.k=4",
               "online.lock_step=false", "online.overlap=true", "objective.cap=2")  # fmt: skip
    more = [word for change in changes for word in ("-o", change)]
    with VllmDouble(str(SHIPPED["sonde-tiny-maze"].folder)) as double:
        server = ("--server", f"vllm:{double.name}", "--base-url", double.url)
        result = invoke(*GRPO, "--tasks", "8", "--out", str(tmp_path / "run"), *server, *more)
    assert result.exit_code == 0, result.output
    first, second = map(json.loads, (tmp_path / "run" / HISTORY).read_text().splitlines())
    assert (first["lag"], second["lag"]) == (0.0, 1.0)
    assert first["engine_ratio"] == pytest.approx(1.0, abs=1e-4) and "capped" in first


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--server", "fake"), "--server: got 'fake', allowed: vllm:NAME or sglang:NAME, which return token ids"),
        (("--server", "vllm:m"), "--server vllm:NAME: needs --base-url, for example http://localhost:8000/v1"),
        (("--base-url", "http://x/v1"), "--base-url: allowed: only with --server vllm:NAME or sglang:NAME"),
    ],
)
def test_what_is_no_server(options: tuple[str, ...], message: str, tmp_path: Path) -> None:
    assert failure(*GRPO, "--out", str(tmp_path), *options) == message


def test_recorded_episodes_need_no_server(tmp_path: Path) -> None:
    said = failure("train", "sft", "run", "--model", "sonde-tiny-maze", "--out", str(tmp_path), "--server", "vllm:m")
    assert said == "--server: sft learns from recorded episodes; allowed: objectives that learn from their own play"
