"""What a set of trajectories holds for training: the numbers of PAPRIKA's table 4, and those that explain them.

Source: PAPRIKA (arXiv 2502.17543), appendix C, table 4 (best of k, SFT trajectories, pairs per task group). Ours:
tasks, trajectories, success rate, mean turns and tokens, and any tag in place of the environment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from statistics import fmean
from typing import Any

from sonde.core import Trajectory

from .data import has_ids, rows
from .selection import PairRule, SFTRule, pairs, sft_set
from .trials import by_world, ended, success

TOTAL = "total"
HEADINGS: Mapping[str, str] = {
    "name": "group",
    "tasks": "tasks",
    "trajectories": "trajectories",
    "failed": "failed",
    "success": "success",
    "best_of_k": "best of k",
    "sft": "SFT trajectories",
    "pairs": "pairs",
    "turns": "turns",
    "tokens": "tokens",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of the table.

    `tasks` are counted per world, `failed` episodes (by the world's fault, or never ended) are in no rate or mean.
    `success` is the share of episodes, `best_of_k` that of tasks with a success. `sft` and `pairs` count what the rules
    select. `turns` and `tokens` are means per episode, the latter over those that carry token ids, all rows together;
    None where there is nothing to average.
    """

    name: str
    tasks: int
    trajectories: int
    failed: int
    success: float | None
    best_of_k: float | None
    sft: int
    pairs: int
    turns: float | None
    tokens: float | None

    def to_json(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def cells(self) -> tuple[str, ...]:
        """The line as text, in the order of `HEADINGS`."""
        shown = {**self.to_json(), "success": _percent(self.success), "best_of_k": _percent(self.best_of_k)}
        shown |= {"turns": _mean(self.turns), "tokens": _mean(self.tokens)}
        return tuple(f"{v:,}" if isinstance(v, int) else str(v) for v in (shown[h] for h in HEADINGS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """The table: one line per group, and all together."""

    lines: tuple[Line, ...]
    total: Line

    def to_json(self) -> dict[str, Any]:
        return {"lines": [line.to_json() for line in self.lines], TOTAL: self.total.to_json()}

    def rows(self) -> list[tuple[str, ...]]:
        """Headings, lines and total as text."""
        return [tuple(HEADINGS.values()), *(line.cells() for line in (*self.lines, self.total))]


def statistics(
    trajectories: Iterable[Trajectory],
    sft: SFTRule | None = None,
    pair: PairRule | None = None,
    *,
    by: str = "env",
) -> Statistics:
    """The table of these trajectories under these rules, by environment or by a tag of the tasks."""
    found = list(trajectories)
    groups: dict[str, list[Trajectory]] = {}
    for t in found:
        groups.setdefault(t.task.env if by == "env" else t.task.tags.get(by, ""), []).append(t)
    lines = tuple(_line(name, group, sft, pair) for name, group in groups.items())
    return Statistics(lines=lines, total=_line(TOTAL, found, sft, pair))


def _line(name: str, trajectories: list[Trajectory], sft: SFTRule | None, pair: PairRule | None) -> Line:
    whole = [t for t in trajectories if ended(t)]
    solved = [any(map(success, group)) for group in by_world(whole).values()]
    return Line(
        name=name,
        tasks=len(by_world(trajectories)),
        trajectories=len(trajectories),
        failed=len(trajectories) - len(whole),
        success=_average([float(success(t)) for t in whole]),
        best_of_k=_average([float(s) for s in solved]),
        sft=len(sft_set(trajectories, sft).trajectories),
        pairs=len(pairs(trajectories, pair).pairs),
        turns=_average([float(len(t.turns)) for t in whole]),
        tokens=_average([float(sum(map(len, rows(t)))) for t in whole if has_ids(t)]),
    )


def _average(values: list[float]) -> float | None:
    return fmean(values) if values else None


def _percent(value: float | None) -> str:
    return "n/a" if value is None else f"{100 * value:.1f}%"


def _mean(value: float | None) -> str:
    return "n/a" if value is None else f"{value:,.1f}"
