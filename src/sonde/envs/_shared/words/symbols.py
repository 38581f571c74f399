"""Secrets entered one symbol at a time: the common part of the combination lock and letter Wordle.

Source: Toward Efficient Exploration by LLM Agents, section 4.3. A sub-episode enters one symbol for each place of a
secret without repeated symbols, and each is judged at once: right place, other place, or absent. A sub-episode whose
symbols are all right pays 1 and ends the episode, because optimal play from there on costs no regret. Symbols may be
repeated, and any string may be entered.

As a decision problem, a sub-episode has the states `1` to `H` (all right so far, place i is next), `off` (some symbol
was wrong, so this attempt pays nothing) and `solved`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from sonde.core import AGENT, EMPTY, Belief, Filter, Frozen, Outcome, Rng, Step, TabularEnv, Turn
from sonde.core.types import Json

from ..answer import AnswerTags, parse_answer, read_answer, tagged
from ..partition import bits
from ..prompts import pieces
from ..rounds import checked_turns, fact

if TYPE_CHECKING:
    from ..finite import Floats, Problem, World

OFF, SOLVED = "off", "solved"
_WIN = Frozen({AGENT: 1.0})


class State(NamedTuple):
    """The secret, the symbols entered so far in all sub-episodes, and whether those of the current one are all
    right."""

    code: str
    turn: int = 0
    right: bool = True


def mark(code: str, place: int, symbol: str) -> str:
    """g (right place), y (other place) or b (absent).

    >>> mark("427", 1, "2"), mark("427", 0, "2"), mark("427", 0, "5")
    ('g', 'y', 'b')
    """
    return "g" if code[place] == symbol else "y" if symbol in code else "b"


@dataclass(frozen=True, kw_only=True)
class Spelling(TabularEnv[State], AnswerTags):
    """The rules. Subclasses supply `spec`, the tasks, `symbols`, `codes` and their texts."""

    length: int
    sub_episodes: int
    max_turns: int | None = None

    @property
    def h(self) -> int:
        """The length of the secret, which is the number of steps of a sub-episode."""
        return self.length

    def check_turns(self) -> None:
        """Raise `UserError` if `sub_episodes` or `max_turns` do not allow an episode with secrets of this length."""
        checked_turns(self.name, self.max_turns, self.h, self.sub_episodes)

    @cached_property
    @abstractmethod
    def symbols(self) -> tuple[str, ...]:
        """The symbols that may be entered."""

    @abstractmethod
    def codes(self) -> tuple[str, ...]:
        """Every secret, the same for all tasks."""

    @cached_property
    def turns(self) -> int:
        """Steps of the episode."""
        return checked_turns(self.name, self.max_turns, self.h, self.sub_episodes)

    @cached_property
    def rounds(self) -> int:
        """Number of sub-episodes; `max_turns` may cut the last one short."""
        return -(-self.turns // self.h)

    def start(self, public: Mapping[str, Json], hidden: Json) -> State:
        return State(hidden)

    def prior(self, public: Mapping[str, Json]) -> Sequence[tuple[float, Json]]:
        codes = self.codes()
        return [(1.0 / len(codes), code) for code in codes]

    def to_act(self, state: State) -> str | None:
        return AGENT if state.turn < self.turns else None

    def hypothesis(self, state: State) -> str:
        return state.code

    def intro(self, state: State, seat: str) -> str:
        told = pieces(self.name)["intro"].format(length=self.h, rounds=self.rounds)
        return f"{told}\n\n{self._now(0)}"

    def outcomes(self, state: State, text: str) -> Sequence[tuple[float, Step]]:
        return [(1.0, self.step(state, text, Rng(0)))]

    def step(self, state: State, text: str, rng: Rng) -> Step:
        symbol = self._named(text)
        if symbol is None:
            return self._unread(state, text)
        code, turn, right = state
        place = turn % self.h
        seen = mark(code, place, symbol)
        right_now = right and seen == "g"
        here, after = self._label(place, right), self._label(place + 1, right_now)
        reward = 1.0 if after == SOLVED else 0.0
        info = fact("step", turn, self.h, here, symbol, reward, after) | {"mark": seen}
        told = _said(self.name, symbol, place + 1, seen)
        if reward:
            told = Frozen({AGENT: f"{told}\n{pieces(self.name)['win']}"})
            return Step(State(code, self.turns, True), told, _WIN, Frozen(info), Outcome("win", 1.0))
        return self._next(State(code, turn + 1, right_now), told, Frozen(info))

    def _label(self, place: int, right: bool) -> str:
        if not right:
            return OFF
        return SOLVED if place == self.h else str(place + 1)

    def _named(self, text: str) -> str | None:
        """The symbol that a text names; None if it names none."""
        return parse_answer(text, self._symbol, which=self.which_answer)

    def _symbol(self, answer: str) -> str | None:
        symbol = answer.lower()
        return symbol if symbol in self.symbols and answer.isascii() else None

    def _unread(self, state: State, text: str) -> Step:
        """An answer that names no symbol leaves its place empty; a reply without an answer ends the episode."""
        say, here = pieces(self.name), self._label(state.turn % self.h, state.right)
        if read_answer(text) is None:
            info, told = fact("format", state.turn, self.h, here, None, 0.0, here), Frozen({AGENT: say["format"]})
            return Step(state._replace(turn=self.turns), told, info=info, outcome=Outcome("format"))
        info = fact("invalid", state.turn, self.h, here, None, 0.0, OFF)
        return self._next(State(state.code, state.turn + 1, False), say["invalid"], info)

    def _next(self, after: State, told: str, info: Frozen[Any]) -> Step:
        if after.turn == self.turns:
            ended = Frozen({AGENT: f"{told}\n{pieces(self.name)['timeout']}"})
            return Step(after, ended, EMPTY, info, Outcome("timeout", truncated="turns"))
        if after.turn % self.h == 0:
            after = State(after.code, after.turn)
        return Step(after, Frozen({AGENT: f"{told}\n{self._now(after.turn)}"}), EMPTY, info)

    def _now(self, turn: int) -> str:
        round_, place = divmod(turn, self.h)
        return _clock(self.name, round_, place + 1, self.rounds, self.h)

    def actions(self, state: State) -> Sequence[str] | None:
        return self.symbols

    def say(self, answer: str) -> str:
        return tagged(answer)

    # --- the decision problem ----------------------------------------------------------------------------------------

    def model(self, public: Mapping[str, Json]) -> Problem:
        """The decision problem of every task."""
        return self._problem

    @cached_property
    def _problem(self) -> Problem:
        from ..finite import Problem

        states = (*(str(i + 1) for i in range(self.h)), OFF, SOLVED)
        return Problem("code", states, self.symbols, self.h, self.rounds, "1")

    def world(self, state: State) -> World:
        """The tables behind a state of an episode."""
        return code_world(self.model({}), state.code)

    def optimal_value(self, state: State) -> float:
        """Expected return of optimal play over one sub-episode: 1, by entering the secret."""
        from ..finite import best_value

        return best_value(self.model({}), self.world(state))

    def filter(self, public: Mapping[str, Json]) -> SpellingFilter:
        return _prior(self)


@lru_cache(maxsize=64)
def _prior(env: Spelling) -> SpellingFilter:
    codes = env.codes()
    game = Game(env.model({}), codes, {c: i for i, c in enumerate(codes)}, _masks(codes, env.symbols), env._named)  # pyright: ignore[reportPrivateUsage]
    return SpellingFilter(game, (1 << len(codes)) - 1)


@lru_cache(maxsize=4096)
def _said(env: str, symbol: str, place: int, seen: str) -> str:
    return pieces(env)[seen].format(symbol=symbol, place=place)


@lru_cache(maxsize=4096)
def _clock(env: str, round_: int, place: int, rounds: int, length: int) -> str:
    piece = "first" if place == 1 and round_ == 0 else "round" if place == 1 else "step"
    return pieces(env)[piece].format(done=round_, round=round_ + 1, rounds=rounds, place=place, length=length)


def code_world(problem: Problem, code: str) -> World:
    """The tables of a secret, in the order of the problem's labels."""
    import numpy as np

    from ..finite import World

    n, m = len(problem.states), len(problem.actions)
    transition, reward = np.zeros((n, m, n)), np.zeros((n, m))
    off, solved = problem.states.index(OFF), problem.states.index(SOLVED)
    transition[:, :, off] = 1.0
    transition[solved] = np.eye(n)[solved]
    for place, symbol in enumerate(code):
        right = problem.actions.index(symbol)
        transition[place, right] = np.eye(n)[solved if place + 1 == len(code) else place + 1]
    reward[len(code) - 1, problem.actions.index(code[-1])] = 1.0
    return World(transition, reward)


# --- exact beliefs ---------------------------------------------------------------------------------------------------


class Masks(NamedTuple):
    """Sets of secrets as bits: those with a symbol in a place, `(symbol, place)`, and those that contain it
    anywhere."""

    at: Mapping[tuple[str, int], int]
    has: Mapping[str, int]

    def fits(self, symbol: str, place: int, seen: str) -> int:
        """The secrets that would produce this mark."""
        here, anywhere = self.at[symbol, place], self.has[symbol]
        return here if seen == "g" else anywhere & ~here if seen == "y" else ~anywhere


def _masks(codes: Sequence[str], symbols: Sequence[str]) -> Masks:
    at = {(s, p): 0 for s in symbols for p in range(len(codes[0]))}
    for i, code in enumerate(codes):
        for place, symbol in enumerate(code):
            at[symbol, place] |= 1 << i
    has = dict.fromkeys(symbols, 0)
    for (symbol, _), mask in at.items():
        has[symbol] |= mask
    return Masks(at, has)


class Game(NamedTuple):
    """The constants of an episode."""

    problem: Problem
    codes: tuple[str, ...]
    numbers: Mapping[str, int]
    masks: Masks
    parse: Callable[[str], str | None]


class SpellingFilter(Filter):
    """The exact posterior: uniform over the secrets that fit every mark. `alive` holds them as bits."""

    def __init__(self, game: Game, alive: int, turn: int = 0, right: bool = True) -> None:
        self.game, self.alive, self.turn, self.right = game, alive, turn, right

    @property
    def problem(self) -> Problem:
        return self.game.problem

    @property
    def place(self) -> int:
        """The place to enter next, from 0."""
        return self.turn % self.problem.horizon

    def observe(self, turn: Turn) -> SpellingFilter:
        info, alive, clock = turn.info, self.alive, self.turn + 1
        if info["action"] is not None:
            alive &= self.game.masks.fits(info["action"], self.place, info["mark"])
        right = clock % self.problem.horizon == 0 or info["next"] != OFF
        return SpellingFilter(self.game, alive, clock, right)

    @cached_property
    def left(self) -> tuple[str, ...]:
        """The possible secrets."""
        return tuple(self.game.codes[i] for i in bits(self.alive))

    def belief(self) -> Belief:
        n = self.alive.bit_count()
        return Belief(self.left, (1.0 / n,) * n, math.log2(n))

    @property
    def entropy(self) -> float:
        return math.log2(self.alive.bit_count())

    def prob(self, hypothesis: Any) -> float:
        i = self.game.numbers.get(hypothesis)
        return 0.0 if i is None or not self.alive >> i & 1 else 1.0 / self.alive.bit_count()

    def expected_gain(self, action: str) -> float:
        symbol = self.game.parse(action)
        return 0.0 if symbol is None else self._gain(symbol)

    def _gain(self, symbol: str) -> float:
        """The entropy of the mark, which the secret determines."""
        n, masks = self.alive.bit_count(), self.game.masks
        here = (self.alive & masks.at[symbol, self.place]).bit_count()
        anywhere = (self.alive & masks.has[symbol]).bit_count()
        return -sum(c / n * math.log2(c / n) for c in (here, anywhere - here, n - anywhere) if c) + 0.0

    def best_question(self) -> tuple[str, float]:
        """The symbol of highest expected gain; ties prefer the one most likely to be right, then the first."""
        scored = [(round(self._gain(s), 12), self._chance(s)) for s in self.problem.actions]
        best = self.problem.actions[scored.index(max(scored))]
        return best, self._gain(best)

    def _chance(self, symbol: str) -> float:
        """The probability that the symbol is right in the place to enter next."""
        return (self.alive & self.game.masks.at[symbol, self.place]).bit_count() / self.alive.bit_count()

    # --- for agents that explore (finite.Explored) -------------------------------------------------------------------

    def sample(self, rng: Rng) -> str:
        return self.left[rng.randrange(len(self.left))]

    def world(self, hypothesis: str) -> World:
        return code_world(self.problem, hypothesis)

    @cached_property
    def expected_gains(self) -> Floats:
        import numpy as np

        return np.array([self._gain(s) for s in self.problem.actions])

    @cached_property
    def expected_regrets(self) -> Floats:
        """1 - P(the symbol is right) while the attempt can still succeed, then 0, because nothing is left to lose."""
        import numpy as np

        chances = [self._chance(s) if self.right else 1.0 for s in self.problem.actions]
        return 1.0 - np.array(chances)
