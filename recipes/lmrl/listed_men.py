"""LMRL-Gym's endgames with a list of all men and their squares, `White king e 1`, and moves without signs of check.

In FEN, a man's square follows from the characters before it. GPT-2 learns to count them; a small Llama with random
weights does not in minutes. In this form a man with its square is one token (`network.py`), and so is a move. The
environment says nothing else: no rules at the beginning, and after an illegal move the same position again, as in the
paper's code. The model still has to learn which moves are legal, and which are good.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from sonde.core import AGENT, Frozen, Rng, Step
from sonde.envs.chess import position as boards
from sonde.envs.chess.env import Chess, State

MEN = {"K": "White king", "Q": "White queen", "R": "White rook", "k": "Black king"}


def list_men(fen: str) -> str:
    """List the men with their squares, White's king first.

    >>> list_men("4k3/8/8/8/8/8/8/Q3K3 w - - 0 1")
    'White king e 1. White queen a 1. Black king e 8.'
    """
    found = boards.parse_position(fen).piece_map()
    men = [(man.symbol(), square) for square, man in sorted(found.items())]
    rows = [(kind, square) for kind in MEN for symbol, square in men if symbol == kind]
    return " ".join(f"{MEN[kind]} {'abcdefgh'[square % 8]} {square // 8 + 1}." for kind, square in rows)


@dataclass(frozen=True, kw_only=True)
class ListedMen(Chess):
    """See the module."""

    preset: str = "endgames"

    def say(self, answer: str) -> str:
        return super().say(answer.rstrip("+#"))

    def intro(self, state: State, seat: str) -> str:
        return list_men(state.fen)

    def step(self, state: State, text: str, rng: Rng) -> Step:
        found = super().step(state, text, rng)
        after = cast("State", found.state)
        return found._replace(told=Frozen({AGENT: list_men(after.fen)})) if after.seat == AGENT else found
