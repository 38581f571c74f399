"""A game at the terminal, typed in advance."""

from __future__ import annotations

import pytest
from rich.console import Console

import sonde
from sonde.agents.human import strip_tags
from sonde.core import Episode
from tests.cases import each

from .invoke import invoke

COLUMNS = 80

ENV = sonde.make("mastermind")
CODE = str(ENV.tasks("test")[3].hidden)


def play(typed: str, *args: str) -> str:
    result = invoke("play", *(args or ("mastermind", "--task", "3")), input=typed)
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
    assert "You have won after 2 turns." in text
    assert "The same game again: sonde play mastermind --task 3" in text
    assert "3/12 >" not in text, "hints and empty lines cost no turn"
    assert "It was" not in text


def test_losing_tells_what_it_was() -> None:
    wrong = "0000" if CODE != "0000" else "1111"
    text = play(f"{wrong}\n" * 12)
    assert "Out of turns after 12 turns." in text
    assert f"It was: {CODE}" in text


def test_the_end_of_input_leaves_politely() -> None:
    for typed in ("", "0012\n", "?\n"):
        text = play(typed)
        assert text.rstrip().endswith("You left the game.")
        assert CODE not in text.replace("0012", ""), "who leaves is not told"


def test_an_interrupt_leaves_politely_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(Console, "input", interrupt)
    assert play("").rstrip().endswith("You left the game.")


def test_what_nobody_could_know_is_not_told() -> None:
    text = play("nonsense\n", "word_chaining", "--task", "0")
    assert "You have lost after 1 turn." in text and "It was" not in text


def test_the_whole_syntax_works_too_and_hostile_text_is_only_text() -> None:
    text = play(f"[bold]x[/]\n<Think>[red]</Think><Answer>{CODE}</Answer>\n")
    assert "That guess does not count as a code" in text
    assert "You have won after 1 turn." in text
    assert f"1  {CODE}" in text, "the review shows the answer without its thinking"


@each("typed", ["quit", "<b>", "</answer><answer>", "<answer></answer>", "12 3"])
def test_what_is_no_answer_costs_nothing(typed: str) -> None:
    text = play(f"{typed}\n{CODE}\n")
    assert "Try again; this costs nothing." in text
    assert "2/12 >" not in text and "You have won after 1 turn." in text


def test_the_first_words_of_an_answer_may_be_left_out() -> None:
    text = play("2, 2\n2 2\n9 9\nopen 2 2\n", "minesweeper", "--task", "2")
    assert text.count("2/20 > ") == 1 and "3/20 > " in text
    assert "Row 2, column 2 is open already." in text
    assert "Row 9, column 9 is not on the board" in text, "a cell may be named alone"
    assert "I need the word reveal" in text, "nothing else is done to a cell"


def test_words_may_be_left_out_of_answers_that_only_this_turn_has() -> None:
    text = play("west\nfridge\n", "text_nav", "--task", "1")
    assert "Try again" not in text and "3/" in text


def test_a_rule_may_be_typed_as_its_eight_states() -> None:
    env = sonde.make("cellular_automata")
    rule = env.tasks("test")[2].hidden["rule"]
    text = play(f"{rule:08b}\n", "cellular_automata", "--task", "2")
    assert "type the eight new states" in text and "You have won after 1 turn." in text


def test_wordle_shows_tiles_and_the_way_back() -> None:
    text = play("crane\ncabin\n", "wordle", "--task", "5", "--seed", "1")
    assert text.count(" C  R  A  N  E ") == 2, "in the game and in its review"
    assert "The same game again: sonde play wordle --task 5 --seed 1" in text


@each("name", sonde.names())
def test_a_person_sees_no_tags(name: str) -> None:
    env = sonde.make(name)
    for preset in env.presets:
        text = play("", name, "--task", "0", "--preset", preset)
        assert "<Think>" not in text and "Answer>" not in text
        assert "keep the thinking short" not in text


@each("name", sonde.names())
def test_every_environment_can_be_played(name: str) -> None:
    env = sonde.make(name)
    others = sonde.core.default_policies(env)
    ep = sonde.core.run_sync(sonde.core.advance_to_agent(Episode.begin(env, env.tasks("test")[0]), others))
    answers = ep.view().legal
    assert answers
    text = play(f"!\n?\n{answers[0]}\n", name, "--task", "0")
    if ep.filter() is None:
        assert "no exact posterior" in text
    else:
        assert "possibilities" in text and "Most informative: " in text and "bits this turn" in text


def test_a_task_that_nobody_named_is_drawn() -> None:
    assert "You left the game." in play("", "mastermind")


def test_the_words_around_tags_stay() -> None:
    form = "Answer in this form, and keep the thinking short:\n<Think> why </Think>\n<Answer> reveal row </Answer>"
    assert strip_tags(f"{form}\nNow go.") == "Answer: reveal row\nNow go."
    assert strip_tags("Pick one: <Think> ... </Think> <Answer> pick a </Answer>.") == "Pick one: pick a."
    assert strip_tags("plain: text") == "plain: text"


def test_a_line_to_a_narrator_accuses_nobody_by_itself() -> None:
    told = play("where were you last night\nI think it was the gardener\n", "murder_mystery", "--task", "1")
    assert "I accuse" not in told.partition("1/20")[2]
    assert "3/20" in told, "nobody was accused"
