"""A tiny environment for fast learning tests: the colour is hidden, and anyone who asks for it is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from sonde.core import AGENT, Frozen, Outcome, Rng, Spec, Step, TabularEnv, Task, TaskList
from sonde.core.types import Json

COLOURS = ("red", "blue")
WORDS = "ask red blue start again won lost"


class State(NamedTuple):
    colour: str
    turn: int = 0
    asked: bool = False
    over: bool = False


@dataclass(frozen=True, kw_only=True)
class Asking(TabularEnv[State]):
    """Four turns. `ask` is answered with the colour; a colour ends the game, and wins if it is right and was asked for;
    anything else costs a turn. The colour is drawn from the world seed unless the task names it."""

    presets: ClassVar[tuple[str, ...]] = ("plain",)

    preset: str = "plain"
    max_turns: int = 4

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name=self.name, version="1", summary="ask, then answer", preset=self.preset, max_turns=self.max_turns,
            reward_range=(0.0, 1.0), support="two colours", source="ours", max_new_tokens=2,
        )  # fmt: skip

    def split(self, split: str) -> Sequence[Task]:
        return TaskList(6, lambda i: self._task(None, split, i))

    def task(self, hidden: Json) -> Task:
        return self._task(hidden, "custom", 0)

    def _task(self, hidden: Json, split: str, index: int) -> Task:
        tags = Frozen(group="asking", difficulty=("easy", "hard")[index % 2])
        return Task(self.name, self.preset, split, index, Frozen(), hidden, tags)

    def prior(self, public: Any) -> Sequence[tuple[float, Json]]:
        return [(0.5, colour) for colour in COLOURS]

    def start(self, public: Any, hidden: Json) -> State:
        return State(hidden)

    def to_act(self, state: State) -> str | None:
        return None if state.over else AGENT

    def intro(self, state: State, seat: str) -> str:
        return "start"

    def render(self, state: State, seat: str) -> str:
        return state.colour if state.asked else "start"

    def hypothesis(self, state: State) -> str:
        return state.colour

    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        return [(1.0, self._step(state, text.strip()))]

    def _step(self, state: State, text: str) -> Step:
        over = text in COLOURS or state.turn + 1 == self.max_turns
        after = State(state.colour, state.turn + 1, state.asked or text == "ask", over)
        if text in COLOURS:
            won = state.asked and text == state.colour
            end = Outcome("win", 1.0) if won else Outcome("loss")
            return Step(after, Frozen({AGENT: "won" if won else "lost"}), Frozen({AGENT: end.score}), Frozen(), end)
        told = Frozen({AGENT: state.colour if text == "ask" else "again"})
        outcome = Outcome("out_of_turns", truncated="turns") if after.over else None
        return Step(after, told, Frozen({AGENT: 0.0}), Frozen(result="asked" if text == "ask" else "invalid"), outcome)

    def reset(self, task: Task, rng: Rng) -> State:
        return State(self.draw(task.public, rng) if task.hidden is None else task.hidden)
