"""Per-turn curves of an evaluation: success within a turn budget, remaining entropy, invalid and repeated turns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from sonde.core import Trajectory

from . import metrics
from .metrics import Estimate
from .rows import Row

CALLED = ("invalid", "repeated")
"""Marks of wasted turns that an environment may give, in `turn.info` under `result` or, if a user answers, `answer` or
`unanswered`."""
UNANSWERED = ("not_understood", "not_known")
"""Marks of turns in which a user has no answer, in `turn.info` under `unanswered`."""

MANY = 8
"""The number of samples per task from which pass@k is shown as a curve."""


ByTask = Mapping[str, Sequence[Row]]
"""Episodes by task."""


def marked_turns(trajectory: Trajectory) -> dict[str, tuple[int, ...]]:
    """The turns, from 0, that the environment marked; marks without turns are omitted."""
    told = [[turn.info.get(key) for key in ("result", "answer", "unanswered")] for turn in trajectory.turns]
    found = {name: tuple(t for t, words in enumerate(told) if name in words) for name in (*CALLED, *UNANSWERED)}
    return {name: turns for name, turns in found.items() if turns}


def success_within(by_task: ByTask, k: int, max_turns: int) -> tuple[Estimate, ...]:
    """The share of episodes won within 1, 2, ..., max_turns turns; missing episodes count as not won."""
    won = [[r.turns if r.win else None for r in rows] + [None] * (k - len(rows)) for rows in by_task.values()]
    return tuple(metrics.success_within(won, max_turns))


def wasted_turns(by_task: ByTask) -> dict[str, tuple[Estimate, ...]]:
    """For each mark, the share of the episodes that reached turn 1, 2, ... in which that turn had it."""
    longest = max((r.turns for rows in by_task.values() for r in rows), default=0)
    return {name: tuple(_marked_rate(by_task, name, turn) for turn in range(longest)) for name in CALLED}


def _marked_rate(by_task: ByTask, name: str, turn: int) -> Estimate:
    table = [[float(turn in r.called.get(name, ())) for r in rows if r.turns > turn] for rows in by_task.values()]
    return metrics.rate([values for values in table if values])


def pass_curve(found: Mapping[str, Estimate | None], k: int) -> dict[int, Estimate]:
    """pass@1, 2, 4, ... and k, from the metrics of an evaluation, which contain pass@1 to pass@k."""
    return {j: value for j in pass_sizes(k) if (value := found[f"pass@{j}"]) is not None}


def pass_sizes(k: int) -> list[int]:
    """The powers of two up to k, and k.

    >>> pass_sizes(6)
    [1, 2, 4, 6]
    """
    return sorted({k, *(2**i for i in range(k.bit_length()) if 2**i <= k)})


def marked_share(row: Row, name: str) -> float | None:
    """The share of an episode's turns with this mark; None for an episode without turns."""
    return len(row.called.get(name, ())) / row.turns if row.turns else None


def mean_efficiency(r: Row) -> float | None:
    """Mean question efficiency over the turns at which something was left to learn."""
    found = [e for g in r.gains or () if (e := g.efficiency) is not None]
    return sum(found) / len(found) if found else None


def mean_entropy(rows: Sequence[Row], max_turns: int) -> tuple[float, ...] | None:
    """Mean posterior entropy after 0, 1, ..., max_turns turns; ended episodes keep their last value."""
    curves = [r.entropy for r in rows if r.entropy is not None]
    if not curves:
        return None
    padded = [[*c, *[c[-1]] * (max_turns + 1 - len(c))] for c in curves]
    return tuple(sum(column) / len(padded) for column in zip(*padded, strict=True))


def turns_played(turns: Sequence[int]) -> dict[str, float]:
    """Mean, median and 90th percentile of the turns played; a percentile is the smallest number of turns within which
    that share of episodes ended."""
    if not turns:
        return {}
    ordered = sorted(turns)
    least = {name: ordered[math.ceil(share * len(ordered)) - 1] for name, share in (("median", 0.5), ("p90", 0.9))}
    return {"mean": sum(ordered) / len(ordered), **least}
