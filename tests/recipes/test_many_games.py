"""`recipes/tiny/many.py`: one small model of many games, from play to measurement, where it goes on, and its card."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")

from .loading import RECIPES

GAMES = ("wordle-paprika", "best_arm-small")
MODULES = ("vocab", "games", "corpus", "learn", "gate", "card", "many")


def run(script: str, *words: str) -> subprocess.CompletedProcess[str]:
    single = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(RECIPES / "tiny" / script), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=single)


@pytest.mark.thorough
def test_a_model_of_two_games_is_made_and_measured(tmp_path: Path) -> None:
    """On a hundredth of its episodes."""
    quick = ("--to", str(tmp_path), "--quick", "--games", *GAMES)
    said = run("many.py", *quick, "--steps", "100").stdout
    rows = {row["game"]: row for row in json.loads((tmp_path / "games.json").read_text())}
    assert set(rows) == set(GAMES) and "| wordle-paprika |" in said
    assert rows["wordle-paprika"]["reference"][0] == 1.0 > rows["wordle-paprika"]["floor"][0] and all(
        0.0 <= row["1.0"][0] <= 1.0 for row in rows.values()
    )
    assert all(row["tasks"] * row["k"] == 4 for row in rows.values())
    made = json.loads((tmp_path / "model" / "training.json").read_text())
    assert made["rows"] == 60 and made["tokens"] > 0 and made["steps"] == 1
    played = sorted((tmp_path / "play").rglob("trajectories-*"))
    before = [file.stat().st_mtime_ns for file in played]
    run("many.py", *quick, "--only", "play")
    assert [file.stat().st_mtime_ns for file in played] == before, "what was played is not played again"


@pytest.fixture(scope="module")
def recipe() -> Iterator[SimpleNamespace]:
    """The modules of recipes/tiny, which import each other by bare names, as they do when run."""
    before = {name: sys.modules.pop(name) for name in MODULES if name in sys.modules}
    sys.path.insert(0, str(RECIPES / "tiny"))
    try:
        yield SimpleNamespace(**{name: import_module(name) for name in MODULES})
    finally:
        sys.path.remove(str(RECIPES / "tiny"))
        for name in MODULES:
            sys.modules.pop(name, None)
        sys.modules.update(before)


def measured(game: str, model: float, tasks: int = 60) -> dict[str, Any]:
    """A row of a game in which random play wins a tenth and the reference nine tenths."""
    around = {name: [mean, mean - 0.05, mean + 0.05] for name, mean in (("floor", 0.1), ("reference", 0.9))}
    won = [model, model - 0.05, model + 0.05]
    return {"game": game, "tasks": tasks, "k": 2, **around, "1.0": won, "0.7": won, "readable": 0.99}


def test_bounds_are_kept_until_the_model_is_measured(recipe: SimpleNamespace, tmp_path: Path) -> None:
    many, whole = recipe.many, measured("maze-pairs", 0.5)
    bounds = {name: value for name, value in whole.items() if name not in ("1.0", "0.7", "readable")}
    game = next(game for game in many.GAMES if game.name == "maze-pairs")
    many.save_row(tmp_path, bounds)
    assert many.load_row(tmp_path, game, 60) == bounds and many.load_row(tmp_path, game, 100) == {}
    assert many.load_complete_rows(tmp_path) == []
    many.save_row(tmp_path, measured("battleship-paprika", 0.1))
    many.save_row(tmp_path, whole)
    assert [row["game"] for row in many.load_complete_rows(tmp_path)] == ["battleship-paprika", "maze-pairs"]
