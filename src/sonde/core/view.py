"""What a policy sees when it acts: a view of an episode, which holds nothing that its seat may not know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from .seeding import derive
from .types import AGENT, Json, Message, Spec, Turn

if TYPE_CHECKING:
    from .belief import Filter
    from .env import Env


class Transition(NamedTuple):
    """One turn as reinforcement learning writes it, from the agent's seat."""

    observation: str
    action: str
    reward: float
    next: str
    sub_episode: int


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """All that a policy may know when it acts. Everything but `messages` is computed only when asked for.

    `messages` alternates strictly, starting with a user message and ending with one. `seed` is the only source of
    randomness a policy may use. What is printed of a view holds nothing hidden.
    """

    seat: str
    turn: int
    messages: tuple[Message, ...]
    _env: Env[Any] = field(repr=False)
    _state: Any = field(repr=False)
    _public: Mapping[str, Json] = field(repr=False)
    _turns: tuple[Turn, ...] = field(repr=False)
    _seed_path: tuple[int | str, ...] = field(repr=False)
    memory: Json = None
    _filter: Any = field(default=None, repr=False)

    @property
    def seed(self) -> int:
        """Derived from world seed, task, sample, seat and act; the same on replay and in any order of execution."""
        return derive(*self._seed_path)  # type: ignore[arg-type]

    @property
    def spec(self) -> Spec:
        return self._env.spec

    @property
    def public(self) -> Mapping[str, Json]:
        """The task's public part."""
        return self._public

    @property
    def legal(self) -> Sequence[str] | None:
        """The answers that are legal now, without the answer syntax (see `say`), or None where they have no list."""
        return self._env.actions(self._state)

    @property
    def private(self) -> Mapping[str, Any]:
        """Facts that only this seat may see (a simulated user's secret, say)."""
        return self._env.private(self._state, self.seat)

    @property
    def intro(self) -> str:
        """What this seat was told before anybody spoke."""
        return self._env.intro(self._state, self.seat)

    def denies(self, text: str) -> bool:
        """Whether the rules know that it would be untrue to say this now."""
        return self._env.denies(self._state, self.seat, text)

    @property
    def rendered(self) -> str | None:
        """The environment's summary of the whole history, for prompts that replace it; None if it has none."""
        return self._env.render(self._state, self.seat)

    @property
    def filter(self) -> Filter | None:
        """The exact posterior given this history; None where the environment has no filter. Agent's seat only."""
        return self._filter() if self.seat == AGENT else None

    @property
    def transitions(self) -> tuple[Transition, ...]:
        """The finished turns as `(observation, action, reward, next, sub_episode)`. Agent's seat only: others get none,
        because they would read what only the agent was told."""
        if self.seat != AGENT:
            return ()
        before = self.messages[0].content if self.messages else ""
        rows: list[Transition] = []
        for turn in self._turns:
            row = Transition(
                before, turn.text, turn.rewards.get(AGENT, 0.0), turn.told, int(turn.info.get("sub_episode", 0))
            )
            rows.append(row)
            before = row.next
        return tuple(rows)

    def say(self, answer: str) -> str:
        """`answer` in the syntax that this environment reads, for example `<Answer>toast</Answer>`."""
        return self._env.say(answer)
