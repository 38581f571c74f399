"""The recipes of recipes/delta_belief run from the command line, and the settings of the paper's scale resolve."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "recipes" / "delta_belief"


def run(recipe: str, *args: str) -> list[dict[str, Any]]:
    done = subprocess.run([sys.executable, str(FOLDER / recipe), *args], text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_calibration_of_the_tiny_model(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    out = ("--only", "tiny", "tiny-decide", "--quick", "--json", "--out", str(tmp_path))
    found = {row["case"]: row for row in run("calibration.py", *out)}
    for row in found.values():
        every = row["beliefs"]["all"]
        assert every["episodes"] == 4 and len(every["divergence"]) == 11 and row["outside"] < 0.01
        assert every["exact"][0]["mean"] == pytest.approx(1 / 3) and every["divergence"][0]["mean"] < 0.05
    # At the last turn both are asked the same; before it one is asked for a pull.
    last, first = ([row["beliefs"]["all"]["target"][t]["mean"] for row in found.values()] for t in (10, 5))
    assert last[0] == pytest.approx(last[1], abs=1e-5) and first[0] != pytest.approx(first[1], abs=1e-3)


def test_what_the_papers_scale_would_cost() -> None:
    small, large = run("calibration.py", "--dry-run", "--only", "paper-1.7B", "paper-4B", "--tasks", "433")
    assert (small["model"], large["model"]) == ("Qwen/Qwen3-1.7B", "Qwen/Qwen3-4B")
    assert small["episodes"] == 433 and 500_000 < small["tokens"] == large["tokens"] < 10_000_000
