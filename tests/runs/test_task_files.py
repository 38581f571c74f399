"""Tasks from files: setups of one's own, and files in the formats of the papers (written here, none of their data)."""

from __future__ import annotations

import json
import os
import unicodedata
import warnings
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde.core import Episode, UserError
from sonde.evaluation.run_evaluation import execute_run, reopen_run
from sonde.runs.run import config_from, prepare_run, read_config
from sonde.runs.store import Run
from sonde.runs.task_files import UnknownTopicWarning, read_tasks
from tests.cases import each

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
        env = sonde.make(name, judge="seat")
        (task,) = read_tasks(path, env)
        assert task.public["foreign"] is True
        assert env.filter(task.public) is None


@each(
    "name, rows, hidden",
    [
        ("wordle", ["Toast", "boost"], ["toast", "boost"]), ("mastermind", ["0452", "1969"], ["0452", "1969"]),
        (
            "cellular_automata",
            ["Input 1: 0 1 0 1\nOutput 1: 1 1 1 1\n\nInput 2: 1 0 1 1 0\nOutput 2: 1 1 1 1 1"],
            [{"rule": 108, "inputs": ("0101", "10110")}],
        ),
    ],
)  # fmt: skip
def test_puzzles_of_a_game_configuration(tmp_path: Path, name: str, rows: list[str], hidden: list[Any]) -> None:
    content = {"max_turns": 6, "eval": [{"agent": "what is shown", "env": row} for row in rows]}
    assert [t.hidden for t in read_tasks(file(tmp_path, "game.json", content), sonde.make(name))] == hidden


@each(
    "name, rows, told",
    [
        ("battleship", ["grid size: 6", "grid size: 5"], [{"size": 6}, {"size": 5}]),
        ("minesweeper", ["5 4"], [{"rows": 5, "cols": 4, "mines": 2}]),
        ("best_arm", ["gold, silver, bronze"], [{"scenario": "custom", "arms": ("gold", "silver", "bronze")}]),
    ],
)
def test_rows_that_say_only_a_size_or_names_leave_the_rest_to_each_episode(
    tmp_path: Path, name: str, rows: list[str], told: list[Any]
) -> None:
    env = sonde.make(name, preset="paprika")
    tasks = read_tasks(file(tmp_path, "game.json", {"eval": [{"agent": "", "env": row} for row in rows]}), env)
    assert [(t.public, t.hidden) for t in tasks] == [(public, None) for public in told]
    worlds = {Episode.begin(env, tasks[0], seed=seed).state for seed in range(5)}
    assert len(worlds) > 1 and Episode.begin(env, tasks[0], seed=0).state in worlds


@each("name, row", [("battleship", "size"), ("minesweeper", "5"), ("minesweeper", "a b"), ("best_arm", "gold")])
def test_rows_that_say_no_size_or_names_are_named(tmp_path: Path, name: str, row: str) -> None:
    path = file(tmp_path, "game.json", {"eval": [{"agent": "", "env": row}]})
    with pytest.raises(UserError, match=f"game.json: row 1: {name}: .*got"):
        read_tasks(path, sonde.make(name, preset="paprika"))


def test_rows_that_no_rule_makes_are_named(tmp_path: Path) -> None:
    content = {"eval": [{"agent": "", "env": "Input 1: 0 0 0\nOutput 1: 0 1 0"}]}
    with pytest.raises(UserError, match=r"row 1: cellular_automata: outputs: got .*what one rule makes"):
        read_tasks(file(tmp_path, "game.json", content), sonde.make("cellular_automata"))


def test_wordle_plays_words_outside_its_answers_without_beliefs(tmp_path: Path) -> None:
    env = sonde.make("wordle")
    with pytest.warns(
        UnknownTopicWarning, match=r'do not know 1 of 2 topics, the first \{"word": "zzzza"\}; they have'
    ):
        strange, known = read_tasks(file(tmp_path, "words.txt", "ZZZZA\ntoast\n"), env)
    assert env.filter(strange.public) is None and env.filter(known.public) is not None
    assert known.hidden == env.task("toast").hidden and known.public == env.task("toast").public
    won = Episode.begin(env, strange).step("<answer>zzzza</answer>").outcome
    assert won is not None and won.kind == "win"


def test_word_lists_and_cities(tmp_path: Path) -> None:
    with pytest.warns(UnknownTopicWarning, match=r'the rules do not know 1 of 2 topics, the first .*"zyzzyva"'):
        words = read_tasks(
            file(tmp_path, "w.txt", "otter\n\nzyzzyva\n"), sonde.make("twenty_questions", preset="delta_belief")
        )
    assert len(words) == 2
    with pytest.warns(UnknownTopicWarning, match="Nowhereville"):
        cities = read_tasks(
            file(tmp_path, "c.txt", "Lisbon, Portugal\nNowhereville, Utopia\n"), sonde.make("guess_my_city")
        )
    assert [bool(t.public.get("foreign")) for t in cities] == [False, True]


@each(
    "name, content, message",
    [
        ("x.json", "{", "x.json"), ("x.json", {"train": []}, "'eval'"), ("x.json", [], "holds no tasks"),
        ("x.json", ["toast", "zzzzzzzz"], "x.json: row 2: "), ("x.csv", "a", "ending in .json or .txt"),
        ("x.json", {"test": [], "more": 1}, "got the lists test, allowed: a list of setups"),
        ("x.json", 7, "got no list, allowed: a list of setups"), ("x.txt", "toast\n\nzzzzzzzz", "x.txt: line 3: "),
    ],
)  # fmt: skip
def test_bad_files_are_named(tmp_path: Path, name: str, content: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_tasks(file(tmp_path, name, content), sonde.make("wordle"))


@each("name, content", [("x.txt", "toast"), ("x.json", ["toast"])])
def test_a_list_has_no_splits_of_its_own(tmp_path: Path, name: str, content: Any) -> None:
    path, env = file(tmp_path, name, content), sonde.make("wordle")
    assert read_tasks(path, env, "train") == read_tasks(path, env, "test")
    with pytest.raises(UserError, match=r"is a list without splits; split: unknown name 'val'; known: "):
        read_tasks(path, env, "val")


@each("name, content", [("x.txt", "toast"), ("x.json", CONFIG)])
def test_an_environment_without_such_files_is_named(tmp_path: Path, name: str, content: Any) -> None:
    with pytest.raises(UserError, match=r"maze reads no (word lists|game configurations); allowed: .*wordle"):
        read_tasks(file(tmp_path, name, content), sonde.make("maze"))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no file"):
        read_tasks(tmp_path / "none.json", sonde.make("wordle"))


@each("seats, warns", [({}, True), ({"user": {"name": "users:llm", "model": {"name": "models:fake"}}}, False)])
def test_rules_that_know_no_topic_of_a_file_are_told_of(tmp_path: Path, seats: Any, warns: bool) -> None:
    path = file(tmp_path, "words.txt", "zyzzyva\nzzxjoanw\n")
    env = {"name": "twenty_questions", "preset": "delta_belief"}
    config = {"env": env, "seats": {"agent": {"name": "agents:random"}, **seats}, "tasks_file": str(path)}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        prepare_run(config_from(config))
    found = [str(one.message) for one in told if one.category is UnknownTopicWarning]
    assert bool(found) is warns and all("the rules know none of the 2 topics" in text for text in found)


def test_a_run_over_a_file_can_be_opened_again_and_has_no_scale(tmp_path: Path) -> None:
    path = file(tmp_path, "mine.json", ["toast", "boost"])
    config = {
        "env": {"name": "wordle"}, "seats": {"agent": {"name": "agents:entropy"}}, "tasks_file": str(path), "k": 1,
    }  # fmt: skip
    run = prepare_run(config_from(config))
    found = execute_run(run, tmp_path / "run")
    assert (found.n_tasks, found.split, found.metrics["reference_score"]) == (2, "test of mine.json", None)
    assert reopen_run(Run.load(tmp_path / "run")).fingerprint == run.fingerprint
    file(tmp_path, "mine.json", ["toast", "hoist"])
    assert prepare_run(config_from(config)).fingerprint != run.fingerprint


@each(
    "line", ["guitar", "Guitar", "GUITAR", " guitar\t", "The guitar.", "a guitar", '"guitar",', "guitar!", "« guitar »"]
)
@each("saved", ["utf-8", "utf-8-sig"])
@each("end", ["\n", "\r\n", "\r", ""])
def test_a_topic_is_known_however_it_is_written(tmp_path: Path, line: str, saved: str, end: str) -> None:
    path = tmp_path / "w.txt"
    path.write_bytes((f"{line}{end}piano{end}" if end else line).encode(saved))
    env = sonde.make("twenty_questions", preset="delta_belief")
    first, *_ = read_tasks(path, env)
    assert first.hidden == "guitar" and "foreign" not in first.public
    rows = tmp_path / "w.json"
    rows.write_bytes(json.dumps({"eval": [{"agent": "a thing", "env": line}]}).encode(saved))
    assert read_tasks(rows, env)[0].hidden == "guitar"


def test_names_keep_their_own_capitals_and_punctuation(tmp_path: Path) -> None:
    env = sonde.make("twenty_questions", preset="paprika")
    known = read_tasks(file(tmp_path, "a.txt", "eiffel tower\nEIFFEL TOWER\nThe Korean War"), env)
    assert [t.hidden for t in known] == ["Eiffel Tower", "Eiffel Tower", "Korean War"]
    (foreign,) = read_tasks(file(tmp_path, "b.txt", "Jeopardy! (a quiz)"), env)
    assert foreign.hidden["topic"] == "Jeopardy! (a quiz)"


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_composed_and_decomposed_letters_are_the_same(tmp_path: Path, form: Any) -> None:
    path = tmp_path / "c.txt"
    path.write_text(unicodedata.normalize(form, "Bogotá, Colombia"), "utf-8")
    env = sonde.make("guess_my_city")
    (task,) = read_tasks(path, env)
    assert "foreign" not in task.public
    twenty = sonde.make("twenty_questions")
    for name in ("t.txt", "t.json"):
        word = unicodedata.normalize(form, "Ångström's café")
        path = file(tmp_path, name, word if name == "t.txt" else {"eval": [{"agent": "a place", "env": word}]})
        assert read_tasks(path, twenty)[0].hidden["topic"] == unicodedata.normalize("NFC", word)


def test_json_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_bytes('["toast", "boost"]'.encode("utf-8-sig"))
    assert [t.hidden for t in read_tasks(path, sonde.make("wordle"))] == ["toast", "boost"]
    path.write_bytes(b"[" * 100_000)
    with pytest.raises(UserError, match=r"mine.json: maximum recursion"):
        read_tasks(path, sonde.make("wordle"))


def test_configurations_of_any_editor(tmp_path: Path) -> None:
    for name, text in (("c.yaml", "env: {name: wordle}\r\n"), ("c.json", '{"env": {"name": "wordle"}}')):
        path = tmp_path / name
        path.write_bytes(text.encode("utf-8-sig"))
        assert read_config(path) == {"env": {"name": "wordle"}}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name here")
def test_pipes_and_folders_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "words.txt")
    for path in (tmp_path / "words.txt", tmp_path):
        with pytest.raises(UserError, match=r"tasks_file: got .*, allowed: a file"):
            read_tasks(path, sonde.make("twenty_questions"))
