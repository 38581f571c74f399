"""Teachers of the combination lock: `random` digits, digits `possible` in their place, and the `likeliest` digits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from sonde.core import AGENT, Frozen, Rng
from sonde.envs._shared.words.symbols import mark_symbol

SKILLS: Mapping[str, float] = Frozen(random=0.3, possible=0.4, likeliest=0.3)
SLIP: Mapping[str, float] = Frozen(random=1.0, possible=0.4, likeliest=0.0)
"""How often a teacher of this skill enters a digit at random instead."""


def make_teacher(env: Any, skill: str, rng: Rng) -> Callable[[Any, Rng], str]:
    """A teacher that remembers its digits and their judgements."""
    left = fitting_codes(env)

    def say(state: Any, rng: Rng) -> str:
        nonlocal left
        place, slip = state.turn % env.length, rng.random() < SLIP[skill]
        chances = {d: (left & fitting_codes(env, place, d, "g")).bit_count() for d in env.allowed_symbols}
        least = 0 if slip else max(chances.values()) if skill == "likeliest" else 1
        wanted = [d for d, n in chances.items() if n >= least]
        digit = wanted[rng.randrange(len(wanted))]
        left &= fitting_codes(env, place, digit, mark_symbol(state.code, place, digit))
        return env.say(digit)

    return say


@cache
def fitting_codes(env: Any, place: int = 0, digit: str = "", told: str = "") -> int:
    """The codes, as bits, that give a digit in this place this judgement; without a digit, all codes."""
    return sum(1 << i for i, code in enumerate(env.all_codes()) if not digit or mark_symbol(code, place, digit) == told)


def phrases(env: Any) -> tuple[str, ...]:
    """The recurring phrases of the game: rules, digits, judgements, and requests for the next digit."""
    state = env.reset(env.tasks("train")[0], Rng(0))
    rules, _, first = env.intro(state, AGENT).rpartition("\n\n")
    found = dict.fromkeys([*rules.split("\n"), first, *map(env.say, env.allowed_symbols)])
    around = [*env.allowed_symbols, *env.allowed_symbols]
    for i in range(len(env.allowed_symbols)):  # codes that have every digit in every place
        code = "".join(around[i : i + env.length])
        for turn in range(env.turns):
            for digit in env.allowed_symbols:
                told = env.step(state._replace(code=code, turn=turn), env.say(digit), Rng(0)).told[AGENT]
                judged, _, asked = told.partition("\n")
                found |= dict.fromkeys((judged, asked))
    return tuple(filter(None, found))
