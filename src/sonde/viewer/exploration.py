"""The figures of problems that last several sub-episodes: regret, suffix failures, the action taken least.

Those of Toward Efficient Exploration by LLM Agents (figures 4 to 11 and 13 to 20), from what a run has on record and
what was true in its worlds (`sonde.evaluation.regret`). Bands are one standard error over trials.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sonde.core import Env, Trajectory
from sonde.evaluation import regret
from sonde.evaluation.regret import Curve

from .drawing import Drawn, draw


@dataclass(frozen=True, kw_only=True)
class Explored:
    """What the trials of a run come to. The last three are None where the problem is no bandit, or no model was
    called."""

    regret: Curve
    tokens: tuple[float, ...] | None
    suffix_failures: Curve | None
    least_action: Curve | None


def explored(env: Env[Any], trajectories: Iterable[Trajectory]) -> Explored | None:
    """The curves of a run; None for other environments, and where no trial came to its end."""
    if not (hasattr(env, "model") and hasattr(env, "world")):
        return None
    played = [t for t in trajectories if not t.error and t.outcome is not None and t.outcome.kind != "error"]
    if not played:
        return None
    rows = regret.regret_table(env, played)
    spent = np.stack([regret.tokens(t, rows.shape[1]) for t in played])
    bandit = regret.truth(env, played[0]).problem.horizon == 1
    whole = [t for t in played if len(t.turns) >= rows.shape[1]]
    report = regret.bandit_report(env, whole) if bandit and whole else None
    return Explored(
        regret=regret.cumulative(rows),
        tokens=tuple(np.cumsum(spent, axis=1).mean(axis=0)) if spent.any() else None,
        suffix_failures=report and report.suffix_failures,
        least_action=report and report.minimum_action_frequency,
    )


def figures(runs: Sequence[tuple[Any, Explored]], anchor: str, title: str) -> dict[str, str | None]:
    """The figures of a section by name, None where no run has the numbers. `runs` pairs agents with their curves."""

    def one(kind: str, label: str, about: str, curve: Callable[[Explored], Curve | None]) -> str | None:
        found = [(agent, known) for agent, e in runs if (known := curve(e)) is not None]
        rows = [Drawn(agent, tuple(range(1, len(c.mean) + 1)), c.mean, c.error) for agent, c in found]
        return draw(rows, f"{anchor}-{kind}", label, f"{about} in {title}") if rows else None

    periods = "sub-episodes"
    spent = [Drawn(agent, e.tokens, e.regret.mean, e.regret.error) for agent, e in runs if e.tokens is not None]
    return {
        "regret": one("r", f"{periods}|cumulative regret", "Mean cumulative regret", lambda e: e.regret),
        "regret_by_tokens": (
            draw(spent, f"{anchor}-rt", "tokens processed|cumulative regret", f"Regret by tokens in {title}")
            if spent
            else None
        ),
        "suffix_failures": one(
            "sf", "period|suffix failures (share)", "Suffix failure frequency", lambda e: e.suffix_failures
        ),
        "least_action": one(
            "ma", "period|K x least action frequency", "Scaled minimum action frequency", lambda e: e.least_action
        ),
    }
