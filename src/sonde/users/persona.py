"""A person with hidden preferences, who tells them when asked and nothing else.

Source: ΔBelief-RL, appendix B.2.4 (the role-player of user personalization). What is told follows from the preferences
and from what the question is about (`envs/_rules/personas.py`); nothing else in a message matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sonde.core import Action, UserError, UserModel, View
from sonde.envs._rules.personas import LOST, requests


@dataclass(frozen=True, kw_only=True)
class Persona(UserModel):
    """See the module. Needs the private facts `request`, `persona` and `question`."""

    kind: ClassVar[str] = "users"

    def act_now(self, view: View) -> Action:
        facts = view.private
        if any(name not in facts for name in ("request", "persona", "question")):
            raise UserError(f"users:persona: {view.spec.name} tells this seat nothing about a persona")
        return Action(requests()[facts["request"]].told(facts["persona"], facts["question"]))

    def answers(self, view: View) -> bool:
        return self.act_now(view).text != LOST

    def likelihood(self, view: View, reply: str, hypotheses: Sequence[Any]) -> Sequence[float]:
        told = requests()[view.private["request"]].told
        return [float(told(persona, view.private["question"]) == reply) for persona in hypotheses]
