"""The recipes of recipes/psrl run from the command line, and what they print holds what theory says of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cases import each
from tests.recipes.loading import load

FOLDER = Path(__file__).parents[2] / "recipes" / "psrl"


def run_recipe(recipe: str, *args: str) -> str:
    done = subprocess.run([sys.executable, str(FOLDER / recipe), *args], text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(figure: str, *args: str, table: str = "") -> dict[str, dict[str, Any]]:
    """The rows of a figure's table by agent."""
    tables = json.loads(run_recipe("figures.py", figure, *args, "--json"))["tables"]
    return {row["agent"]: row for row in tables[table or f"figure{figure}"]}


def mean(cell: str) -> float:
    """The mean of a cell `mean ± standard error`."""
    return float(cell.split(" ± ", maxsplit=1)[0])


@pytest.mark.thorough
def test_bandit() -> None:
    found = rows("4", "--trials", "40")
    lost = {name: mean(row["after 100"]) for name, row in found.items()}
    assert lost["uniform"] == pytest.approx(16.0, abs=0.8)
    assert lost["Thompson, Beta(1, 1)"] < lost["UCB1"] < lost["uniform"]
    assert {row["trials"] for row in found.values()} == {40}


@pytest.mark.thorough
def test_lock() -> None:
    found = rows("7", "--trials", "200")
    best = found["Bayes-optimal"]
    assert mean(best["after 8"]) <= min(mean(row["after 8"]) for row in found.values()) and best["solved"] == 1.0
    assert found["posterior sampling"]["in"] > best["in"] + 0.3


@pytest.mark.slow
def test_informative() -> None:
    found = rows("16", "--trials", "100")
    ids = found["information-directed"]
    assert ids["after 1"] == ids["after 20"] and mean(ids["after 20"]) == pytest.approx(0.8536, abs=0.04)
    assert mean(found["Thompson, true prior"]["after 20"]) > 3.5


def test_letter_wordle_as_a_table() -> None:
    lines = run_recipe("figures.py", "8", "--trials", "10").splitlines()
    assert [line[:20].strip() for line in lines[2:6]] == [
        "posterior sampling", "information-directed", "most information", "uniform",
    ]  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize(
    "figure", [pytest.param(f, marks=pytest.mark.slow) if f in ("4", "13", "14", "16") else f
               for f in ("4", "6", "7", "8", "13", "14", "16", "18")],
)  # fmt: skip
def test_every_figure_is_played_by_the_oracle(figure: str) -> None:
    found = rows(figure, "--model", "oracle", "--trials", "2")
    played = [row for name, row in found.items() if name.startswith("LLM-")]
    assert played and all(row["fallback"] == 0.0 and row["trials"] == 2 for row in played)
    assert not set(found) & {"Reflexion", "ICPI"}


@pytest.mark.slow
def test_temperatures_and_flaws_give_figure_4_its_shapes() -> None:
    """A greedy sampler tries the least-taken arm less often, at one temperature; hotter samples more often."""
    args = ("--model", "oracle", "--agents", "llm_psrl", "--trials", "8")
    found = {name: mean(row["period 100"]) for name, row in rows("4", *args, table="figure10").items()}
    assert found["LLM-PSRL, greedy sampler"] < 0.5 * found["LLM-PSRL, sampling at 1"]
    assert found["LLM-PSRL, sampling at 0.7"] < found["LLM-PSRL, sampling at 1.5"]


@pytest.mark.thorough
def test_the_prior_alone_is_half_of_the_gap_in_figure_13() -> None:
    """Classic PSRL with LLM-PSRL's prior of 0.1 loses more than with 1/3, downstream known."""
    found = rows("13", "--trials", "150")
    prior = mean(found["PSRL, alpha .1, downstream known"]["after 35"])
    assert prior > mean(found["PSRL, downstream known"]["after 35"]) + 1.0


@pytest.mark.thorough
@each(
    "args, says",
    [
        (("5", "--model", "oracle"), "model: got 'oracle', allowed: a language model in figure 5"),
        (("5",), "model: got None, allowed: a language model: figure 5 has no classic agent"),
        (
            ("18", "--model", "oracle", "--agents", "icpi"),
            "agents: got 'icpi', allowed: llm_ids, llm_psrl, ids in figure 18 with --model oracle",
        ),
        (("18", "--agents", "nobody"), "agents: got 'nobody', allowed: ids in figure 18 without --model"),
        (
            ("7", "--model", "oracle", "--agents", "llm_psrl", "--prompts", "nowhere"),
            "agents:llm_psrl: prompts: got 'nowhere', allowed: a folder with .md files",
        ),
    ],
)
def test_what_cannot_be_played_is_one_line(args: tuple[str, ...], says: str) -> None:
    done = subprocess.run(
        [sys.executable, str(FOLDER / "figures.py"), *args], text=True, capture_output=True, check=False
    )
    assert done.returncode == 1 and says in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.slow
def test_roles_recipe_names_the_flawed_role() -> None:
    lines = run_recipe("roles.py", "--env", "combination_lock", "--trials", "4").splitlines()
    head, *cells = ([cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines[1:6])
    forgotten = head.index("updater: forgotten")
    assert {row[0]: float(row[forgotten]) > 0 for row in cells} == {
        "exact": False, "greedy sampler": False, "forgetting updater": True, "short-sighted planner": False,
    }  # fmt: skip


def test_a_dry_run_estimates_every_row() -> None:
    model = ("--model", "http:a", "--base-url", "http://localhost:1/v1")
    found = json.loads(run_recipe("figures.py", "4", *model, "--dry-run", "--json"))
    calls = {row["environment"]: (row["episodes"], row["calls"]) for row in found}
    assert calls["LLM-PSRL, sampling at 1.2"] == (20, 20 * 100 * 3), "three calls to a pull"
    assert calls["UCB1"] == (1000, 0) and len(calls) == 9


def test_every_saved_table_is_one_of_a_figure() -> None:
    """The page of the paper shows them; none is left over from an older recipe."""
    sys.path.append(str(FOLDER))
    known = {table.name for figure in load("psrl/figures").FIGURES.values() for table in figure.tables}
    saved = {path.stem for path in (FOLDER.parents[1] / "results" / "papers" / "psrl").glob("*.json")}
    assert {name for name in saved if not name.startswith("roles_")} <= known


def test_models_may_be_the_customer_and_the_judge_of_figure_5() -> None:
    args = ["5", "--model", "fake", "--user", "fake", "--judge", "fake", "--agents", "reflexion", "--trials", "2"]
    (planned,) = json.loads(run_recipe("figures.py", *args, "--dry-run", "--json"))
    assert {seat: cost["calls"] for seat, cost in planned["seats"].items()} == {"agent": 78, "user": 40, "judge": 2}
    assert json.loads(run_recipe("figures.py", *args, "--json"))["tables"]["figure5"][0]["trials"] == 2
    refused = subprocess.run(
        [sys.executable, str(FOLDER / "figures.py"), "7", "--user", "fake"], text=True, capture_output=True, check=False
    )
    assert refused.returncode == 2 and "got figure 7, allowed: figure 5" in refused.stderr
