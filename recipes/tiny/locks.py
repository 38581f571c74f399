"""Teachers of the combination lock: `random` digits, those that are `possible` in their place, and the `likeliest`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from sonde.core import AGENT, Frozen, Rng
from sonde.rules.symbols import mark

SKILLS: Mapping[str, float] = Frozen(random=0.3, possible=0.4, likeliest=0.3)
SLIP: Mapping[str, float] = Frozen(random=1.0, possible=0.4, likeliest=0.0)
"""How often a teacher of this skill enters a digit at random instead."""


def teacher(env: Any, skill: str, rng: Rng) -> Callable[[Any, Rng], str]:
    """A teacher that remembers what it has entered and how that was judged."""
    seen: list[tuple[str, int, str]] = []
    codes, symbols, length = env.codes(), env.symbols, int(env.length)

    def say(state: Any, rng: Rng) -> str:
        place = state.turn % length
        if rng.random() < SLIP[skill]:
            digit = symbols[rng.randrange(len(symbols))]
        else:
            chances = likely(codes, frozenset(seen), place)
            wanted = [d for d, p in chances.items() if skill == "possible" or p == max(chances.values())]
            digit = wanted[rng.randrange(len(wanted))]
        seen.append((digit, place, mark(state.code, place, digit)))
        return env.say(digit)

    return say


@lru_cache(maxsize=50_000)
def likely(codes: tuple[str, ...], seen: frozenset[tuple[str, int, str]], place: int) -> Mapping[str, int]:
    """The digits that the code may have in a place, each with the number of codes that have it there and fit."""
    found: dict[str, int] = {}
    for code in codes:
        if all(mark(code, at, digit) == told for digit, at, told in seen):
            found[code[place]] = found.get(code[place], 0) + 1
    return Frozen(found)


def phrases(env: Any) -> tuple[str, ...]:
    """What is said in it again and again: the rules, and all that stands between the numbers of the other messages."""
    state = env.reset(env.task("012"), Rng(0))
    rules, _, first = env.intro(state, AGENT).rpartition("\n\n")
    said = [first]
    for digit in "000119992":  # right, in another place and absent, each before a place and before an attempt
        step = env.step(state, env.say(digit), Rng(0))
        state, said = step.state, [*said, step.told[AGENT]]
    pieces = [piece.strip() for text in said for piece in re.split(r"\d", text)]
    return tuple(dict.fromkeys(filter(None, [*rules.split("\n"), *pieces])))
