"""Rectangular boards of at most 64 cells as bitboards: bit `row * cols + col` is a cell.

`spread_cells` and `neighbour_counts` are plain bit arithmetic, so they accept one board (an int) or many at once (a
uint64 array).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

Board = Any
"""An int, or a numpy array of uint64."""

_MARKS = "*12345678"


@dataclass(frozen=True)
class BitGrid:
    """The geometry of a board of `rows` times `cols` cells. Use `shared_grid(rows, cols)`, which caches instances."""

    rows: int
    cols: int

    @cached_property
    def cell_count(self) -> int:
        """Number of cells."""
        return self.rows * self.cols

    @cached_property
    def full_board(self) -> int:
        """The board with every cell set."""
        return (1 << self.cell_count) - 1

    @cached_property
    def not_left(self) -> int:
        """Every cell except those of the leftmost column."""
        return sum(1 << i for i in range(self.cell_count) if i % self.cols)

    @cached_property
    def not_right(self) -> int:
        """Every cell except those of the rightmost column."""
        return self.not_left >> 1

    @cached_property
    def neighbour_boards(self) -> tuple[int, ...]:
        """The up to eight neighbours of every cell."""
        return tuple(self.spread_cells(1 << i) ^ 1 << i for i in range(self.cell_count))

    @cached_property
    def cell_neighbours(self) -> tuple[tuple[int, int], ...]:
        """Every cell as its own board, with its neighbours."""
        return tuple((1 << i, around) for i, around in enumerate(self.neighbour_boards))

    def spread_cells(self, board: Board) -> Board:
        """The set cells and all their neighbours."""
        wide = board | board << 1 & self.not_left | board >> 1 & self.not_right
        return (wide | wide << self.cols | wide >> self.cols) & self.full_board

    def neighbour_counts(self, board: Board) -> tuple[Board, Board, Board, Board]:
        """The number of set neighbours of each cell, as four boards: the binary digits, ones first."""
        left, right = board << 1 & self.not_left, board >> 1 & self.not_right
        beside0, beside1 = left ^ right, left & right
        row0, row1 = beside0 ^ board, beside1 | beside0 & board
        up0, up1, down0, down1 = row0 << self.cols, row1 << self.cols, row0 >> self.cols, row1 >> self.cols
        ones, carry = _full_adder(up0, down0, beside0)
        twos, fours = _full_adder(up1, down1, beside1)
        more = twos & carry
        return (
            ones & self.full_board,
            (twos ^ carry) & self.full_board,
            (fours ^ more) & self.full_board,
            fours & more & self.full_board,
        )

    def format_rows(self, mines: int, opened: int) -> tuple[str, ...]:
        """A Minesweeper board as rows: `#` for a closed cell, otherwise the number of adjacent mines (`*` for none).

        >>> shared_grid(2, 3).format_rows(mines=0b000001, opened=0b110110)
        ('#1*', '#1*')
        """
        cols = self.cols
        marks = "".join(
            [_MARKS[(mines & around).bit_count()] if opened & bit else "#" for bit, around in self.cell_neighbours]
        )
        return tuple([marks[i : i + cols] for i in range(0, self.cell_count, cols)])

    def cells_of(self, board: int) -> tuple[tuple[int, int], ...]:
        """The set cells as (row, column), in reading order."""
        found: list[tuple[int, int]] = []
        while board:
            lowest = board & -board
            found.append(divmod(lowest.bit_length() - 1, self.cols))
            board ^= lowest
        return tuple(found)

    def board_of(self, cells: Iterable[tuple[int, int]]) -> int:
        """The board with these cells set; all must lie on it."""
        board = 0
        for row, col in cells:
            board |= 1 << row * self.cols + col
        return board


@cache
def shared_grid(rows: int, cols: int) -> BitGrid:
    """The shared `BitGrid` of this size."""
    return BitGrid(rows, cols)


def _full_adder(a: Board, b: Board, c: Board) -> tuple[Board, Board]:
    """A full adder: sum and carry."""
    half = a ^ b
    return half ^ c, a & b | half & c
