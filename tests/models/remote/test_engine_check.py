"""`benchmarks/engine_check.py` against the doubles: what is right passes, and what is wrong is found and named."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

pytest.importorskip("torch")

from sonde.models.files.shipped import SHIPPED

from ..engines import Double, SglangDouble, Stubborn, VllmDouble
from .test_engines import KINDS, MAZE, adapter, changed_model

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "engine_check.py"
main = runpy.run_path(str(SCRIPT))["main"]
assert str(SHIPPED["sonde-tiny-maze"].folder) == MAZE


def checked(double: Double, kind: str, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, dict[str, Any]]:
    """The exit code, and the line of every check."""
    code = main([kind, double.name, double.url, "--tokenizer", MAZE, "--api-key-env", "", "--json", *more])
    rows = json.loads(capsys.readouterr().out)
    return code, {row["check"]: row for row in rows}


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_server_that_does_what_is_needed(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, changed = adapter(tmp_path / "adapter", 2), changed_model(tmp_path / "changed")
    with KINDS[kind](MAZE) as double:
        code, found = checked(double, kind, capsys, "--adapter", str(folder), "--weights", str(changed))
    assert {name: row["said"] for name, row in found.items() if row["verdict"] != "ok"} == {}
    assert code == 0 and len(found) == 11


def test_what_is_wrong_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    with VllmDouble(MAZE, deaf=True, details=False, shift=0.4, lora=False, mode="processed_logprobs") as double:
        code, found = checked(double, "vllm", capsys, "--adapter", MAZE)
    wrong = {name: row["said"] for name, row in found.items() if row["verdict"] == "fails"}
    assert code == 1
    assert set(wrong) == {"log-probabilities", "temperature", "seeds", "samples", "prefix cache", "adapter"}
    assert "differ by 0.4" in wrong["log-probabilities"] and "other seeds the same ones" in wrong["seeds"]
    assert "say logprobs_mode=processed_logprobs" in wrong["temperature"]
    assert "--enable-prompt-tokens-details" in wrong["prefix cache"] and "--enable-lora" in wrong["adapter"]
    assert found["weights"] == {"check": "weights", "verdict": "not checked", "said": "--weights FOLDER"}


def test_a_server_without_token_ids_fails_every_line_that_needs_them(capsys: pytest.CaptureFixture[str]) -> None:
    with VllmDouble(MAZE, drop=frozenset({"token_ids"})) as double:
        code, found = checked(double, "vllm", capsys)
    assert code == 1 and "token_ids: the endpoint returns none" in found["token ids"]["said"]


def test_weights_are_compared_with_the_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A name that the server repeats is no proof; nor are weights that it had before."""
    changed = changed_model(tmp_path / "changed")
    with Stubborn(MAZE) as double:
        code, found = checked(double, "vllm", capsys, "--weights", str(changed))
        assert code == 1 and "it does not play with them" in found["weights"]["said"]
        code, found = checked(double, "vllm", capsys, "--weights", MAZE)
    assert code == 0 and found["weights"]["verdict"] == "not checked", found["weights"]
    assert "these are nearly the weights it had" in found["weights"]["said"]


def test_weights_that_the_server_does_not_name_are_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Silent(VllmDouble):
        def tells(self) -> frozenset[str]:
            return frozenset()

    with Silent(MAZE, names=False) as double:
        _, found = checked(double, "vllm", capsys, "--weights", str(changed_model(tmp_path / "changed")))
    assert found["weights"]["verdict"] == "fails" and "does not report which weights" in found["weights"]["said"]


@pytest.mark.filterwarnings("ignore::sonde.models.remote.retry.TroubleWarning")
def test_a_server_that_dies_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    class Mortal(VllmDouble):
        alive = True

        async def _v1_completions(self, body: dict[str, Any]) -> Any:
            self.alive = self.alive and body["temperature"] != 2.0
            if not self.alive:
                return web.json_response({"error": {"message": "EngineCore encountered an issue"}}, status=500)
            return await super()._v1_completions(body)

    with Mortal(MAZE) as double:
        code, found = checked(double, "vllm", capsys)
    assert code == 1 and found["temperature"]["verdict"] == "fails"
    later = list(found)[list(found).index("temperature") + 1 :]
    assert {found[name]["verdict"] for name in later} == {"not checked"}
    assert {found[name]["said"] for name in later} == {"the server no longer answers since 'temperature'"}


def test_the_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    with SglangDouble(MAZE) as double:
        assert main(["sglang", double.name, double.url, "--tokenizer", MAZE, "--api-key-env", ""]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 11 and lines[0].startswith("ok           token ids            3 ids and 3")
    assert lines[-1] == "not checked  weights              --weights FOLDER"
