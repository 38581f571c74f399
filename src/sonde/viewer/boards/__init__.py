"""Boards as pictures: what the agent can see of a game, drawn as SVG by one function per family of environments.

A picture shows what has been told and no more; with `reveal`, faintly, what is hidden. Environments that are a
conversation have none. The gallery of the documentation and every page about an episode use these.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from sonde.core import AGENT, Episode

FAMILIES: Mapping[str, str] = {
    "battleship": "cells:battleship",
    "bernoulli_bandit": "arms:bernoulli_bandit",
    "best_arm": "arms:best_arm",
    "cellular_automata": "logic:automata",
    "chess": "chessboard:chess",
    "circuit_decoding": "logic:circuits",
    "combination_lock": "letters:lock",
    "letter_wordle": "letters:lock",
    "mastermind": "letters:mastermind",
    "maze": "ways:maze",
    "minesweeper": "cells:minesweeper",
    "river_swim": "ways:river",
    "word_guess": "letters:words",
    "wordle": "letters:words",
}
"""Environments that have a picture: the module of this package and the function in it."""


def draw(ep: Episode, *, reveal: bool = False, live: bool = False, name: str = "board") -> str | None:
    """The picture of an episode as it stands, as an `<svg>` element; None where there is nothing to draw. In a `live`
    one, places that stand for an answer of the agent's are buttons. `name` keeps the ids of several pictures on a page
    apart."""
    place = FAMILIES.get(ep.env.name)
    if place is None:
        return None
    module, _, function = place.partition(":")
    pen = getattr(import_module(f"{__name__}.{module}"), function)(ep, reveal)
    return None if pen is None else pen.svg(name, live=live and ep.to_act == AGENT)
