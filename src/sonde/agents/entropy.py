"""Ask the question with the highest expected information gain; name the hypothesis once it is certain.

One-step optimal in bits, and the classic strategy for Mastermind and Wordle. Ties go to answers that may be right.
"""

from __future__ import annotations

from dataclasses import dataclass

from sonde.core import Action, Filter, ProgramPolicy, View
from sonde.envs._shared.needs import require_filter


@dataclass(frozen=True, kw_only=True)
class Entropy(ProgramPolicy):
    """Greedy information gain on the exact posterior (`View.filter`). The last turn names the likeliest hypothesis."""

    def act_now(self, view: View) -> Action:
        known = require_filter(view, Filter, "entropy")
        if view.turn == view.spec.max_turns - 1:
            return Action(view.say(str(known.belief().top(1)[0][0])))
        return Action(view.say(known.best_question()[0]))
