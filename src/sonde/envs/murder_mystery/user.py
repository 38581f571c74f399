"""The rule user of murder mysteries: a narrator who shows things and speaks for the people of the case.

Source: PAPRIKA, appendix B.4.4, where a language model plays the world. Here an answer depends only on the message's
action (`reading.py`) and the facts of the case, so no message can talk anybody into a confession. The reply to an
accusation is "goal reached", as in the paper: the narrator does not decide whether it is right. If only the right one
ends the game (ΔBelief-RL, appendix C.4), the narrator takes note of a wrong one and neither confirms nor denies it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sonde.core import UNKNOWN, View

from .._shared.dialogue import GOAL
from .._shared.rule_user import Ruled
from .cases import Case, Frame
from .reading import read_case_message
from .replies import answer_message, empty_answer, revealed_slots


@dataclass(frozen=True, kw_only=True)
class Narrator(Ruled):
    """See the module. Also uses the private facts `left` (turns) and `unmoved` (the reply to a wrong accusation). It
    knows nothing about foreign scenarios."""

    needs: ClassVar[tuple[str, ...]] = ("case", "question")

    def compose_reply(self, facts: Mapping[str, Any]) -> str:
        known, said = facts["case"], facts["question"]
        if known is None:
            return UNKNOWN
        return answer_message(known, said, _reply_to_accusation(facts, known.truth.culprit), facts.get("left"))

    def has_answer(self, view: View) -> bool:
        known: Case | None = view.private["case"]
        return known is not None and read_case_message(known.frame, view.private["question"]).kind not in (
            "talk",
            "nothing",
        )

    def likelihood(self, view: View, reply: str, hypotheses: Sequence[Any]) -> Sequence[float]:
        """The likelihoods of culprits' names, summed over everything else that is hidden, as if nothing had been
        revealed before."""
        known: Case = view.private["case"]
        people = (p.name for p in known.frame.people)
        chances = dict(zip(people, _culprit_likelihoods(known.frame, view.private, reply), strict=True))
        return [chances.get(name, 0.0) for name in hypotheses]


def _reply_to_accusation(facts: Mapping[str, Any], culprit: int) -> str:
    """The reply to an accusation."""
    unmoved = facts.get("unmoved", "")
    return unmoved if unmoved and read_case_message(facts["case"].frame, facts["question"]).person != culprit else GOAL


def _culprit_likelihoods(frame: Frame, facts: Mapping[str, Any], reply: str) -> Sequence[float]:
    """For each person, the likelihood if they were the culprit."""
    query = facts["question"]
    found = read_case_message(frame, query)
    if found.act is not None and frame.acts[found.act]:
        shown = revealed_slots(frame, query, reply)
        return frame.model.likelihood(shown) if shown else [0.0] * len(frame.people)
    told = (
        empty_answer(frame, query, _reply_to_accusation(facts, p), facts.get("left")) for p in range(len(frame.people))
    )
    return [float(reply == text) for text in told]
