"""A custom environment in one file: rules, exact beliefs, contract check, and a game.

    python recipes/own_environment.py              # seconds

The game: find a number from 1 to 32. Each guess is answered with "higher" or "lower", and one answer in ten is wrong.
Source: binary search with random errors (Horstein 1963, "Sequential transmission using noiseless feedback").

A `TabularEnv` lists the possible outcomes of a guess with their probabilities. The list gives both the simulation and
the exact posterior (by Bayes' rule). So agents that maximise information gain can play, and every turn has its gain in
bits. `sonde eval own_environment:NoisySearch --agent entropy` plays it too, in the folder of this file.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import sonde
from sonde import AGENT, Frozen, Outcome, Spec, Step, TabularEnv, Task, TaskList
from sonde.envs._shared.answer import parse_answer, read_answer, tag_answer
from sonde.testing import check_env

NUMBERS = tuple(range(1, 33))
NUMBER_OF = {str(number): number for number in NUMBERS}
SHUFFLED = random.Random(0).sample(NUMBERS, len(NUMBERS))
LIES = 0.1
RULES = """I am thinking of a whole number from 1 to 32. Find it in at most {turns} guesses.
After each guess I say whether my number is higher or lower. One time in ten, at random, I say the opposite.
Answer as <Answer> a number </Answer>."""


class State(NamedTuple):  # a small value
    number: int
    turn: int = 0


@dataclass(frozen=True, kw_only=True)
class NoisySearch(TabularEnv[State]):
    """The fields are the whole configuration; `preset` and `max_turns` are always among them."""

    presets: ClassVar[tuple[str, ...]] = ("classic",)
    preset: str = "classic"
    max_turns: int = 12

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name=self.name, version="1", summary="find a number from answers that are sometimes lies",
            preset=self.preset, max_turns=self.max_turns, reward_range=(0.0, 1.0), support="the numbers 1 to 32",
            source="binary search with random errors (Horstein 1963)", reference="entropy",
        )  # fmt: skip

    # --- tasks: the hidden setup, and the prior over it ---------------------------------------------------------------

    def split(self, split: str) -> Sequence[Task]:
        numbers = SHUFFLED[:20] if split == "train" else SHUFFLED[20:]
        return TaskList(len(numbers), lambda i: self.make_listed_task(split, i, hidden=numbers[i]))

    def task(self, hidden: Any) -> Task:
        if type(hidden) is not int or hidden not in NUMBERS:
            raise sonde.invalid("hidden", hidden, "a whole number from 1 to 32")
        return self.make_listed_task("custom", 0, hidden=hidden)

    def prior(self, public: Mapping[str, Any]) -> Sequence[tuple[float, int]]:
        return [(1 / len(NUMBERS), number) for number in NUMBERS]

    def start(self, public: Mapping[str, Any], hidden: int) -> State:
        return State(hidden)

    def hypothesis(self, state: State) -> int:
        return state.number

    # --- turns: the possible outcomes of a text, with probabilities ---------------------------------------------------

    def intro(self, state: State, seat: str) -> str:
        return RULES.format(turns=self.max_turns)

    def to_act(self, state: State) -> str | None:
        return AGENT if state.turn < self.max_turns else None

    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        guess = parse_answer(text, NUMBER_OF.get)  # reads the answer tag, not the thoughts
        if guess is None and read_answer(text) is not None:
            return [(1.0, self._go_on(state, "That is no number from 1 to 32.", result="invalid"))]
        if guess is None:
            told = Frozen({AGENT: "I found no <Answer> ... </Answer>, so the game ends here."})
            return [(1.0, Step(state, told, info=Frozen(result="unreadable"), outcome=Outcome("unreadable")))]
        if guess == state.number:
            told, rewards = Frozen({AGENT: f"{guess} is my number."}), Frozen({AGENT: 1.0})
            return [(1.0, Step(state, told, rewards, Frozen(result="win", guess=guess), Outcome("win", 1.0)))]
        truth, lie = ("higher", "lower") if state.number > guess else ("lower", "higher")
        chances = ((1 - LIES, truth), (LIES, lie))
        return [(p, self._go_on(state, f"It is {word}.", result=word, guess=guess)) for p, word in chances]

    def _go_on(self, state: State, told: str, **info: Any) -> Step:
        after = State(state.number, state.turn + 1)
        outcome = None if after.turn < self.max_turns else Outcome("out_of_turns", truncated="turns")
        words = f"{told} Guesses left: {self.max_turns - after.turn}."
        return Step(after, Frozen({AGENT: words}), info=Frozen(info), outcome=outcome)

    def actions(self, state: State) -> Sequence[str]:
        return [str(number) for number in NUMBERS]

    def say(self, answer: str) -> str:
        return tag_answer(answer)


if __name__ == "__main__":
    env = NoisySearch()
    check_env(env)  # purity, replay, hostile text, the posterior against simulation, ...
    print("the environment satisfies the contract")
    agent = sonde.make("agents:entropy")  # works for any filter: asks the question with the highest expected gain
    ep = sonde.Episode.begin(env, env.task(23), seed=0)
    while ep.to_act is not None:
        ep = ep.step(agent.act_now(ep.view()))
        print(ep.turns[-1].text, ep.turns[-1].told)
    print("bits per turn:", *(f"{bits:.2f}" for bits in ep.information_gain() or ()))
