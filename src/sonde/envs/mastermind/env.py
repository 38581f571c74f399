"""Mastermind: find a code of digits from counts of exact and partial matches.

Source: PAPRIKA, table 1 and appendix B.4.7: four digits out of ten, repeats allowed, 12 turns, 1000 training and 500
test codes. Length and number of digits are configurable. Rewards: 1 on the winning turn, otherwise 0. Departures: a
guess of the wrong length or with a foreign digit costs a turn, as in the paper's code; the counts are given in one line
instead of a paragraph.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from operator import eq
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from sonde.core import AGENT, EMPTY, CertainEnv, Frozen, Outcome, Spec, Step, Task, TaskList, Turn, derive, invalid
from sonde.core.tools import text_schema
from sonde.core.types import Json

from .._shared.answer import AnswerTags, parse_answer, read_answer, tag_answer
from .._shared.frames import join_symbols

if TYPE_CHECKING:
    from .._shared.words.guessing import Codes, GuessFilter, Guessing, Rows, VerdictParts, Verdicts

_SIZES = {"train": 1000, "test": 500}
_WIN = Frozen({AGENT: 1.0})


class State(NamedTuple):
    """The secret and the number of guesses made."""

    code: str
    turn: int = 0


def score(code: str, guess: str) -> tuple[int, int]:
    """The number of exact and partial matches.

    >>> score("0427", "4420")
    (2, 1)
    """
    exact, left = sum(map(eq, guess, code)), list(code)
    for digit in guess:
        if digit in left:
            left.remove(digit)
    return exact, len(code) - len(left) - exact


@dataclass(frozen=True, kw_only=True)
class Mastermind(CertainEnv[State], AnswerTags):
    """See the module docstring. `length` in 1..6 and `digits` in 2..10, with at most 100,000 codes."""

    presets: ClassVar[tuple[str, ...]] = ("paprika",)

    preset: str = "paprika"
    length: int = 4
    digits: int = 10
    max_turns: int = 12

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.length <= 6:
            raise invalid("mastermind: length", self.length, "1 to 6")
        if not 2 <= self.digits <= 10 or self.digits**self.length > 100_000:
            raise invalid("mastermind: digits", self.digits, "2 to 10, with digits**length at most 100,000")

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name="mastermind",
            version="2",
            summary="find a code of digits from counts of exact and partial matches",
            preset=self.preset,
            max_turns=self.max_turns,
            reward_range=(0.0, 1.0),
            support=f"all {self.digits**self.length:,} codes",
            source="PAPRIKA (arXiv 2502.17543), table 1 and appendix B.4.7",
            reference="entropy",
            departures=("feedback is one line of two counts", *self.paprika_departures),
        )

    def split(self, split: str) -> Sequence[Task]:
        codes = _shuffled_codes(self.length, self.digits)
        n_train = min(_SIZES["train"], len(codes) * 2 // 3)
        first, last = (0, n_train) if split == "train" else (n_train, min(n_train + _SIZES["test"], len(codes)))
        return TaskList(last - first, lambda i: self._task(codes[first + i], split, i))

    def task(self, hidden: Json) -> Task:
        """`"0427"`: a code, as text."""
        if not isinstance(hidden, str) or self.parse_code(hidden) != hidden:
            raise invalid("mastermind: hidden", hidden, f"{self.length} digits of {self._digit_symbols}, as text")
        return self._task(hidden, "custom", 0)

    def _task(self, code: str, split: str, index: int) -> Task:
        return self.make_listed_task(split, index, Frozen(length=self.length, digits=self.digits), code)

    @cached_property
    def _digit_symbols(self) -> str:
        return "0123456789"[: self.digits]

    # --- rules -------------------------------------------------------------------------------------------------------

    def start(self, public: Mapping[str, Json], hidden: Json) -> State:
        if len(hidden) != self.length:
            raise invalid("mastermind: task.hidden", hidden, f"{self.length} digits, as this environment is configured")
        return State(hidden)

    def prior(self, public: Mapping[str, Json]) -> Sequence[tuple[float, Json]]:
        codes = _all_codes(self.length, self.digits)
        return [(1.0 / len(codes), c) for c in codes]

    def to_act(self, state: State) -> str | None:
        return AGENT if state.turn < self.max_turns else None

    def hypothesis(self, state: State) -> str:
        return state.code

    def intro(self, state: State, seat: str) -> str:
        example = "".join(self._digit_symbols[-1 - i % self.digits] for i in range(self.length))
        return self.prompt_pieces("mastermind")["intro"].format(
            length=self.length, digits=f"0 to {self.digits - 1}", turns=self.max_turns, example=example
        )

    def parse_code(self, answer: str) -> str | None:
        """The code in an answer, in one piece, in pieces, or digit by digit (`1, 2, 3, 4`); None if there is none."""
        code = "".join(join_symbols(answer).split())
        return code if len(code) == self.length and not code.strip(self._digit_symbols) else None

    def next_step(self, state: State, text: str) -> Step:
        say = self.prompt_pieces("mastermind")
        guess = self._parse_guess(text)
        if guess is None:
            if read_answer(text) is None:
                told = Frozen({AGENT: say["format"]})
                over = State(state.code, self.max_turns)
                return Step(over, told, info=Frozen(result="unreadable"), outcome=Outcome("unreadable"))
            told = say["invalid"].format(length=self.length, digits=f"0 to {self.digits - 1}")
            return self._end_turn(state, told, Frozen(result="invalid"))
        exact, partial = score(state.code, guess)
        result = "win" if exact == self.length else "counts"
        info = Frozen(result=result, guess=guess, exact=exact, partial=partial)
        if result == "win":
            told = Frozen({AGENT: say["win"].format(guess=guess)})
            return Step(State(state.code, self.max_turns), told, _WIN, info, Outcome("win", 1.0))
        before, behind = _counts_parts(say["counts"], exact, partial)
        return self._end_turn(state, f"{before}{guess}{behind}", info)

    def _end_turn(self, state: State, told: str, info: Frozen[Json]) -> Step:
        after = State(state.code, state.turn + 1)
        left = self.max_turns - after.turn
        if left == 0:
            told = f"{told}\n{self.prompt_pieces('mastermind')['timeout']}"
            return Step(after, Frozen({AGENT: told}), info=info, outcome=Outcome("out_of_turns", truncated="turns"))
        before, behind = self._request_parts
        return Step(after, Frozen({AGENT: f"{told}\n{before}{left}{behind}"}), EMPTY, info)

    @cached_property
    def _request_parts(self) -> tuple[str, str]:
        """The text before and after the number of guesses left."""
        before, _, behind = self.prompt_pieces("mastermind")["next"].partition("{left}")
        return before, behind.format(length=self.length)

    def actions(self, state: State) -> Sequence[str] | None:
        return _all_codes(self.length, self.digits)

    def answer_schema(self, public: Mapping[str, Json]) -> Mapping[str, Json] | None:
        return text_schema("The digits of the guess.", f"[0-9]{{{self.length}}}")

    def say(self, answer: str) -> str:
        return tag_answer(answer)

    # --- exact beliefs -----------------------------------------------------------------------------------------------

    def filter(self, public: Mapping[str, Json]) -> GuessFilter:
        return self._guessing_game.start()

    @cached_property
    def _guessing_game(self) -> Guessing:
        return _shared_game(self)

    def _read_turn(self, turn: Turn) -> tuple[str, int] | None:
        info = turn.info
        return (info["guess"], info["exact"] * (self.length + 1) + info["partial"]) if "guess" in info else None

    def _parse_guess(self, text: str) -> str | None:
        return parse_answer(text, self.parse_code, which=self.which_answer)


@cache
def _counts_parts(text: str, exact: int, partial: int) -> tuple[str, str]:
    """The text before and after a guess in its feedback."""
    before, _, behind = text.partition("{guess}")
    return before, behind.format(exact=exact, partial=partial)


@cache
def _all_codes(length: int, digits: int) -> tuple[str, ...]:
    codes = [""]
    for _ in range(length):
        codes = [c + d for c in codes for d in "0123456789"[:digits]]
    return tuple(codes)


@cache
def _shuffled_codes(length: int, digits: int) -> tuple[str, ...]:
    """All codes in one fixed order; the splits are slices of it."""
    codes = list(_all_codes(length, digits))
    random.Random(derive(0, "task", "mastermind", length, digits)).shuffle(codes)
    return tuple(codes)


@cache
def _shared_game(env: Mastermind) -> Guessing:
    from .._shared.words.guessing import Guessing

    def distinct_rows(guesses: frozenset[str]) -> Rows:
        return _distinct_rows(env.length, env.digits, frozenset("".join(guesses)))

    verdicts, n_verdicts = partial(_verdict_numbers, env.digits), (env.length + 1) ** 2
    read, parse = env._read_turn, env._parse_guess  # pyright: ignore[reportPrivateUsage]
    parts = partial(_guess_parts, env.digits)
    return Guessing(_all_codes(env.length, env.digits), verdicts, n_verdicts, read, parse, distinct_rows, parts)


@lru_cache(maxsize=256)
def _distinct_rows(length: int, digits: int, named: frozenset[str]) -> Rows:
    """The codes that introduce digits not yet `named` by any guess in ascending order, from the lowest on. Any other
    code equals one of these after renaming such digits, to which the uniform prior is indifferent."""
    import numpy as np

    from .._shared.words.guessing import encode_words

    fresh = [d for d in range(digits) if str(d) not in named]
    rank = np.full(digits, -1)
    rank[fresh] = np.arange(len(fresh))
    codes = encode_words(_all_codes(length, digits)) - np.uint8(ord("0"))
    used, ok = np.zeros(len(codes), np.int64), np.ones(len(codes), bool)
    for i in range(length):
        ranks = rank[codes[:, i]]
        ok &= ranks <= used
        used += ranks == used
    return np.flatnonzero(ok).astype(np.int32)


def _verdict_numbers(digits: int, guesses: Codes, secrets: Codes) -> Verdicts:
    """`exact * (length + 1) + partial` for every pair; shape `(G, N)`."""
    import numpy as np

    length = guesses.shape[1]
    which, shared = _shared_digits(length, digits)
    powers = np.array([digits**i for i in reversed(range(length))])
    mine, theirs = (which[(codes - np.uint8(ord("0"))) @ powers] for codes in (guesses, secrets))
    verdicts = shared[mine].take(theirs, axis=1)
    for i in range(length):  # every exact match adds `length` to its count among the shared digits
        verdicts += (guesses[:, i, None] == np.ascontiguousarray(secrets[:, i])) * np.uint8(length)
    return verdicts


def _guess_parts(digits: int, codes: Codes) -> VerdictParts:
    """A guess split into parts: its digits regardless of place, and each of its places."""
    import numpy as np

    from .._shared.words.guessing import VerdictParts

    length = codes.shape[1]
    which, shared = _shared_digits(length, digits)
    values = codes - np.uint8(ord("0"))
    places = [len(shared) + digits * i + values[:, i].astype(np.int32) for i in range(length)]

    def part_marks(alive: Rows) -> Verdicts:
        here = values[alive].T[:, None, :] == np.arange(digits, dtype=np.uint8)[:, None]  # place, digit, secret
        return np.concatenate([shared.take(which[alive], axis=1), here.reshape(-1, len(alive))])

    return VerdictParts(len(shared) + digits * length, np.stack([which, *places]), part_marks)


@cache
def _shared_digits(length: int, digits: int) -> tuple[Rows, Codes]:
    """The digit multiset of each code, and the number of digits that every two multisets share."""
    import numpy as np

    from .._shared.words.guessing import encode_words

    sorted_codes = np.sort(encode_words(_all_codes(length, digits)), axis=1)
    collections, which = np.unique(sorted_codes, axis=0, return_inverse=True)
    common = np.zeros((len(collections), len(collections)), np.uint8)
    for digit in np.unique(collections):
        count = (collections == digit).sum(axis=1, dtype=np.uint8)
        common += np.minimum(count[:, None], count[None, :])
    return which.ravel().astype(np.int32), common
