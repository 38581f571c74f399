"""Somebody who lives in a city and answers questions about it truthfully; the default user of guess_my_city.

It understands a question as a whole or says "I do not know."; what it knows and how it says it is in
`people/cities/`. Nothing in a message matters but the question, and no reply names the city or its
country. It is what the filter of the environment takes for granted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sonde.core import Action, UserError, UserModel, View


@dataclass(frozen=True, kw_only=True)
class Resident(UserModel):
    """See the module. Needs the private facts `city` and `question`."""

    kind: ClassVar[str] = "users"

    def act_now(self, view: View) -> Action:
        facts = view.private
        if "city" not in facts or "question" not in facts:
            raise UserError(f"users:resident: {view.spec.name} tells this seat of no city")
        return Action(replied(facts["city"], facts["question"]))

    def likelihood(self, view: View, reply: str, hypotheses: Sequence[Any]) -> Sequence[float]:
        """Hypotheses are titles such as "Lisbon, Portugal"."""
        return [float(replied(title, view.private["question"]) == reply) for title in hypotheses]


def replied(title: str, said: str) -> str:
    """The reply of whoever lives there. Of a city that is in no list nothing is known.

    >>> replied("Lisbon, Portugal", "Is it on the sea?"), replied("", "Is it on the sea?")
    ('Yes, that is true of my city.', 'I do not know.')
    """
    from sonde.people.cities.resident import UNKNOWN, knowledge, reply  # read when first used: the facts take a moment

    city = knowledge("paprika").by_title.get(title)
    return UNKNOWN if city is None else reply(city, said)
