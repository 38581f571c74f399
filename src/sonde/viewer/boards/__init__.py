"""Boards: the agent's view of a game as an SVG picture, drawn by one function per family of environments.

A picture shows only what the agent knows; with `reveal` it also shows the hidden state, faintly. Conversations have no
board. The gallery of the documentation and all pages of episodes use these pictures.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from sonde.core import AGENT, Episode

FAMILIES: Mapping[str, str] = {
    "battleship": "cells:draw_battleship",
    "bernoulli_bandit": "arms:draw_bernoulli_bandit",
    "best_arm": "arms:draw_best_arm",
    "cellular_automata": "logic:draw_automata",
    "chess": "chessboard:draw_chess",
    "circuit_decoding": "logic:draw_circuits",
    "combination_lock": "letters:draw_lock",
    "letter_wordle": "letters:draw_lock",
    "mastermind": "letters:draw_mastermind",
    "maze": "ways:draw_maze",
    "minesweeper": "cells:draw_minesweeper",
    "river_swim": "ways:draw_river",
    "word_guess": "letters:draw_words",
    "wordle": "letters:draw_words",
}
"""Environments with a board: the module of this package and the function in it."""


def draw_board(ep: Episode, *, reveal: bool = False, live: bool = False, name: str = "board") -> str | None:
    """Draw the current board of an episode as an `<svg>` element; None for an environment without one. On a `live`
    board, places that stand for an answer of the agent are buttons. `name` is the id of the picture."""
    place = FAMILIES.get(ep.env.name)
    if place is None:
        return None
    module, _, function = place.partition(":")
    pen = getattr(import_module(f"{__name__}.{module}"), function)(ep, reveal)
    return None if pen is None else pen.to_svg(name, live=live and ep.to_act == AGENT)
