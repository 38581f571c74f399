"""Policies: anything that speaks in a seat, whether a language model, a rule program, a search or a person.

Policies are stateless within an episode: what they must remember goes into `Action.memory`, so forks are correct, and
their only source of randomness is `View.seed`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from sonde._util.argument_checks import explain_wrong_argument

from .config import Configured
from .types import Action
from .view import View

if TYPE_CHECKING:
    from .episode import Episode


UNKNOWN = "I do not know."
"""The reply of a simulated user that understands the question and does not know the answer."""
UNCLEAR = "I do not understand."
"""The reply of a simulated user that does not understand the question."""


class Policy(Configured, ABC):
    """Plays one seat. Subclasses are `@dataclass(frozen=True, kw_only=True)`; their fields are their configuration."""

    kind: ClassVar[str] = "agents"
    words: ClassVar[str] = "a policy, such as sonde.make('agents:random'), in a configuration {name: agents:random}"
    privileged: ClassVar[bool] = False
    """True for policies that may see hidden state; their results are marked as privileged."""

    @abstractmethod
    async def act(self, view: View) -> Action:
        """What to say now."""

    async def finish(self, view: View) -> None:
        """Called once when the episode has ended, with the last view of this seat."""

    async def close(self) -> None:
        """Release what the policy holds (for example a model's connections). Idempotent."""


class ProgramPolicy(Policy):
    """A policy that answers without waiting: a rule, a solver, a random player."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        explain_wrong_argument(cls, "act_now", View)

    @abstractmethod
    def act_now(self, view: View) -> Action:
        """What to say now, computed synchronously."""

    async def act(self, view: View) -> Action:
        return self.act_now(view)

    def act_many(self, views: Sequence[View]) -> list[Action]:
        """`act_now` for many views at once; CPU-heavy policies override it to share work."""
        return [self.act_now(view) for view in views]


class UserModel(ProgramPolicy):
    """A simulated user whose replies have known probabilities, so that exact posteriors exist. It learns the task only
    from its view; its configuration, which every record stores, holds nothing of it."""

    kind: ClassVar[str] = "users"
    silences: ClassVar[frozenset[str]] = frozenset((UNKNOWN, UNCLEAR))
    """Replies that give no answer."""

    @abstractmethod
    def likelihood(self, view: View, reply: str, hypotheses: Sequence[Any]) -> Sequence[float]:
        """P(reply | pending message in this view, h) for every hypothesis h, independent of the hypothesis that is true
        in the view; shape `(len(hypotheses),)`."""

    def reply_probs(self, view: View) -> Mapping[str, float]:
        """The distribution over replies to this view; by default a single certain reply."""
        return {self.act_now(view).text: 1.0}

    def has_answer(self, view: View) -> bool:
        """Whether this user has an answer to the pending message; False if it can only say that it has none."""
        return self.silences.isdisjoint(self.reply_probs(view))


class EpisodePolicy(Configured, ABC):
    """Chooses with access to the whole episode: it may fork it and read hidden state. Marked privileged."""

    kind: ClassVar[str] = "agents"
    words: ClassVar[str] = "a policy that is given the whole episode"
    privileged: ClassVar[bool] = True

    @abstractmethod
    async def choose_action(self, ep: Episode, policies: Mapping[str, Policy]) -> Action:
        """What to say now; `policies` are the other seats'."""

    async def finish(self, view: View) -> None:
        """Called once when the episode has ended."""

    async def close(self) -> None:
        """Release what the policy holds. Idempotent."""


AnyPolicy = Policy | EpisodePolicy
