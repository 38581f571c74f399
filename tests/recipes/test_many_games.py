"""`recipes/tiny/many.py`: one small model of many games, from play to measurement, and where it goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from .loading import RECIPES

pytestmark = pytest.mark.thorough
GAMES = ("wordle-paprika", "best_arm-small")


def run(folder: Path, *more: str) -> str:
    """The recipe on a hundredth of its episodes."""
    command = [sys.executable, str(RECIPES / "tiny" / "many.py"), "--to", str(folder), "--quick", "--games", *GAMES]
    single = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run([*command, *more], capture_output=True, text=True, check=True, env=single).stdout


def test_a_model_of_two_games_is_made_and_measured(tmp_path: Path) -> None:
    said = run(tmp_path, "--steps", "100")
    rows = {row["game"]: row for row in json.loads((tmp_path / "games.json").read_text())}
    assert set(rows) == set(GAMES) and "| wordle-paprika |" in said
    assert rows["wordle-paprika"]["reference"][0] == 1.0 > rows["wordle-paprika"]["floor"][0] and all(
        0.0 <= row["1.0"][0] <= 1.0 for row in rows.values()
    )
    assert all(row["tasks"] * row["k"] == 4 for row in rows.values())
    made = json.loads((tmp_path / "model" / "training.json").read_text())
    assert made["rows"] == 60 and made["tokens"] > 0
    played = sorted((tmp_path / "play").rglob("trajectories-*"))
    before = [file.stat().st_mtime_ns for file in played]
    run(tmp_path, "--only", "play")
    assert [file.stat().st_mtime_ns for file in played] == before, "what was played is not played again"
