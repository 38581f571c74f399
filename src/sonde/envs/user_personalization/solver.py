"""The reference of user personalization: asks the most informative questions, then names the likely preferences.

It asks the question with the highest expected gain on the exact posterior over personas (`View.filter`). Its answer
names every preference that more than half of the remaining personas have.
"""

from __future__ import annotations

from dataclasses import dataclass

from sonde.core import Action, ProgramPolicy, View

from .._shared.needs import require_filter
from .filter import PersonaFilter


@dataclass(frozen=True, kw_only=True)
class UserPersonalizationSolver(ProgramPolicy):
    """See the module."""

    def act_now(self, view: View) -> Action:
        known = require_filter(view, PersonaFilter, "user_personalization", "over personas")
        if not known.questions:
            return Action(known.request.gold_answer(known.likely_preferences()))
        return Action(known.best_question()[0])
