"""A problem that has to be stitched: the good end is shown only to those who began elsewhere.

From `here`, `left` earns .3 at once, and `right` leads to the crossing; so does it from `there`. At the crossing `up`
earns 1 and `down` nothing. In the episodes that are shown, who comes from `here` always goes down, and who comes from
`there` always up. So from `here` the best that any episode shows is .3, and the best there is is 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from sonde.core import AGENT, Action, Frozen, Outcome, ProgramPolicy, Rng, Spec, Step, TabularEnv, Task, TaskList, View
from sonde.core.types import Json

STARTS = ("here", "there")
WORDS = "here there crossing left right up down over"
EARNED = {("here", "left"): 0.3, ("crossing", "up"): 1.0}


class State(NamedTuple):
    place: str
    over: bool = False


@dataclass(frozen=True, kw_only=True)
class Crossing(TabularEnv[State]):
    """See the module. What is no way on ends the game."""

    presets: ClassVar[tuple[str, ...]] = ("plain",)

    preset: str = "plain"

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name=self.name, version="1", summary="cross", preset=self.preset, max_turns=2, reward_range=(0.0, 1.0),
            support="two starts", source="ours", max_new_tokens=2,
        )  # fmt: skip

    def split(self, split: str) -> Sequence[Task]:
        return TaskList(2, lambda i: self._task(STARTS[i], split, i))

    def task(self, hidden: Json) -> Task:
        return self._task(hidden, "custom", 0)

    def _task(self, hidden: Json, split: str, index: int) -> Task:
        return Task(self.name, self.preset, split, index, Frozen(), hidden, Frozen(group="crossing"))

    def prior(self, public: Any) -> Sequence[tuple[float, Json]]:
        return [(0.5, place) for place in STARTS]

    def start(self, public: Any, hidden: Json) -> State:
        return State(str(hidden))

    def reset(self, task: Task, rng: Rng) -> State:
        return State(str(task.hidden))

    def to_act(self, state: State) -> str | None:
        return None if state.over else AGENT

    def intro(self, state: State, seat: str) -> str:
        return state.place

    def render(self, state: State, seat: str) -> str:
        return state.place

    def hypothesis(self, state: State) -> str:
        return state.place

    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        way = text.strip()
        if state.place in STARTS and way == "right":
            return [(1.0, Step(State("crossing"), Frozen({AGENT: "crossing"}), Frozen({AGENT: 0.0})))]
        earned = EARNED.get((state.place, way), 0.0)
        outcome = Outcome("win", earned) if earned == 1.0 else Outcome("loss", earned)
        return [
            (1.0, Step(State(state.place, True), Frozen({AGENT: "over"}), Frozen({AGENT: earned}), Frozen(), outcome))
        ]


@dataclass(frozen=True, kw_only=True)
class Shown(ProgramPolicy):
    """Who comes from `here` goes left or right, and then down; who comes from `there` goes right, and then up."""

    def act_now(self, view: View) -> Action:
        start = view.messages[0].content if view.turn else view.messages[-1].content
        if view.turn == 0:
            return Action("right" if start == "there" or Rng(view.seed).random() < 0.5 else "left")
        return Action("up" if start == "there" else "down")
