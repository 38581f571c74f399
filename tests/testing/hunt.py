"""A sound little game, for tests of the contract to break."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from sonde.core import (
    AGENT,
    Frozen,
    Outcome,
    Spec,
    Step,
    TabularEnv,
    Task,
    TaskList,
    invalid,
    unknown,
)

WORDS = tuple(f"w{a}{b}" for a in "aeiouy" for b in "klmnpr")


class State(NamedTuple):
    word: str
    turn: int = 0


@dataclass(frozen=True, kw_only=True)
class Hunt(TabularEnv[State]):
    """Find a word; a miss says whether it comes earlier or later, one time in four nothing. A sound environment."""

    presets: ClassVar[tuple[str, ...]] = ("small",)
    preset: str = "small"
    max_turns: int = 8

    def __post_init__(self) -> None:
        if self.preset not in self.presets:
            raise unknown("hunt: preset", self.preset, self.presets)
        if self.max_turns < 1:
            raise invalid("hunt: max_turns", self.max_turns, "1 or more")

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name=self.name, version="1", summary="find a word", preset=self.preset, max_turns=self.max_turns,
            reward_range=(0.0, 1.0), support="36 words", source="this file", reference="entropy",
        )  # fmt: skip

    def split(self, split: str) -> Sequence[Task]:
        words = WORDS[::2] if split == "train" else WORDS[1::2]
        return TaskList(len(words), lambda i: self._task(words[i], split, i))

    def task(self, hidden: Any) -> Task:
        if hidden not in WORDS:
            raise invalid("hunt: hidden", hidden, "a word")
        return self._task(hidden, "custom", 0)

    def _task(self, word: Any, split: str, index: int) -> Task:
        return Task(self.name, self.preset, split, index, Frozen(n=len(WORDS)), word)

    def start(self, public: Mapping[str, Any], hidden: Any) -> State:
        return State(hidden)

    def prior(self, public: Mapping[str, Any]) -> Sequence[tuple[float, Any]]:
        return [(1 / len(WORDS), word) for word in WORDS]

    def to_act(self, state: State) -> str | None:
        return AGENT if state.turn < self.max_turns else None

    def intro(self, state: State, seat: str) -> str:
        return "Find my word."

    def hypothesis(self, state: State) -> str:
        return state.word

    def actions(self, state: State) -> Sequence[str] | None:
        return WORDS

    def say(self, answer: str) -> str:
        return f"<Answer>{answer}</Answer>"

    def read(self, text: str) -> str | None:
        start = text.startswith("<Answer>") and text.endswith("</Answer>")
        return text[8:-9].strip() if start else None

    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        guess = self.read(text)
        after = State(state.word, state.turn + 1)
        if guess is None:
            told, info = Frozen({AGENT: "No answer."}), Frozen(result="unreadable")
            return [(1.0, Step(State(state.word, self.max_turns), told, info=info, outcome=Outcome("unreadable")))]
        if guess == state.word:
            told, reward, info = Frozen({AGENT: "Yes."}), Frozen({AGENT: self.prize}), Frozen(result="win")
            return [(1.0, Step(State(state.word, self.max_turns), told, reward, info, Outcome("win", 1.0)))]
        outcome = Outcome("out_of_turns", truncated="turns") if after.turn == self.max_turns else None
        if guess not in WORDS:
            told, info = Frozen({AGENT: "No word."}), Frozen(result="invalid")
            return [(1.0, Step(after, told, info=info, outcome=outcome))]
        where = "earlier" if state.word < guess else "later"
        return [
            (0.75, Step(after, Frozen({AGENT: f"It comes {where}."}), info=Frozen(result=where), outcome=outcome)),
            (0.25, Step(after, Frozen({AGENT: "No."}), info=Frozen(result="no"), outcome=outcome)),
        ]

    prize: ClassVar[float] = 1.0


def told(step: Step, text: str) -> Step:
    return step._replace(told=Frozen({AGENT: text}))
