"""`benchmarks/gpu.py`, on this machine's processor: all of its checks hold, and everything is measured."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from sonde.core import UserError

torch = pytest.importorskip("torch")

SCRIPT = Path(__file__).parents[3] / "benchmarks" / "gpu.py"
ASKED = "--device cpu --size tiny --minutes 10 --rows 1 3 --new 6 --tests tests/models/local/test_prefix_tree.py"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_without_a_gpu_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    with pytest.raises(UserError, match=r"device: got 'cuda', .* allowed: --device cpu --size tiny"):
        runpy.run_path(str(SCRIPT))["main"]([])


@pytest.mark.slow
def test_all_of_it_on_a_processor() -> None:
    command = [sys.executable, str(SCRIPT), *ASKED.split(), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)["found"]
    checks = {f["what"]: f["verdict"] for f in found if f["verdict"]}
    kinds = [f"{what}, {attention}" for attention in ("sdpa", "eager") for what in ("scores", "greedy")]
    kinds += ["log-probabilities, sdpa", "log-probabilities, eager", "tests"]
    assert checks == {**dict.fromkeys(kinds, "ok"), "waits per token": "not checked"}
    speeds = {(f["what"], f["rows"]): f["figure"] for f in found if f["rows"]}
    assert set(speeds) == {(arm, n) for arm in ("sonde", "generate", "continuous batching") for n in (1, 3)}
    assert all(speed > 0 for speed in speeds.values())
    assert any(f["what"] == "a step of GRPO" and f["figure"] > 0 for f in found)
    [tests] = [f["said"] for f in found if f["what"] == "tests"]
    assert "passed" in tests
