"""The page of a run: numbers, outcomes by task and sample, success by tag, figures, and the list of episodes.

A report shows the same parts for each of its runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import orjson

from sonde._util.processes import map_processes
from sonde.core import UserError, identity
from sonde.evaluation import metrics
from sonde.evaluation.evaluate import Evaluation
from sonde.evaluation.metrics import Estimate
from sonde.evaluation.ratings import RatingSummary, read_ratings, summarise_ratings
from sonde.runs.store import annotation_names
from sonde.runs.store.folder import describe_tampering

from ..evaluated_runs import EvaluatedRun, Section, assign_styles, group_by_environment, read_runs
from ..sections import describe_section, describe_summary, render_section
from ..templating import template_environment, to_indented_json
from .episodes import PER_PAGE, Listing, list_episodes
from .library import Library, Shelf
from .links import parse_whole
from .play import is_conversation
from .runs import Headline, read_headline

TASKS = 60
"""Tasks of the matrix on one page."""
FIGURES = 20_000
"""Maximum number of episodes for which the page draws all figures; for larger runs, only those that need no single
episode."""
FEW = 1000
"""Maximum number of episodes for which figures are drawn in this process."""
FACETS = 40
"""Maximum number of values of a tag for listing success by it."""
REST = (
    '<p class="quiet">More than {{ most }} episodes: <code>sonde report {{ folder }}</code> draws the other figures '
    "(efficiency of questions, turns, bits lost), which takes a while.</p>"
)
DRAWING = Lock()
"""Figures are drawn one at a time."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A sample of a task."""

    id: str
    sample: int
    kind: str
    turns: int


@dataclass(frozen=True, kw_only=True)
class TaskRow:
    """The samples of a task in one world."""

    task: str
    seed: int
    index: int
    cells: Sequence[Cell]

    @property
    def wins(self) -> int:
        return sum(cell.kind == "win" for cell in self.cells)


@dataclass(frozen=True, kw_only=True)
class Facet:
    """The episodes with one value of a tag."""

    tag: str
    value: str
    n: int
    success: Estimate
    turns: float


@dataclass(frozen=True, kw_only=True)
class RunPage:
    """`metrics` are the evaluation's, by name; `others` the runs in the same environment; `to_rate` the first
    episode if episodes are conversations that people can rate, otherwise empty; `why_no_figures` is empty if
    figures can be drawn."""

    template = "run.html.j2"
    scripts = ("tables.js",)

    title: str
    headline: Headline
    summary: str
    metrics: Mapping[str, Estimate | None]
    max_turns: int
    matrix: Sequence[TaskRow]
    tasks: int
    facets: Sequence[Facet]
    listing: Listing
    query: Mapping[str, str]
    annotations: Sequence[str]
    ratings: RatingSummary | None
    to_rate: str
    notes: Sequence[str]
    config: str
    others: Sequence[tuple[str, str]]
    why_no_figures: str
    version: str


def make_run_page(library: Library, name: str, query: Mapping[str, str], per_page: int = PER_PAGE) -> RunPage:
    """The page; `query` as in `episodes.select_episodes`, with `rows`, the first task of the matrix."""
    shelf = library.run(name)
    head = read_headline(library, shelf)
    known = shelf.evaluation.summary if shelf.evaluation is not None else None
    first = parse_whole("rows", query.get("rows") or "0")
    tasks, rows = read_matrix(shelf, first)
    spec = shelf.env.spec
    notes = list_notes(shelf, known)
    if known is not None and shelf.status != "evaluated":
        notes.append("episodes came after the last evaluation; the numbers above are those of the index")
    return RunPage(
        title=f"{head.env.replace('_', ' ')}: {head.agent}",
        headline=head,
        summary=spec.summary,
        metrics=known.metrics if known else {"success": head.success},
        max_turns=spec.max_turns,
        matrix=rows,
        tasks=tasks,
        facets=shelf.compute_once("facets", lambda: compute_facets(shelf)),
        listing=list_episodes(shelf, query, per_page),
        query=query,
        annotations=annotation_names(shelf.folder),
        ratings=shelf.compute_once("ratings", lambda: summarise_ratings(read_ratings(shelf.folder))),
        to_rate=rows[0].cells[0].id if rows and is_conversation(shelf.env) else "",
        notes=notes,
        config=to_indented_json(shelf.config),
        others=[
            (other.name, other.agent)
            for other in library.runs
            if other is not shelf and identity(other.env_config) == identity(shelf.env_config)
        ],
        why_no_figures="" if known else "This run is not evaluated: run sonde rescore, and its figures are drawn here.",
        version=shelf.version,
    )


def list_notes(shelf: Shelf, known: Evaluation | None) -> list[str]:
    """What a reader of the run's numbers must know: notes of the evaluation, damage, another version."""
    tampering = describe_tampering(shelf.config_file)
    notes = [*(known.notes if known else ()), *shelf.damage, *filter(None, [shelf.evaluation_damage, tampering])]
    if shelf.played_version != (version := shelf.env.spec.version):
        notes.append(f"played on version {shelf.played_version} of the environment, shown beside version {version}")
    return notes


def read_matrix(shelf: Shelf, first: int = 0, tasks: int = TASKS) -> tuple[int, list[TaskRow]]:
    """The number of pairs of task and world, and some of them from `first` on with all their samples."""
    runs = shelf.run.trajectories
    keys = shelf.compute_once(
        "tasks", lambda: runs.select_columns("task, seed, min(task_index)", group="task, seed", order="3, 1, 2")
    )
    rows: list[TaskRow] = []
    for task, seed, index in keys[first : first + tasks]:
        found = runs.select_where("task = ? AND seed = ?", task, seed, order="sample")
        cells = [
            Cell(id=i, sample=s, kind=k, turns=t)
            for i, s, k, t in found.select_columns("id, sample, coalesce(kind, 'error'), turns")
        ]
        rows.append(TaskRow(task=task, seed=int(seed), index=index, cells=cells))
    return len(keys), rows


def compute_facets(shelf: Shelf) -> list[Facet]:
    """Success by tag, of tags with more than one value and at most `FACETS`."""
    runs = shelf.run.trajectories
    names = {
        name for (tags,) in runs.select_columns("DISTINCT tags", order="1", limit=1000) for name in _tag_names(tags)
    }
    found: list[Facet] = []
    for name in sorted(names):
        path = '$."' + name.replace('"', "").replace("'", "''") + '"'
        rows = runs.select_columns(
            f"json_extract(tags, '{path}') AS value, task, coalesce(sum(success), 0), count(*), sum(turns)",
            group="value, task", order="value",
        )  # fmt: skip
        values: dict[str, list[tuple[int, int, int]]] = {}
        for value, _, won, n, turns in rows:
            values.setdefault("" if value is None else str(value), []).append((won, n, turns))
        if 1 < len(values) <= FACETS:
            found += [_make_facet(name, value, tasks) for value, tasks in values.items()]
    return found


def _tag_names(tags: str) -> list[str]:
    return list(orjson.loads(tags))


def _make_facet(tag: str, value: str, tasks: Sequence[tuple[int, int, int]]) -> Facet:
    n = sum(count for _, count, _ in tasks)
    success = metrics.rate([[1.0] * won + [0.0] * (count - won) for won, count, _ in tasks])
    return Facet(tag=tag, value=value, n=n, success=success, turns=sum(t for _, _, t in tasks) / n)


# --- figures ----------------------------------------------------------------------------------------------------------


def draw_figures(library: Library, name: str) -> str:
    """The section of this run as HTML, drawn once for every state of its files.

    Figures of a large run are drawn in another process, so that their memory is freed.
    """
    shelf = library.run(name)
    with DRAWING:  # not under the shelf's lock, so that other pages of the run need not wait
        state = shelf.file_state()
        if shelf.figures is None or shelf.figures[0] != state:
            place = str(shelf.folder)
            if len(shelf.run) > FIGURES:
                html = draw_summary(shelf)
            else:
                html = draw_run(place) if len(shelf.run) <= FEW else next(iter(map_processes(draw_run, [place], 1)))
            shelf.figures = (state, html)
        return shelf.figures[1]


def draw_summary(shelf: Shelf) -> str:
    """The figures that need no individual episodes, and how to get the others."""
    if shelf.evaluation is None:
        raise UserError(f"{shelf.name}: got no evaluation, allowed: a run that was evaluated")
    known, env = shelf.evaluation.summary, shelf.env
    (style,) = assign_styles([(known, env)])
    has_filter = known.entropy is not None
    run = EvaluatedRun(shelf=shelf, evaluation=known, style=style, results={}, has_filter=has_filter)
    html = render_section(describe_summary(Section("env-0", env, (run,))))
    return html + _render_text(REST, most=f"{FIGURES:,}", folder=str(shelf.folder))


def draw_run(folder: str) -> str:
    """All figures of a run folder as HTML; a module-level function, so that another process can call it."""
    try:
        (section,) = group_by_environment(read_runs([Path(folder)]))
    except UserError as e:  # an environment's version, an evaluation of other episodes
        return _render_text('<p class="quiet">No figures: {{ why }}</p>', why=str(e))
    return render_section(describe_section(section))


def _render_text(text: str, **values: Any) -> str:
    return template_environment().from_string(text).render(**values)
