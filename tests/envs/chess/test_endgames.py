"""The tables of chess endgames: published maxima and counts, the library's rules on random positions; the starts."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import chess
import numpy as np
import pytest

from sonde.core import UserError
from sonde.envs.chess import endgame_starts, endgames
from sonde.envs.chess.endgame_starts import DEEP, TESTED, TRAINED, mixed_tests, split_starts, to_fen
from sonde.envs.chess.endgames import ILLEGAL, NEVER, SYMMETRIES, build_table, load_table
from sonde.envs.chess.position import CLASSES, is_solved, move_regret, plies_after_moves, plies_to_mate, table_moves
from tests.cases import each

ROOK_AGAINST_KING = {
    0: 27, 1: 78, 2: 246, 3: 81, 4: 198, 5: 471, 6: 592, 7: 683, 8: 1433, 9: 1712, 10: 1985, 11: 2854, 12: 3597,
    13: 4194, 14: 4553, 15: 2166, 16: 390, None: 2796,
}  # fmt: skip
"""Positions with Black to move by White's moves to mate (None: a draw), from the UCI repository's "Chess (King-Rook vs.
King)" by Bain and Hoff: 28,056, one for each set of mirror images."""


def test_the_rook_ending_is_the_published_database() -> None:
    counts: Counter[int | None] = Counter()
    for code in {min(images(men)) for men in placements()}:
        plies = load_table("R").plies_to_mate(False, *code[:2], code[2:])
        counts[None if plies is None else plies // 2] += 1
    assert counts == ROOK_AGAINST_KING


def placements() -> list[tuple[int, ...]]:
    squares = range(64)
    kings = [(b, w) for b in squares for w in squares if chess.square_distance(b, w) > 1]
    return [(b, w, rook) for b, w in kings if b in endgames.CORNER for rook in squares if rook not in (b, w)]


def images(men: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [tuple(g[square] for square in men) for g in SYMMETRIES]


@each("pieces, moves", [("Q", 10), ("QR", 6), ("R", 16), ("RR", 7)])
def test_the_longest_mates_are_the_published_ones(pieces: str, moves: int) -> None:
    white = load_table(pieces).white
    assert white[(white != ILLEGAL) & (white != NEVER)].max() == 2 * moves - 1
    assert not (white == NEVER).any(), "with White to move every one of them is won"


@each("pieces", CLASSES)
def test_every_entry_is_one_more_than_what_the_rules_of_the_library_lead_to(pieces: str) -> None:
    rng, seen = random.Random(7), Counter[str]()
    while seen["white"] + seen["black"] < 400:
        squares = rng.sample(range(64), 2 + len(pieces))
        here = chess.Board(to_fen(pieces, squares))
        here.turn = rng.random() < 0.5
        plies = load_table(pieces).plies_to_mate(here.turn, squares[0], squares[1], squares[2:])
        if here.status() not in (chess.STATUS_VALID, chess.STATUS_IMPOSSIBLE_CHECK):
            assert plies is None
            continue
        seen["white" if here.turn else "black"] += 1
        after = list(plies_after_moves(here.fen()).values())
        if here.turn:
            assert plies == 1 + min(n for n in after if n is not None)
        elif not after:
            assert plies == (0 if here.is_checkmate() else None)
        else:
            assert plies == (None if None in after else 1 + max(n for n in after if n is not None))


@each(
    "fen, plies",
    [
        ("k7/8/1K6/8/8/8/8/7R w - - 0 1", 1),  # Rh8#
        ("8/8/8/8/8/5k2/8/5K1Q w - - 0 1", None),  # Black is in check on White's move: nothing stands so
        ("k7/2Q5/2K5/8/8/8/8/8 b - - 0 1", None),  # stalemate
        ("k7/1Q6/1K6/8/8/8/8/8 b - - 0 1", 0),  # mate
        ("8/8/8/8/8/2k5/1R6/K7 b - - 0 1", 16 * 2),
        ("8/8/8/3k4/3R4/8/8/K7 b - - 0 1", None),  # the rook is taken
    ],
)
def test_single_positions(fen: str, plies: int | None) -> None:
    assert plies_to_mate(fen) == plies


def test_what_a_move_costs_is_exact() -> None:
    fen = "k7/8/1K6/8/8/8/8/7R w - - 0 1"
    assert (move_regret(fen, "Rh8#"), move_regret(fen, "Rh2")) == (0, 2)
    assert table_moves(fen) == ("Rh8#",)
    assert move_regret("8/8/8/8/3k4/8/3R4/7K w - - 0 1", "Rd3+") is None, "a rook given away wins nothing"
    assert table_moves("8/8/8/3k4/3R4/8/8/K7 b - - 0 1") == ("Kxd4",)
    assert table_moves("1k6/8/1K6/8/8/8/8/7R b - - 0 1") == ("Kc8",), "in the corner it is mate at once"


def test_positions_without_a_table_are_not_solved() -> None:
    assert is_solved("8/8/8/4k3/8/8/8/K6Q w - - 0 1")
    for fen in (chess.STARTING_FEN, "8/8/8/4k3/8/8/8/K6B w - - 0 1", "8/8/4p3/4k3/8/8/8/K6Q w - - 0 1"):
        assert not is_solved(fen)
    assert plies_to_mate("8/8/8/4k3/8/8/8/K7 w - - 0 1") is None


# --- the cache -------------------------------------------------------------------------------------------------------


def test_a_table_is_made_once_and_damage_is_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SONDE_CACHE", str(tmp_path))
    made = endgames.load_table.__wrapped__("Q")
    (file,) = (tmp_path / "endgames").iterdir()
    assert np.array_equal(made.white, build_table("Q").white)
    monkeypatch.setattr(endgames, "build_table", lambda pieces: pytest.fail("made again"))
    assert np.array_equal(endgames.load_table.__wrapped__("Q").black, made.black)
    monkeypatch.undo()
    monkeypatch.setenv("SONDE_CACHE", str(tmp_path))
    whole = file.read_bytes()
    for broken in (b"", whole[:1000], whole[:-2000]):
        file.write_bytes(broken)
        assert np.array_equal(endgames.load_table.__wrapped__("Q").white, made.white)
        assert file.read_bytes() == whole


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SONDE_CACHE", str(tmp_path / "file"))
    with pytest.raises(UserError, match="SONDE_CACHE"):
        endgames.load_table.__wrapped__("R")
    with pytest.raises(UserError, match=r"endgame: unknown name 'B'.*Q, QR, R, RR"):
        load_table("B")


# --- starts ----------------------------------------------------------------------------------------------------------


@each("pieces", CLASSES)
def test_starts_are_legal_different_and_apart_from_the_tests(pieces: str) -> None:
    train, test = split_starts(pieces, "train"), split_starts(pieces, "test")
    assert train.shape == (TRAINED, 2 + len(pieces)) and test.shape == (TESTED, 2 + len(pieces))
    assert len(np.unique(train, axis=0)) == TRAINED and len(np.unique(test, axis=0)) == TESTED
    trained = {frozenset(zip(f"kK{pieces}", row, strict=True)) for row in train.tolist()}
    assert len(trained) == TRAINED, "two rooks may change places"
    for row in test.tolist():
        for image in images(tuple(row)):
            assert frozenset(zip(f"kK{pieces}", image, strict=True)) not in trained
    for row in [*train[:300].tolist(), *test.tolist()]:
        here = chess.Board(to_fen(pieces, row))
        assert here.is_valid() and here.turn and any(here.legal_moves)


def test_test_positions_take_fifteen_plies_or_more() -> None:
    rows = mixed_tests()
    assert len(set(rows)) == TESTED == 645
    plies = [load_table(pieces).plies_to_mate(True, men[0], men[1], men[2:]) for pieces, men in rows]
    assert min(n or 0 for n in plies) == DEEP == 15
    assert Counter(pieces for pieces, _ in rows) == {"R": 570, "Q": 75}
    assert to_fen(*rows[0]) == "8/7k/1R6/8/2K5/8/8/8 w - - 0 1", "the same on every machine"


def test_the_order_is_a_permutation() -> None:
    numbers = np.arange(1 << 12)
    assert np.array_equal(np.sort(endgame_starts._mix_numbers(numbers, 12)), numbers)
