"""The reference chess player: plays by exact tables if Black has the bare king, and by search otherwise.

In the endgames of `chess` it plays, from the tables (`endgames.py`), a move with the fastest mate against any defence,
so no player needs fewer moves; as the bare king, it plays a move that delays mate longest. In all other positions it
searches with alpha-beta (`search.py`), and stronger players exist. It breaks ties at random.
"""

from __future__ import annotations

from dataclasses import dataclass

from sonde.core import Action, ProgramPolicy, Rng, UserError, View, invalid

from . import position as boards
from .search import best_moves

DEEPEST = 6


@dataclass(frozen=True, kw_only=True)
class ChessSolver(ProgramPolicy):
    """See the module docstring. `depth` plies are searched if no table has the position."""

    depth: int = 2

    def __post_init__(self) -> None:
        if not 1 <= self.depth <= DEEPEST:
            raise invalid("agents:chess: depth", self.depth, f"1 to {DEEPEST}")

    def act_now(self, view: View) -> Action:
        if view.spec.name != "chess":
            raise UserError(f"agents:chess: env: got {view.spec.name}, allowed: chess")
        fen: str = view.private["fen"]
        moves = boards.table_moves(fen) if boards.is_solved(fen) else ()
        moves = moves or best_moves(fen, self.depth)
        return Action(view.say(moves[Rng(view.seed).randrange(len(moves))]))
