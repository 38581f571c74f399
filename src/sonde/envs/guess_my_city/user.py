"""The rule user of guess_my_city: a resident who answers questions about the city truthfully.

It understands a question as a whole, or says that it does not; `data/` has its knowledge and its sentences. A reply
depends only on the question and the city, and never names the city or its country. The environment's exact filter
assumes this user.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sonde.core import UNKNOWN

from .._shared.rule_user import Ruled


@dataclass(frozen=True, kw_only=True)
class Resident(Ruled):
    """See the module. Hypotheses are titles such as "Lisbon, Portugal"."""

    needs: ClassVar[tuple[str, ...]] = ("city", "question")
    hidden: ClassVar[str] = "city"
    silences: ClassVar[frozenset[str]] = Ruled.silences | {"That is no question about my city."}

    def compose_reply(self, facts: Mapping[str, Any]) -> str:
        return reply_about_city(facts["city"], facts["question"])


def reply_about_city(title: str, said: str) -> str:
    """The resident's reply; it knows nothing about a city that is in no list.

    >>> reply_about_city("Lisbon, Portugal", "Is it on the sea?"), reply_about_city("", "Is it on the sea?")
    ('Yes, that is true of my city.', 'I do not know.')
    """
    from .resident import answer_message, city_answers  # read when first used: the facts take a moment

    city = city_answers("paprika").by_title.get(title)
    return UNKNOWN if city is None else answer_message(city, said)
