"""The recipes of recipes/lmrl: the maze as a table, a cell of table 2 run small, and the paper's own trainings."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

FOLDER = Path(__file__).parents[1] / "recipes" / "lmrl"


def run(script: str, *args: str) -> Any:
    done = subprocess.run(
        [sys.executable, str(FOLDER / script), *args, "--json"], text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def symbolic() -> Iterator[ModuleType]:
    sys.path.insert(0, str(FOLDER))
    try:
        yield import_module("symbolic")
    finally:
        sys.path.remove(str(FOLDER))
        sys.modules.pop("symbolic", None)


def test_the_table_of_the_maze_has_its_shortest_ways(symbolic: ModuleType) -> None:
    """Values of minus the distance, found by relaxing the table, walk the paper's -6.84."""
    w = symbolic.world()
    away = torch.full((len(w.cell_P2),), 99.0)
    away[w.goal] = 0
    for _ in range(30):
        away = torch.minimum(away, 1 + away[w.next_PA].amin(1))
    learner = symbolic.Learner(w, "table", 0.0)
    learner.q.weight.data = -away[w.next_PA]
    assert len(w.starts) == 25 and learner.mean_return() == pytest.approx(-6.84)
    learner.q.weight.data = away[w.next_PA]
    assert learner.mean_return() == pytest.approx(-100.0)


def test_an_update_by_hand(symbolic: ModuleType) -> None:
    """One move into the goal and one that is not: errors 1/2 (0 - 0)^2 and 1/2 (0 + 1)^2; only the second is moved."""
    w = symbolic.world()
    place = next(p for p in w.starts if (w.next_PA[p] == w.goal).any())
    into = int((w.next_PA[place] == w.goal).int().argmax())
    other = next(a for a in range(4) if w.next_PA[place, a] != w.goal)
    learner = symbolic.Learner(w, "table", 0.0)
    both = torch.tensor([into, other])
    learner.update(symbolic.Transitions(torch.tensor([place, place]), both, w.next_PA[place, both]))
    assert learner.q.weight.data[place, both].tolist() == [0.0, pytest.approx(-0.1)]


@pytest.mark.slow
def test_the_symbolic_maze_is_learned() -> None:
    """Table 11: 100 online and offline."""
    for row in run("symbolic.py", "--seeds", "1")["rows"][1:]:
        assert row["returns"] == pytest.approx([-6.84], abs=1e-4), row["method"]


@pytest.mark.thorough
@pytest.mark.slow
def test_a_table_in_small_is_kept_and_not_made_again(tmp_path: Path) -> None:
    args = ("--tasks", "maze", "--methods", "%BC", "--quick", "--out", str(tmp_path))
    found = run("table2.py", *args)["maze"]
    assert [row["method"] for row in found] == ["dataset", "floor", "reference", "BC", "%BC"]
    scores = {row["method"]: row["score"]["mean"] for row in found}
    assert scores["dataset"] == pytest.approx(50.0) and scores["reference"] == pytest.approx(100.0)
    assert run("table2.py", *args)["maze"] == found
    assert len((tmp_path / "quick" / "results.jsonl").read_text().splitlines()) == 5


def test_the_papers_trainings_resolve_to_its_numbers() -> None:
    """Table 5, where each task has its own."""
    names = ("maze-bc", "maze-ilql", "wordle-mc", "car_dealer-ilql", "endgames-ppo", "text_nav-filtered_bc")
    found = {row["config"]: row for row in run("paper.py", "--dry-run", "--only", *names)}
    assert [found[name]["model"] for name in names] == ["gpt2", "gpt2", "gpt2", "gpt2-xl", "gpt2", "gpt2"]
    assert [found[name]["beta"] for name in names] == [None, 16, 64, 4, None, None]
    maze = found["maze-ilql"]["training"]
    assert maze["options"]["tau"] == 0.99 and maze["learning"]["context"] == "told"
    assert found["wordle-mc"]["training"]["settings"]["lr"] == 3e-5
    assert found["text_nav-filtered_bc"]["training"]["learning"]["share"]["success"]
    costs = {name: row["cost"] for name, row in found.items()}
    assert costs["maze-bc"]["episodes"] == 1240 and costs["wordle-mc"]["episodes"] == 1_000_000
    assert costs["maze-ilql"]["petaflop"] >= costs["maze-bc"]["petaflop"]
    assert all(cost["tokens_said"] < cost["tokens_read"] for cost in costs.values())
