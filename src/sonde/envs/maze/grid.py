"""Mazes on a grid: named maps, generated ones, steps, walls and distances.

A layout is a tuple of rows of `#` (wall) and `.` (free), with walls all around; a cell is (row, column), counted from 0
at the top left. `double_t` and `umaze` are the mazes of LMRL-Gym (arXiv 2311.18232, D.1 and H), facts of its
environment; the other maps and the generator are ours.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from functools import lru_cache
from random import Random
from typing import Any, cast

from sonde.core import invalid

from .._shared.answer import parse_answer

Cell = tuple[int, int]
Layout = tuple[str, ...]

STEPS: Mapping[str, Cell] = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
MOVES = tuple(f"move {direction}" for direction in STEPS)
"""The moves that an agent may say."""

_ART = """
double_t
#############
#.....#.....#
###.#####.###
###.#####.###
###.#####.###
###.......###
######.######
######.######
######.######
#############

umaze
#####
#...#
#.#.#
#.#.#
#####

comb
###########
#.........#
#.#.#.#.#.#
#.#.#.#.#.#
#.#.#.#.#.#
#.#.#.#.#.#
###########

cross
#############
######.######
######.######
######.######
#...........#
######.######
######.######
######.######
#############

ladder
#######
#.....#
#.###.#
#.....#
#.###.#
#.....#
#.###.#
#.....#
#######

rooms
#######
#..#..#
#.....#
##.#.##
#..#..#
#.....#
#######

spiral
#########
#.......#
#######.#
#.....#.#
#.###.#.#
#.#...#.#
#.#####.#
#.......#
#########

zigzag
#########
#.......#
#######.#
#.......#
#.#######
#.......#
#########
"""


def _load_maps() -> dict[str, Layout]:
    blocks = [block.split("\n") for block in _ART.strip().split("\n\n")]
    return {name: tuple(rows) for name, *rows in blocks}


MAPS: Mapping[str, Layout] = _load_maps()
"""The eight named maps."""


def free_cells(layout: Layout) -> tuple[Cell, ...]:
    """The free cells in reading order.

    >>> free_cells(MAPS["umaze"])
    ((1, 1), (1, 2), (1, 3), (2, 1), (2, 3), (3, 1), (3, 3))
    """
    return tuple((r, c) for r, row in enumerate(layout) for c, mark in enumerate(row) if mark == ".")


def wall_directions(layout: Layout, cell: Cell) -> tuple[str, ...]:
    """The directions with a wall next to the cell: `('up', 'down')` in a horizontal corridor."""
    return tuple(d for d, (dr, dc) in STEPS.items() if layout[cell[0] + dr][cell[1] + dc] == "#")


def open_directions(layout: Layout, cell: Cell) -> tuple[str, ...]:
    """The directions without a wall next to the cell."""
    return tuple(d for d, (dr, dc) in STEPS.items() if layout[cell[0] + dr][cell[1] + dc] == ".")


def move_cell(layout: Layout, cell: Cell, direction: str) -> Cell:
    """The cell after a move; a move into a wall stays."""
    dr, dc = STEPS[direction]
    row, col = cell[0] + dr, cell[1] + dc
    return (row, col) if layout[row][col] == "." else cell


@lru_cache(maxsize=4096)
def goal_distances(layout: Layout, goal: Cell) -> Mapping[Cell, int]:
    """Map every cell that is connected to the goal to the length of its shortest path."""
    found, waiting = {goal: 0}, deque([goal])
    while waiting:
        cell = waiting.popleft()
        for direction in open_directions(layout, cell):
            after = move_cell(layout, cell, direction)
            if after not in found:
                found[after] = found[cell] + 1
                waiting.append(after)
    return found


def generate(rows: int, cols: int, rng: Random, loops: float = 0.1) -> Layout:
    """Generate a maze with odd sides. A random walk that backtracks from dead ends joins the rooms, which are at odd
    places, into a tree; then each wall between two rooms opens with probability `loops`, so that path lengths
    differ."""
    grid = [["#"] * cols for _ in range(rows)]
    _carve_maze(grid, rng)
    for row, col in _between_rooms(rows, cols):
        if grid[row][col] == "#" and rng.random() < loops:
            grid[row][col] = "."
    return tuple("".join(row) for row in grid)


def _carve_maze(grid: list[list[str]], rng: Random) -> None:
    row, col = (2 * rng.randrange(len(side) // 2) + 1 for side in (grid, grid[0]))
    grid[row][col] = "."
    path = [(row, col)]
    while path:
        row, col = path[-1]
        ways = [(dr, dc) for dr, dc in STEPS.values() if _is_closed(grid, row + 2 * dr, col + 2 * dc)]
        if not ways:
            path.pop()
            continue
        dr, dc = rng.choice(ways)
        grid[row + dr][col + dc] = grid[row + 2 * dr][col + 2 * dc] = "."
        path.append((row + 2 * dr, col + 2 * dc))


def _is_closed(grid: list[list[str]], row: int, col: int) -> bool:
    return 0 < row < len(grid) and 0 < col < len(grid[0]) and grid[row][col] == "#"


def _between_rooms(rows: int, cols: int) -> list[Cell]:
    """The places between two neighbouring rooms."""
    return [(r, c) for r in range(1, rows - 1) for c in range(1, cols - 1) if (r + c) % 2]


# --- checking and reading --------------------------------------------------------------------------------------------


def check_layout(field: str, value: object, most: int = 25) -> Layout:
    """A layout from outside, or an error that names the field."""
    rows = _to_tuple(value)
    allowed = f"3 to {most} rows, each a text of one and the same length of 3 to {most}, of # and ., with # all around"
    if not 3 <= len(rows) <= most or not all(isinstance(row, str) for row in rows):
        raise invalid(field, value, allowed)
    wide = len(rows[0])
    edge = "".join((rows[0], rows[-1], *(row[:1] + row[-1:] for row in rows)))
    if not 3 <= wide <= most or {len(row) for row in rows} != {wide} or set("".join(rows)) - {"#", "."} or "." in edge:
        raise invalid(field, value, allowed)
    return rows


def check_cell(field: str, value: object, layout: Layout) -> Cell:
    """A free cell from outside, or an error that names the field."""
    pair = _to_tuple(value)
    if len(pair) != 2 or not all(type(n) is int for n in pair) or pair not in free_cells(layout):
        raise invalid(field, value, "[row, column] of a free cell, counted from 0 at the top left")
    return pair


def _to_tuple(value: object) -> tuple[Any, ...]:
    return tuple(cast("Sequence[Any]", value)) if isinstance(value, list | tuple) else ()


_LONGEST = 200


def read_move(text: str) -> str | None:
    """The direction of the move in a reply; None if there is none: the text after the last thinking, or its answer
    tags, must be one of `MOVES`, ignoring case and frame.

    >>> read_move("<think>move up?</think> Move left."), read_move("move up, then move left")
    ('left', None)
    """
    return parse_answer(text, _parse_direction, bare=True)


def _parse_direction(answer: str) -> str | None:
    said = " ".join(answer.lower().split()) if len(answer) <= _LONGEST else ""
    return said.removeprefix("move ") if said in MOVES else None
