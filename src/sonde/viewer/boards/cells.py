"""Grid games: minesweeper and battleship. Every state has a sign beside its colour."""

from __future__ import annotations

from typing import Any

from sonde.core import Episode
from sonde.envs._shared.bitgrid import shared_grid

from .pen import Pen

_SIDE, _EDGE = 34, 26


def _make_grid(rows: int, cols: int, about: str) -> Pen:
    return Pen(_EDGE + cols * _SIDE + 4, _EDGE + rows * _SIDE + 4, about)


def _cell_corner(row: int, col: int) -> tuple[float, float]:
    return _EDGE + col * _SIDE, _EDGE + row * _SIDE


def draw_minesweeper(ep: Episode, reveal: bool) -> Pen:
    """Closed cells, numbers, and the mine that was hit."""
    state: Any = ep.state
    board = shared_grid(state.rows, state.cols).format_rows(state.mines, state.opened)
    last = ep.turns[-1].info if ep.turns else {}
    hit = last.get("cell") if last.get("result") == "mine" else None
    n = sum(row.count("#") for row in board)
    pen = _make_grid(state.rows, state.cols, f"Minesweeper, {state.rows} by {state.cols}, {n} cells closed")
    hypothesis: Any = ep.env.hypothesis(state)
    mines = set(hypothesis) if reveal else set()
    for c in range(state.cols):
        pen.add_text(_EDGE + (c + 0.5) * _SIDE, _EDGE / 2, str(c), "b-quiet", size=11)
    for r, row in enumerate(board):
        pen.add_text(_EDGE / 2, _EDGE + (r + 0.5) * _SIDE, str(r), "b-quiet", size=11)
        for c, sign in enumerate(row):
            x, y = _cell_corner(r, c)
            style = "b-shut" if sign == "#" else "b-open"
            pen.add_rect(
                x + 1, y + 1, _SIDE - 2, _SIDE - 2, style + (" b-last" if (r, c) == last.get("cell") else ""), round=4
            )
            if (r, c) == hit:
                pen.add_text(x + _SIDE / 2, y + _SIDE / 2, "✕", "b-bad", size=20)
            elif sign.isdigit():
                pen.add_text(x + _SIDE / 2, y + _SIDE / 2, sign, f"b-n{min(int(sign), 4)}", size=16)
            elif (r, c) in mines:
                pen.add_circle(x + _SIDE / 2, y + _SIDE / 2, 5, "b-ghost")
            if sign == "#":
                pen.add_place(x + 1, y + 1, _SIDE - 2, _SIDE - 2, f"reveal {r} {c}")
    return pen


def draw_battleship(ep: Episode, reveal: bool) -> Pen:
    """Shots at water and at ships; a ship that was hit is shown by its first letter."""
    state: Any = ep.state
    size, letter = state.size, {}
    for turn in ep.turns:
        if turn.info.get("ship"):
            letter[turn.info["cell"]] = str(turn.info["ship"])[0].upper()
    last = ep.turns[-1].info.get("cell") if ep.turns else None
    pen = _make_grid(size, size, f"Battleship, {size} by {size}, {len(ep.turns)} shots, {len(letter)} hits")
    for i in range(size):
        pen.add_text(_EDGE + (i + 0.5) * _SIDE, _EDGE / 2, str(i + 1), "b-quiet", size=11)
        pen.add_text(_EDGE / 2, _EDGE + (i + 0.5) * _SIDE, "ABCDEF"[i], "b-quiet", size=11)
    for r in range(size):
        for c in range(size):
            x, y = _cell_corner(r, c)
            bit, cell = 1 << (r * size + c), f"{'ABCDEF'[r]}{c + 1}"
            shot, ship = bool(state.shots & bit), bool(state.fleet_cells & bit)
            mark = " b-last" if cell == last else ""
            pen.add_rect(x + 1, y + 1, _SIDE - 2, _SIDE - 2, ("b-hit" if shot and ship else "b-sea") + mark, round=4)
            if shot and ship:
                pen.add_text(x + _SIDE / 2, y + _SIDE / 2, letter.get(cell, "✕"), "b-on", size=16)
            elif shot:
                pen.add_circle(x + _SIDE / 2, y + _SIDE / 2, 4, "b-miss")
            elif reveal and ship:
                pen.add_circle(x + _SIDE / 2, y + _SIDE / 2, 9, "b-ghost")
            if not shot:
                pen.add_place(x + 1, y + 1, _SIDE - 2, _SIDE - 2, cell)
    return pen
