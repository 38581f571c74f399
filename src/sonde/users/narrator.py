"""The narrator of a murder mystery: shows what there is to be seen and lets people speak, by the rules of the case.

Source: PAPRIKA, appendix B.4.4, where a language model plays the world. Here answers follow from what the message does
(`envs/_rules/mystery/reading.py`) and from the facts of the case; nothing else in a message matters, so nobody can be
talked into a confession. To an accusation the answer is that the goal is reached, as the paper has it: whether it is
right is not the narrator's to say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sonde.core import Action, ProgramPolicy, UserError, UserModel, View, invalid
from sonde.envs._rules.dialogue import GOAL, Dialogue
from sonde.envs._rules.mystery.cases import TASKS, Frame, case
from sonde.envs._rules.mystery.context import Past
from sonde.envs._rules.mystery.reading import read
from sonde.envs._rules.mystery.replies import empty, reply, revealed

UNKNOWN = "I do not know."


@dataclass(frozen=True, kw_only=True)
class Narrator(ProgramPolicy, UserModel):
    """See the module. Needs the private facts `case` and `question`; for a scenario from elsewhere it knows nothing.
    `split` and `index` say which case `likelihood` is about."""

    kind: ClassVar[str] = "users"

    split: str = "train"
    index: int = 0

    def __post_init__(self) -> None:
        if self.split not in TASKS:
            raise invalid("users:narrator: split", self.split, ", ".join(TASKS))
        if not 0 <= self.index < TASKS[self.split]:
            raise invalid("users:narrator: index", self.index, f"0 to {TASKS[self.split] - 1}")

    def act_now(self, view: View) -> Action:
        facts = view.private
        if "case" not in facts or "question" not in facts:
            raise UserError(f"users:narrator: {view.spec.name} tells this seat nothing about a case")
        if facts["case"] is None:
            return Action(UNKNOWN)
        return Action(reply(facts["case"], facts["question"], GOAL, Past(facts.get("heard", ()), facts.get("left"))))

    def probs(self, view: View) -> Mapping[str, float]:
        return {self.act_now(view).text: 1.0}

    def likelihood(self, query: str, reply: str, hypotheses: Sequence[Any]) -> Sequence[float]:
        """The probability of a reply to a first message, for each name of a culprit, over everything else hidden."""
        frame = case(self.split, self.index).frame
        chances = dict(zip((p.name for p in frame.people), _chances(frame, query, reply), strict=True))
        return [chances.get(name, 0.0) for name in hypotheses]


def _chances(frame: Frame, query: str, reply: str) -> Sequence[float]:
    """For each person, were they the culprit."""
    found = read(frame, query)
    if found.act is not None and frame.acts[found.act]:
        facts = revealed(frame, query, reply)
        return frame.model.likelihood(facts) if facts else [0.0] * len(frame.people)
    first = Past(left=Dialogue.max_turns - 1)
    return [float(reply in (empty(frame, query, GOAL), empty(frame, query, GOAL, first)))] * len(frame.people)
