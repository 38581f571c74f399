"""The reference walker of houses: the shortest plan to the goal, from a known world or over all possible worlds.

If nothing is hidden, it plays a shortest plan. Otherwise it keeps the possible worlds: the setups that the exact
posterior (`View.filter`) leaves, updated by its own commands. It then plays the command with the fewest expected
commands to the goal; a fixed point over the reachable sets of worlds makes this exact (`search.py`, which defines a
plan). So it looks into containers, or makes a detour to find its position, only if that pays.
"""

from __future__ import annotations

from dataclasses import dataclass

from sonde.core import Action, ProgramPolicy, UserError, View

from .search import best_command
from .track import initial_worlds, possible_worlds


@dataclass(frozen=True, kw_only=True)
class TextNavSolver(ProgramPolicy):
    """See the module docstring. Plays `text_nav`."""

    def act_now(self, view: View) -> Action:
        if view.spec.name != "text_nav":
            raise UserError(f"agents:text_nav: env: got {view.spec.name}, allowed: text_nav")
        return Action(view.say(best_command(possible_worlds(view), "start" in view.public, initial_worlds(view))))
