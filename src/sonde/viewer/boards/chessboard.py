"""A chess position, with the last moves of both sides in words."""

from __future__ import annotations

from functools import partial
from typing import Any

from sonde.core import Episode

from .pen import Pen

_SIDE, _EDGE = 38, 18
_GLYPHS = dict(zip("kqrbnp", "♚♛♜♝♞♟", strict=True))


def draw_chess(ep: Episode, reveal: bool) -> Pen:
    """The position with White below; both sides have the same shapes, White's hollow and Black's full."""
    env: Any = ep.env
    state: Any = ep.state
    fen = str(state.fen)
    placed = fen.split(maxsplit=1)[0]
    info = ep.turns[-1].info if ep.turns else {}
    moves = ", ".join(f"{who} {info[key]}" for who, key in (("agent", "move"), ("opponent", "reply")) if info.get(key))
    pen = Pen(
        _EDGE + 8 * _SIDE + 2,
        8 * _SIDE + _EDGE + (20 if moves else 0),
        f"Chess position {placed}" + (f"; {moves}" if moves else ""),
    )
    for r in range(8):
        for c in range(8):
            pen.add_rect(_EDGE + c * _SIDE, r * _SIDE, _SIDE, _SIDE, "b-dark" if (r + c) % 2 else "b-light")
    for c in range(8):
        pen.add_text(_EDGE + (c + 0.5) * _SIDE, 8 * _SIDE + _EDGE / 2, "abcdefgh"[c], "b-quiet", size=11)
    if moves:
        pen.add_text(_EDGE, 8 * _SIDE + _EDGE + 8, moves, "b-ink", size=12, anchor="start")
    for r, row in enumerate(placed.split("/")):
        pen.add_text(_EDGE / 2, (r + 0.5) * _SIDE, str(8 - r), "b-quiet", size=11)
        c = 0
        for sign in row:
            if sign.isdigit():
                c += int(sign)
                continue
            _draw_piece(pen, r, c, sign)
            c += 1
    pen.when_live = partial(_add_moves, pen, env, state)  # legal moves take longer than the picture
    return pen


def _add_moves(pen: Pen, env: Any, state: Any) -> None:
    """A move is two places: the square of a piece, and its destination."""
    pen.pairs = env.moves_by_square(state)
    used = {*pen.pairs, *(to for ends in pen.pairs.values() for to in ends)}
    for r in range(8):
        for c in range(8):
            if (square := f"{'abcdefgh'[c]}{8 - r}") in used:
                pen.add_place(_EDGE + c * _SIDE, r * _SIDE, _SIDE, _SIDE, square)


def _draw_piece(pen: Pen, r: int, c: int, sign: str) -> None:
    style = "b-white" if sign.isupper() else "b-black"
    pen.add_text(_EDGE + (c + 0.5) * _SIDE, (r + 0.5) * _SIDE + 2, _GLYPHS[sign.lower()], style, size=30)
