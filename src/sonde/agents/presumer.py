"""The floor of user personalization: asks at random, does not listen, and answers for a persona of its own choice."""

from __future__ import annotations

from dataclasses import dataclass

from sonde.core import Action, ProgramPolicy, Rng, UserError, View
from sonde.envs._rules.persona_filter import PersonaFilter


@dataclass(frozen=True, kw_only=True)
class Presumer(ProgramPolicy):
    """See the module. Both choices are uniform, over legal questions and over personas."""

    def act_now(self, view: View) -> Action:
        known, rng = view.filter, Rng(view.seed)
        if not isinstance(known, PersonaFilter):
            raise UserError(f"agents:presumer: {view.spec.name} has no filter over personas")
        if known.questions:
            return Action(rng.choice(known.request.questions))
        return Action(known.request.gold(rng.choice(known.request.personas)))
