"""The rule user of user personalization: a person who answers with hidden preferences and nothing else.

Source: ΔBelief-RL, appendix B.2.4 (the role-player of user personalization). The answer depends only on the preferences
and on the topic of the question (`personas.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sonde.core import View

from .._shared.rule_user import Ruled
from .personas import LOST, load_requests


@dataclass(frozen=True, kw_only=True)
class Persona(Ruled):
    """See the module."""

    needs: ClassVar[tuple[str, ...]] = ("request", "persona", "question")
    hidden: ClassVar[str] = "persona"

    def compose_reply(self, facts: Mapping[str, Any]) -> str:
        if not facts["request"]:  # a scenario in free words
            return LOST
        return load_requests()[facts["request"]].answer_question(facts["persona"], facts["question"])

    def has_answer(self, view: View) -> bool:
        return self.act_now(view).text != LOST
