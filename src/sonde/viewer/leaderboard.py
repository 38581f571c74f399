"""The leaderboard as a page: each suite with its agents, their results in every environment, and what its paper prints;
then the profiles of all agents.

It shares templates and style with the pages of `sonde view` and needs no server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sonde._util.folders import write_atomically
from sonde.core import UserError
from sonde.evaluation.leaderboard import Board, describe_agent
from sonde.evaluation.metrics import Estimate
from sonde.evaluation.published import TITLE as PUBLISHED
from sonde.evaluation.published import PublishedTable
from sonde.evaluation.results import PROFILE, Headline, PlayedEnvironment, SuiteResult, agent_profile
from sonde.evaluation.scale import explain_range
from sonde.evaluation.suites import TITLES

from .figures.axes import AgentStyle
from .figures.costs import CostPoint, draw_costs
from .site.links import Links
from .site.pages import render_page
from .templating import STYLE, read_asset

_MEANS = {"success": "success", **PROFILE, "bits": "bits_per_turn"}


@dataclass(frozen=True, kw_only=True)
class SuiteRow:
    """An agent in a suite, and what it is (`about`). `means` are over the played environments that have them, each with
    their number."""

    result: SuiteResult
    about: str
    headline: Headline
    means: Mapping[str, tuple[Estimate | None, int]]
    cells: Sequence[PlayedEnvironment | None]
    """One per environment of the suite; None if it was not played."""

    @property
    def whole(self) -> bool:
        return self.headline.whole


@dataclass(frozen=True, kw_only=True)
class SuiteTable:
    """A suite, or one environment: its environments, its agents in order, and what its paper prints. `ends` are floor
    and reference of a single environment."""

    anchor: str
    name: str
    title: str
    environments: Sequence[str]
    lines: Sequence[SuiteRow]
    published: Sequence[PublishedTable]
    ends: tuple[Estimate, Estimate] | None = None
    costs: str | None = None
    """Score over tokens per episode as a figure; None where no agent called a model."""

    @property
    def whole(self) -> Sequence[SuiteRow]:
        """The agents that played everything; only these are ranked."""
        return [line for line in self.lines if line.whole]

    @property
    def parts(self) -> Sequence[SuiteRow]:
        return [line for line in self.lines if not line.whole]

    @property
    def range_notes(self) -> Sequence[str]:
        """What scores below 0 and above 100 mean, where a table has them."""
        cells = [cell.metrics["reference_score"] for line in self.lines for cell in line.cells if cell is not None]
        return explain_range([*(line.headline.score for line in self.lines), *cells])


@dataclass(frozen=True, kw_only=True)
class Leaderboard:
    """The page."""

    template = "leaderboard.html.j2"
    scripts = ("tables.js",)
    title = "Leaderboard"
    published_title = PUBLISHED

    suites: Sequence[SuiteTable]
    agents: Sequence[tuple[str, str, int, Mapping[str, tuple[Estimate | None, int]]]]
    """An agent, what it is, its number of environments and its profile."""
    environments: int
    """The number of environments of all these suites."""
    stale: Sequence[tuple[SuiteResult, Sequence[str]]]


def make_leaderboard(board: Board) -> Leaderboard:
    """The page as a value."""
    return Leaderboard(
        suites=[
            _describe_suite(i, name, results, board.find_published(name))
            for i, (name, results) in enumerate(board.suites.items())
        ],
        agents=[
            (agent, describe_agent(results[0]), sum(len(one.environments) for one in results), agent_profile(results))
            for agent, results in board.agents.items()
        ],
        environments=sum(len(results[0].forms) for results in board.suites.values()),
        stale=board.stale,
    )


def _describe_suite(
    i: int, name: str, results: Sequence[SuiteResult], published: Sequence[PublishedTable]
) -> SuiteTable:
    forms, single = results[0].forms, not results[0].suite
    twice = {env for env, _ in forms if [e for e, _ in forms].count(env) > 1}
    lines = [_describe_result(one, forms) for one in results]
    one = results[0].environments[0]
    costs = draw_costs(_list_costs(lines), f"Score over tokens per episode in {name}")
    return SuiteTable(
        anchor=f"table-{i}" if single else name,
        name=name,
        title=TITLES.get(name, ""),
        environments=[f"{env} {preset}" if env in twice else env for env, preset in forms],
        lines=lines,
        published=published,
        ends=(one.floor, one.reference) if single and one.floor and one.reference else None,
        costs=costs and costs.to_svg(f"costs-{i}"),
    )


def _list_costs(lines: Sequence[SuiteRow]) -> list[CostPoint]:
    styles = [AgentStyle.from_number(i, line.result.agent, i) for i, line in enumerate(lines)]
    return [
        CostPoint(style, line.headline.score, line.result.tokens_per_episode, line.whole)
        for style, line in zip(styles, lines, strict=True)
        if line.headline.score is not None
    ]


def _describe_result(result: SuiteResult, forms: Sequence[tuple[str, str]]) -> SuiteRow:
    played = {one.env_and_preset: one for one in result.environments}
    return SuiteRow(
        result=result,
        about=describe_agent(result),
        headline=result.headline,
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
