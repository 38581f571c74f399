"""Whoever speaks is a policy in a seat: a language model, a rule program, a search, a person.

Policies are stateless within an episode: what they must remember travels in `Action.memory`, so forks are right, and
their only source of randomness is `View.seed`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from .config import Configured
from .types import Action
from .view import View

if TYPE_CHECKING:
    from .episode import Episode


UNKNOWN = "I do not know."
"""What a simulated user says that has no answer."""


class Policy(Configured, ABC):
    """Plays one seat. Subclasses are `@dataclass(frozen=True, kw_only=True)`; their fields are their configuration."""

    kind: ClassVar[str] = "agents"
    words: ClassVar[str] = "a policy, such as sonde.make('agents:random')"
    privileged: ClassVar[bool] = False
    """True for policies that may see what is hidden; their results are marked everywhere."""

    @abstractmethod
    async def act(self, view: View) -> Action:
        """What to say now."""

    async def finish(self, view: View) -> None:
        """Called once when the episode has ended, with the last view of this seat."""

    async def close(self) -> None:
        """Release what the policy holds (a model's connections, say). Idempotent."""


class ProgramPolicy(Policy):
    """A policy that needs no waiting: a rule, a solver, a random player."""

    @abstractmethod
    def act_now(self, view: View) -> Action:
        """What to say now, computed on the spot."""

    async def act(self, view: View) -> Action:
        return self.act_now(view)

    def act_many(self, views: Sequence[View]) -> list[Action]:
        """The same for many views at once; CPU-heavy policies override it to share work."""
        return [self.act_now(view) for view in views]


class UserModel(ProgramPolicy):
    """A simulated user whose replies have known probabilities, so that exact posteriors through it exist. What it needs
    to know of a task is in its view: its configuration, which every record carries, holds nothing of it."""

    kind: ClassVar[str] = "users"

    @abstractmethod
    def likelihood(self, view: View, reply: str, hypotheses: Sequence[Any]) -> Sequence[float]:
        """P(reply | what waits for an answer in this view of its seat, h) for every hypothesis h, whichever of them is
        true in the view; shape `(len(hypotheses),)`."""

    def probs(self, view: View) -> Mapping[str, float]:
        """The distribution over replies to this view; certain, unless a user says otherwise."""
        return {self.act_now(view).text: 1.0}

    def answers(self, view: View) -> bool:
        """Whether this user has an answer to what waits for one; False where it only says that it has none."""
        return UNKNOWN not in self.probs(view)


class EpisodePolicy(Configured, ABC):
    """Chooses with the whole episode in hand: it may fork it and read the hidden state. Marked privileged."""

    kind: ClassVar[str] = "agents"
    words: ClassVar[str] = "a policy that is given the whole episode"
    privileged: ClassVar[bool] = True

    @abstractmethod
    async def choose(self, ep: Episode, policies: Mapping[str, Policy]) -> Action:
        """What to say now; `policies` are the other seats'."""

    async def finish(self, view: View) -> None:
        """Called once when the episode has ended."""

    async def close(self) -> None:
        """Release what the policy holds. Idempotent."""


AnyPolicy = Policy | EpisodePolicy
