"""A chess player without an engine: alpha-beta search with a small evaluation, the default opponent of `chess`.

Published: Stockfish of Elo 1200 (LMRL-Gym, appendix D.4), which `users:stockfish` approximates. This player needs no
binary and plays the same games on every machine. It searches with `search.py`, and chooses at random among the moves
that the search rates best.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sonde.core import Action, ProgramPolicy, Rng, UserError, View, invalid

from .search import best_moves

DEEPEST = 6


@dataclass(frozen=True, kw_only=True)
class Minimax(ProgramPolicy):
    """Searches `depth` plies ahead; plays a random legal move with probability `blunder`. Plays either side."""

    kind: ClassVar[str] = "users"

    depth: int = 1
    blunder: float = 0.0

    def __post_init__(self) -> None:
        if not 1 <= self.depth <= DEEPEST:
            raise invalid("users:minimax: depth", self.depth, f"1 to {DEEPEST}")
        if not 0.0 <= self.blunder <= 1.0:
            raise invalid("users:minimax: blunder", self.blunder, "0 to 1")

    def act_now(self, view: View) -> Action:
        if view.spec.name != "chess":
            raise UserError(f"users:minimax: env: got {view.spec.name}, allowed: chess")
        rng = Rng(view.seed)
        blunders = rng.random() < self.blunder
        moves = view.legal if blunders else best_moves(view.private["fen"], self.depth)
        assert moves
        return Action(view.say(moves[rng.randrange(len(moves))]))
