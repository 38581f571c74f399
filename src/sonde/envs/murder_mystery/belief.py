"""The exact posterior over the culprit of a murder mystery, given what the answers revealed.

The filter recovers the revealed values from the message and its answer (`replies.revealed_slots`) and weighs them by
the model of `filter`. An answer that the rules would not give, or that no truth could produce, comes from another
narrator and changes nothing.

If any accusation ends the game, an accusation has expected gain 0 and its verdict is no evidence: the posterior is that
of the investigation. If only the right one ends it (`goes_on`), a game that continues is evidence: the accused person
did not do it, and the expected gain of an accusation is the entropy of that verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sonde.core import Belief, Filter, Turn, entropy
from sonde.core.belief import Successors

from .._shared.dialogue import spoken_line
from .cases import CaseAct, Frame
from .filter import Slot
from .reading import NOTHING, read_case_message
from .replies import act_message, revealed_slots
from .telling import act_gains

_TINY = 1e-12
HEARD = 4000
"""Maximum characters of the agent's words that the conversation reads (`dialogue.Dialogue.longest`, times four)."""


class MysteryFilter(Filter):
    """See the module. `seen` are the revealed values. Messages of more than `longest` characters get no answer.
    `goes_on`: the game continues after a wrong accusation."""

    def __init__(
        self, frame: Frame, longest: int, goes_on: bool = False, seen: Mapping[Slot, int] | None = None
    ) -> None:
        self.frame, self._longest, self._goes_on = frame, longest, goes_on
        self.seen: Mapping[Slot, int] = {} if seen is None else seen
        self.posterior = frame.model.posterior(self.seen)
        self._successors = Successors[MysteryFilter]()
        self._gains: dict[CaseAct, float] | None = None

    def observe(self, turn: Turn) -> MysteryFilter:
        reply, result = turn.info.get("reply"), turn.info.get("result")
        if self._goes_on and turn.info.get("accused"):
            return self._with_facts({self._verdict_slot(turn.info["accused"]): int(result == "goal")})
        if result != "answer" or not isinstance(reply, str):
            return self
        return self._successors.find(
            (turn.text, reply),
            lambda: self._with_facts(revealed_slots(self.frame, spoken_line(turn.text, HEARD), reply)),
        )

    def _verdict_slot(self, name: str) -> Slot:
        """The slot that says whether an accusation of this person was right."""
        return Slot(next(i for i, p in enumerate(self.frame.people) if p.name == name), "accused")

    def _with_facts(self, facts: Mapping[Slot, int]) -> MysteryFilter:
        if all(self.seen.get(slot) == value for slot, value in facts.items()):
            return self
        try:
            return MysteryFilter(self.frame, self._longest, self._goes_on, {**self.seen, **facts})
        except ValueError:  # no culprit fits
            return self

    def belief(self) -> Belief:
        rows = [(p.name, q) for p, q in zip(self.frame.people, self.posterior, strict=True) if q > 0.0]
        return Belief(tuple(name for name, _ in rows), tuple(q for _, q in rows))

    def prob(self, hypothesis: Any) -> float:
        rows = zip(self.frame.people, self.posterior, strict=True)
        return next((q for p, q in rows if p.name == hypothesis), 0.0)

    @property
    def entropy(self) -> float:
        return entropy(self.posterior)

    # --- questions ---------------------------------------------------------------------------------------------------

    def act_gains(self) -> Mapping[CaseAct, float]:
        """The expected gain, in bits, of every act that can still reveal something."""
        if self._gains is None:
            self._gains = act_gains(self.frame, self.seen)
        return self._gains

    def expected_gain(self, action: str) -> float:
        said = spoken_line(action, HEARD)
        found = read_case_message(self.frame, said) if len(said) <= self._longest else NOTHING
        if found.kind == "accuse":
            return self._accusation_gain(found.person)
        return 0.0 if found.act is None else self.act_gains().get(found.act, 0.0)

    def _accusation_gain(self, person: int) -> float:
        """The expected gain of accusing somebody."""
        p = self.posterior[person]
        return max(0.0, entropy((p, 1.0 - p))) if self._goes_on else 0.0

    def best_question(self) -> tuple[str, float]:
        """The act with the highest gain, the first of equals, or a person's name if accusing them gains more. If
        nothing gains, the name of the most likely culprit."""
        found = self.act_gains()
        best = max(found, key=lambda act: found[act], default=None)
        person = max(range(len(self.posterior)), key=self._accusation_gain)
        accusing = self._accusation_gain(person)
        if best is not None and found[best] > max(_TINY, accusing):
            return act_message(self.frame, best), found[best]
        return (self.frame.people[person].name, accusing) if accusing > _TINY else (self.likeliest_culprit[0], 0.0)

    @property
    def likeliest_culprit(self) -> tuple[str, float]:
        """The name of the most probable culprit, and the probability."""
        top = max(range(len(self.posterior)), key=lambda i: self.posterior[i])
        return self.frame.people[top].name, self.posterior[top]
