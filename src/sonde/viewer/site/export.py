"""Every page as a file: a site that any web server, or a folder opened in a browser, can show.

The pages are those of the application (`pages.render`), with what comes on demand there already in place; search, games
and tokens stay behind. Of each run the groups of the first tasks are written, up to a number of episodes. Pages load
their style sheets from the folder, and nothing from elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from sonde.core import UserError, identity
from sonde.core.extras import need

from ..report import write_report
from ..templating import asset
from . import compare, episode, group, moments, run, runs, trainings
from .library import Library, Shelf
from .links import Links, depth_of
from .pages import STYLES, render

EPISODES = 200
"""Episodes of a run that are written unless one says otherwise."""
COMPARED = 60
"""Pairs of runs, at most."""

Told = Callable[[str], None]


def export(places: Sequence[Path], to: Path, *, episodes: int = EPISODES, told: Told = lambda _: None) -> Path:
    """Write the site into `to`, a new or empty folder, and return its first page.

    Raises `UserError` for a folder with something in it, without the extra `report`, and what `Library` raises.
    """
    need("sonde view --export", "matplotlib")
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise UserError(f"export: {to} is there and not empty, allowed: a new or an empty folder")
    library = Library(places)
    _Site(library, to, episodes, told).write()
    return to / "index.html"


class _Site:
    """A site being written. `there` are the addresses that it will have."""

    def __init__(self, library: Library, to: Path, episodes: int, told: Told) -> None:
        self.library, self.to, self.told = library, to, told
        self.rows = {shelf.name: _whole_groups(shelf, episodes) for shelf in library.runs}
        self.pairs = _pairs(library.runs)
        self.there = frozenset(self._addresses())

    def _addresses(self) -> Iterable[tuple[str, ...]]:
        for name, rows in self.rows.items():
            yield ("run", name)
            for row in rows:
                yield ("group", name, row.task, str(row.seed))
                yield from (("episode", name, cell.id) for cell in row.cells)
        yield from (("compare", a, b) for a, b in self.pairs)
        yield from (("training", name) for name in self.library.trainings)

    def write(self) -> None:
        for name in STYLES:
            self._file(("assets", name), asset(name))
        self._page(("index",), runs.page(self.library, {}))
        for shelf in self.library.runs:
            self._run(shelf)
        for a, b in self.pairs:
            self._page(("compare", a, b), compare.page(self.library, a, b, {}, per_page=10_000))
        for name in self.library.trainings:
            drawn = trainings.figures(self.library, name)
            self._page(("training", name), trainings.page(self.library, name), figures=drawn)
        evaluated = [shelf.folder for shelf in self.library.runs if shelf.evaluation is not None]
        if evaluated or self.library.trainings:
            write_report(evaluated, self.to / "report.html", training=list(self.library.trainings.values()))

    def _run(self, shelf: Shelf) -> None:
        rows = self.rows[shelf.name]
        self.told(f"{shelf.name}: {sum(len(row.cells) for row in rows)} episodes")
        shown = run.page(self.library, shelf.name, {}, per_page=max(1, sum(len(row.cells) for row in rows)))
        lines = [line for line in shown.listing.lines if ("episode", shelf.name, line.id) in self.there]
        shown = replace(shown, matrix=rows, listing=replace(shown.listing, lines=lines))
        more = {} if shown.why_no_figures else {"figures": run.figures(self.library, shelf.name)}
        self._page(("run", shelf.name), shown, **more)
        for row in rows:
            self._page(
                ("group", shelf.name, row.task, str(row.seed)),
                group.page(self.library, shelf.name, row.task, str(row.seed)),
            )
            for cell in row.cells:
                self._episode(shelf, cell.id)
        if not self.library.held(shelf):
            shelf.close()

    def _episode(self, shelf: Shelf, identity: str) -> None:
        page = episode.page(self.library, shelf.name, identity)
        near = {
            side: other if ("episode", shelf.name, other) in self.there else ""
            for side, other in (("before", page.before), ("after", page.after))
        }
        links = Links(2, static=True)
        more = {}
        if page.replays:
            more["moments"] = render(moments.page(self.library, shelf.name, identity), links)
        self._page(("episode", shelf.name, identity), replace(page, **near), **more)

    def _page(self, parts: tuple[str, ...], page: object, **inline: str) -> None:
        links = Links(depth_of(parts), static=True, there=self.there)
        folder = self.to.joinpath(*parts[:-1])
        self._file((*folder.relative_to(self.to).parts, f"{parts[-1]}.html"), render(page, links, inline=inline))

    def _file(self, parts: Sequence[str], text: str) -> None:
        path = self.to.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "replace"))


def _whole_groups(shelf: Shelf, episodes: int) -> list[run.TaskRow]:
    """The first tasks with all their samples, as long as there is room."""
    rows: list[run.TaskRow] = []
    left = episodes
    _, found = run.matrix(shelf, tasks=max(1, episodes))
    for row in found:
        left -= len(row.cells)
        if left < 0 and rows:
            break
        rows.append(row)
    return rows


def _pairs(shelves: Sequence[Shelf]) -> list[tuple[str, str]]:
    """Runs of one environment, two by two."""
    same = [
        (a.name, b.name)
        for a, b in combinations(shelves, 2)
        if identity(a.env_config) == identity(b.env_config) and compare.shared(a, b)
    ]
    return same[:COMPARED]
