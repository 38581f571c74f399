"""The search: mates, exchanges, symmetry, and that a game repeats."""

from __future__ import annotations

import random
from collections import Counter

import chess
import pytest

import sonde
from sonde.core import Episode, UserError
from sonde.envs.chess.position import START
from sonde.envs.chess.search import best_moves, evaluate_position
from tests.cases import each


@each(
    "fen, depth, moves",
    [
        ("6k1/5ppp/8/8/8/8/8/R6K w - - 0 1", 1, ("Ra8#",)),
        ("r6k/8/8/8/8/8/5PPP/6K1 b - - 0 1", 1, ("Ra1#",)),
        ("k7/8/8/3q4/4P3/8/8/K7 w - - 0 1", 1, ("exd5",)),
        ("k7/2p5/3p4/8/8/8/8/K2Q4 w - - 0 1", 2, None),
    ],
)
def test_it_sees_mates_and_free_men(fen: str, depth: int, moves: tuple[str, ...] | None) -> None:
    found = best_moves(fen, depth)
    if moves is None:
        assert "Qxd6" not in found, "the pawn is protected"
    else:
        assert found == moves


def test_two_plies_avoid_a_mate_on_the_next_move() -> None:
    fen = "r5k1/5ppp/8/8/8/8/3Q1PPP/6K1 w - - 0 1"
    for san in best_moves(fen, 2):
        here = chess.Board(fen)
        here.push_san(san)
        for reply in here.legal_moves:
            here.push(reply)
            assert not here.is_checkmate()
            here.pop()


def test_depth_two_is_the_plain_minimum_of_the_maxima() -> None:
    """Pruning changes no result: against a search without any, on positions of random play."""
    rng = random.Random(3)
    for fen in walked(rng, 12):
        here = chess.Board(fen)
        values = {here.san(move): -plain(pushed(here, move), 1, 1) for move in here.legal_moves}
        best = max(values.values())
        assert best_moves(fen, 2) == tuple(sorted(san for san, value in values.items() if value == best))


def plain(here: chess.Board, depth: int, ply: int) -> int:
    from sonde.envs.chess import search as chess_search

    if depth == 0:
        over = chess_search._terminal_score(here, ply)
        return chess_search._quiescence(here, 10**9) if over is None else over
    values = [-plain(pushed(here, move), depth - 1, ply + 1) for move in here.legal_moves]
    if not values:
        return ply - chess_search.MATE if here.is_check() else 0
    return 0 if here.is_insufficient_material() else max(values)


def pushed(here: chess.Board, move: chess.Move) -> chess.Board:
    after = here.copy(stack=False)
    after.push(move)
    return after


def walked(rng: random.Random, n: int) -> list[str]:
    """Positions of random play that are not over."""
    found: list[str] = []
    while len(found) < n:
        here = chess.Board()
        for _ in range(rng.randrange(4, 60)):
            moves = list(here.legal_moves)
            if moves:
                here.push(rng.choice(moves))
        if not here.is_game_over():
            found.append(here.fen())
    return found


def test_the_evaluation_is_the_same_for_both_sides() -> None:
    assert evaluate_position(chess.Board()) == 0
    for fen in walked(random.Random(5), 30):
        here = chess.Board(fen)
        assert evaluate_position(here) == evaluate_position(here.mirror()), fen


def test_it_draws_among_equal_moves_by_its_seed_and_blunders_as_often_as_told() -> None:
    env = sonde.make("chess")
    views = [Episode.begin(env, env.task({"fen": START}), seed=seed).view() for seed in range(300)]
    best = {env.say(san) for san in best_moves(START, 1)}
    played = [sonde.make("users:minimax").act_now(view).text for view in views]
    assert set(played) == best and len(best) > 1
    assert played == [sonde.make("users:minimax").act_now(view).text for view in views]
    weak = sonde.make("users:minimax", blunder=1.0)
    assert len(Counter(weak.act_now(view).text for view in views)) == 20
    half = [sonde.make("users:minimax", blunder=0.5).act_now(view).text in best for view in views]
    share = 0.5 + 0.5 * len(best) / 20
    assert abs(sum(half) / 300 - share) < 4 * (share * (1 - share) / 300) ** 0.5


@each("config, message", [({"depth": 0}, "depth: got 0, allowed: 1 to 6"), ({"blunder": 1.5}, "blunder: got 1.5")])
def test_other_settings_are_refused(config: dict[str, float], message: str) -> None:
    with pytest.raises(UserError, match=f"users:minimax: {message}"):
        sonde.make("users:minimax", **config)
