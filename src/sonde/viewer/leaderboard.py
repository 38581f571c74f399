"""The leaderboard as a page: each suite with its agents, their results in every environment, and their profiles.

It shares templates and style with the pages of `sonde view` and needs no server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sonde._util.folders import write_atomically
from sonde.core import UserError
from sonde.evaluation.leaderboard import Board
from sonde.evaluation.metrics import Estimate
from sonde.evaluation.results import PROFILE, PlayedEnvironment, SuiteResult, agent_profile
from sonde.evaluation.suites import TITLES, suite_environments

from .figures.axes import AgentStyle
from .figures.costs import CostPoint, draw_costs
from .site.links import Links
from .site.pages import render_page
from .templating import STYLE, read_asset

_MEANS = {"success": "success", **PROFILE, "bits": "bits_per_turn"}


@dataclass(frozen=True, kw_only=True)
class SuiteRow:
    """An agent in a suite. `means` are over the played environments that have them, each with their number."""

    result: SuiteResult
    score: Estimate | None
    whole: bool
    coverage: str
    means: Mapping[str, tuple[Estimate | None, int]]
    cells: Sequence[PlayedEnvironment | None]
    """One per environment of the suite; None if it was not played."""


@dataclass(frozen=True, kw_only=True)
class SuiteTable:
    """A suite: its environments, and its agents in order."""

    name: str
    title: str
    environments: Sequence[str]
    lines: Sequence[SuiteRow]
    costs: str | None = None
    """Score over tokens per episode as a figure; None where no agent called a model."""

    @property
    def whole(self) -> Sequence[SuiteRow]:
        """The agents that played the whole suite; only these are ranked."""
        return [line for line in self.lines if line.whole]

    @property
    def parts(self) -> Sequence[SuiteRow]:
        return [line for line in self.lines if not line.whole]


@dataclass(frozen=True, kw_only=True)
class Leaderboard:
    """The page."""

    template = "leaderboard.html.j2"
    scripts = ("tables.js",)
    title = "Leaderboard"

    suites: Sequence[SuiteTable]
    agents: Sequence[tuple[str, int, Mapping[str, tuple[Estimate | None, int]]]]
    """An agent, its number of environments and its profile."""
    environments: int
    """The number of environments of all these suites."""
    stale: Sequence[tuple[SuiteResult, Sequence[str]]]


def make_leaderboard(board: Board) -> Leaderboard:
    """The page as a value."""
    return Leaderboard(
        suites=[_describe_suite(name, results) for name, results in board.suites.items()],
        agents=[
            (agent, sum(len(one.environments) for one in results), agent_profile(results))
            for agent, results in board.agents.items()
        ],
        environments=sum(len(suite_environments(name)) for name in board.suites),
        stale=board.stale,
    )


def _describe_suite(name: str, results: Sequence[SuiteResult]) -> SuiteTable:
    forms = suite_environments(name)
    twice = {env for env, _ in forms if [e for e, _ in forms].count(env) > 1}
    lines = [_describe_result(one, forms) for one in results]
    costs = draw_costs(_list_costs(lines), f"Score over tokens per episode in {name}")
    return SuiteTable(
        name=name,
        title=TITLES.get(name, ""),
        environments=[f"{env} {preset}" if env in twice else env for env, preset in forms],
        lines=lines,
        costs=costs and costs.to_svg(f"{name}-costs"),
    )


def _list_costs(lines: Sequence[SuiteRow]) -> list[CostPoint]:
    styles = [AgentStyle.from_number(i, line.result.agent, i) for i, line in enumerate(lines)]
    return [
        CostPoint(style, line.score, line.result.tokens_per_episode, line.whole)
        for style, line in zip(styles, lines, strict=True)
        if line.score is not None
    ]


def _describe_result(result: SuiteResult, forms: Sequence[tuple[str, str]]) -> SuiteRow:
    headline, played = result.headline, {one.env_and_preset: one for one in result.environments}
    return SuiteRow(
        result=result,
        score=headline.score,
        whole=headline.whole,
        coverage=f"{headline.played} of {headline.of}",
        means={name: result.mean_metric(metric) for name, metric in _MEANS.items()},
        cells=[played.get(form) for form in forms],
    )


def export_leaderboard(board: Board, to: Path) -> Path:
    """Write the page and its style into `to`, a new or empty folder, and return the page."""
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise UserError(f"export: got {to}, which is not empty, allowed: a new or an empty folder")
    (to / "assets").mkdir(parents=True)
    write_atomically(to / "assets" / STYLE, read_asset(STYLE))
    first = to / "index.html"
    write_atomically(first, render_page(make_leaderboard(board), Links(static=True)).encode("utf-8", "replace"))
    return first
