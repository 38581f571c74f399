"""The shortest plan of a walker that knows only a set of states it may be in.

All states of a set look alike. A move costs each of them 1 and splits the set by what is seen afterwards, so V(B), the
moves to the goal under the best plan, summed over the states of a set B, is the least solution of

    V(B) = min over moves of |B| + the sum of V over the parts that B falls into, states at the goal left out

found by iteration from below, in integers, over the reachable sets.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

S = TypeVar("S", bound=Hashable)
States = frozenset[S]


def solve_sets(
    first: Iterable[States[S]],
    options: Callable[[States[S]], Sequence[tuple[States[S], ...]]],
    distance: Callable[[S], int],
) -> Mapping[States[S], int]:
    """V of these sets and of every set reachable from them. `options` gives the parts that each move leads to,
    `distance` the moves to the goal from a known state."""
    below = _reachable_sets(first, options)
    values = {states: sum(map(distance, states)) for states in below}
    changed = True
    while changed:
        changed = False
        for states, moves in below.items():
            if len(states) > 1:
                value = len(states) + min(sum(values[part] for part in parts) for parts in moves)
                if value > values[states]:
                    values[states], changed = value, True
    return values


def _reachable_sets(
    first: Iterable[States[S]], options: Callable[[States[S]], Sequence[tuple[States[S], ...]]]
) -> Mapping[States[S], Sequence[tuple[States[S], ...]]]:
    """Every reachable set, with the parts that each move leads to; small sets first. From a single state the way is
    known, so it is not followed."""
    waiting, found = list(first), dict[States[S], Sequence[tuple[States[S], ...]]]()
    while waiting:
        states = waiting.pop()
        if states not in found:
            found[states] = options(states) if len(states) > 1 else ()
            waiting += [part for parts in found[states] for part in parts]
    return dict(sorted(found.items(), key=lambda row: len(row[0])))


def group_states(states: Iterable[S], look: Callable[[S], Hashable]) -> tuple[States[S], ...]:
    """Group states by what they look like.

    >>> group_states([1, 2, 3, 4], lambda n: n % 2)
    (frozenset({1, 3}), frozenset({2, 4}))
    """
    groups: dict[Hashable, set[S]] = {}
    for state in states:
        groups.setdefault(look(state), set()).add(state)
    return tuple(frozenset(group) for group in groups.values())
