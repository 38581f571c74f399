"""The recipes of recipes/psrl run from the command line, and what they print holds what theory says of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cases import each

FOLDER = Path(__file__).parents[2] / "recipes" / "psrl"


def run_recipe(recipe: str, *args: str) -> str:
    done = subprocess.run([sys.executable, str(FOLDER / recipe), *args], text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(recipe: str, *args: str) -> dict[str, dict[str, Any]]:
    return {row["agent"]: row for row in json.loads(run_recipe(recipe, *args, "--json"))["rows"]}


def last_regret(row: dict[str, Any]) -> float:
    """Mean cumulative regret at the end."""
    return float(list(row["regret"].values())[-1][0])


@pytest.mark.thorough
def test_bandit() -> None:
    found = rows("bandit.py", "--trials", "40")
    assert last_regret(found["uniform"]) == pytest.approx(16.0, abs=0.8)
    assert last_regret(found["Thompson, Beta(1, 1)"]) < last_regret(found["UCB1"]) < last_regret(found["uniform"])
    assert found["UCB1"]["trials"] == 40


@pytest.mark.thorough
def test_lock() -> None:
    found = rows("lock.py", "--trials", "200")
    assert last_regret(found["Bayes-optimal"]) <= min(last_regret(row) for row in found.values())
    assert found["Bayes-optimal"]["more"]["solved"] == 1.0
    assert found["posterior sampling"]["more"]["in"] > found["Bayes-optimal"]["more"]["in"] + 0.3


@pytest.mark.slow
def test_informative() -> None:
    found = rows("informative.py", "--trials", "100")
    ids = found["information-directed"]
    assert ids["regret"]["1"] == ids["regret"]["20"] and last_regret(ids) == pytest.approx(0.8536, abs=0.04)
    assert last_regret(found["Thompson, true prior"]) > 3.5


def test_letter_wordle_as_a_table() -> None:
    lines = run_recipe("letter_wordle.py", "--trials", "20").splitlines()
    assert [line[:28].strip() for line in lines[2:6]] == [
        "uniform", "posterior sampling", "information-directed", "most information",
    ]  # fmt: skip


@pytest.mark.slow
def test_river_swim() -> None:
    tables = run_recipe("river_swim.py", "--trials", "3").split("\n\n")
    titles = [table.split(", H")[0].split(": ")[1] for table in tables[:4]]
    assert titles == ["RiverSwim length3"] * 2 + ["RiverSwim length4"] * 2


@pytest.mark.thorough
@pytest.mark.parametrize(
    "figure", [pytest.param(f, marks=pytest.mark.slow) if f in ("4", "13", "14", "16") else f
               for f in ("4", "6", "7", "8", "13", "14", "16")],
)  # fmt: skip
def test_every_figure_is_played_by_the_oracle(figure: str) -> None:
    found = rows("agents.py", figure, "--model", "oracle", "--trials", "2")
    played = [row for name, row in found.items() if name.startswith("LLM-PSRL")]
    assert played and all(row["more"]["fallback"] == 0.0 and row["trials"] == 2 for row in played)
    assert not set(found) & {"Reflexion", "ICPI"}


@pytest.mark.thorough
@each(
    "args, says",
    [
        (("5",), "model: got 'oracle', allowed: a language model in figure 5"),
        (
            ("7", "--agents", "icpi"),
            "agents: got 'icpi', allowed: llm_psrl, combination_lock in figure 7 with --model oracle",
        ),
        (("7", "--agents", "nobody"), "agents: got 'nobody', allowed: llm_psrl, combination_lock in figure 7"),
    ],
)
def test_what_the_oracle_cannot_play_is_one_line(args: tuple[str, ...], says: str) -> None:
    command = [sys.executable, str(FOLDER / "agents.py"), *args, "--model", "oracle"]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    assert done.returncode == 1 and says in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.thorough
def test_language_models_by_figure() -> None:
    found = rows("agents.py", "18", "--model", "oracle", "--trials", "6")
    assert set(found) == {"LLM-IDS", "LLM-PSRL", "IDS"}
    assert found["LLM-PSRL"]["more"]["fallback"] == 0.0 and found["IDS"]["more"]["calls"] == 0.0
    assert found["LLM-IDS"]["more"]["calls"] > 100
