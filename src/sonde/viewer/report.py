"""`sonde report`: run pages and training pages rendered into one self-contained HTML file.

The runs of an environment share its figures; each run has its tasks, success by tag, chosen episodes and configuration.
The page loads nothing: style, script and figures are in it, and its content security policy forbids everything else.
All text of models, environments and configurations is escaped. Equal input gives equal bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sonde._util.extras import require_extra
from sonde._util.folders import write_atomically
from sonde.core import UserError, invalid
from sonde.evaluation.rows import Row

from .evaluated_runs import EvaluatedRun, Section, group_by_environment, read_runs
from .figures.axes import AgentStyle
from .figures.training import TrainingFigures, prepare_trainings
from .sections import RunNumbers, SectionPage, describe_section
from .site.episode import EpisodePage, describe_episode
from .site.episodes import mean_efficiency, read_line
from .site.links import Anchors
from .site.pages import render_page
from .site.run import Facet, TaskRow, compute_facets, list_notes, read_matrix
from .site.runs import OutcomeShare, share_outcomes
from .templating import to_indented_json
from .training_history import TrainingHistory, read_histories

EPISODES = 6
"""Episodes of a run that a report shows."""
FAULTS = {
    "unreadable": "unreadable", "invalid turns": "invalid", "not understood": "not_understood",
    "not known": "not_known", "refused": "refused", "truncated": "cut",
    "reasoning only": "reasoning_only",
}  # fmt: skip
"""Columns of defective replies, with their metrics."""


@dataclass(frozen=True, kw_only=True)
class ReportedRun:
    """A run in a report. `episodes` are the chosen ones with their reasons; `tasks` counts all rows of the matrix."""

    numbers: RunNumbers
    shares: Sequence[OutcomeShare]
    tasks: int
    matrix: Sequence[TaskRow]
    facets: Sequence[Facet]
    episodes: Sequence[tuple[str, EpisodePage]]
    config: str
    notes: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class ReportPage:
    """`sections` are the environments with their runs; `faults` the columns of defective replies that any run needs."""

    template = "report.html.j2"
    script = "report.js"

    title: str
    sections: Sequence[tuple[SectionPage, Sequence[ReportedRun]]]
    trainings: Sequence[TrainingFigures]
    styles: Sequence[AgentStyle]
    faults: Sequence[tuple[str, str]]
    versions: str
    n_runs: int
    n_episodes: int
    any_privileged: bool


def write_report(
    folders: Sequence[Path], to: Path, *, transcripts: int = EPISODES, training: Sequence[Path] = ()
) -> Path:
    """Write the report on these run folders and training folders to `to`, and return it.

    `transcripts` is the number of episodes shown per run. Raises `UserError` for a folder that is not a run, or whose
    evaluation is missing or does not match its episodes, for one in `training` without a history, and without the extra
    `report`.
    """
    require_extra("a report", "matplotlib")
    if not folders and not training:
        raise UserError("report: got no run folders and no trainings, allowed: at least one")
    if transcripts < 0:
        raise invalid("transcripts", transcripts, "0 or more")
    page = render_report([Path(folder) for folder in folders], transcripts, [Path(folder) for folder in training])
    to = Path(to)
    to.parent.mkdir(parents=True, exist_ok=True)
    # A lone surrogate cannot be encoded; in text it is already shown by its code.
    write_atomically(to, page.encode("utf-8", "replace"))
    return to


def render_report(folders: Sequence[Path], n_episodes: int = EPISODES, training: Sequence[Path] = ()) -> str:
    """The report as HTML."""
    runs = read_runs(folders)
    histories = read_histories(training, [(run.evaluation, run.style) for run in runs])
    sections = [_describe_section(run_group, histories, n_episodes) for run_group in group_by_environment(runs)]
    page = ReportPage(
        title="report: " + (", ".join(page.section.title for page, _ in sections) or "training"),
        sections=sections,
        trainings=prepare_trainings(histories, alone=not runs),
        styles=sorted({run.style.number: run.style for run in runs}.values(), key=lambda style: style.number),
        faults=_select_faults(runs),
        versions=_describe_versions(runs),
        n_runs=len(runs),
        n_episodes=sum(len(run.rows) for run in runs),
        any_privileged=any(run.evaluation.privileged for run in runs),
    )
    shown = {("episode", of.run, of.line.id) for _, reported in sections for run in reported for _, of in run.episodes}
    return render_page(page, Anchors(there=frozenset(shown)))


def _describe_section(
    section: Section, trainings: Sequence[TrainingHistory], n_episodes: int
) -> tuple[SectionPage, list[ReportedRun]]:
    page = describe_section(section, trainings)
    return page, [_describe_run(numbers, n_episodes) for numbers in page.runs]


def _describe_run(numbers: RunNumbers, n_episodes: int) -> ReportedRun:
    run, shelf = numbers.run, numbers.run.shelf
    tasks, matrix = read_matrix(shelf)
    return ReportedRun(
        numbers=numbers,
        shares=share_outcomes(run.evaluation.kinds),
        tasks=tasks,
        matrix=matrix,
        facets=compute_facets(shelf),
        episodes=[
            (reason, describe_episode(shelf, read_line(shelf, row.trajectory), row, numbers.no_bits, cut=True))
            for reason, row in choose_episodes(run.rows, n_episodes)
        ],
        config=to_indented_json(
            {name: getattr(shelf.run, name) for name in ("version", "commit", "fingerprint", "config")}
        ),
        notes=list_notes(shelf, run.evaluation),
    )


def _select_faults(runs: Sequence[EvaluatedRun]) -> list[tuple[str, str]]:
    """The columns of `FAULTS` that are above 0 in any run."""
    metrics = [run.evaluation.metrics for run in runs]
    return [(name, key) for name, key in FAULTS.items() if any((e := m.get(key)) and e.mean for m in metrics)]


def _describe_versions(runs: Sequence[EvaluatedRun]) -> str:
    """The code that produced the runs."""
    saved = [run.shelf.run for run in runs]
    versions = " and ".join(sorted({run.version for run in saved}))
    commits = sorted({run.commit[:10] + "-dirty" * run.commit.endswith("-dirty") for run in saved if run.commit})
    return f"sonde {versions}" + (f" (commit {', '.join(commits)})" if commits else "")


# --- choose episodes -------------------------------------------------------------------------------------------------


class Choice(NamedTuple):
    """A rule for choosing an episode: among those that qualify, the one with the least key."""

    reason: str
    qualifies: Callable[[Row], bool]
    key: Callable[[Row], float]


CHOICES = (
    Choice("shortest win", lambda r: r.win, lambda r: r.turns),
    Choice("longest loss", lambda r: r.kind in ("loss", "out_of_turns"), lambda r: -r.turns),
    Choice("unreadable", lambda r: r.kind == "unreadable", lambda r: -r.turns),
    Choice("worst efficiency", lambda r: mean_efficiency(r) is not None, lambda r: mean_efficiency(r) or 0.0),
    Choice("longest win", lambda r: r.win, lambda r: -r.turns),
    Choice("best efficiency", lambda r: mean_efficiency(r) is not None, lambda r: -(mean_efficiency(r) or 0.0)),
    Choice("external failure", lambda r: bool(r.error), lambda r: 0.0),
    Choice("one more", lambda r: True, lambda r: 0.0),
)
"""The same rules for every agent, so that nobody selects flattering episodes."""


def choose_episodes(rows: Sequence[Row], n: int) -> list[tuple[str, Row]]:
    """Up to `n` different episodes, each with the reason it is shown; ties go to the first task and sample."""
    left, found = list(rows), list[tuple[str, Row]]()
    for choice in (*CHOICES, *[CHOICES[-1]] * n):
        fitting = [row for row in left if choice.qualifies(row)]
        if fitting and len(found) < n:
            best = min(fitting, key=lambda r: (choice.key(r), r.index, r.sample))
            found.append((choice.reason, best))
            left.remove(best)
    return found
