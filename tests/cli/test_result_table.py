"""Tables keep names and columns whole: at every width, each name and number is there, on one line."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

import sonde
from sonde.cli.result_table import ResultTable
from sonde.evaluation.suites import suite_environments
from tests.cases import each
from tests.cli.invoke import failure, run

NAME = "sonde-tiny-twenty_questions-grpo"


def draw(width: int) -> list[str]:
    table = ResultTable(("environment", "agent"), ("tasks", "success %", "score"), "a title")
    table.add_row("twenty_questions_answerer", NAME, "300x2", "33±30", "-8±49")
    table.add_section()
    table.add_row("mean", "", "", "67±30", "17±75")
    console = Console(file=io.StringIO(), width=width)
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


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
