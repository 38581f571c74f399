"""What a policy sees when it acts: a view of an episode that holds nothing its seat may not know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from .seeding import derive
from .tools import CallDefect, Tool, ToolCall
from .types import AGENT, Json, Message, Spec, Turn

if TYPE_CHECKING:
    from .belief import Filter
    from .episode import Episode


class Transition(NamedTuple):
    """One turn in reinforcement-learning form, from the agent's seat."""

    observation: str
    action: str
    reward: float
    next: str
    sub_episode: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class View:
    """All that a policy may know when it acts, computed on demand.

    `seed` is the only source of randomness a policy may use. The printed form of a view holds nothing hidden.
    """

    seat: str
    memory: Json
    _episode: Episode

    @property
    def messages(self) -> tuple[Message, ...]:
        """What this seat said and was told. Strictly alternating, starting and ending with a user message."""
        return self._episode.messages[self.seat]

    @property
    def turn(self) -> int:
        """The number of earlier turns."""
        return len(self._episode.turns)

    @property
    def seed(self) -> int:
        """Derived from world seed, task, sample, seat and act; the same on replay and in any order of execution."""
        ep = self._episode
        return derive(ep.seed, "policy", ep.task.id, ep.sample, self.seat, ep.n_acts)

    @property
    def spec(self) -> Spec:
        return self._episode.env.spec

    @property
    def public(self) -> Mapping[str, Json]:
        """The task's public part."""
        return self._episode.task.public

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The finished turns. Only for the agent's seat, because they contain what only the agent was told."""
        return self._episode.turns if self.seat == AGENT else ()

    @property
    def problem(self) -> Any:
        """The decision problem described by the task's public part (`Env.decision_problem`); None if there is none."""
        return self._episode.env.decision_problem(self.public)

    @property
    def legal(self) -> Sequence[str] | None:
        """The answers that are legal now, without answer syntax (see `say`); None if they cannot be listed."""
        return self._episode.env.actions(self._episode.state)

    @property
    def tool(self) -> Tool:
        """The agent's action as a tool (`core.tools`)."""
        return self._episode.env.tool(self.public)

    def read_calls(self, calls: Sequence[ToolCall]) -> tuple[str, CallDefect]:
        """The text for which tool calls stand, and what is wrong with them."""
        return self._episode.env.read_calls(self.public, calls)

    @property
    def private(self) -> Mapping[str, Any]:
        """Facts that only this seat may see (a simulated user's secret, say)."""
        return self._episode.env.private(self._episode.state, self.seat)

    @property
    def intro(self) -> str:
        """What this seat was told before anyone spoke."""
        return self._episode.env.intro(self._episode.state, self.seat)

    def denies(self, text: str) -> bool:
        """Whether the rules know that saying this now would be untrue."""
        return self._episode.env.denies(self._episode.state, self.seat, text)

    @property
    def rendered(self) -> str | None:
        """The environment's summary of the whole history, for prompts that replace it; None if it has none."""
        return self._episode.env.render(self._episode.state, self.seat)

    @property
    def filter(self) -> Filter | None:
        """The exact posterior given this history; None if the environment has no filter. Only for the agent's seat."""
        return self._episode.filter() if self.seat == AGENT else None

    @property
    def prior(self) -> Filter | None:
        """The filter before anyone has spoken: what the task's public part alone implies."""
        return self._episode.env.filter(self.public) if self.seat == AGENT else None

    @property
    def transitions(self) -> tuple[Transition, ...]:
        """`turns` as `(observation, action, reward, next, sub_episode)`."""
        before = self.messages[0].content if self.messages else ""
        rows: list[Transition] = []
        for turn in self.turns:
            row = Transition(
                before, turn.text, turn.rewards.get(AGENT, 0.0), turn.told, int(turn.info.get("sub_episode", 0))
            )
            rows.append(row)
            before = row.next
        return tuple(rows)

    def __repr__(self) -> str:
        return f"<View of {self.seat}, turn {self.turn}: {self.messages!r}>"

    def say(self, answer: str) -> str:
        """`answer` in the syntax that this environment reads, for example `<Answer>toast</Answer>`."""
        return self._episode.env.say(answer)
