"""RiverSwim without arrays: the probabilities and rewards of a stroke, and labels for caves and tunnels."""

from __future__ import annotations

from typing import NamedTuple

TUNNELS = ("A", "B")
SMALL, GREAT = 0.005, 1.0
ENDS = ("stated", "osband")
REWARDS = ("action", "transition")


class Labels(NamedTuple):
    """`order[p]` is the label of place p, counted from the downstream end; `up[p]` is its tunnel that leads upstream.

    >>> str(Labels(("2", "1", "3"), ("B", "A", "B")))
    '2B 1A 3B'
    """

    order: tuple[str, ...]
    up: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join(map("".join, zip(self.order, self.up, strict=True)))


def stroke_outcomes(n: int, ends: str, place: int, upstream: bool) -> tuple[tuple[float, int], ...]:
    """The possible results of a stroke in a river of n places, as `(probability, place)`.

    >>> stroke_outcomes(3, "stated", 1, upstream=True)
    ((0.05, 0), (0.6, 1), (0.35, 2))
    """
    if not upstream:
        return ((1.0, max(0, place - 1)),)
    if place == 0:
        return ((0.65, 0), (0.35, 1)) if ends == "stated" else ((0.4, 0), (0.6, 1))
    if place == n - 1:
        return ((0.05, n - 2), (0.95, n - 1)) if ends == "stated" else ((0.4, n - 2), (0.6, n - 1))
    return ((0.05, place - 1), (0.6, place), (0.35, place + 1))


def stroke_reward(n: int, place: int, upstream: bool, after: int, by_next: bool = False) -> float:
    """The reward of a stroke that ends at place `after`. `by_next`: the last place pays only a swimmer who stays there.

    >>> stroke_reward(3, 2, True, 1), stroke_reward(3, 2, True, 1, by_next=True)
    (1.0, 0.0)
    >>> stroke_reward(3, 2, True, 2, by_next=True)
    1.0
    """
    if upstream:
        return GREAT if place == n - 1 and (after == place or not by_next) else 0.0
    return SMALL if place == 0 else 0.0
