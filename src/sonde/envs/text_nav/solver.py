"""The reference walker of houses: the shortest way to the goal, from one world or from all that are possible.

Where everything is told, it plays a shortest plan. Else it keeps the worlds that it may be in: the setups that the
exact posterior (`View.filter`) leaves, moved along with what it did. It then plays the command after which the fewest
commands are needed on average, until the goal is reached: exact, by a fixed point over the sets of worlds that can come
up (`search.py`, which says what a plan consists of). So it looks into a container, or goes out of its
way to find out where it is, only where that pays.
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
