"""The rule user of twenty questions: tells the truth about its topic, from a knowledge base.

Source: PAPRIKA (arXiv 2502.17543), B.4.1: yes, no, or the goal is reached; ΔBelief-RL, appendix B.1: invalid and
repeated as well. Departure: if it does not know the truth, or does not understand the question, it says so; if the game
has no reply "invalid", it says that a message is no question. The reply depends only on the topic and on what the
question asks (`room.py`), so no message can talk the user into anything, and it never names its topic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sonde.core import View

from .._shared.dialogue import GOAL
from .._shared.rule_user import Ruled
from .answering import TEXTS, answer_message, answer_text
from .knowledge import topic_knowledge
from .mentions import mentions_topic
from .room import is_repeated


@dataclass(frozen=True, kw_only=True)
class Answerer(Ruled):
    """See the module. The fact `replies` are the answers that the game knows."""

    needs: ClassVar[tuple[str, ...]] = ("topic", "question", "heard", "solved", "replies", "wins_by")
    silences: ClassVar[frozenset[str]] = Ruled.silences | {TEXTS["no_question"]}

    def compose_reply(self, facts: Mapping[str, Any]) -> str:
        if facts["solved"]:
            return TEXTS["finished"] if "finished" in facts["replies"] else f"{GOAL}."
        return _answer_unsolved(facts)

    def likelihood(self, view: View, reply: str, hypotheses: Sequence[Any]) -> Sequence[float]:
        return [float(_answer_unsolved({**view.private, "topic": str(h)}) == reply) for h in hypotheses]


def _answer_unsolved(facts: Mapping[str, Any]) -> str:
    """Return the reply to the waiting question, which alone decides whether it names the topic."""
    replies, wins_by = facts["replies"], facts["wins_by"]
    if wins_by != "guess" and mentions_topic(facts["question"], facts["topic"], exact=wins_by == "code"):
        return TEXTS["finished"]
    if "repeated" in replies and is_repeated(facts["question"], facts["heard"]):
        return TEXTS["repeated"]
    said = true_reply(facts["topic"], facts["question"], invalid="invalid" in replies)
    return TEXTS["finished"] if "finished" in replies and said == f"{GOAL}." else said


def true_reply(topic: str, question: str, *, invalid: bool = False) -> str:
    """The true reply about a topic; "I do not know." about one that the knowledge base lacks.

    >>> true_reply("guitar", "Is it alive?"), true_reply("no such topic", "Is it alive?")
    ('No.', 'I do not know.')
    """
    index = topic_knowledge().index.get(topic)
    if index is None:
        return TEXTS["unknown"]
    return answer_text(answer_message(index, question), invalid)
