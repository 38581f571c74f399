"""Exact distance to mate in chess endgames against the bare king: a queen, queen and rook, a rook, two rooks.

This module computes the tables backwards from the mates and stores them in the user's cache; it downloads nothing. A
square is a number from 0 (a1) to 63 (h8), rank by rank. The board's eight symmetries bring Black's king onto one of ten
squares, the triangle a1, d1, d4, so a table has the axes (Black's king, White's king, other pieces): 10 x 64 x 64
entries with one piece, 64 times as many with two. An entry counts plies; a ply is one move of either side:

    white   White to move: plies until mate, odd; `NEVER` if White cannot force it, `ILLEGAL` for impossible positions
    black   Black to move: plies until mate, even, 0 if it is mate; `NEVER` if White cannot force it, or for impossible
            positions

Both are the fixed point of `white = 1 + min(black after a move)` and `black = 1 + max(white after a move)`, iterated
from "never": after round n, every mate within n moves of White is exact. A capture leads into the table of the
remaining pieces; without any piece there is no mate. The fifty-move rule never applies: the longest mate takes 16
moves.

Published maxima that the tables reach: mate in 10 (queen), 16 (rook); the depths of rook against king, black to move,
are those of Bain and Hoff's database (UCI, "Chess (King-Rook vs. King)"), class by class.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import NamedTemporaryFile
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from sonde._util.folders import cache_root
from sonde.core import UserError, unknown

from .position import CLASSES

Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]

NEVER, ILLEGAL = 255, 0
TABLE_VERSION = 1
"""Version of the tables' content: increment it when the content changes, so that older files are ignored."""
CORNER = (0, 1, 2, 3, 9, 10, 11, 18, 19, 27)
"""The squares to which the symmetries bring Black's king: the triangle a1, d1, d4."""

_STRAIGHT = ((1, 0), (-1, 0), (0, 1), (0, -1))
_AROUND = (*_STRAIGHT, (1, 1), (1, -1), (-1, 1), (-1, -1))
_LINES = {"Q": _AROUND, "R": _STRAIGHT}


def _mirror_squares(flip_rank: int, flip_file: int, turn: int) -> tuple[int, ...]:
    """The target of every square under a symmetry."""
    there: list[int] = []
    for rank, file in product(range(8), range(8)):
        r, f = (7 - rank if flip_rank else rank), (7 - file if flip_file else file)
        there.append(8 * f + r if turn else 8 * r + f)
    return tuple(there)


SYMMETRIES = tuple(_mirror_squares(*flips) for flips in product((0, 1), repeat=3))
"""The eight symmetries of the board, the identity first."""
_TO_CORNER = tuple(next(g for g in SYMMETRIES if g[square] in CORNER) for square in range(64))
"""For every square of Black's king, the symmetry that brings it into the corner."""
_PLACE = np.array([CORNER.index(square) if square in CORNER else -1 for square in range(64)])


@dataclass(frozen=True, eq=False)
class EndgameTable:
    """The distances of one class, see the module: `white` and `black` of shape `(10, 64, 64[, 64])`."""

    pieces: str
    white: Bytes
    black: Bytes

    def plies_at(self, men: npt.NDArray[np.int64]) -> Bytes:
        """`white` for many positions at once: `men` of shape `(2 + pieces, n)`, Black's king first."""
        there = np.array(_TO_CORNER)[men[0]]
        moved = np.take_along_axis(there, men.T, 1).T
        return self.white[(_PLACE[moved[0]], *moved[1:])]

    def plies_to_mate(self, whites_turn: bool, black_king: int, white_king: int, others: Sequence[int]) -> int | None:
        """Plies until mate with best play of both sides; None if White cannot force it. `others` are the squares of
        White's other men, in the order of `pieces`."""
        there = _TO_CORNER[black_king]
        at = (CORNER.index(there[black_king]), there[white_king], *(there[square] for square in others))
        found = int((self.white if whites_turn else self.black)[at])
        return None if found == NEVER or (whites_turn and found == ILLEGAL) else found


@cache
def load_table(pieces: str) -> EndgameTable:
    """The table of one of `CLASSES`, from the cache; if it is missing, compute it and store it there."""
    if pieces not in CLASSES:
        raise unknown("endgame", pieces, CLASSES)
    path = cache_root() / "endgames" / f"{pieces}.{TABLE_VERSION}.npz"
    return _read_table(pieces, path) or _save_table(build_table(pieces), path)


def _read_table(pieces: str, path: Path) -> EndgameTable | None:
    """The content of the file; None if it is missing or damaged."""
    shape = (10, 64, *(64 for _ in pieces))
    try:
        with path.open("rb") as file, np.load(file) as held:
            white, black = held["white"], held["black"]
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return None
    right = all(part.shape == shape and part.dtype == np.uint8 for part in (white, black))
    return EndgameTable(pieces, white, black) if right else None


def _save_table(made: EndgameTable, path: Path) -> EndgameTable:
    """Write to a temporary file and rename it, so that no reader sees half a file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
            np.savez(file, white=made.white, black=made.black)
        Path(file.name).replace(path)
    except OSError as e:
        raise UserError(f"endgames: cannot store the table in {path.parent} ({e}); set SONDE_CACHE to a folder") from e
    return made


# --- making a table --------------------------------------------------------------------------------------------------


def build_table(pieces: str) -> EndgameTable:
    """Compute the table of White's pieces from the rules alone."""
    stands, check = _legal_placements(pieces), _black_in_check(pieces)
    left = [build_table(pieces.replace(piece, "", 1)) for piece in pieces]
    white = np.where(stands & ~check, NEVER, ILLEGAL).astype(np.uint8)
    black = np.full(stands.shape, NEVER, np.uint8)
    if not pieces:
        return EndgameTable(pieces, white, black)
    blocked = [_occupied_targets(pieces, axis) for axis in range(len(pieces))]
    while True:
        worst = _worst_replies(white, left)
        lost = np.where(worst == ILLEGAL, np.where(check, 0, NEVER), _one_more(worst))
        black = np.where(stands, lost, NEVER).astype(np.uint8)
        best = _one_more(_best_moves(pieces, black, blocked))
        after = np.where(white == ILLEGAL, ILLEGAL, best).astype(np.uint8)
        if np.array_equal(after, white):
            return EndgameTable(pieces, white, black)
        white = after


def _one_more(plies: Bytes) -> Bytes:
    return np.where(plies == NEVER, NEVER, plies + np.uint8(1)).astype(np.uint8)


def _along_axis(axis: int, count: int, values: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """An array of 64 (of 10 on axis 0) along one axis of a table with this many axes."""
    return values.reshape([-1 if i == axis else 1 for i in range(count)])


def _square_axes(count: int) -> list[npt.NDArray[np.generic]]:
    """The square of every man, along its axis."""
    corner, board = np.array(CORNER), np.arange(64)
    return [_along_axis(axis, count, board if axis else corner) for axis in range(count)]


def _legal_placements(pieces: str) -> Flags:
    """Whether the pieces stand on distinct squares and the kings are not adjacent."""
    at = _square_axes(2 + len(pieces))
    apart = np.array([[_king_distance(b, w) > 1 for w in range(64)] for b in CORNER])
    good: Flags = np.ones((10, 64, *(64 for _ in pieces)), np.bool_)
    good &= apart.reshape(10, 64, *(1 for _ in pieces))
    for one in range(len(at)):
        for other in range(max(one + 1, 2), len(at)):
            good &= np.asarray(at[one] != at[other])
    return good


def _king_distance(a: int, b: int) -> int:
    return max(abs(a // 8 - b // 8), abs(a % 8 - b % 8))


def _ray_squares(square: int, step: tuple[int, int]) -> Iterator[int]:
    """The squares from one on in a direction, up to the edge."""
    rank, file = square // 8 + step[0], square % 8 + step[1]
    while 0 <= rank < 8 and 0 <= file < 8:
        yield 8 * rank + file
        rank, file = rank + step[0], file + step[1]


def _black_in_check(pieces: str) -> Flags:
    """Whether Black's king is attacked by a piece."""
    count = 2 + len(pieces)
    found: Flags = np.zeros((10, 64, *(64 for _ in pieces)), np.bool_)
    for (k, king), (axis, piece) in product(enumerate(CORNER), enumerate(pieces, 2)):
        for step in _LINES[piece]:
            between = np.zeros(64, np.bool_)
            for square in _ray_squares(king, step):
                free: Flags = np.ones(found.shape[1:], np.bool_)
                for other in range(1, count):
                    if other != axis:
                        free &= ~np.asarray(_along_axis(other - 1, count - 1, between), np.bool_)
                where = (k, *(slice(None) if i != axis else square for i in range(1, count)))
                found[where] |= free.take(square, axis - 1)
                between[square] = True
    return found


def _occupied_targets(pieces: str, index: int) -> Flags:
    """Whether another man stands on the square of this piece; the piece's own axis comes first."""
    at = _square_axes(2 + len(pieces))
    axis = index + 2
    taken: Flags = np.zeros((10, 64, *(64 for _ in pieces)), np.bool_)
    for other, squares in enumerate(at):
        if other != axis:
            taken |= np.asarray(squares == at[axis])
    return np.ascontiguousarray(np.moveaxis(taken, axis, 0))


def _best_moves(pieces: str, black: Bytes, blocked: Sequence[Flags]) -> Bytes:
    """The minimum of `black` over White's moves."""
    found = _king_moves(black)
    for index, piece in enumerate(pieces):
        after = np.ascontiguousarray(np.moveaxis(black, index + 2, 0))
        reach = np.full(after.shape, NEVER, np.uint8)
        for step in _LINES[piece]:
            _slide_along(after, blocked[index], step, reach)
        np.minimum(found, np.moveaxis(reach, 0, index + 2), out=found)
    return found


def _king_moves(black: Bytes) -> Bytes:
    found = np.full(black.shape, NEVER, np.uint8)
    for square in range(64):
        for near in range(64):
            if _king_distance(square, near) == 1:
                np.minimum(found[:, square], black[:, near], out=found[:, square])
    return found


def _slide_along(after: Bytes, blocked: Flags, step: tuple[int, int], reach: Bytes) -> None:
    """Lower `reach` to the minimum of `after` along a direction, up to the first piece. Squares go from the far edge
    inwards."""
    ahead = np.full(after.shape, NEVER, np.uint8)
    for square in sorted(range(64), key=lambda s: sum(1 for _ in _ray_squares(s, step))):
        to = next(_ray_squares(square, step), None)
        if to is not None:
            ahead[square] = np.where(blocked[to], NEVER, np.minimum(after[to], ahead[to]))
    np.minimum(reach, ahead, out=reach)


def _worst_replies(white: Bytes, left: Sequence[EndgameTable]) -> Bytes:
    """The maximum of `white` over the legal moves of Black's king, `ILLEGAL` if it has none."""
    found = np.full(white.shape, ILLEGAL, np.uint8)
    for k, king in enumerate(CORNER):
        for near in (square for square in range(64) if _king_distance(king, square) == 1):
            np.maximum(found[k], _shift_king(white, near), out=found[k])
            for index, smaller in enumerate(left):
                where = (slice(None), *(slice(None) if i != index else near for i in range(len(left))))
                np.maximum(found[k][where], _shift_king(smaller.white, near), out=found[k][where])
    return found


def _shift_king(white: Bytes, king: int) -> Bytes:
    """`white` with Black's king on any square of the board, axes (White's king, other pieces)."""
    there = _TO_CORNER[king]
    corner = white[CORNER.index(there[king])]
    return corner[np.ix_(*([list(there)] * corner.ndim))]
