"""Minesweeper on the exact posterior: reveal a cell with the lowest risk; among equals, the most informative one.

Every safe cell must be opened anyway, so a certainly safe one is never wrong, and the most informative one tends to
open most cells. Over 10,000 games (1000 training tasks, world seeds 0 to 9) of at most 20 turns:

| choice | wins | mean turns |
|---|---|---|
| least risk, ties by gain | 97.0 % | 5.13 |
| the same after a fixed first reveal in one of the corners | 97.0 to 97.1 % | 4.79 to 5.13 |
| highest gain, whatever the risk | 96.0 % | 4.93 |

A win rate has a standard error of 0.2 %. When a guess was needed among at most 300 layouts, searching the whole game
tree for the best one won no more (97.1 % against 97.0 % of 3000 games, seeds 0 to 2, with version 1 of the rules, where
a moved mine took the first free cell), so looking one step ahead is enough. One of the 60,000 games of the table ran
out of turns, so turns need no attention.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from sonde.core import Action, ProgramPolicy, View

from .._shared.needs import require_filter


class RevealFilter(Protocol):
    """What this agent requires of a filter: two numbers for every answer that reveals a closed cell."""

    def mine_probabilities(self) -> Mapping[str, float]: ...
    @property
    def expected_gains(self) -> Mapping[str, float]: ...


@dataclass(frozen=True, kw_only=True)
class MinesweeperSolver(ProgramPolicy):
    """See the module docstring."""

    def act_now(self, view: View) -> Action:
        return Action(
            view.say(
                best_reveal(require_filter(view, RevealFilter, "minesweeper", "with mine probabilities for this task"))
            )
        )


def best_reveal(known: RevealFilter) -> str:
    """The answer to give; ties go to the first in reading order."""
    risks, gains = known.mine_probabilities(), known.expected_gains
    # Rounded, so that equal gains tie on every machine.
    return min(risks, key=lambda answer: (risks[answer], -round(gains[answer], 9)))
