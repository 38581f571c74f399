"""Games in the browser, as values: what a person may know, going back, taking over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde.core import Episode, UserError
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.runs.store import RunWriter
from sonde.viewer.site.library import Library
from sonde.viewer.site.links import Links
from sonde.viewer.site.pages import find_page, render_page
from sonde.viewer.site.play import GAMES, Games, play_example
from tests.cases import each

from .conftest import SCRIPT, named


def texts(pieces: Any) -> str:
    return "".join(piece.text for piece in pieces)


def begin(games: Games, **form: str) -> str:
    return games.start_game({"env": "mastermind", "task": "3", **form})


def test_a_game_is_played_to_its_end_and_then_tells_all() -> None:
    games = Games()
    key = begin(games)
    hidden = str(games.find_game(key).now.task.hidden)
    before = render_page(games.make_game_page(key), Links(1))
    assert hidden not in before and not games.make_game_page(key).bars and games.make_game_page(key).entropy is None
    games.apply_form(key, {"say": "0123"})
    games.apply_form(key, {"say": hidden})
    found = games.make_game_page(key)
    assert found.over and found.kind == "win" and hidden in texts(found.hidden)
    assert [texts(move.said) for move in found.moves] == ["0123", hidden]
    assert found.moves[0].best is not None and "--task 3" in found.command
    games.apply_form(key, {"say": "more"})
    assert len(games.make_game_page(key).moves) == 2


def test_what_cannot_be_read_costs_nothing_and_is_told() -> None:
    games = Games()
    key = begin(games)
    games.apply_form(key, {"say": "twelve"})
    assert games.make_game_page(key).moves == [] and "costs no turn" in games.make_game_page(key).notice
    games.apply_form(key, {"say": SCRIPT})
    assert SCRIPT not in render_page(games.make_game_page(key), Links(1))
    games.apply_form(key, {"say": "   "})
    assert games.make_game_page(key).turn == 1


def test_the_posterior_is_shown_when_asked_for_and_does_not_name_the_truth() -> None:
    games = Games()
    key = begin(games)
    games.apply_form(key, {"say": "0123"})
    games.apply_form(key, {"show": "1"})
    found = games.make_game_page(key)
    assert found.left and found.entropy and found.bars and not any(bar.true for bar in found.bars)
    hidden = str(games.find_game(key).now.task.hidden)
    known = games.find_game(key).now.filter()
    assert known is not None
    assert [bar.name for bar in found.bars] == [h for h, _ in known.belief().top(len(found.bars))]
    assert hidden not in {bar.name for bar in found.bars}
    games.apply_form(key, {"show": "0"})
    assert not games.make_game_page(key).bars
    games.apply_form(key, {"hint": "1"})
    hint = games.make_game_page(key).hint
    assert hint is not None and hint.bits and hint.bits > 1


def test_a_person_may_go_back_and_let_a_program_play() -> None:
    games = Games()
    key = begin(games)
    for guess in ("0123", "4567", "8901"):
        games.apply_form(key, {"say": guess})
    games.apply_form(key, {"back": "1"})
    assert [texts(m.said) for m in games.make_game_page(key).moves] == ["0123"]
    with pytest.raises(UserError, match="back: got 5"):
        games.apply_form(key, {"back": "5"})
    games.apply_form(key, {"let": "entropy"})
    assert len(games.make_game_page(key).moves) == 2
    games.apply_form(key, {"let": "entropy", "rest": "1"})
    assert games.make_game_page(key).kind == "win"
    with pytest.raises(UserError, match="let"):
        games.apply_form(key, {"let": "psrl"})


def test_a_record_is_taken_over_at_any_turn(library: Library) -> None:
    name = named(library, "random")
    t = next(t for t in library.run(name).run if len(t.turns) > 2)
    games = Games()
    key = games.take_over(library, name, t.id, 2)
    game = games.find_game(key)
    assert [turn.text for turn in game.now.turns] == [turn.text for turn in t.turns[:2]]
    assert game.now.seed == t.seed and [m.mine for m in games.make_game_page(key).moves] == [False, False]
    games.apply_form(key, {"back": "0"})
    assert games.make_game_page(key).moves == []
    games.apply_form(key, {"say": str(t.task.hidden)})
    assert games.make_game_page(key).kind == "win"
    whole = games.take_over(library, name, t.id, 1)
    games.apply_form(whole, {"say": t.turns[1].text})
    *_, last = (ep for ep in Episode.stages(game.env, t) if len(ep.turns) == 2)
    mine = games.find_game(whole).now.messages["agent"]
    assert [m.content for m in mine] == [m.content for m in last.messages["agent"]]
    with pytest.raises(UserError, match="turn: got 9"):
        games.take_over(library, name, t.id, 9)


def test_a_record_is_taken_over_against_who_sat_there(tmp_path: Path) -> None:
    """Random Black in place of the environment's own; and one who cannot be had here is told of, on every page."""
    pytest.importorskip("chess")
    env, rows = sonde.make("chess", preset="endgames", pieces="Q", max_turns=8), sonde.make("agents:random")
    for name, opponent in (("random", rows.config), ("gone", {"name": "users:nobody"})):
        with RunWriter.open(
            tmp_path / name, {"env": env.config, "seats": {"agent": rows.config, "opponent": opponent}}
        ) as run:
            for t in collect_trajectories(env, {"agent": rows, "opponent": rows}, env.tasks("test")[:1], Plan()):
                run.append_trajectory(t)
    games, library = Games(), Library([tmp_path / "random", tmp_path / "gone"])
    t = next(iter(library.run("random").run))
    game = games.find_game(games.take_over(library, "random", t.id, 1))
    assert game.others["opponent"].config == rows.config and not game.instead
    key = games.take_over(library, "gone", next(iter(library.run("gone").run)).id, 1)
    assert games.find_game(key).others["opponent"].config["name"] == env.spec.seats["opponent"]
    assert "opponent of the run was users:nobody" in games.make_game_page(key).notice
    games.apply_form(key, {"show": "0"})
    assert "opponent of the run was users:nobody" in games.make_game_page(key).notice


@each("form, why", [
    ({"env": "nothing"}, "env"), ({"env": "wordle", "task": "x"}, "task: got 'x'"),
    ({"env": "wordle", "task": "99999"}, "task: got 99999"), ({"env": "wordle", "split": "no"}, "split"),
    ({"env": "wordle", "preset": "no"}, "preset"),
])  # fmt: skip
def test_a_game_that_cannot_be_is_told(form: dict[str, str], why: str) -> None:
    with pytest.raises(UserError, match=why):
        Games().start_game(form)


@pytest.mark.thorough
def test_a_conversation_is_had_with_the_environments_own_user() -> None:
    games = Games()
    key = games.start_game({"env": "twenty_questions", "task": "0"})
    games.apply_form(key, {"say": "Is it alive?"})
    (move,) = games.make_game_page(key).moves
    assert texts(move.told) and games.make_game_page(key).talks


def test_games_that_nobody_looks_at_go_first() -> None:
    games = Games()
    first = begin(games)
    for _ in range(GAMES - 1):
        begin(games)
    games.make_game_page(first)
    begin(games)
    assert games.make_game_page(first).turn == 1
    assert len(games.start_page({}).games) == GAMES
    with pytest.raises(UserError, match="allowed: a game in progress"):
        games.make_game_page("nobody")


def test_the_form_offers_what_the_chosen_environment_has() -> None:
    found = Games().start_page({"env": "maze"})
    assert found.chosen == "maze" and "lmrl_partial" in found.presets
    assert Games().start_page({"env": "<b>"}).chosen == "wordle"
    assert Games().start_page({"env": "maze", "preset": "lmrl_partial"}).preset == "lmrl_partial"
    assert Games().start_page({"env": "maze", "preset": "nothing"}).preset == found.preset


def test_rules_and_a_board_are_shown_before_one_begins() -> None:
    page = render_page(Games().start_page({"env": "mastermind"}), Links(0, query={}))
    assert 'data-fragment="rules/mastermind/paprika"' in page
    found = play_example("mastermind", "paprika")
    assert found.program == "entropy" and len(found.moves) == 2
    assert "digits" in texts(found.opening) and "<Answer>" not in texts(found.opening)
    text = render_page(found, Links(2))
    assert "<svg" in text and texts(found.moves[0][0]) in text and "Rules, as the agent gets them" in text
    task = sonde.make("mastermind").tasks("train")[0]
    assert str(task.hidden) not in text.replace("".join(texts(said) for said, _ in found.moves), "")
    with pytest.raises(UserError, match="env"):
        play_example("nothing", "paprika")


def test_pages_about_games_are_no_pages_of_runs(library: Library) -> None:
    with pytest.raises(UserError, match="address"):
        find_page(library, ("play",))
