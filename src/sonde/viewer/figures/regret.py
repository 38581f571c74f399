"""Figures of problems over several sub-episodes: cumulative regret, suffix failures, the least-taken action.

Source: Toward Efficient Exploration by LLM Agents (figures 4 to 11 and 13 to 20), computed by
`sonde.evaluation.regret` from the episodes and the true worlds. Bands are one standard error over trials.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sonde.core import Env, Trajectory
from sonde.evaluation import regret
from sonde.evaluation.metrics import Estimate
from sonde.evaluation.regret import MeanCurve

from .axes import AgentStyle, Line, draw_lines
from .svg import Drawing


@dataclass(frozen=True, kw_only=True)
class RegretCurves:
    """The curves of a run. `tokens` is None if no model was called, the last two if the problem is not a bandit."""

    regret: MeanCurve
    tokens: tuple[float, ...] | None
    suffix_failures: MeanCurve | None
    least_action: MeanCurve | None


def compute_regret_curves(env: Env[Any], trajectories: Iterable[Trajectory]) -> RegretCurves | None:
    """The curves of a run; None for an environment without known worlds, or if no trial was finished."""
    if not (hasattr(env, "decision_problem") and hasattr(env, "world")):
        return None
    played = [t for t in trajectories if not t.error and t.outcome is not None and t.outcome.kind != "error"]
    if not played:
        return None
    rows = regret.regret_table(env, played)
    spent = np.stack([regret.tokens_per_episode(t, rows.shape[1]) for t in played])
    bandit = regret.solve_truth(env, played[0]).problem.horizon == 1
    whole = [t for t in played if len(t.turns) >= rows.shape[1]]
    report = regret.bandit_report(env, whole) if bandit and whole else None
    return RegretCurves(
        regret=regret.cumulative_regret(rows),
        tokens=tuple(np.cumsum(spent, axis=1).mean(axis=0)) if spent.any() else None,
        suffix_failures=report and report.suffix_failures,
        least_action=report and report.minimum_action_frequency,
    )


def draw_regret(runs: Sequence[tuple[AgentStyle, RegretCurves]], title: str) -> dict[str, Drawing | None]:
    """The figures of a section by name, None if no run has the numbers."""

    def draw_curve(
        about: str, curve: Callable[[RegretCurves], MeanCurve | None], xlabel: str, ylabel: str, *,
        by_tokens: bool = False,
    ) -> Drawing | None:  # fmt: skip
        lines = [
            Line(style, _to_estimates(found), (of.tokens or ()) if by_tokens else range(1, len(found.mean) + 1))
            for style, of in runs
            if (found := curve(of)) is not None and (of.tokens is not None or not by_tokens)
        ]
        labels = {"xlabel": xlabel, "ylabel": ylabel}
        return draw_lines(lines, f"{about} in {title}", labels, from_zero=True) if lines else None

    lost, period = "cumulative regret", "period"
    frequency = "K × least action frequency"
    return {
        "regret": draw_curve("Mean cumulative regret", lambda of: of.regret, "sub-episodes", lost),
        "regret_by_tokens": draw_curve("Regret by tokens", lambda of: of.regret, "tokens", lost, by_tokens=True),
        "suffix_failures": draw_curve(
            "Suffix failure frequency", lambda of: of.suffix_failures, period, "suffix failures (share)"
        ),
        "least_action": draw_curve("Scaled minimum action frequency", lambda of: of.least_action, period, frequency),
    }


def _to_estimates(curve: MeanCurve) -> list[Estimate]:
    """The interval is one standard error to either side."""
    return [
        Estimate(float(mean), float(mean - error), float(mean + error), curve.n)
        for mean, error in zip(curve.mean, curve.error, strict=True)
    ]
