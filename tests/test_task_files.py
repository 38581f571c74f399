"""Tasks from files: setups of one's own, and files in the formats of the papers (written here, none of their data)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde.core import UserError
from sonde.run import config_from, execute, prepare, reopen
from sonde.store import Run
from sonde.task_files import read_tasks

CONFIG = {"max_turns": 20, "train": [{"agent": "animal", "env": "Otter"}], "eval": [{"agent": "tool", "env": "Trowel"}]}


def file(folder: Path, name: str, content: Any) -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def test_a_list_of_setups(tmp_path: Path) -> None:
    env = sonde.make("wordle")
    tasks = read_tasks(file(tmp_path, "mine.json", ["toast", "boost"]), env)
    assert [(t.hidden, t.index) for t in tasks] == [("toast", 0), ("boost", 1)]


def test_a_game_configuration_of_paprika(tmp_path: Path) -> None:
    env, path = sonde.make("twenty_questions"), file(tmp_path, "twenty_questions.json", CONFIG)
    (train,), (test,) = read_tasks(path, env, "train"), read_tasks(path, env, "test")
    assert "otter" in str(train.hidden).lower()
    assert "trowel" in str(test.hidden).lower()


def test_scenarios_of_customer_service_and_murder_mystery_are_foreign(tmp_path: Path) -> None:
    rows = [{"agent": "A lamp stays dark.", "env": "The bulb is loose; screwing it in helps."}]
    path = file(tmp_path, "game.json", {"train": rows, "eval": rows})
    for name in ("customer_service", "murder_mystery"):
        env = sonde.make(name)
        (task,) = read_tasks(path, env)
        assert task.public["foreign"] is True
        assert env.filter(task.public) is None


def test_word_lists_and_cities(tmp_path: Path) -> None:
    words = read_tasks(
        file(tmp_path, "w.txt", "otter\n\nzyzzyva\n"), sonde.make("twenty_questions", preset="delta_belief")
    )
    assert len(words) == 2
    cities = read_tasks(
        file(tmp_path, "c.txt", "Lisbon, Portugal\nNowhereville, Utopia\n"), sonde.make("guess_my_city")
    )
    assert [bool(t.public.get("foreign")) for t in cities] == [False, True]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.json", "{", "x.json"),
        ("x.json", {"train": []}, "'eval'"),
        ("x.json", [], "holds no tasks"),
        ("x.json", ["zzzzzzzz"], "row 0"),
        ("x.csv", "a", "ending in .json or .txt"),
        ("x.txt", "toast", "wordle reads no word lists"),
        ("x.json", CONFIG, "wordle reads no game configurations"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, name: str, content: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_tasks(file(tmp_path, name, content), sonde.make("wordle"))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no file"):
        read_tasks(tmp_path / "none.json", sonde.make("wordle"))


def test_a_run_over_a_file_can_be_opened_again_and_has_no_scale(tmp_path: Path) -> None:
    path = file(tmp_path, "mine.json", ["toast", "boost"])
    config = {
        "env": {"name": "wordle"},
        "seats": {"agent": {"name": "agents:entropy"}},
        "tasks_file": str(path),
        "k": 1,
    }
    run = prepare(config_from(config))
    found = execute(run, tmp_path / "run")
    assert (found.n_tasks, found.split, found.metrics["reference_score"]) == (2, "test of mine.json", None)
    assert reopen(Run.load(tmp_path / "run")).fingerprint == run.fingerprint
    file(tmp_path, "mine.json", ["toast", "hoist"])
    assert prepare(config_from(config)).fingerprint != run.fingerprint
