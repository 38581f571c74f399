"""A game at the terminal, typed in advance."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

import sonde
from sonde.cli.app import app
from sonde.core import Episode

ENV = sonde.make("mastermind")
CODE = str(ENV.tasks("test")[3].hidden)


def play(typed: str, *args: str) -> str:
    result = CliRunner().invoke(
        app, ["play", *(args or ("mastermind", "--task", "3"))], input=typed, env={"COLUMNS": "80"}
    )
    assert result.exit_code == 0, result.output
    assert result.exception is None
    return result.output


def test_a_game_with_hints_is_won() -> None:
    text = play(f"?\n!\n0012\n?\n\n  {CODE}\n")
    start = Episode.begin(ENV, ENV.tasks("test")[3])
    known = start.step(ENV.say("0012")).filter()
    assert known is not None
    question, bits = known.best_question()
    assert "secret code of 4 digits" in text
    assert "10,000 possibilities, 13.29 bits" in text
    assert f"Most informative: {question} ({bits:.2f} bits expected)" in text
    exact, partial = (start.step(ENV.say("0012")).turns[0].info[k] for k in ("exact", "partial"))
    assert f"Your guess 0012 has {exact} exact and {partial} partial." in text
    assert f"{known.entropy:.2f} of 13.29 left" in text
    assert "0.00 of 13.29 left" in text
    assert "You have won." in text
    assert "win after 2 turns (task test[3])" in text
    assert "3/12 >" not in text, "hints and empty lines cost no turn"
    assert "It was" not in text


def test_losing_tells_what_it_was() -> None:
    wrong = "0000" if CODE != "0000" else "1111"
    text = play(f"{wrong}\n" * 12)
    assert "timeout after 12 turns (task test[3])" in text
    assert f"It was: {CODE}" in text


def test_the_end_of_input_leaves_politely() -> None:
    for typed in ("", "0012\n", "?\n"):
        text = play(typed)
        assert text.rstrip().endswith("You left the game.")
        assert CODE not in text.replace("0012", ""), "who leaves is not told"


def test_the_whole_syntax_works_too_and_hostile_text_is_only_text() -> None:
    text = play(f"[bold]x[/]\n<Think>[red]</Think><Answer>{CODE}</Answer>\n")
    assert "That guess does not count as a code" in text
    assert "win after 2 turns" in text


@pytest.mark.parametrize("name", sonde.names())
def test_every_environment_can_be_played(name: str) -> None:
    env = sonde.make(name)
    others = sonde.default_policies(env)
    ep = sonde.run_sync(sonde.advance(Episode.begin(env, env.tasks("test")[0]), others))
    answers = ep.view().legal or ()
    text = play(f"!\n?\n{answers[0]}\n", name, "--task", "0")
    if ep.filter() is None:
        assert "no exact posterior" in text
    else:
        assert "possibilities" in text and "Most informative: " in text and "bits this turn" in text


def test_a_task_that_nobody_named_is_drawn() -> None:
    assert "You left the game." in play("", "mastermind")
