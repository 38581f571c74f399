"""The contract where others sit at the table: their policies play, and must not say what the agent may not know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import pytest

from sonde.core import (
    AGENT,
    Action,
    ContractError,
    Env,
    Frozen,
    Outcome,
    ProgramPolicy,
    Rng,
    Spec,
    Step,
    Task,
    TaskList,
    View,
    invalid,
    unknown,
)
from sonde.testing import check_env

WORDS = tuple(f"w{a}{b}" for a in "aeiouy" for b in "klmnpr")


class Talk(NamedTuple):
    word: str
    asked: int = 0
    listening: bool = True


@dataclass(frozen=True, kw_only=True)
class Refereed(Env[Talk]):
    """Find a word by asking a user who knows it. A sound environment of two seats, without a list of outcomes."""

    presets: ClassVar[tuple[str, ...]] = ("small",)
    preset: str = "small"
    max_turns: int = 4
    looks: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.preset not in self.presets:
            raise unknown("refereed: preset", self.preset, self.presets)
        if self.max_turns < 1:
            raise invalid("refereed: max_turns", self.max_turns, "1 or more")

    def split(self, split: str) -> Sequence[Task]:
        words = WORDS[::2] if split == "train" else WORDS[1::2]
        return TaskList(len(words), lambda i: Task(self.name, self.preset, split, i, Frozen(n=36), words[i]))

    def task(self, hidden: Any) -> Task:
        if hidden not in WORDS:
            raise invalid("refereed: hidden", hidden, "a word")
        return Task(self.name, self.preset, "custom", 0, Frozen(n=36), hidden)

    def actions(self, state: Talk) -> Sequence[str] | None:
        return WORDS

    def say(self, answer: str) -> str:
        return f"<Answer>{answer}</Answer>"

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name=self.name, version="1", summary="find a word by asking", preset=self.preset, max_turns=self.max_turns,
            reward_range=(0.0, 1.0), support="36 words", source="this file", seats=Frozen({AGENT: None, "user": None}),
        )  # fmt: skip

    def reset(self, task: Task, rng: Rng) -> Talk:
        return Talk(task.hidden)

    def to_act(self, state: Talk) -> str | None:
        return None if state.asked > self.max_turns else AGENT if state.listening else "user"

    def intro(self, state: Talk, seat: str) -> str:
        return "Ask for the word." if seat == AGENT else ""

    def private(self, state: Talk, seat: str) -> Mapping[str, Any]:
        return Frozen(word=state.word) if seat == "user" or not self.looks else Frozen()

    def hypothesis(self, state: Talk) -> str:
        return state.word

    def step(self, state: Talk, text: str, rng: Rng) -> Step:
        if not state.listening:
            over = state.asked == self.max_turns
            outcome = Outcome("out_of_turns", truncated="turns") if over else None
            return Step(Talk(state.word, state.asked), Frozen({AGENT: text}), outcome=outcome)
        if text == self.say(state.word):
            end = Talk(state.word, self.max_turns + 1)
            return Step(end, Frozen({AGENT: "Yes."}), Frozen({AGENT: 1.0}), outcome=Outcome("win", 1.0))
        guess = text[8:11] if text[8:11] in WORDS else "nothing"
        return Step(Talk(state.word, state.asked + 1, False), Frozen({"user": f"The agent says {guess}."}))


@dataclass(frozen=True, kw_only=True)
class Overheard(Refereed):
    """Shows the agent what only the user may see."""

    looks: ClassVar[bool] = False


@dataclass(frozen=True, kw_only=True)
class Umpire(ProgramPolicy):
    """Says whether the word is the one it knows."""

    def act_now(self, view: View) -> Action:
        said = view.messages[-1].content.split()[-1]
        return Action("It is earlier." if view.private["word"] < said else "It is later.")


@dataclass(frozen=True, kw_only=True)
class Blabbing(ProgramPolicy):
    def act_now(self, view: View) -> Action:
        return Action(f"It is {view.private['word']}!")


def test_other_seats_are_played_by_the_policies_given() -> None:
    check_env(Refereed(), episodes=40, policies={"user": Umpire()})
    with pytest.raises(ContractError, match="private depends on what is hidden"):
        check_env(Overheard(), episodes=40, policies={"user": Umpire()})
    with pytest.raises(ContractError, match="is told the hidden answer"):
        check_env(Refereed(), episodes=40, policies={"user": Blabbing()})
    with pytest.raises(ContractError, match="seat 'user': check_env needs a ProgramPolicy"):
        check_env(Refereed(), episodes=2)
