"""The floor of user personalization: asks random questions, ignores the replies, and answers for a random persona."""

from __future__ import annotations

from dataclasses import dataclass

from sonde.core import Action, ProgramPolicy, Rng, View

from .._shared.needs import require_filter
from .filter import PersonaFilter


@dataclass(frozen=True, kw_only=True)
class UserPersonalizationFloor(ProgramPolicy):
    """See the module. Both choices are uniform, over legal questions and over personas."""

    def act_now(self, view: View) -> Action:
        known, rng = require_filter(view, PersonaFilter, "user_personalization_floor", "over personas"), Rng(view.seed)
        if known.questions:
            return Action(rng.choice(known.request.all_questions))
        return Action(known.request.gold_answer(rng.choice(known.request.all_personas)))
