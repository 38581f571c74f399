"""The Bayes-optimal lock policy: its value by brute force over code sets, and what it does with all 720 codes."""

from __future__ import annotations

from functools import cache
from itertools import permutations

import pytest

import sonde
from sonde.envs.combination_lock.solver import LockKnowledge, best_entry, count_codes, expected_sub_episodes
from sonde.runs.rollout import collect_trajectories
from tests.cases import each


def mark(code: str, place: int, symbol: str) -> str:
    return "g" if code[place] == symbol else "y" if symbol in code else "b"


def optimum(symbols: str, length: int, rounds: int) -> float:
    """Expected failures by backward induction over sets of codes, without any use of symmetry."""

    @cache
    def value(left: frozenset[str], at: int, winning: bool, rounds: int) -> float:
        if at == length:
            if winning:
                return 0.0
            return 1.0 + (value(left, 0, True, rounds - 1) if rounds > 1 else 0.0)
        return min(after(left, at, winning, rounds, s) for s in symbols)

    def after(left: frozenset[str], at: int, winning: bool, rounds: int, symbol: str) -> float:
        total = 0.0
        for seen in "gyb":
            rest = frozenset(c for c in left if mark(c, at, symbol) == seen)
            if rest:
                total += len(rest) / len(left) * value(rest, at + 1, winning and seen == "g", rounds)
        return total

    return value(frozenset(map("".join, permutations(symbols, length))), 0, True, rounds)


@each("n, length, rounds", [(3, 2, 2), (4, 2, 3), (5, 2, 4), (4, 3, 3)])
def test_value_by_brute_force(n: int, length: int, rounds: int) -> None:
    expected = optimum("0123456789"[:n], length, rounds)
    assert best_entry(length, LockKnowledge(n), 0, True, rounds).failures == pytest.approx(expected, abs=1e-9)


def test_codes_are_counted() -> None:
    assert count_codes(3, LockKnowledge(10)) == 720
    assert count_codes(3, LockKnowledge(9, (("fixed", 0),))) == 72
    assert count_codes(3, LockKnowledge(9, (("present", 0b001),))) == 2 * 72
    assert count_codes(3, LockKnowledge(8, (("fixed", 0), ("fixed", 0)))) == 0


@pytest.mark.thorough
def test_all_codes() -> None:
    """What the recursion promises is what happens: 2,828 sub-episodes for 720 codes."""
    env = sonde.make("combination_lock")
    tasks = [*env.tasks("train"), *env.tasks("test")]
    took = [
        t.turns[-1].info["sub_episode"] + 1
        for t in collect_trajectories(env, {"agent": sonde.make("agents:combination_lock")}, tasks)
        if t.outcome is not None and t.outcome.success
    ]
    assert len(took) == 720
    assert sum(took) / 720 == pytest.approx(expected_sub_episodes(), abs=1e-9)
    assert expected_sub_episodes() == pytest.approx(3.927778, abs=1e-6)


def test_unreadable_entries_are_survived() -> None:
    env = sonde.make("combination_lock")
    ep = sonde.Episode.begin(env, env.task("427")).step("<Answer>x</Answer>")
    while ep.to_act is not None:
        ep = ep.step(sonde.make("agents:combination_lock").act_now(ep.view()))
    assert ep.outcome is not None and ep.outcome.success
