"""The hand-over recipe runs from the command line and prints what it measures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

RECIPE = Path(__file__).parents[2] / "recipes" / "mtp" / "handover.py"


def run_recipe(*args: str) -> str:
    done = subprocess.run([sys.executable, str(RECIPE), *args], text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.thorough
def test_four_cells_with_intervals() -> None:
    cells = json.loads(run_recipe("--tasks", "12", "--weak", "random", "--json"))["cells"]
    assert set(cells) == {f"{a}/{b}" for a in ("strong", "weak") for b in ("strong", "weak")}
    means = {name: cell["score"]["mean"] for name, cell in cells.items()}
    assert means["strong/strong"] > 0.99 and means["weak/strong"] > 0.9
    assert max(means["strong/weak"], means["weak/weak"]) < 0.8
    for cell in cells.values():
        assert cell["score"]["n"] == 12 and cell["score"]["low"] <= cell["score"]["mean"] <= cell["score"]["high"]
    assert cells["strong/strong"]["gap"]["mean"] == 0.0


def test_table_names_the_players() -> None:
    rows = [line.split() for line in run_recipe("--tasks", "4").splitlines()]
    assert [row[:2] for row in rows[1:]] == [
        ["movie_recommendation", "movie_recommendation"],
        ["movie_recommendation_lookalike", "movie_recommendation"],
        ["movie_recommendation", "movie_recommendation_lookalike"],
        ["movie_recommendation_lookalike", "movie_recommendation_lookalike"],
    ]
