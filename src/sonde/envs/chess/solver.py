"""The reference chess player: exact tables if Black has the bare king, a search otherwise.

In the endgames of `chess` it plays a move with the fastest mate against any defence, from the tables (`endgames.py`),
so no player needs fewer moves; in the seat of the bare king, a move that delays mate longest. Otherwise it searches
with alpha-beta (`search.py`), where stronger players exist. Ties are broken at random.
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
