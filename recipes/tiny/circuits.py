"""Teachers of circuit decoding: their probes and their tables.

`careless` teachers probe at random and give random tables; `fitting` teachers repeat no probe and give tables
that agree with the outputs; `careful` teachers take one circuit after another, probe where its tables differ most, and
give the likeliest table. Each considers a circuit alone: unlike the reference, it does not infer the other circuits'
gates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from sonde.core import AGENT, Frozen, Rng
from sonde.envs.circuit_decoding import circuits as rules

SKILLS: Mapping[str, float] = Frozen(careless=0.3, fitting=0.6, careful=0.1)


def make_teacher(env: Any, skill: str, rng: Rng) -> Callable[[Any, Rng], str]:
    """A teacher of this skill, for one episode."""
    n, size = int(env.circuits), 1 << int(env.inputs)
    probes = int(env.spec.max_turns) - 1

    def say(state: Any, rng: Rng) -> str:
        known = [(asked, table & asked) for asked, table in zip(state.asked, state.tables, strict=True)]
        if state.turn == probes:
            tables = tuple(choose_table(env, skill, *one, rng) for one in known)
            return env.say(rules.tables_answer(tables, env.inputs))
        c, row = rng.randrange(n), rng.randrange(size)
        if skill == "fitting":
            free = [(c, row) for c, (asked, _) in enumerate(known) for row in range(size) if not asked >> row & 1]
            c, row = free[rng.randrange(len(free))]
        elif skill == "careful":
            c = state.turn * n // probes
            rows = most_telling(env, *known[c])
            row = rows[rng.randrange(len(rows))]
        return env.say(rules.probe_answer(c, row, env.inputs))

    return say


def choose_table(env: Any, skill: str, asked: int, seen: int, rng: Rng) -> int:
    """The table that a teacher of this skill gives for a circuit with these outputs."""
    left = fitting_tables(env, asked, seen) if skill != "careless" else fitting_tables(env, 0, 0)
    wanted = [t for t, p in left.items() if skill != "careful" or p == max(left.values())]
    return wanted[rng.randrange(len(wanted))]


@cache
def most_telling(env: Any, asked: int, seen: int) -> tuple[int, ...]:
    """The new inputs whose output is nearest to a fair coin."""
    left = fitting_tables(env, asked, seen)
    total = sum(left.values())
    gap = {
        row: round(abs(sum(p for t, p in left.items() if t >> row & 1) / total - 0.5), 9)
        for row in range(1 << int(env.inputs))
        if not asked >> row & 1
    }
    return tuple(row for row, g in gap.items() if g == min(gap.values()))


@cache
def fitting_tables(env: Any, asked: int, seen: int) -> Mapping[int, float]:
    """The tables of a circuit with these outputs, and the probability of each, regardless of the other circuits."""
    return {table: p for table, p in table_probabilities(env).items() if table & asked == seen}


@cache
def table_probabilities(env: Any) -> Mapping[int, float]:
    """The probability of each table for the first circuit."""
    found: dict[int, float] = {}
    for dealt, p in rules.gate_deals(env.circuit_shape, env.gate_total):
        for table, q in rules.table_distribution(env.inputs, dealt[0]).items():
            found[table] = found.get(table, 0.0) + float(p * q)
    return found


def phrases(env: Any) -> tuple[str, ...]:
    """The recurring phrases of the game: rules, probes, outputs, requests for the next probe, and tables."""
    state, n = env.reset(env.tasks("train")[0], Rng(0)), int(env.circuits)
    probes = [rules.probe_answer(c, row, env.inputs) for c in range(n) for row in range(1 << env.inputs)]
    said = [env.intro(state, AGENT), *map(env.say, probes)]
    for table in (0, -1):
        for turn in range(int(env.spec.max_turns) - 1):
            now = state._replace(tables=(table,) * n, turn=turn)
            said += [env.step(now, env.say(probe), Rng(0)).told[AGENT] for probe in probes]
    tables = [
        f"{c + 1}: {rules.format_table(table, env.inputs)}" for c in range(n) for table in table_probabilities(env)
    ]
    return tuple(filter(None, dict.fromkeys([line for text in said for line in text.split("\n")] + tables)))
