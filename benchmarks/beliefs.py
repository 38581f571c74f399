"""The exact posterior of an environment without arrays of its own: CPU per turn, and per check of its contract.

    python benchmarks/beliefs.py [--episodes 40] [--memoryless]

The game is bulls and cows with lies: 120 codes of three different digits, as many guesses, and one answer in five
drawn from the other possible answers. Nothing is ruled out by a lie, so every turn weighs 120 hypotheses against 120
questions, each with nine possible answers. Play is random, so that hardly two histories are equal. Prints the CPU time
of the exact gains and the best question per turn, for the first episode (which lists the outcomes) and for the others,
and that of `check_env`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import Any, ClassVar, NamedTuple

import sonde
from sonde import AGENT, Episode, Frozen, Outcome, Spec, Step, TabularEnv, Task, TaskList
from sonde.core import information_gains
from sonde.envs._shared.answer import parse_answer, read_answer, tag_answer
from sonde.testing import check_env

CODES = tuple("".join(digits) for digits in permutations("123456", 3))
CODE_OF = {code: code for code in CODES}
ANSWERS = tuple((bulls, cows) for bulls in range(4) for cows in range(4 - bulls) if (bulls, cows) != (3, 0))


class State(NamedTuple):
    code: str
    turn: int = 0


@dataclass(frozen=True, kw_only=True)
class LyingCows(TabularEnv[State]):
    """Bulls and cows with lies."""

    presets: ClassVar[tuple[str, ...]] = ("classic",)
    preset: str = "classic"
    max_turns: int = 10
    lies: float = 0.2

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name=self.name, version="1", summary="find a code from answers that are sometimes lies", preset=self.preset,
            max_turns=self.max_turns, reward_range=(0.0, 1.0), support="120 codes", source="ours", reference="entropy",
        )  # fmt: skip

    def split(self, split: str) -> Sequence[Task]:
        codes = CODES[::2] if split == "train" else CODES[1::2]
        return TaskList(len(codes), lambda i: self.make_listed_task(split, i, hidden=codes[i]))

    def task(self, hidden: Any) -> Task:
        if not isinstance(hidden, str) or hidden not in CODE_OF:
            raise sonde.invalid("hidden", hidden, "three different digits from 1 to 6")
        return self.make_listed_task("custom", 0, hidden=hidden)

    def prior(self, public: Mapping[str, Any]) -> Sequence[tuple[float, str]]:
        return [(1 / len(CODES), code) for code in CODES]

    def start(self, public: Mapping[str, Any], hidden: str) -> State:
        return State(hidden)

    def hypothesis(self, state: State) -> str:
        return state.code

    def intro(self, state: State, seat: str) -> str:
        return f"Find three different digits from 1 to 6 in {self.max_turns} guesses: <Answer>123</Answer>."

    def to_act(self, state: State) -> str | None:
        return AGENT if state.turn < self.max_turns else None

    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        guess = parse_answer(text, CODE_OF.get)
        if guess is None and read_answer(text) is not None:
            return [(1.0, self._go_on(state, "That is no code.", result="invalid"))]
        if guess is None:
            told = Frozen({AGENT: "I found no <Answer> ... </Answer>, so the game ends here."})
            return [(1.0, Step(state, told, info=Frozen(result="unreadable"), outcome=Outcome("unreadable")))]
        if guess == state.code:
            told, rewards = Frozen({AGENT: f"{guess} is the code."}), Frozen({AGENT: 1.0})
            return [(1.0, Step(state, told, rewards, Frozen(result="win", guess=guess), Outcome("win", 1.0)))]
        true = score_guess(state.code, guess)
        others = [answer for answer in ANSWERS if answer != true]
        rows = [(1.0 - self.lies, true), *((self.lies / len(others), answer) for answer in others)]
        return [(p, self._go_on(state, f"{b} bulls, {c} cows.", result="answer", guess=guess)) for p, (b, c) in rows]

    def _go_on(self, state: State, told: str, **info: Any) -> Step:
        after = State(state.code, state.turn + 1)
        outcome = None if after.turn < self.max_turns else Outcome("out_of_turns", truncated="turns")
        words = f"{told} Guesses left: {self.max_turns - after.turn}."
        return Step(after, Frozen({AGENT: words}), info=Frozen(info), outcome=outcome)

    def actions(self, state: State) -> Sequence[str]:
        return CODES

    def say(self, answer: str) -> str:
        return tag_answer(answer)


class MemorylessCows(LyingCows):
    """The same, declared to be memoryless."""

    memoryless: ClassVar[bool] = True


def score_guess(code: str, guess: str) -> tuple[int, int]:
    """Digits in their place, and other digits that occur."""
    bulls = sum(a == b for a, b in zip(code, guess, strict=True))
    return bulls, len({*code} & {*guess}) - bulls


def play_episode(env: LyingCows, seed: int) -> Episode:
    agent, tasks = sonde.make("agents:random"), env.tasks("test")
    ep = Episode.begin(env, tasks[seed % len(tasks)], seed=seed)
    while ep.to_act is not None:
        ep = ep.step(agent.act_now(ep.view()))
    return ep


def measure_cpu(work: Callable[[], object]) -> float:
    """CPU seconds of a call."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def measure_gains(env: LyingCows, episodes: Sequence[Episode]) -> float:
    """CPU milliseconds per turn of exact gains with the best question."""
    seconds = measure_cpu(
        lambda: [
            information_gains(env.filter(ep.task.public), ep.turns, ep.task.hidden, expected=True)  # type: ignore[arg-type]
            for ep in episodes
        ]
    )
    return 1000 * seconds / sum(len(ep.turns) for ep in episodes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=40, help="episodes of ten turns (default 40)")
    parser.add_argument("--memoryless", action="store_true", help="declare the game memoryless")
    given = parser.parse_args()
    env = MemorylessCows() if given.memoryless else LyingCows()
    episodes = [play_episode(env, seed) for seed in range(given.episodes)]
    print(f"first episode: {measure_gains(env, episodes[:1]):.1f} ms a turn")
    print(f"the others:    {measure_gains(env, episodes[1:]):.1f} ms a turn")
    print(f"check_env:     {measure_cpu(lambda: check_env(env)):.1f} s")


if __name__ == "__main__":
    main()
