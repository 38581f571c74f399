"""A car buyer of known character: loves discounts, wants features, or is impatient.

Source: LMRL-Gym, appendix D.8 (the three characters). How each of them takes an offer is stated in
`envs/_rules/dealing.py`; words cannot change it. The decision is a tag that the environment reads and the seller does
not see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sonde.core import Action, UserError, UserModel, View
from sonde.envs._rules import dealing


@dataclass(frozen=True, kw_only=True)
class Buyer(UserModel):
    """See the module. Needs the private facts `buyer`, `listed` and `pitches`."""

    kind: ClassVar[str] = "users"

    def act_now(self, view: View) -> Action:
        facts = view.private
        if any(name not in facts for name in ("buyer", "listed", "pitches")):
            raise UserError(f"users:buyer: {view.spec.name} tells this seat nothing about a buyer")
        return Action(_spoken(dealing.react(facts["buyer"], facts["pitches"], facts["listed"])))

    def likelihood(self, view: View, reply: str, hypotheses: Sequence[Any]) -> Sequence[float]:
        pitches, listed = view.private["pitches"], view.private["listed"]
        return [float(_spoken(dealing.react(b, pitches, listed)) == reply) for b in hypotheses]


def _spoken(reaction: dealing.Reaction) -> str:
    tag = " <Deal>yes</Deal>" if reaction.deal else " <Deal>no</Deal>" if reaction.leaves else ""
    return reaction.text + tag
