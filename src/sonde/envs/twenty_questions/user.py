"""The rule user of twenty questions: tells the truth about its topic, from a knowledge base.

Source: PAPRIKA (arXiv 2502.17543), B.4.1: yes, no, or the goal is reached; ΔBelief-RL, appendix B.1: invalid and
repeated as well. Departure: where the truth is not known, or the question is not understood, it says so. What it says
follows from the topic and from what the question asks (`room.py`); nothing else in a
message matters, so it cannot be talked into anything, and it never names its topic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sonde.core import View

from .._shared.dialogue import GOAL
from .._shared.rule_user import Ruled
from .answering import TEXTS, verdict_on
from .knowledge import knowledge
from .room import repeats


@dataclass(frozen=True, kw_only=True)
class Answerer(Ruled):
    """See the module. The fact `replies` are the answers that the game knows."""

    needs: ClassVar[tuple[str, ...]] = ("topic", "question", "heard", "solved", "replies")

    def reply(self, facts: Mapping[str, Any]) -> str:
        if facts["solved"]:
            return TEXTS["finished"] if "finished" in facts["replies"] else f"{GOAL}."
        return _unsolved(facts)

    def likelihood(self, view: View, reply: str, hypotheses: Sequence[Any]) -> Sequence[float]:
        return [float(_unsolved({**view.private, "topic": str(h)}) == reply) for h in hypotheses]


def _unsolved(facts: Mapping[str, Any]) -> str:
    """Return the reply to the waiting question, which alone decides whether it names the topic."""
    replies = facts["replies"]
    if "repeated" in replies and repeats(facts["question"], facts["heard"]):
        return TEXTS["repeated"]
    said = truth(facts["topic"], facts["question"], invalid="invalid" in replies)
    return TEXTS["finished"] if "finished" in replies and said == f"{GOAL}." else said


def truth(topic: str, question: str, *, invalid: bool = False) -> str:
    """The true reply about a topic; "I do not know." about one that the knowledge base lacks.

    >>> truth("guitar", "Is it alive?"), truth("no such topic", "Is it alive?")
    ('No.', 'I do not know.')
    """
    index = knowledge().index.get(topic)
    if index is None:
        return TEXTS["unknown"]
    found = verdict_on(index, question)
    if found == "goal":
        return f"{GOAL}."
    return TEXTS["unknown" if found == "invalid" and not invalid else found]
