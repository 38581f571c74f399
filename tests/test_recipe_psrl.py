"""The recipes of recipes/psrl run from the command line, and what they print holds what theory says of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "recipes" / "psrl"


def run(recipe: str, *args: str) -> str:
    done = subprocess.run([sys.executable, str(FOLDER / recipe), *args], text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(recipe: str, *args: str) -> dict[str, dict[str, Any]]:
    return {row["agent"]: row for row in json.loads(run(recipe, *args, "--json"))["rows"]}


def total(row: dict[str, Any]) -> float:
    """Mean cumulative regret at the end."""
    return float(list(row["regret"].values())[-1][0])


def test_bandit() -> None:
    found = rows("bandit.py", "--trials", "40")
    assert total(found["uniform"]) == pytest.approx(16.0, abs=0.8)
    assert total(found["Thompson, Beta(1, 1)"]) < total(found["UCB1"]) < total(found["uniform"])
    assert found["UCB1"]["trials"] == 40


def test_lock() -> None:
    found = rows("lock.py", "--trials", "200")
    assert total(found["Bayes-optimal"]) <= min(total(row) for row in found.values())
    assert found["Bayes-optimal"]["more"]["solved"] == 1.0
    assert found["posterior sampling"]["more"]["in"] > found["Bayes-optimal"]["more"]["in"] + 0.3


def test_informative() -> None:
    found = rows("informative.py", "--trials", "100")
    ids = found["information-directed"]
    assert ids["regret"]["1"] == ids["regret"]["20"] and total(ids) == pytest.approx(0.8536, abs=0.04)
    assert total(found["Thompson, true prior"]) > 3.5


def test_letter_wordle_as_a_table() -> None:
    lines = run("letter_wordle.py", "--trials", "20").splitlines()
    assert [line[:28].strip() for line in lines[2:6]] == [
        "uniform",
        "posterior sampling",
        "information-directed",
        "most information",
    ]


def test_river_swim() -> None:
    tables = run("river_swim.py", "--trials", "3").split("\n\n")
    titles = [table.split(", H")[0].split(": ")[1] for table in tables[:4]]
    assert titles == ["RiverSwim length3"] * 2 + ["RiverSwim length4"] * 2


def test_language_models_by_figure() -> None:
    found = rows("agents.py", "18", "--model", "oracle", "--trials", "6")
    assert set(found) == {"LLM-IDS", "LLM-PSRL", "IDS"}
    assert found["LLM-PSRL"]["more"]["fallback"] == 0.0 and found["IDS"]["more"]["calls"] == 0.0
    assert found["LLM-IDS"]["more"]["calls"] > 100
