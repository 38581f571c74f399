"""`sonde dataset lmrl`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from sonde.runs.store import Run

from .invoke import failure, run

MAZE = ("dataset", "lmrl", "maze", "--n", "10", "--processes", "1")


def test_it_makes_two_runs_and_a_card(tmp_path: Path) -> None:
    to = str(tmp_path / "data")
    before = json.loads(run(*MAZE, "--out", to, "--dry-run", "--json"))
    assert [(row["part"], row["episodes"], row["held"]) for row in before] == [("train", 10, 0), ("eval", 1, 0)]
    shown = run(*MAZE, "--out", to)
    assert "lmrl maze" in shown and "1,240" in shown and "-19.7" in shown
    assert len(Run.load(tmp_path / "data" / "train")) == 10
    found = json.loads(run(*MAZE, "--out", to, "--json"))
    assert found["parts"]["train"]["size"] == 10 and found["parts"]["eval"]["size"] == 1
    assert "train: 10 episodes, 10 there, about 0 s of one core" in run(*MAZE, "--out", to, "--dry-run")
    assert "started with another configuration" in failure(*MAZE, "--out", to, "--seed", "1")
    run(*MAZE, "--out", to, "--seed", "1", "--fresh")


def test_a_language_model_plays_and_its_calls_are_foretold(tmp_path: Path) -> None:
    asked = ("dataset", "lmrl", "twenty_questions", "--n", "300", "--agent", "llm", "--model", "smollm2")
    shown = run(*asked, "--out", str(tmp_path), "--dry-run")
    assert "train: 300 episodes, 0 there" in shown and "calls" in shown


def test_a_file_is_read_instead(tmp_path: Path) -> None:
    file, to = tmp_path / "questions.json", str(tmp_path / "data")
    file.write_text(json.dumps([{"lines": ["Is it a pen? Yes."], "correct": True, "word": ["Pen"]}]))
    asked = ("dataset", "lmrl", "twenty_questions", "--from", str(file), "--out", to, "--json")
    assert json.loads(run(*asked))["parts"].keys() == {"train"}
    found = json.loads(run(*asked, "--part", "eval"))
    assert found["parts"]["eval"]["mean_length"] == 1.0 and found["parts"].keys() == {"train", "eval"}


def test_errors(tmp_path: Path) -> None:
    assert "task: unknown name 'mase' (did you mean 'maze'?)" in failure("dataset", "lmrl", "mase")
    assert "n: got 0, allowed: 1 or more" in failure("dataset", "lmrl", "maze", "--n", "0")
    assert "--part: unknown name 'test'" in failure("dataset", "lmrl", "maze", "--part", "test")
    assert "only with --agent or --model" in failure("dataset", "lmrl", "maze", "--temperature", "1")
    missing = failure("dataset", "lmrl", "maze", "--from", str(tmp_path / "none.json"))
    assert "none.json" in missing and "No such file" in missing


def test_tasks_of_the_puzzles_are_read_and_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # runs go to the folder `runs`
    file, to = tmp_path / "published.jsonl", str(tmp_path / "my tasks.json")
    rows = [{"seen": [[1, 2], [3, 1]], "unseen": [[1.5, 2.5], [3.0, 1.0]], "taste": [w, 0.9]} for w in (0.0, 0.4)]
    file.write_text("\n".join(map(json.dumps, rows)))
    asked = ("dataset", "mtp", "movie_recommendation", "--from", str(file), "--out", to)
    shown = run(*asked, "--name", "weights=taste")
    assert "movie_recommendation: 2 tasks" in shown and "-o 'env.weights=[0.0,0.9]'" in shown and to in shown
    _, *command = shlex.split(json.loads(run(*asked, "--name", "weights=taste", "--json"))["command"])
    (played,) = json.loads(run(*command, "--agent", "random", "-k", "1", "--json"))
    assert played["n_tasks"] == 2 and played["env"]["attributes"] == 2
    assert "weights: no 'weights'; there: seen, unseen, taste" in failure(*asked)
    assert "--name: got 'taste', allowed: PART=NAME" in failure(*asked, "--name", "taste")
    assert "a file ending in .json" in failure(*asked[:-1], str(tmp_path / "tasks.txt"))
