"""Base class of the rule users: a reply depends on the private facts of the seat and nothing else."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sonde.core import Action, UserError, UserModel, View


@dataclass(frozen=True, kw_only=True)
class Ruled(UserModel):
    """Base class of the rule users. `needs` are the private facts that a reply requires, `hidden` the fact that
    hypotheses replace."""

    kind: ClassVar[str] = "users"
    needs: ClassVar[tuple[str, ...]]
    hidden: ClassVar[str] = ""

    @abstractmethod
    def compose_reply(self, facts: Mapping[str, Any]) -> str:
        """The reply that follows from these facts."""

    def act_now(self, view: View) -> Action:
        facts = view.private
        missing = [name for name in self.needs if name not in facts]
        if missing:
            raise UserError(f"users:{self.name}: {view.spec.name} does not give this seat {', '.join(missing)}")
        return Action(self.compose_reply(facts))

    def likelihood(self, view: View, reply: str, hypotheses: Sequence[Any]) -> Sequence[float]:
        return [float(self.compose_reply({**view.private, self.hidden: h}) == reply) for h in hypotheses]
