"""Secrets entered one symbol at a time: the common part of the combination lock and letter Wordle.

Source: Toward Efficient Exploration by LLM Agents, section 4.3. A sub-episode enters one symbol for each place of a
secret without repeated symbols, and each is judged at once: right place, other place, or absent. A sub-episode with
only right symbols pays 1 and ends the episode, because optimal play from there on has no regret. Symbols may be
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
from sonde.core.tools import choice_schema
from sonde.core.types import Json

from ..answer import AnswerTags, parse_answer, read_answer, tag_answer
from ..partition import mask_bits
from ..rounds import check_turn_count, step_facts

if TYPE_CHECKING:
    from ..finite import FiniteProblem, Floats, World

OFF, SOLVED = "off", "solved"
_WIN = Frozen({AGENT: 1.0})


class SpellingState(NamedTuple):
    """The secret, the symbols entered so far in all sub-episodes, and whether those of the current one are all
    right."""

    code: str
    turn: int = 0
    right: bool = True


def mark_symbol(code: str, place: int, symbol: str) -> str:
    """g (right place), y (other place) or b (absent).

    >>> mark_symbol("427", 1, "2"), mark_symbol("427", 0, "2"), mark_symbol("427", 0, "5")
    ('g', 'y', 'b')
    """
    return "g" if code[place] == symbol else "y" if symbol in code else "b"


@dataclass(frozen=True, kw_only=True)
class Spelling(TabularEnv[SpellingState], AnswerTags):
    """The rules. Subclasses supply `spec`, the tasks, `allowed_symbols`, `all_codes` and their texts."""

    length: int
    sub_episodes: int
    max_turns: int | None = None

    @property
    def place_count(self) -> int:
        """The length of the secret, which is the number of steps of a sub-episode."""
        return self.length

    def check_turns(self) -> None:
        """Raise `UserError` if `sub_episodes` or `max_turns` do not allow an episode with secrets of this length."""
        check_turn_count(self.name, self.max_turns, self.place_count, self.sub_episodes)

    @cached_property
    @abstractmethod
    def allowed_symbols(self) -> tuple[str, ...]:
        """The symbols that may be entered."""

    @abstractmethod
    def all_codes(self) -> tuple[str, ...]:
        """Every secret, the same for all tasks."""

    @cached_property
    def turns(self) -> int:
        """Steps of the episode."""
        return check_turn_count(self.name, self.max_turns, self.place_count, self.sub_episodes)

    @cached_property
    def round_count(self) -> int:
        """Number of sub-episodes; `max_turns` may cut the last one short."""
        return -(-self.turns // self.place_count)

    def start(self, public: Mapping[str, Json], hidden: Json) -> SpellingState:
        return SpellingState(hidden)

    def prior(self, public: Mapping[str, Json]) -> Sequence[tuple[float, Json]]:
        codes = self.all_codes()
        return [(1.0 / len(codes), code) for code in codes]

    def to_act(self, state: SpellingState) -> str | None:
        return AGENT if state.turn < self.turns else None

    def hypothesis(self, state: SpellingState) -> str:
        return state.code

    def intro(self, state: SpellingState, seat: str) -> str:
        told = self.prompt_pieces(self.name)["intro"].format(length=self.place_count, rounds=self.round_count)
        return f"{told}\n\n{self._position_text(0)}"

    def outcomes(self, state: SpellingState, text: str) -> Sequence[tuple[float, Step]]:
        return [(1.0, self.step(state, text, Rng(0)))]

    def step(self, state: SpellingState, text: str, rng: Rng) -> Step:
        symbol = self._parse_symbol(text)
        if symbol is None:
            return self._reject_answer(state, text)
        code, turn, right = state
        place = turn % self.place_count
        seen = mark_symbol(code, place, symbol)
        right_now = right and seen == "g"
        here, after = self._state_label(place, right), self._state_label(place + 1, right_now)
        reward = 1.0 if after == SOLVED else 0.0
        info = step_facts("step", turn, self.place_count, here, symbol, reward, after) | {"mark": seen}
        told = _mark_text(self.prompt_pieces(self.name)[seen], symbol, place + 1)
        if reward:
            told = Frozen({AGENT: f"{told}\n{self.prompt_pieces(self.name)['win']}"})
            return Step(SpellingState(code, self.turns, True), told, _WIN, Frozen(info), Outcome("win", 1.0))
        return self._end_turn(SpellingState(code, turn + 1, right_now), told, Frozen(info))

    def _state_label(self, place: int, right: bool) -> str:
        if not right:
            return OFF
        return SOLVED if place == self.place_count else str(place + 1)

    def _parse_symbol(self, text: str) -> str | None:
        """The symbol that a text names; None if it names none."""
        return parse_answer(text, self._match_symbol, which=self.which_answer)

    def _match_symbol(self, answer: str) -> str | None:
        symbol = answer.lower()
        return symbol if symbol in self.allowed_symbols and answer.isascii() else None

    def _reject_answer(self, state: SpellingState, text: str) -> Step:
        """An answer that names no symbol leaves its place empty; a reply without an answer ends the episode."""
        say, here = self.prompt_pieces(self.name), self._state_label(state.turn % self.place_count, state.right)
        if read_answer(text) is None:
            info, told = (
                step_facts("unreadable", state.turn, self.place_count, here, None, 0.0, here),
                Frozen({AGENT: say["format"]}),
            )
            return Step(state._replace(turn=self.turns), told, info=info, outcome=Outcome("unreadable"))
        info = step_facts("invalid", state.turn, self.place_count, here, None, 0.0, OFF)
        return self._end_turn(SpellingState(state.code, state.turn + 1, False), say["invalid"], info)

    def _end_turn(self, after: SpellingState, told: str, info: Frozen[Any]) -> Step:
        if after.turn == self.turns:
            ended = Frozen({AGENT: f"{told}\n{self.prompt_pieces(self.name)['timeout']}"})
            return Step(after, ended, EMPTY, info, Outcome("out_of_turns", truncated="turns"))
        if after.turn % self.place_count == 0:
            after = SpellingState(after.code, after.turn)
        return Step(after, Frozen({AGENT: f"{told}\n{self._position_text(after.turn)}"}), EMPTY, info)

    def _position_text(self, turn: int) -> str:
        round_, place = divmod(turn, self.place_count)
        piece = "first" if place == 0 and round_ == 0 else "round" if place == 0 else "step"
        text = self.prompt_pieces(self.name)[piece]
        return _clock_text(text, round_, place + 1, self.round_count, self.place_count)

    def actions(self, state: SpellingState) -> Sequence[str] | None:
        return self.allowed_symbols

    def answer_schema(self, public: Mapping[str, Json]) -> Mapping[str, Json] | None:
        return choice_schema(self.allowed_symbols, "The symbol for this place.")

    def say(self, answer: str) -> str:
        return tag_answer(answer)

    # --- the decision problem ----------------------------------------------------------------------------------------

    def decision_problem(self, public: Mapping[str, Json]) -> FiniteProblem:
        """The decision problem of every task."""
        return self._code_problem

    @cached_property
    def _code_problem(self) -> FiniteProblem:
        from ..finite import FiniteProblem

        states = (*(str(i + 1) for i in range(self.place_count)), OFF, SOLVED)
        return FiniteProblem("code", states, self.allowed_symbols, self.place_count, self.round_count, "1")

    def world(self, state: SpellingState) -> World:
        """The tables of the world behind a state of an episode."""
        return code_world(self.decision_problem({}), state.code)

    def optimal_value(self, state: SpellingState) -> float:
        """Expected return of optimal play over one sub-episode: 1, by entering the secret."""
        from ..finite import best_value

        return best_value(self.decision_problem({}), self.world(state))

    def filter(self, public: Mapping[str, Json]) -> SpellingFilter:
        return _prior(self)


@lru_cache(maxsize=64)
def _prior(env: Spelling) -> SpellingFilter:
    codes = env.all_codes()
    game = SpellingGame(
        env.decision_problem({}),
        codes,
        {c: i for i, c in enumerate(codes)},
        _code_masks(codes, env.allowed_symbols),
        env._parse_symbol,  # pyright: ignore[reportPrivateUsage]
    )
    return SpellingFilter(game, (1 << len(codes)) - 1)


@lru_cache(maxsize=4096)
def _mark_text(text: str, symbol: str, place: int) -> str:
    return text.format(symbol=symbol, place=place)


@lru_cache(maxsize=4096)
def _clock_text(text: str, round_: int, place: int, rounds: int, length: int) -> str:
    return text.format(done=round_, round=round_ + 1, rounds=rounds, place=place, length=length)


def code_world(problem: FiniteProblem, code: str) -> World:
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


class CodeMasks(NamedTuple):
    """Sets of secrets as bits: those with a symbol in a place, `(symbol, next_place)`, and those that contain it
    anywhere."""

    at: Mapping[tuple[str, int], int]
    has: Mapping[str, int]

    def matching_codes(self, symbol: str, place: int, seen: str) -> int:
        """The secrets that would produce this mark."""
        here, anywhere = self.at[symbol, place], self.has[symbol]
        return here if seen == "g" else anywhere & ~here if seen == "y" else ~anywhere


def _code_masks(codes: Sequence[str], symbols: Sequence[str]) -> CodeMasks:
    at = {(s, p): 0 for s in symbols for p in range(len(codes[0]))}
    for i, code in enumerate(codes):
        for place, symbol in enumerate(code):
            at[symbol, place] |= 1 << i
    has = dict.fromkeys(symbols, 0)
    for (symbol, _), mask in at.items():
        has[symbol] |= mask
    return CodeMasks(at, has)


class SpellingGame(NamedTuple):
    """The constants of an episode."""

    problem: FiniteProblem
    codes: tuple[str, ...]
    numbers: Mapping[str, int]
    masks: CodeMasks
    parse: Callable[[str], str | None]


class SpellingFilter(Filter):
    """The exact posterior: uniform over the secrets that fit every mark. `alive` holds them as bits."""

    def __init__(self, game: SpellingGame, alive: int, turn: int = 0, right: bool = True) -> None:
        self.game, self.alive, self.turn, self.right = game, alive, turn, right

    @property
    def problem(self) -> FiniteProblem:
        return self.game.problem

    @property
    def next_place(self) -> int:
        """The place to enter next, from 0."""
        return self.turn % self.problem.horizon

    def observe(self, turn: Turn) -> SpellingFilter:
        info, alive, clock = turn.info, self.alive, self.turn + 1
        if info["action"] is not None:
            alive &= self.game.masks.matching_codes(info["action"], self.next_place, info["mark"])
        right = clock % self.problem.horizon == 0 or info["next"] != OFF
        return SpellingFilter(self.game, alive, clock, right)

    @cached_property
    def possible_codes(self) -> tuple[str, ...]:
        """The possible secrets."""
        return tuple(self.game.codes[i] for i in mask_bits(self.alive))

    def belief(self) -> Belief:
        n = self.alive.bit_count()
        return Belief(self.possible_codes, (1.0 / n,) * n, math.log2(n))

    @property
    def entropy(self) -> float:
        return math.log2(self.alive.bit_count())

    def prob(self, hypothesis: Any) -> float:
        i = self.game.numbers.get(hypothesis)
        return 0.0 if i is None or not self.alive >> i & 1 else 1.0 / self.alive.bit_count()

    def expected_gain(self, action: str) -> float:
        symbol = self.game.parse(action)
        return 0.0 if symbol is None else self._mark_entropy(symbol)

    def _mark_entropy(self, symbol: str) -> float:
        """The entropy of the mark, which the secret determines."""
        n, masks = self.alive.bit_count(), self.game.masks
        here = (self.alive & masks.at[symbol, self.next_place]).bit_count()
        anywhere = (self.alive & masks.has[symbol]).bit_count()
        return -sum(c / n * math.log2(c / n) for c in (here, anywhere - here, n - anywhere) if c) + 0.0

    def best_question(self) -> tuple[str, float]:
        """The symbol of highest expected gain; ties prefer the one most likely to be right, then the first."""
        scored = [(round(self._mark_entropy(s), 12), self._right_chance(s)) for s in self.problem.actions]
        best = self.problem.actions[scored.index(max(scored))]
        return best, self._mark_entropy(best)

    def _right_chance(self, symbol: str) -> float:
        """The probability that the symbol is right in the place to enter next."""
        return (self.alive & self.game.masks.at[symbol, self.next_place]).bit_count() / self.alive.bit_count()

    # --- for agents that explore (finite.ExploredFilter) -------------------------------------------------------------

    def sample(self, rng: Rng) -> str:
        return self.possible_codes[rng.randrange(len(self.possible_codes))]

    def world(self, hypothesis: str) -> World:
        return code_world(self.problem, hypothesis)

    @cached_property
    def expected_gains(self) -> Floats:
        import numpy as np

        return np.array([self._mark_entropy(s) for s in self.problem.actions])

    @cached_property
    def expected_regrets(self) -> Floats:
        """1 - P(the symbol is right) while the attempt can still succeed, then 0, because nothing is left to lose."""
        import numpy as np

        chances = [self._right_chance(s) if self.right else 1.0 for s in self.problem.actions]
        return 1.0 - np.array(chances)
