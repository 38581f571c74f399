"""The hand-over recipe runs from the command line and prints what it measures, for agents and models alike."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

RECIPE = Path(__file__).parents[2] / "recipes" / "mtp" / "handover.py"


def run_recipe(*args: str) -> str:
    done = subprocess.run([sys.executable, str(RECIPE), *args], text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def curves(*args: str) -> dict[str, list[dict[str, Any]]]:
    return json.loads(run_recipe(*args, "--json"))["curves"]


@pytest.mark.thorough
def test_both_ends_are_the_players_alone(tmp_path: Path) -> None:
    """Turn 0 of one order is the last turn of the other; the paper's point is the hand-over before the pick."""
    figure = tmp_path / "curve.svg"
    args = ("--first", "random", "--both", "--turns", "0,10,11", "--tasks", "12", "--figure", str(figure))
    there, back = curves(*args).values()
    assert [p["turn"] for p in there] == [0, 10, 11]
    assert there[0]["score"] == back[2]["score"] and there[0]["score"]["mean"] > 0.99
    assert there[2]["gain"]["mean"] == back[2]["gain"]["mean"] == 0.0
    assert there[1]["score"]["mean"] > 0.9 and max(p["score"]["mean"] for p in back[:2]) < 0.8
    assert all(p["score"]["n"] == 12 for p in there) and figure.read_text("utf-8").startswith("<svg")


@pytest.mark.thorough
def test_models_hand_over_too() -> None:
    """A local model asks five questions, a program concludes: any two players, in any environment."""
    pytest.importorskip("torch")
    args = ("--env", "twenty_questions", "--first", "sonde-tiny-twenty_questions", "--then", "entropy")
    (points,) = curves(*args, "--turns", "0,5,20", "--tasks", "2").values()
    scores = [p["score"]["mean"] for p in points]
    assert scores[0] == 1.0 and scores[1] >= scores[2] == points[2]["score"]["mean"]


def test_the_table_is_by_turn() -> None:
    lines = run_recipe("--turns", "10,11", "--tasks", "4").splitlines()
    assert lines[0] == "movie_recommendation: movie_recommendation_lookalike, then movie_recommendation"
    assert [line.split()[0] for line in lines[2:]] == ["10", "11"]


def test_a_dry_run_estimates_every_turn_and_plays_none() -> None:
    models = ("--first", "http:a", "--then", "http:b", "--base-url", "http://localhost:1/v1")
    found = json.loads(run_recipe(*models, "--turns", "0,10", "--tasks", "50", "--dry-run", "--json"))
    assert [row["environment"] for row in found] == [f"http:a, then http:b, turn {t}" for t in (0, 10, 11)]
    assert {(row["episodes"], row["calls"]) for row in found} == {(50, 50 * 11)}


def test_a_turn_that_is_none_is_refused() -> None:
    command = [sys.executable, str(RECIPE), "--turns", "12"]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    assert "turns: got '12', allowed: numbers from 0 to 11" in done.stderr and done.returncode == 1
