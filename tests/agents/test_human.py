"""A person plays: what is shown, what counts as an answer, and leaving."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

import sonde
from sonde.agents.human import Human
from sonde.core import AGENT, Trajectory
from sonde.rollout import collect

ENV = sonde.make("mastermind", max_turns=3)


def played(typed: str) -> tuple[Trajectory, str]:
    shown = StringIO()
    human = Human(console=Console(file=shown, width=200), stream=StringIO(typed))
    (found,) = collect(ENV, {AGENT: human}, [ENV.task("0427")])
    return found, shown.getvalue()


def test_a_bare_answer_is_enough_and_the_whole_syntax_works_too() -> None:
    found, shown = played("1122\n  0123 \n<Think>[b]</Think><Answer>0427</Answer>\n")
    assert [t.info["guess"] for t in found.turns] == ["1122", "0123", "0427"]
    assert found.outcome is not None and found.outcome.kind == "win"
    assert "secret code of 4 digits" in shown
    assert [f"turn {i}/3 >" in shown for i in (1, 2, 3)] == [True] * 3
    assert "Your guess 1122 has 1 exact and 0 partial" in shown
    assert shown.rstrip().endswith("You have won."), "the end is shown too"


def test_an_empty_line_costs_nothing() -> None:
    found, _ = played("\n   \n1122\n\n0427\n")
    assert [t.info["guess"] for t in found.turns] == ["1122", "0427"]


@pytest.mark.parametrize("typed", ["", "1122\n"])
def test_leaving_is_no_loss(typed: str) -> None:
    found, _ = played(typed)
    assert found.outcome is not None and found.outcome.kind == "error"
    assert found.error == "WorldError: the player left"
    assert len(found.turns) == typed.count("\n")


def test_the_terminal_is_no_part_of_its_configuration() -> None:
    assert Human(stream=StringIO("")).config == {"name": "agents:human"}
