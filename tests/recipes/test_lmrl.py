"""The recipes of recipes/lmrl: the maze as a table, a cell of table 2 run small, and the paper's own trainings."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

import sonde
from sonde.core import Action
from sonde.envs._shared.words import marks

FOLDER = Path(__file__).parents[2] / "recipes" / "lmrl"


def run_recipe(script: str, *args: str) -> Any:
    done = subprocess.run(
        [sys.executable, str(FOLDER / script), *args, "--json"], text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def import_script(name: str) -> Iterator[ModuleType]:
    """A script of the recipe, with its own `common`, and none of its modules when it is done with."""
    forget_recipes()
    sys.path.insert(0, str(FOLDER))
    try:
        yield import_module(name)
    finally:
        sys.path.remove(str(FOLDER))
        forget_recipes()


def forget_recipes() -> None:
    """The scripts of the recipes' folders have modules of one name, such as `common`."""
    for name, found in list(sys.modules.items()):
        if (file := getattr(found, "__file__", None)) and FOLDER.parent in Path(file).parents[1:2]:
            del sys.modules[name]


@pytest.fixture(scope="module")
def symbolic() -> Iterator[ModuleType]:
    yield from import_script("symbolic")


@pytest.fixture(scope="module")
def tabular() -> Iterator[ModuleType]:
    yield from import_script("tabular")


def test_the_table_of_the_maze_has_its_shortest_ways(symbolic: ModuleType) -> None:
    """Values of minus the distance, found by relaxing the table, walk the paper's -6.84."""
    w = symbolic.make_world()
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
    w = symbolic.make_world()
    place = next(p for p in w.starts if (w.next_PA[p] == w.goal).any())
    into = int((w.next_PA[place] == w.goal).int().argmax())
    other = next(a for a in range(4) if w.next_PA[place, a] != w.goal)
    learner = symbolic.Learner(w, "table", 0.0)
    both = torch.tensor([into, other])
    learner.update(symbolic.Transitions(torch.tensor([place, place]), both, w.next_PA[place, both]))
    assert learner.q.weight.data[place, both].tolist() == [0.0, pytest.approx(-0.1)]


def test_tables_by_hand(tabular: ModuleType) -> None:
    """Two episodes cross in b: a, left, b, down, end with 0 and c, right, b, up, end with 1. So up is worth 1, down 0,
    V(b) their expectile, v = .9 (1 - v) / .1 in balance, .9, and left in a half of that; the data's own mean is 0."""
    move = tabular.Move
    rows = [
        move("a", "left", 0.0, "b", 0.0), move("b", "down", 0.0, None, 0.0),
        move("c", "right", 0.0, "b", 0.5), move("b", "up", 1.0, None, 1.0),
    ]  # fmt: skip
    assert tabular.clone_policy(rows)["b"] == {"down": 1, "up": 1}
    assert tabular.mean_returns(rows) == {"a": {"left": 0.0}, "b": {"down": 0.0, "up": 1.0}, "c": {"right": 0.5}}
    found = tabular.implicit_values(rows, 0.5, 0.9)
    assert found["b"] == {"down": 0.0, "up": 1.0} and found["a"]["left"] == pytest.approx(0.45)
    assert tabular.implicit_values(rows, 0.5, 1.0)["a"] == {"left": 0.5}
    assert tabular.find_expectile({"x": 0.0, "y": 1.0}, {"x": 3, "y": 1}, 0.5) == pytest.approx(0.25)


def test_a_limit_is_no_end_in_the_table(tabular: ModuleType) -> None:
    """The maze's data: whoever was cut off stays where it was, whoever arrives is over; and returns add up."""
    from small import TASKS

    from sonde import datasets

    part = datasets.make_parts(TASKS["maze"].dataset, n=12)[0]
    with tempfile.TemporaryDirectory() as folder:
        played = list(datasets.fill_part(part, Path(folder), processes=1))
    rows = tabular.list_moves(TASKS["maze"], played, 1.0, partial(tabular.PLACES["maze"], 0))
    at = 0
    for t in played:
        mine = rows[at : at + len(t.turns)]
        at += len(mine)
        assert mine[0].place == t.task.hidden["start"]
        assert mine[0].to_go == sum(turn.rewards["agent"] for turn in t.turns)
        assert mine[-1].after == (None if t.outcome and t.outcome.success else mine[-1].place)
        assert all(a.after == b.place for a, b in pairwise(mine))
    assert at == len(rows)


def test_phrases_and_the_words_of_a_small_wordle(tabular: ModuleType) -> None:
    from few_words import FewWords
    from network import list_phrases

    told = "Map double_t. Goal 3 3.\n\n##.#\n#..#\n\nOpen: left, right."
    found = list_phrases(Counter({("user", told): 2, ("assistant", "move left"): 1}), 2)
    assert found == ["##.#", "#..#", "Goal 3 3.", "Map double_t.", "Open: left, right."]
    env = FewWords(size=40)
    assert len(env.tasks("train")) == len(env.tasks("test")) == 40
    task = env.tasks("test")[7]
    assert task.hidden in [word for _, word in env.prior(task.public)]
    assert env.filter(task.public).entropy == pytest.approx(math.log2(40))
    other = env.prior(task.public)[0][1]
    told = sonde.Episode.begin(env, task).step(Action(" ".join(other))).view().messages[-1].content
    assert told == f"{' '.join(other)}: {' '.join(marks.standard_marks(task.hidden, other))}"


def test_endgames_with_men_told_by_their_squares(tabular: ModuleType) -> None:
    """Mate with king and queen by the corner; an illegal move costs 1 and tells the same position."""
    pytest.importorskip("chess")
    from listed_men import ListedMen, list_men

    env = ListedMen(pieces="Q")
    assert all(t.public["fen"].count("Q") == 1 for t in env.tasks("test")[:3])
    ep = sonde.Episode.begin(env, env.task({"fen": "7k/8/5KQ1/8/8/8/8/8 w - - 0 1"}))
    told = "White king f 6. White queen g 6. Black king h 8."
    assert ep.view().messages[-1].content == told == list_men(ep.state.fen)
    assert env.say("Qg7#") == "Q g 7" and env.say("Kf7") == "K f 7"
    ep = ep.step(Action("K g 7"))
    assert ep.turns[-1].rewards["agent"] == -1.0 and ep.view().messages[-1].content == told
    ep = ep.step(Action("Q g 7"))
    assert ep.outcome is not None and ep.outcome.success and ep.turns[-1].rewards["agent"] == 1.0


@pytest.mark.slow
def test_the_symbolic_maze_is_learned() -> None:
    """Table 11: 100 online and offline."""
    for row in run_recipe("symbolic.py", "--seeds", "1")["rows"][1:]:
        assert row["returns"] == pytest.approx([-6.84], abs=1e-4), row["method"]


@pytest.mark.thorough
@pytest.mark.slow
def test_a_table_in_small_is_kept_and_not_made_again(tmp_path: Path) -> None:
    args = ("--tasks", "maze", "--methods", "%BC", "--quick", "--out", str(tmp_path))
    found = run_recipe("table2.py", *args)["maze"]
    assert [row["method"] for row in found] == ["dataset", "floor", "reference", "BC", "%BC"]
    scores = {row["method"]: row["score"]["mean"] for row in found}
    assert scores["dataset"] == pytest.approx(50.0) and scores["reference"] == pytest.approx(100.0)
    assert run_recipe("table2.py", *args)["maze"] == found
    assert len((tmp_path / "quick" / "results.jsonl").read_text().splitlines()) == 5


@pytest.mark.slow
def test_the_papers_trainings_run(tmp_path: Path) -> None:
    """All methods of one task, two steps of each with a model that comes with sonde; all but BC begin with BC's."""
    paper, out = str(FOLDER / "paper.py"), ("--out", str(tmp_path))
    command = [sys.executable, paper, "--quick", "sonde-tiny-maze", *out, "--only"]
    first = subprocess.run([*command, "maze-ilql"], text=True, capture_output=True, check=False)
    assert first.returncode == 2 and "run --only maze-bc first" in first.stderr
    names = [f"maze-{method}" for method in ("bc", "filtered_bc", "mc", "ilql", "ppo", "online_filtered_bc")]
    done = subprocess.run([*command, *names], text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    for name in names:
        folder = tmp_path / "quick" / name
        assert json.loads((folder / "history.jsonl").read_text().splitlines()[-1])["step"] == 2
        assert (folder / "model" / "heads.safetensors").is_file() == (name in ("maze-mc", "maze-ilql", "maze-ppo"))


@pytest.mark.thorough
def test_the_papers_trainings_resolve_to_its_numbers() -> None:
    """Table 5, where each task has its own."""
    names = ("maze-bc", "maze-ilql", "wordle-mc", "car_dealer-ilql", "endgames-ppo", "text_nav-filtered_bc")
    found = {row["config"]: row for row in run_recipe("paper.py", "--dry-run", "--only", *names)}
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
