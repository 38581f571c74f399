"""Combination lock: find a code of distinct digits by entering one digit at a time; each is judged at once.

Source: Toward Efficient Exploration by LLM Agents, section 4.3 and appendix H.4: three distinct digits, so 720 codes, H
= 3 and K = 8 sub-episodes; a random code opens the lock with probability 1 in 720, below 0.14 %. Reward 1 for the code,
otherwise 0. Departures: prompts are ours. The episode ends when the lock opens: from there on optimal play has no
regret. Entered digits may repeat, because all ten are actions in every step of the paper; "distinct" applies to the
code.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import permutations
from typing import ClassVar

from sonde.core import Frozen, Spec, Task, TaskList, derive, invalid
from sonde.core.types import Json

from .._shared.words.symbols import Spelling

_DIGITS = "0123456789"


@dataclass(frozen=True, kw_only=True)
class CombinationLock(Spelling):
    """See the module docstring. `length` in 1..5 digits, distinct in the code."""

    presets: ClassVar[tuple[str, ...]] = ("psrl",)

    preset: str = "psrl"
    length: int = 3
    sub_episodes: int = 8
    max_turns: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.length <= 5:
            raise invalid("combination_lock: length", self.length, "1 to 5")
        super().__post_init__()

    @cached_property
    def allowed_symbols(self) -> tuple[str, ...]:
        return tuple(_DIGITS)

    def all_codes(self) -> tuple[str, ...]:
        return _all_codes(self.length)

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name="combination_lock",
            version="2",
            summary="open a lock by entering its code digit by digit, each judged at once, in a few attempts",
            preset=self.preset,
            max_turns=self.turns,
            reward_range=(0.0, 1.0),
            support=f"all {len(self.all_codes()):,} codes of {self.length} distinct digits",
            source="Toward Efficient Exploration by LLM Agents, section 4.3 and appendix H.4",
            reference="combination_lock",
            departures=("the episode ends when the lock opens", "entered digits may repeat"),
        )

    def split(self, split: str) -> Sequence[Task]:
        codes = _shuffled_codes(self.length)
        n_train = len(codes) * 2 // 3
        rows = codes[:n_train] if split == "train" else codes[n_train:]
        return TaskList(len(rows), lambda i: self._task(rows[i], split, i))

    def task(self, hidden: Json) -> Task:
        """`"427"`: a code, as text."""
        if not isinstance(hidden, str) or len(hidden) != self.length or hidden not in self.all_codes():
            raise invalid("combination_lock: hidden", hidden, f"{self.length} distinct digits, as text")
        return self._task(hidden, "custom", 0)

    def _task(self, code: str, split: str, index: int) -> Task:
        return self.make_listed_task(split, index, Frozen(length=self.length), code)


@cache
def _all_codes(length: int) -> tuple[str, ...]:
    return tuple(map("".join, permutations(_DIGITS, length)))


@cache
def _shuffled_codes(length: int) -> tuple[str, ...]:
    """All codes in one fixed order; the splits are slices of it."""
    codes = list(_all_codes(length))
    random.Random(derive(0, "task", "combination_lock", length)).shuffle(codes)
    return tuple(codes)
