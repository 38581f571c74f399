"""Tables keep names and columns whole: at every width, each name and number is there, on one line."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console, RenderableType

import sonde
from sonde.cli.result_table import ResultTable
from sonde.cli.tables import evaluation_table, explain_training, training_table
from sonde.cli.terminal import out
from sonde.evaluation.metrics import Estimate
from sonde.evaluation.run_evaluation import execute_run
from sonde.evaluation.suites import suite_environments
from sonde.runs.run import RunConfig, prepare_run
from tests.cases import each
from tests.cli.invoke import failure, run

NAME = "sonde-tiny-twenty_questions-grpo"


def print_lines(shown: RenderableType, width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    console.print(shown)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def draw(width: int) -> list[str]:
    table = ResultTable(("environment", "agent"), ("tasks", "success %", "score"), "a title")
    table.add_row("twenty_questions_answerer", NAME, "300x2", "33±30", "-8±49")
    table.add_section()
    table.add_row("mean", "", "", "67±30", "17±75")
    return print_lines(table, width)


@each("width", [200, 100, 84, 80, 60, 45, 34])
def test_nothing_is_broken_or_left_out(width: int) -> None:
    lines = draw(width)
    assert max(map(len, lines)) <= width
    for word in ("twenty_questions_answerer", NAME, "300x2", "33±30", "-8±49", "mean", "67±30", "17±75", "tasks"):
        assert any(word in line for line in lines), word


def test_layouts_by_width() -> None:
    wide = draw(100)
    assert wide[0] == "a title" and wide[1].split() == ["environment", "agent", "tasks", "success", "%", "score"]
    assert wide[3].split() == ["twenty_questions_answerer", NAME, "300x2", "33±30", "-8±49"]
    narrow = draw(60)
    assert narrow[1] == "environment, agent" and narrow[2] == "  tasks  success %  score"
    assert narrow[5:] == ["  300x2      33±30  -8±49", "", "mean", "             67±30  17±75"]


def test_cells_and_columns_are_as_many() -> None:
    with pytest.raises(ValueError, match="1 cells for 2 columns"):
        ResultTable(("a",), ("b",)).add_row("x")


@each("width", [80, 60, 45])
def test_the_table_of_a_training_fits(width: int) -> None:
    """Each name of a column and each number is whole; where columns do not fit, a step has several lines."""
    numbers = {
        "success": 0.125, "held_out": 1.0, "reward": 0.123, "turns": 12.3, "unreadable": 0.5, "cut": 0.25,
        "context_full": 0.125, "flat_groups": 0.75,
    }  # fmt: skip
    history = [{"step": float(step), **numbers} for step in (998, 999, 1000)]
    lines = print_lines(training_table(history), width)
    assert max(map(len, lines)) <= width
    for word in ("step", "won", "held", "reward", "turns", "unreadable", "context", "1000", "0.123", "12.3"):
        assert any(word in line.split() for line in lines), word
    if width == 80:
        assert [line.split()[0] for line in lines[-3:]] == ["998", "999", "1000"], "a line per step"


def test_a_column_of_a_training_shows_zeros_and_is_explained() -> None:
    """A blank means that nothing was measured. The step with unreadable answers is not among the rows shown."""
    history = [{"step": float(i), "success": 0.5, "unreadable": 0.25 * (i == 2)} for i in range(1, 31)]
    history[9]["held_out"] = 0.25
    header, _, first, *_ = print_lines(training_table(history), 80)
    assert header.split() == ["step", "won", "%", "held", "out", "%", "unreadable", "%"]
    assert first.split() == ["1", "50", "0"]
    assert "unreadable %: " in explain_training(history)
    assert "unreadable" not in explain_training(history[2:]), "where it is always 0, it is not shown"


@each("width", [80, 60])
def test_an_evaluation_with_unanswered_turns_fits(width: int, tmp_path: Path) -> None:
    """With all columns of replies, a row is one line of 80 columns, and a legend says what they mean."""
    config = RunConfig(env={"name": "twenty_questions"}, seats={"agent": {"name": "agents:random"}}, n_tasks=1, k=2)
    found = execute_run(prepare_run(replace(config, gains=False)), tmp_path / "run")
    share = Estimate(mean=0.13, low=0.0, high=0.3, n=1)
    more = dict.fromkeys(("not_understood", "not_known", "bits_per_turn"), share)
    lines = print_lines(evaluation_table([replace(found, metrics={**found.metrics, **more})]), width)
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    for option in ("--reply not_understood", "--reply not_known"):
        assert option in " ".join(text.split())
    (row,) = (line for line in lines if line.startswith("twenty_questions"))
    if width == 80:
        assert row.split()[:3] == ["twenty_questions", "random", "1x2"] and row.split()[-2:] == ["13", "13"]
    else:
        assert row == "twenty_questions, random"
    assert all(word in text.split() for word in ("unclear", "unknown"))


@each("width", [80, 60])
def test_the_review_of_a_game_fits(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(out, "width", width)
    for name, typed in (("wordle", "crane\n" * 6), ("twenty_questions", f"{'is it a living thing ' * 9}?\n" * 20)):
        shown = run("play", name, "--task", "3", typed=typed)
        review = shown[shown.index("turn  you said") :].splitlines()
        *rows, again = review
        assert "The same game again" in again and max(map(len, rows)) <= width
        heads = " ".join(" ".join(rows[:2]).split())
        assert all(word in heads for word in ("bits", "expected", "best", "question"))
        assert any(line.split()[0] == "6" for line in rows if line.strip())


def test_list_groups_environments_by_suite() -> None:
    """Each environment stands once; --suite shows those of one, and names the suites where there is none."""
    lines = run("list", "envs").splitlines()
    assert "envs, suite paprika (PAPRIKA)" in lines
    assert {name: sum(line.startswith(f"{name} ") for line in lines) for name in sonde.names("envs")} == dict.fromkeys(
        sonde.names("envs"), 1
    )
    shown = json.loads(run("list", "--suite", "mtp", "--json"))
    assert sorted(shown["envs"]) == sorted(name for name, _ in suite_environments("mtp"))
    assert "did you mean 'mtp'" in failure("list", "--suite", "mpt")
