"""The starting positions of the endgames of `chess`, split into training and test.

Source: LMRL-Gym (arXiv 2311.18232), appendices D.5 and F.3: random legal positions, White to move; 30,000 training
positions per class, and 645 other test positions that are not trivial: mate in 15 or more, by Stockfish. Here the depth
is exact and counted in plies, so a test position takes 8 moves or more. Only a queen or a rook alone can take that
long: queen and rook mate within 6 moves, two rooks within 7, so their own test positions are their deepest ones.

An arithmetic permutation orders the placements, the same on every machine; no start repeats. The hash of a placement
decides its split, and mirror images share a hash, so no test position is a mirror image of a training position, which
the paper does not rule out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from .endgames import ILLEGAL, SYMMETRIES, load_table
from .position import CLASSES

Rows = npt.NDArray[np.int64]

TRAINED, TESTED = 30_000, 645
DEEP = 15
"""Minimum number of plies to mate of a test position."""
DEEPEST = {"QR": 9, "RR": 11}
"""The same for the classes that never take that long."""
_CHUNK = 1 << 16
_HELD_OUT = 8
"""One in this many symmetry classes of placements is held out from training."""
_ODD = (0x9E3779B1, 0x85EBCA77)
"""Multipliers of the permutation; any odd numbers permute the numbers below a power of two."""


@lru_cache(maxsize=16)
def split_starts(pieces: str, split: str) -> Rows:
    """The distinct starts of one class, `(n, men)`: the squares of Black's king, White's king, and the other men."""
    if split == "train":
        return _place_men(pieces, test=False, deep=1, count=TRAINED)[1]
    return _test_starts(pieces)[1]


@lru_cache(maxsize=1)
def mixed_tests() -> tuple[tuple[str, tuple[int, ...]], ...]:
    """The test positions of all classes together, as class and squares: the first 645 deep ones in the order of the
    placements."""
    rows: list[tuple[int, str, tuple[int, ...]]] = []
    for pieces in CLASSES:
        if pieces not in DEEPEST:
            numbers, men = _test_starts(pieces)
            rows += [(n, pieces, tuple(squares)) for n, squares in zip(numbers.tolist(), men.tolist(), strict=True)]
    return tuple((pieces, squares) for _, pieces, squares in sorted(rows)[:TESTED])


def _test_starts(pieces: str) -> tuple[Rows, Rows]:
    return _place_men(pieces, test=True, deep=DEEPEST.get(pieces, DEEP), count=TESTED)


def _place_men(pieces: str, *, test: bool, deep: int, count: int) -> tuple[Rows, Rows]:
    """The first legal placements of a split with White to move and at least `deep` plies to mate: their positions in
    the order, `(n,)`, and their squares, `(n, men)`."""
    bits = 6 * (2 + len(pieces))
    numbers, found = np.zeros(0, np.int64), np.zeros((0, 2 + len(pieces)), np.int64)
    for first in range(0, 1 << bits, _CHUNK):
        number = np.arange(first, first + _CHUNK)
        men = _decode_squares(_mix_numbers(number, bits), bits)
        plies = load_table(pieces).plies_at(men)
        good = (plies != ILLEGAL) & (plies >= deep)
        if pieces == "RR":
            good &= men[2] < men[3]
        number, men = number[good], men[:, good]
        chosen = _is_held_out(men, pieces, bits) == test
        numbers, found = np.concatenate([numbers, number[chosen]]), np.concatenate([found, men[:, chosen].T])
        if len(found) >= count:
            break
    return numbers[:count], found[:count]


def _mix_numbers(number: Rows, bits: int) -> Rows:
    """A permutation of the numbers of this many bits."""
    mask = (1 << bits) - 1
    for odd in _ODD:
        number = (number ^ number >> bits // 2) * odd & mask
    return number ^ number >> bits // 2


def _decode_squares(code: Rows, bits: int) -> Rows:
    """The squares encoded by a number: Black's king, White's king, the others; shape `(men, n)`."""
    return np.stack([code >> shift & 63 for shift in range(bits - 6, -1, -6)])


def _is_held_out(men: Rows, pieces: str, bits: int) -> npt.NDArray[np.bool_]:
    """Whether a placement belongs to the test split, by the lowest code of its mirror images."""
    orders = [list(range(len(men)))]
    if pieces == "RR":
        orders.append([0, 1, 3, 2])
    images = [_encode_squares(np.array(g)[men[order]]) for g in SYMMETRIES for order in orders]
    return _mix_numbers(np.min(images, axis=0), bits) % _HELD_OUT == 0


def _encode_squares(men: Rows) -> Rows:
    code = np.zeros_like(men[0])
    for row in men:
        code = code << 6 | row
    return code


def to_fen(pieces: str, squares: Sequence[int]) -> str:
    """The position in FEN, with White to move and both clocks at their start. `squares` are those of Black's king,
    White's king, and the other men.

    >>> to_fen("R", [60, 4, 0])
    '4k3/8/8/8/8/8/8/R3K3 w - - 0 1'
    """
    men = dict(zip(squares, f"kK{pieces}", strict=True))
    ranks: list[str] = []
    for rank in range(7, -1, -1):
        row = "".join(men.get(8 * rank + file, "1") for file in range(8))
        for gap in range(8, 1, -1):
            row = row.replace("1" * gap, str(gap))
        ranks.append(row)
    return f"{'/'.join(ranks)} w - - 0 1"
