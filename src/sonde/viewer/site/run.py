"""A run: its numbers, what became of every task and sample, its figures, facets by tag, and its episodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import orjson

from sonde._util.processes import spread
from sonde.core import UserError, identity
from sonde.evaluation import metrics
from sonde.evaluation.evaluate import Evaluation
from sonde.evaluation.metrics import Estimate
from sonde.runs.store import annotation_names

from ..loading import Source
from ..templating import templates
from ..text import indented
from .episodes import PER_PAGE, Listing, listing
from .library import Library, Shelf
from .links import whole
from .runs import Headline, headline_of

TASKS = 60
"""Tasks of the matrix on one page."""
FIGURES = 20_000
"""Episodes of which all figures are drawn while somebody waits; of more, those that need no single episode."""
FEW = 1000
"""Episodes up to which they are drawn on the spot."""
FACETS = 40
REST = (
    '<p class="quiet">More than {{ most }} episodes: how good single questions were, how long episodes lasted and '
    "where bits were lost is drawn by <code>sonde report {{ folder }}</code>, which takes a while.</p>"
)
DRAWING = Lock()
"""Figures are drawn one after the other."""


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
    """The episodes whose tag has a value."""

    tag: str
    value: str
    n: int
    success: Estimate
    turns: float


@dataclass(frozen=True, kw_only=True)
class RunPage:
    """`metrics` are the evaluation's, by name; `others` the runs in the same environment; `why_no_figures` is empty
    where figures can be drawn."""

    template = "run.html.j2"
    scripts = ("tables.js",)

    title: str
    headline: Headline
    summary: str
    metrics: Mapping[str, Estimate | None]
    k: int
    max_turns: int
    matrix: Sequence[TaskRow]
    tasks: int
    facets: Sequence[Facet]
    listing: Listing
    query: Mapping[str, str]
    annotations: Sequence[str]
    notes: Sequence[str]
    config: str
    others: Sequence[tuple[str, str]]
    why_no_figures: str
    version: str


def page(library: Library, name: str, query: Mapping[str, str], per_page: int = PER_PAGE) -> RunPage:
    """The page; `query` as in `episodes.chosen`, with `rows`, the first task of the matrix."""
    shelf = library.run(name)
    head = headline_of(library, shelf)
    known = shelf.evaluation.summary if shelf.evaluation is not None else None
    first = whole("rows", query.get("rows") or "0")
    tasks, rows = matrix(shelf, first)
    spec = shelf.env.spec
    return RunPage(
        title=f"{head.env.replace('_', ' ')}: {head.agent}",
        headline=head,
        summary=spec.summary,
        metrics=known.metrics if known else {"success": head.success},
        k=known.k if known else max((len(row.cells) for row in rows), default=0),
        max_turns=spec.max_turns,
        matrix=rows,
        tasks=tasks,
        facets=shelf.once("facets", lambda: facets(shelf)),
        listing=listing(shelf, query, per_page),
        query=query,
        annotations=annotation_names(shelf.folder),
        notes=_notes(shelf, known),
        config=indented(shelf.config),
        others=[
            (other.name, other.agent)
            for other in library.runs
            if other is not shelf and identity(other.env_config) == identity(shelf.env_config)
        ],
        why_no_figures=_why_no_figures(known),
        version=shelf.version,
    )


def _notes(shelf: Shelf, known: Evaluation | None) -> list[str]:
    notes = [*(known.notes if known else ()), *shelf.damage, *filter(None, [shelf.evaluation_damage])]
    if shelf.played_version != shelf.env.spec.version:
        notes.append(
            f"played on version {shelf.played_version} of the environment, shown beside {shelf.env.spec.version}"
        )
    if known is not None and shelf.status != "evaluated":
        notes.append("episodes came after the last evaluation; the numbers above are those of the index")
    return notes


def _why_no_figures(known: Evaluation | None) -> str:
    if known is None:
        return "This run was not evaluated yet; `sonde rescore` does that, and then figures are drawn."
    return ""


def matrix(shelf: Shelf, first: int = 0, tasks: int = TASKS) -> tuple[int, list[TaskRow]]:
    """How many pairs of task and world there are, and some of them from `first` on with all their samples."""
    runs = shelf.run.trajectories
    keys = shelf.once("tasks", lambda: runs.select("task, seed, min(task_index)", group="task, seed", order="3, 1, 2"))
    rows: list[TaskRow] = []
    for task, seed, index in keys[first : first + tasks]:
        found = runs.where("task = ? AND seed = ?", task, seed, order="sample")
        cells = [
            Cell(id=i, sample=s, kind=k, turns=t)
            for i, s, k, t in found.select("id, sample, coalesce(kind, 'error'), turns")
        ]
        rows.append(TaskRow(task=task, seed=int(seed), index=index, cells=cells))
    return len(keys), rows


def facets(shelf: Shelf) -> list[Facet]:
    """Success by tag, of tags with more than one value and few enough of them to be told apart."""
    runs = shelf.run.trajectories
    names = {name for (tags,) in runs.select("DISTINCT tags", order="1", limit=1000) for name in _names(tags)}
    found: list[Facet] = []
    for name in sorted(names):
        path = '$."' + name.replace('"', "").replace("'", "''") + '"'
        rows = runs.select(
            f"json_extract(tags, '{path}') AS value, task, coalesce(sum(success), 0), count(*), sum(turns)",
            group="value, task", order="value",
        )  # fmt: skip
        values: dict[str, list[tuple[int, int, int]]] = {}
        for value, _, won, n, turns in rows:
            values.setdefault("" if value is None else str(value), []).append((won, n, turns))
        if 1 < len(values) <= FACETS:
            found += [_facet(name, value, tasks) for value, tasks in values.items()]
    return found


def _names(tags: str) -> list[str]:
    return list(orjson.loads(tags))


def _facet(tag: str, value: str, tasks: Sequence[tuple[int, int, int]]) -> Facet:
    n = sum(count for _, count, _ in tasks)
    success = metrics.rate([[1.0] * won + [0.0] * (count - won) for won, count, _ in tasks])
    return Facet(tag=tag, value=value, n=n, success=success, turns=sum(t for _, _, t in tasks) / n)


# --- figures ----------------------------------------------------------------------------------------------------------


def figures(library: Library, name: str) -> str:
    """The figures of the report about this run, as HTML, drawn once for every state.

    Those of a large run in a process of its own, whose memory is given back.
    """
    shelf = library.run(name)
    with DRAWING:  # and not under the shelf's lock: other pages of the run do not wait
        state = shelf.state()
        if shelf.figures is None or shelf.figures[0] != state:
            place = str(shelf.folder)
            if len(shelf.run) > FIGURES:
                html = drawn_without_rows(shelf)
            else:
                html = drawn(place) if len(shelf.run) <= FEW else next(iter(spread(drawn, [place], 1)))
            shelf.figures = (state, html)
        return shelf.figures[1]


def drawn_without_rows(shelf: Shelf) -> str:
    """The figures that stand in an evaluation as they are, and where the others are to be had."""
    from ..report import overview  # which brings matplotlib

    if shelf.evaluation is None:
        raise UserError(f"{shelf.name}: got no evaluation, allowed: a run that was evaluated")
    html = overview(Source(shelf.folder, shelf.evaluation.summary, shelf.run, shelf.env))
    return html + templates().from_string(REST).render(most=f"{FIGURES:,}", folder=str(shelf.folder))


def drawn(folder: str) -> str:
    """The figures of a run folder as HTML. Stands at the top of a module, for other processes."""
    from ..report import section  # which brings matplotlib

    try:
        return section(Path(folder))
    except UserError as e:  # an environment's version, an evaluation that speaks of other episodes
        return templates().from_string('<p class="quiet">No figures: {{ why }}</p>').render(why=str(e))
