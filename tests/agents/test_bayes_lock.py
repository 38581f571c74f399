"""The Bayes-optimal lock policy: its value by brute force over code sets, and what it does with all 720 codes."""

from __future__ import annotations

from functools import cache
from itertools import permutations

import pytest

import sonde
from sonde.agents.bayes_lock import Known, best, codes, expected_sub_episodes
from sonde.core import UserError
from sonde.rollout import collect


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


@pytest.mark.parametrize(("n", "length", "rounds"), [(3, 2, 2), (4, 2, 3), (5, 2, 4), (4, 3, 3)])
def test_value_by_brute_force(n: int, length: int, rounds: int) -> None:
    expected = optimum("0123456789"[:n], length, rounds)
    assert best(length, Known(n), 0, True, rounds).failures == pytest.approx(expected, abs=1e-9)


def test_codes_are_counted() -> None:
    assert codes(3, Known(10)) == 720
    assert codes(3, Known(9, (("fixed", 0),))) == 72
    assert codes(3, Known(9, (("present", 0b001),))) == 2 * 72
    assert codes(3, Known(8, (("fixed", 0), ("fixed", 0)))) == 0


def test_all_codes() -> None:
    """What the recursion promises is what happens: 2,828 sub-episodes for 720 codes."""
    env = sonde.make("combination_lock")
    tasks = [*env.tasks("train"), *env.tasks("test")]
    took = [
        t.turns[-1].info["sub_episode"] + 1
        for t in collect(env, {"agent": sonde.make("agents:bayes_lock")}, tasks)
        if t.outcome is not None and t.outcome.success
    ]
    assert len(took) == 720
    assert sum(took) / 720 == pytest.approx(expected_sub_episodes(), abs=1e-9)
    assert expected_sub_episodes() == pytest.approx(3.927778, abs=1e-6)


def test_unreadable_entries_are_survived() -> None:
    env = sonde.make("combination_lock")
    ep = sonde.Episode.begin(env, env.task("427")).step("<Answer>x</Answer>")
    while ep.to_act is not None:
        ep = ep.step(sonde.make("agents:bayes_lock").act_now(ep.view()))
    assert ep.outcome is not None and ep.outcome.success


def test_other_problems_are_refused() -> None:
    env = sonde.make("river_swim")
    with pytest.raises(UserError, match="got river_swim, a tabular problem"):
        sonde.make("agents:bayes_lock").act_now(sonde.Episode.begin(env, env.tasks("train")[0]).view())
