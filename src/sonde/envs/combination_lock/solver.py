"""The Bayes-optimal policy of the combination lock: fewest failed sub-episodes in expectation.

Source: Toward Efficient Exploration by LLM Agents, section 4.3, which plots this policy's regret without saying how it
was computed. Here: backward induction over all states of knowledge. Under the uniform prior, only the status of a digit
matters: untried, absent, present (with the places it cannot have) or fixed to a place. Digits of equal status are
interchangeable, which leaves a few thousand states. An attempt that has already failed is used to learn; in one that
can still succeed, learning and succeeding are weighed exactly. The objective is the regret of all attempts.

With ten digits, three places and eight attempts it opens every lock; expected sub-episodes, including the last:
3.9278 (`expected_sub_episodes()`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import perm
from typing import NamedTuple

from sonde.core import Action, ProgramPolicy, Turn, View

from .._shared.sub_episodes import current_position, require_finite_problem

Status = tuple[str, int]
"""What is known about a digit: `("untried", 0)`, `("absent", 0)`, `("present", excluded places as bits)` or
`("fixed", place)`."""

UNTRIED, ABSENT = ("untried", 0), ("absent", 0)
RIGHT, OTHER = "g", "y"


class LockKnowledge(NamedTuple):
    """The number of untried digits, and the sorted statuses of the others; one absent digit stands for all absent
    ones."""

    untried: int
    others: tuple[Status, ...] = ()

    def with_status(self, before: Status, now: Status) -> LockKnowledge:
        """The knowledge after one digit's status has changed."""
        others = list(self.others)
        if before in others and before != ABSENT:
            others.remove(before)
        if now != ABSENT or ABSENT not in others:
            others.append(now)
        return LockKnowledge(self.untried - (before == UNTRIED), tuple(sorted(others)))


def count_codes(length: int, known: LockKnowledge) -> int:
    """The number of codes that agree with the knowledge."""
    taken = [at for kind, at in known.others if kind == "fixed"]
    if len(set(taken)) < len(taken):
        return 0
    free = tuple(i for i in range(length) if i not in taken)
    present = tuple(bits for kind, bits in known.others if kind == "present")
    places = len(free) - len(present)
    return _count_placements(free, present) * perm(known.untried, places) if places >= 0 else 0


@cache
def _count_placements(free: tuple[int, ...], present: tuple[int, ...]) -> int:
    """The number of ways to give every present digit a free place that is not excluded."""
    if not present:
        return 1
    may = [i for i in free if not present[0] >> i & 1]
    return sum(_count_placements(tuple(j for j in free if j != i), present[1:]) for i in may)


def possible_statuses(length: int, status: Status, at: int) -> Iterator[Status]:
    """The possible statuses of a digit after it was entered in a place."""
    kind, excluded = status
    if kind in ("absent", "fixed"):
        yield status
        return
    if not excluded >> at & 1:
        yield ("fixed", at)
    yield from present_status(length, excluded | 1 << at)
    if kind == "untried":
        yield ABSENT


def present_status(length: int, excluded: int) -> Iterator[Status]:
    """The status of a digit that is in the code but in none of these places, if another place exists."""
    left = [i for i in range(length) if not excluded >> i & 1]
    if left:
        yield ("fixed", left[0]) if len(left) == 1 else ("present", excluded)


class LockChoice(NamedTuple):
    """The status of the best digit to enter, the expected number of failed sub-episodes, and the probability of opening
    in time."""

    status: Status
    failures: float
    opened: float


@cache
def best_entry(length: int, known: LockKnowledge, at: int, winning: bool, rounds: int) -> LockChoice:
    """The best entry in place `at`; `winning`: all right so far; `rounds`: the sub-episodes left, including this
    one."""
    statuses = [*dict.fromkeys(known.others), *([UNTRIED] if known.untried else [])]
    options = [_evaluate_entry(length, known, status, at, winning, rounds) for status in statuses]
    return min(options, key=lambda choice: round(choice.failures, 12))


def _evaluate_entry(
    length: int, known: LockKnowledge, status: Status, at: int, winning: bool, rounds: int
) -> LockChoice:
    total, failures, opened = count_codes(length, known), 0.0, 0.0
    for reply in possible_statuses(length, status, at):
        then = known.with_status(status, reply)
        if share := count_codes(length, then) / total:
            lost, won = _continue_entries(length, then, at + 1, winning and reply == ("fixed", at), rounds)
            failures += share * lost
            opened += share * won
    return LockChoice(status, failures, opened)


def _continue_entries(length: int, known: LockKnowledge, at: int, winning: bool, rounds: int) -> tuple[float, float]:
    """Expected failures and probability of opening from the next entry on."""
    if at < length:
        return best_entry(length, known, at, winning, rounds)[1:]
    if winning:
        return 0.0, 1.0
    if rounds == 1:
        return 1.0, 0.0
    _, failures, opened = best_entry(length, known, 0, True, rounds - 1)
    return 1.0 + failures, opened


def expected_sub_episodes(symbols: int = 10, length: int = 3, rounds: int = 8) -> float:
    """The expected number of sub-episodes until the lock opens or none are left, under optimal play.

    >>> round(expected_sub_episodes(), 4)
    3.9278
    """
    choice = best_entry(length, LockKnowledge(symbols), 0, True, rounds)
    return choice.failures + choice.opened


# --- the policy ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class CombinationLockSolver(ProgramPolicy):
    """See the module docstring. Plays `combination_lock`; among digits of the best status, it enters the first in
    order."""

    def act_now(self, view: View) -> Action:
        problem = require_finite_problem(view, "combination_lock", "code")
        length, (sub_episode, at) = problem.horizon, current_position(view, problem.horizon)
        statuses = dict.fromkeys(problem.actions, UNTRIED) | _read_statuses(length, view.turns)
        known = LockKnowledge(0)
        for status in statuses.values():
            known = (
                LockKnowledge(known.untried + 1, known.others)
                if status == UNTRIED
                else known.with_status(ABSENT, status)
            )
        winning = all(turn.info.get("mark") == RIGHT for turn in view.turns[view.turn - at :])
        choice = best_entry(length, known, at, winning, problem.sub_episodes - sub_episode)
        return Action(view.say(next(digit for digit, status in statuses.items() if status == choice.status)))


def _read_statuses(length: int, turns: Sequence[Turn]) -> dict[str, Status]:
    """The statuses of the digits that were entered."""
    found: dict[str, Status] = {}
    for info in (turn.info for turn in turns):
        digit = info["action"]
        if digit is None or found.get(digit, UNTRIED)[0] in ("absent", "fixed"):
            continue
        at, mark = info["step"], info["mark"]
        if mark == RIGHT:
            found[digit] = ("fixed", at)
        elif mark == OTHER:
            excluded = found.get(digit, UNTRIED)[1] | 1 << at
            found[digit] = next(present_status(length, excluded))
        else:
            found[digit] = ABSENT
    return found
