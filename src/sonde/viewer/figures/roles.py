"""Figures of LLM-PSRL's three roles: what the updater's text is off, how samples are drawn, what the policy loses.

Computed by `sonde.evaluation.roles` from the record. They say which of the language models is to blame for regret
(Toward Efficient Exploration by LLM Agents plots regret alone). Bands are 95 % intervals, clustered by task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from sonde.core import Env, Trajectory
from sonde.evaluation import metrics
from sonde.evaluation.metrics import Estimate
from sonde.evaluation.roles import RoleGrades, grade_run, has_roles

from .axes import AgentStyle, Line, draw_lines
from .svg import Drawing

_STEPS = 20
"""Intervals of the axis of ranks."""
_POINTS = 40
"""Points of a curve over turns at most."""

Graded = Sequence[tuple[str, RoleGrades]]
Values = Callable[[RoleGrades], Mapping[int, float]]
"""A number by turn of an episode."""


def grade_episodes(env: Env[Any], trajectories: Iterable[Trajectory]) -> Graded | None:
    """The grades of a run of `agents:llm_psrl`; None for other runs, and where its prior is prose."""
    played = iter(trajectories)
    first = next(played, None)
    if first is None or not has_roles(first):
        return None
    return grade_run(env, chain((first,), played))


def draw_roles(runs: Sequence[tuple[AgentStyle, Graded]], title: str) -> dict[str, Drawing | None]:
    """The figures of a section by name, None where no run has the numbers."""

    def draw_curve(about: str, values: Values, ylabel: str) -> Drawing | None:
        lines = [
            Line(style, [e for _, e in curve], [turn for turn, _ in curve])
            for style, graded in runs
            if (curve := _curve(graded, values))
        ]
        labels = {"xlabel": "turn", "ylabel": ylabel}
        return draw_lines(lines, f"{about} in {title}", labels, from_zero=True) if lines else None

    return {
        "updater": draw_curve(
            "Distance of the updater's text from the exact posterior",
            lambda g: {u.turn: u.distance for u in g.updates}, "Hellinger distance",
        ),
        "sampler": _draw_ranks(runs, f"Ranks of sampled worlds in {title}"),
        "policy": draw_curve(
            "Regret of the policy in the sampled world", lambda g: {p.turn: p.regret for p in g.policies},
            "regret in the sampled world",
        ),
    }  # fmt: skip


def _curve(graded: Graded, values: Values) -> list[tuple[int, Estimate]]:
    """The mean at up to `_POINTS` turns, over the episodes that have a value in the turns since the point before."""
    rows = [(task, values(g)) for task, g in graded]
    turns = sorted({turn for _, by_turn in rows for turn in by_turn})
    width = -(-len(turns) // _POINTS) if turns else 1
    parts = [turns[i : i + width] for i in range(0, len(turns), width)]
    return [(part[-1], metrics.mean(metrics.group_by_task(_within(rows, part)))) for part in parts]


def _within(rows: Iterable[tuple[str, Mapping[int, float]]], part: Sequence[int]) -> Iterator[tuple[str, float]]:
    for task, by_turn in rows:
        if found := [by_turn[turn] for turn in part if turn in by_turn]:
            yield task, sum(found) / len(found)


def _draw_ranks(runs: Sequence[tuple[AgentStyle, Graded]], about: str) -> Drawing | None:
    """Share of ranks at most x, over x: the diagonal if samples are drawn as believed."""
    at = [i / _STEPS for i in range(_STEPS + 1)]
    lines = [
        Line(style, [_share_below(ranked, x) for x in at], at)
        for style, graded in runs
        if (ranked := [(task, ranks) for task, g in graded if (ranks := [r for s in g.samples for r in s.ranks])])
    ]
    return draw_lines(lines, about, {"xlabel": "rank", "ylabel": "share of samples"}) if lines else None


def _share_below(ranked: Sequence[tuple[str, Sequence[float]]], x: float) -> Estimate:
    rows = ((task, sum(r <= x for r in ranks) / len(ranks)) for task, ranks in ranked)
    return metrics.mean(metrics.group_by_task(rows), bounds=(0.0, 1.0))
