"""Chess: what is told and paid, how replies are read, how games end, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import chess
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sonde
from sonde.core import Episode, UserError
from sonde.envs.chess.position import START, legal, parse_move, parse_position, play_move
from tests.cases import each

QUEEN = "7k/8/5K2/6Q1/8/8/8/8 w - - 0 1"
CASTLING = "r3k2r/pppq1ppp/8/8/8/8/PPPQ1PPP/R3K2R w KQkq - 0 1"


def begin_episode(fen: str = START, **config: Any) -> Episode:
    env = sonde.make("chess", **config)
    return Episode.begin(env, env.task({"fen": fen}))


def say_all(ep: Episode, *texts: str) -> Episode:
    for text in texts:
        ep = ep.step(text)
    return ep


def last_result(ep: Episode) -> tuple[Any, ...]:
    turn = ep.turns[-1]
    return turn.info["result"], turn.rewards["agent"], ep.outcome and ep.outcome.kind


# --- what is told ----------------------------------------------------------------------------------------------------


def test_positions_are_fen_with_spaces_between_the_characters() -> None:
    ep = say_all(begin_episode(), "e 4\n", "c 5")
    told = ep.messages["agent"]
    assert told[0].content.endswith("\n\n" + " ".join(START))
    after = "rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2"
    assert told[-1].content == " ".join(after)
    assert ep.turns[-1].info == {"result": "reply", "move": "e4", "reply": "c5", "fen": after}
    assert ep.messages["opponent"][0].content.endswith(" b   K Q k q   -   0   1")
    rendered = ep.view().rendered
    assert rendered == told[0].content.replace(" ".join(START), " ".join(after))


def test_moves_are_written_with_spaces_and_listed_without() -> None:
    env, ep = sonde.make("chess"), begin_episode()
    assert len(env.actions(ep.state) or ()) == 20 and "Nf3" in (env.actions(ep.state) or ())
    assert (env.say("Nf3"), env.say("O-O-O"), env.say("exd8=Q+")) == ("N f 3", "O - O - O", "e x d 8 = Q +")
    assert env.say("Knight to f3") == "Knight to f3"


@each(
    "fen, text, move",
    [
        (START, "Nf3", "Nf3"), (START, "N f 3\n", "Nf3"), (START, " e  4 ", "e4"),
        (START, "<think>d4?</think> e4.", "e4"), (START, "<Answer>e4</Answer>", "e4"), (START, "**e4!?**", "e4"),
        (START, "`e4`", "e4"), (START, "e5", None), (START, "e2e4", None), (START, "Ng1f3", None), (START, "nf3", None),
        (START, "--", None), (START, "e4 e5", None), (START, "<think>e4", None), (START, "ｅ4", "e4"),
        (QUEEN, "Qg7", "Qg7#"), (QUEEN, "Q g 7 #", "Qg7#"), (QUEEN, "Kf7 or Qg7#", None), (CASTLING, "O - O", "O-O"),
        (CASTLING, "0-0-0", "O-O-O"), (CASTLING, "Qxd7+", "Qxd7+"), (CASTLING, "Qd7", None),
        ("8/4P2k/8/8/8/8/8/K7 w - - 0 1", "e 8 = N", "e8=N"), ("8/4P2k/8/8/8/8/8/K7 w - - 0 1", "e8", None),
        ("k7/8/8/8/8/8/R6R/K7 w - - 0 1", "Rd2", None), ("k7/8/8/8/8/8/R6R/K7 w - - 0 1", "Rad2", "Rad2"),
        ("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1", "exd6", "exd6"),
    ],
)  # fmt: skip
def test_replies_are_read_as_san(fen: str, text: str, move: str | None) -> None:
    assert parse_move(fen, text) == move


@settings(max_examples=30)
@given(st.lists(st.integers(0, 999), max_size=60))
def test_every_legal_move_is_read_as_itself(choices: list[int]) -> None:
    fen, end = START, ""
    for choice in choices:
        fen, _, end = (fen, (), end) if end else play_move(fen, legal(fen)[choice % len(legal(fen))], ())
    for san in legal(fen):
        assert all(parse_move(fen, text) == san for text in (san, " ".join(san), san.rstrip("+#")))


# --- what is paid ----------------------------------------------------------------------------------------------------


def test_mate_pays_1_and_an_illegal_move_costs_1_and_goes_on() -> None:
    ep = say_all(begin_episode(QUEEN), "Qh9")
    assert last_result(ep) == ("invalid", -1.0, None) and ep.to_act == "agent"
    assert ep.turns[-1].told == "That is no legal move here.\n" + " ".join(QUEEN)
    ep = say_all(ep, "Q g 7 #")
    assert last_result(ep) == ("mate", 1.0, "win") and ep.outcome is not None and ep.outcome.score == 1.0


def test_a_lost_game_costs_1_as_in_the_papers_table() -> None:
    """Success .60, mean .210, deviation .970: 60 % at 1, 39 % at -1, the rest drawn."""
    moves = ("f3", "e5", "g4", "Qh4#")
    for ep in (begin_episode(), begin_episode(rules="code")):
        assert last_result(say_all(ep, *moves)) == ("mated", -1.0, "loss")
    assert "to be mated costs 1" in begin_episode().messages["agent"][0].content
    mean = 0.60 - 0.39
    assert [mean, (0.99 - mean**2) ** 0.5] == pytest.approx([0.210, 0.970], abs=0.003)


@each(
    "fen, moves, end",
    [
        ("k7/8/1K6/8/8/8/8/2Q5 w - - 0 1", ("Qc7",), "stalemate"),
        ("8/8/8/8/8/1k6/8/R6K w - - 0 1", ("Ra2", "Kxa2"), "material"),
        ("8/8/8/4k3/8/8/8/K6R w - - 148 90", ("Rh2", "Ke4"), "seventyfive"),
    ],
)
def test_draws_pay_nothing(fen: str, moves: tuple[str, ...], end: str) -> None:
    assert last_result(say_all(begin_episode(fen), *moves)) == (end, 0.0, "loss")


def test_the_fifth_repetition_ends_a_game_and_what_cannot_come_again_is_forgotten() -> None:
    circle = ("Nf3", "Nf6", "Ng1", "Ng8")
    ep = say_all(begin_episode(), *circle, *circle, *circle)
    assert ep.outcome is None and len(ep.state.seen) == 12
    assert last_result(say_all(ep, *circle)) == ("fivefold", 0.0, "loss")
    assert say_all(ep, "e4").state.seen == ()


def test_an_opponent_that_makes_no_legal_move_forfeits() -> None:
    assert last_result(say_all(begin_episode(), "e4", "e4")) == ("forfeit", 1.0, "win")


def test_the_limit_counts_plies_and_illegal_answers() -> None:
    ep = say_all(begin_episode(max_turns=4), "x", "e4", "e5")
    assert ep.outcome is None
    assert last_result(say_all(ep, "Nf3")) == ("over", 0.0, "out_of_turns")
    ep = say_all(begin_episode(max_turns=4), "e4", "e5", "Nf3", "Nf6")
    assert last_result(ep) == ("over", 0.0, "out_of_turns") and len(ep.turns) == 2
    ep = say_all(begin_episode(QUEEN, max_turns=2), "x", "x")
    assert last_result(ep) == ("invalid", -1.0, "out_of_turns")
    assert last_result(say_all(begin_episode(QUEEN, max_turns=1), "Qg7")) == ("mate", 1.0, "win"), (
        "the last ply may mate"
    )


def test_the_published_code_counts_401_answers() -> None:
    env = sonde.make("chess", rules="code")
    assert (env.spec.max_turns, sonde.make("chess").spec.max_turns) == (401, 400)
    ep = begin_episode(rules="code")
    total = 0.0
    while ep.to_act:
        ep = ep.step("no move")
        total += ep.turns[-1].rewards["agent"]
    assert total == -401.0, "the paper's minimum (table 7)"
    ep = say_all(begin_episode(rules="code", max_turns=2), "e4", "e5")
    assert ep.outcome is None and last_result(say_all(ep, "Nf3", "Nf6")) == ("over", 0.0, "out_of_turns")


# --- tasks -----------------------------------------------------------------------------------------------------------


def test_the_splits_have_the_sizes_of_the_paper() -> None:
    full, endgames = sonde.make("chess"), sonde.make("chess", preset="endgames")
    assert {split: len(full.tasks(split)) for split in full.splits} == {"train": 625_000, "test": 1000}
    assert {split: len(endgames.tasks(split)) for split in full.splits} == {"train": 120_000, "test": 645}
    groups = [endgames.tasks("train")[i].tags["group"] for i in range(8)]
    assert groups == ["Q", "QR", "R", "RR"] * 2
    assert int(endgames.tasks("test")[5].tags["plies"]) >= 15
    assert full.tasks("test")[999].public == {"fen": START, "game": 999}


@each("pieces, least", [("Q", 15), ("QR", 9), ("R", 15), ("RR", 11)])
def test_one_class_of_endgames(pieces: str, least: int) -> None:
    env = sonde.make("chess", preset="endgames", pieces=pieces)
    assert (len(env.tasks("train")), len(env.tasks("test"))) == (30_000, 645)
    for split in env.splits:
        assert {task.tags["group"] for task in env.tasks(split)[:50]} == {pieces}
    assert min(int(task.tags["plies"]) for task in env.tasks("test")) == least


@each(
    "fen, why",
    [
        ("", "FEN"), (3, "FEN"), ("9/8/8/8/8/8/8/8 w - - 0 1", "FEN"), ("x" * 200, "FEN"),
        ("8/8/8/8/8/8/8/R3K3 w - - 0 1", "NO_BLACK_KING"), ("7k/8/6Q1/8/8/8/8/K7 b - - 0 1", "Black is to move"),
        ("6k1/8/6Q1/8/8/8/8/K7 w - - 0 1", "OPPOSITE_CHECK"), ("7k/8/8/8/8/8/8/K7 w - - 0 1", "the game is over"),
    ],
)  # fmt: skip
def test_an_illegal_position_is_refused_with_the_reason(fen: Any, why: str) -> None:
    with pytest.raises(UserError, match=rf"chess: hidden.fen: .*allowed: a legal position.*{why}") as e:
        sonde.make("chess").task({"fen": fen})
    assert len(str(e.value)) < 700


@each(
    "config, message",
    [
        ({"preset": "blitz"}, "chess: preset: unknown name 'blitz'"),
        ({"pieces": "Q"}, "chess: pieces: got 'Q'"),
        ({"preset": "endgames", "pieces": "N"}, "chess: pieces: unknown name 'N'"),
        ({"max_turns": 0}, "chess: max_turns"),
    ],
)
def test_other_configurations_are_refused(config: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        sonde.make("chess", **config)


# --- the library -----------------------------------------------------------------------------------------------------


def test_the_position_that_is_shared_is_not_changed_by_play() -> None:
    before = parse_position(START).fen()
    play_move(START, "e4", ())
    assert parse_position(START).fen() == before == chess.STARTING_FEN


WITHOUT = """
import sys, importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "chess" else real(name, package)
sys.modules["chess"] = None
import sonde
for preset in ("full", "endgames"):
    env = sonde.make("chess", preset=preset)
    assert env.spec.max_turns == 400 and env.tasks("test")[0].public["fen"]
try:
    sonde.SeatedPolicies(env).reset(env.tasks("test")[0])
except sonde.UserError as e:
    print(e)
"""


def test_without_the_library_an_error_says_what_to_install() -> None:
    out = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False)
    assert out.stdout.startswith("a game of chess needs chess, which is not installed: pip install"), out.stderr
