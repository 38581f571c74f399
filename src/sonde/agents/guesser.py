"""Guess without asking: each turn names a hypothesis drawn from the exact posterior.

Source: LMRL-Gym (arXiv 2311.18232), D.3: a third of the guesses in its wordle data are words that agree with everything
known about the letters, drawn uniformly; `agents:diluted` adds the others, which are random words of the list.
"""

from __future__ import annotations

from dataclasses import dataclass

from sonde.core import Action, Filter, ProgramPolicy, Rng, View
from sonde.envs._shared.needs import require_filter


@dataclass(frozen=True, kw_only=True)
class Guesser(ProgramPolicy):
    """See the module docstring. Plays where the hypothesis is an answer."""

    def act_now(self, view: View) -> Action:
        belief = require_filter(view, Filter, "guesser").belief()
        (drawn,) = Rng(view.seed).choices(belief.hypotheses, belief.probs)
        return Action(view.say(str(drawn)))
