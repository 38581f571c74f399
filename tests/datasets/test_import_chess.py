"""LMRL-Gym's files of chess: every move and position played again, the opponent's moves found between them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sonde.core import AGENT, Episode, UserError, build
from sonde.datasets import ImportResult, import_file

pytest.importorskip("chess")

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
AFTER_E5 = "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2"
MATE_IN_1 = "7k/8/6K1/8/8/8/8/R7 w - - 0 1"
FOOLS = (
    ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "f3"),
    ("rnbqkbnr/pppp1ppp/8/4p3/8/5P2/PPPPP1PP/RNBQKBNR w KQkq - 0 2", "g4"),
)


def make_move(fen: str, san: str, reward: float = 0, done: bool = False) -> str:
    return json.dumps({"from_state": fen, "action": san, "reward": reward, "done": done})


def load_rows(task: str, tmp_path: Path, *rows: str) -> ImportResult:
    file = tmp_path / "games.jsonl"
    file.write_text("".join(f"{row}\n" for row in rows))
    found = import_file(task, file, tmp_path / "run")
    for t in found.run:
        Episode.replay(build(t.env), t)
    return found


def test_a_mate(tmp_path: Path) -> None:
    (t,) = load_rows("endgames", tmp_path, make_move(MATE_IN_1, "Ra8#", 1, True)).run
    assert t.outcome is not None and t.outcome.success
    assert [turn.rewards[AGENT] for turn in t.turns] == [1.0] and t.env["preset"] == "endgames"


def test_a_game_that_was_cut_has_the_replies_between_its_positions(tmp_path: Path) -> None:
    rows = (
        make_move(START, "e4"), make_move(AFTER_E5, "Ke7", -1), make_move(AFTER_E5, "Nf3"), "",
        *(make_move(START, "e4"), ""),
    )  # fmt: skip
    first, second = load_rows("chess", tmp_path, *rows).run
    assert [act.seat for act in first.acts] == ["agent", "opponent", "agent", "agent"]
    assert [act.action.text.replace(" ", "") for act in first.acts] == ["e4", "e5", "Ke7", "Nf3"]
    assert [turn.rewards[AGENT] for turn in first.turns] == [0.0, -1.0, 0.0]
    assert first.outcome is not None and first.outcome.truncated == "turns" and len(second.turns) == 1


@pytest.mark.parametrize("spaced", [True, False])
def test_a_line_may_hold_a_whole_game(spaced: bool, tmp_path: Path) -> None:
    """As the loaders of value learning read it, with a space between any two characters or none."""

    def told(text: str) -> str:
        return " ".join(text) + "\n" if spaced else text

    def state(fen: str, san: str, reward: float, done: bool = False) -> dict[str, object]:
        return {"state": told(fen), "action": told(san), "reward": reward, "done": done}

    cut = [state(START, "e4", 0), state(AFTER_E5, "Ke7", -1), state(AFTER_E5, "Nf3", 0)]
    won = [state(MATE_IN_1, "Ra8#", 1, True)]
    first, second = load_rows("chess", tmp_path, json.dumps(cut), json.dumps(won)).run
    assert [act.action.text.replace(" ", "").strip() for act in first.acts] == ["e4", "e5", "Ke7", "Nf3"]
    assert [turn.rewards[AGENT] for turn in first.turns] == [0.0, -1.0, 0.0]
    assert first.outcome is not None and first.outcome.truncated == "turns"
    assert second.outcome is not None and second.outcome.success and second.tags == {"from": "line 2"}
    with pytest.raises(UserError, match=r"line 1: game: got \[\], allowed: one move or more"):
        import_file("chess", _write_file(tmp_path, "[]"), tmp_path / "none")
    with pytest.raises(UserError, match="line 1: move 0: state: got 3, allowed: str"):
        import_file("chess", _write_file(tmp_path, '[{"state": 3}]'), tmp_path / "three")


def _write_file(folder: Path, text: str) -> Path:
    file = folder / "one.jsonl"
    file.write_text(text)
    return file


def test_a_lost_game_costs_one(tmp_path: Path) -> None:
    (first, f3), (second, g4) = FOOLS
    (t,) = load_rows("chess", tmp_path, make_move(first, f3), make_move(second, g4, -1, True)).run
    assert t.env["rules"] == "paper" and t.outcome is not None and t.outcome.kind == "loss"
    assert t.acts[-1].action.text.replace(" ", "") == "Qh4#" and t.turns[-1].rewards.get(AGENT, 0.0) == -1
    (tmp_path / "free").mkdir()
    lost = load_rows("chess", tmp_path / "free", make_move(first, f3), make_move(second, g4, 0, True))
    assert len(lost.run) == 0


def test_what_the_rules_of_chess_contradict_is_left_out(tmp_path: Path) -> None:
    jumped = (make_move(START, "e4"), make_move(MATE_IN_1, "Ra8#", 1, True))
    found = load_rows("chess", tmp_path, *jumped, make_move(START, "e4", 1), "", make_move(MATE_IN_1, "Ra8#", 1, True))
    assert len(found.run) == 1 and sum(found.left_out.values()) == 2
    assert found.first.endswith("games.jsonl: line 1: the moves lead to other positions or rewards")


def test_a_mistake_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"games\.jsonl: line 1: action: got 3, allowed: str"):
        load_rows("chess", tmp_path, '{"from_state": "x", "action": 3, "reward": 0, "done": true}')
