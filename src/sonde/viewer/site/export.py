"""Every page as a file: a site that any web server, or a folder opened in a browser, can show.

The pages are those of the application (`pages.render`), with what comes on demand there already in place; tables are
sorted, filtered and grouped by the page itself (`tables.js`), and what was said lies beside the page of the search
(`spoken`). Games stay behind, since nothing answers. Of each run the groups of the first tasks are written, up to a
number of episodes. Pages load their style sheets and those texts from the folder, and nothing from elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sonde._util.extras import need
from sonde._util.folders import write_atomically
from sonde.core import Trajectory, UserError

from ..report import write_report
from ..templating import asset
from . import compare, episode, group, moments, run, runs, search, tokens, trainings
from .library import Library, Shelf
from .links import Links, depth_of
from .pages import STYLES, render
from .spoken import spoken

Told = Callable[[str], None]


@dataclass(frozen=True)
class Extent:
    """How much is written: episodes of each run, pairs of runs that are compared, and whether the best question and the
    tokens of every turn come along."""

    episodes: int = 200
    comparisons: int = 1000
    best: bool = True
    tokens: bool = True


def export(places: Sequence[Path], to: Path, extent: Extent | None = None, *, told: Told = lambda _: None) -> Path:
    """Write the site into `to`, a new or empty folder, and return its first page.

    Raises `UserError` for a folder with something in it, without the extra `report`, and what `Library` raises.
    """
    need("sonde view --export", "matplotlib")
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise UserError(f"export: {to} is there and not empty, allowed: a new or an empty folder")
    library = Library(places)
    _Site(library, to, extent or Extent(), told).write()
    return to / "index.html"


class _Site:
    """A site being written. `there` are the addresses that it will have."""

    def __init__(self, library: Library, to: Path, extent: Extent, told: Told) -> None:
        self.library, self.to, self.extent, self.told = library, to, extent, told
        self.rows = {shelf.name: _whole_groups(shelf, extent.episodes) for shelf in library.runs}
        pairs = compare.pairs(library)
        self.pairs, self.left_out = pairs[: extent.comparisons], pairs[extent.comparisons :]
        self.evaluated = [shelf.folder for shelf in library.runs if shelf.evaluation is not None]
        self.there = frozenset(self._addresses())

    def _addresses(self) -> Iterable[tuple[str, ...]]:
        for name, rows in self.rows.items():
            yield from (("run", name), ("search", name))
            for row in rows:
                yield ("group", name, row.task, str(row.seed))
                yield from (("episode", name, cell.id) for cell in row.cells)
        yield from (("compare", a, b) for a, b in self.pairs)
        yield from (("training", name) for name in self.library.trainings)
        if self.rows:
            yield ("search",)
        if self.evaluated or self.library.trainings:
            yield ("report",)

    def write(self) -> None:
        for name in STYLES:
            self._file(("assets", name), asset(name))
        notes = self._notes()
        for note in notes:
            self.told(f"sonde: {note}")
        self._page(("index",), replace(runs.page(self.library, {}), notes=notes, pairs=self.pairs))
        for shelf in self.library.runs:
            self._run(shelf)
        for a, b in self.pairs:
            self._page(("compare", a, b), compare.page(self.library, a, b, {}, per_page=10_000))
        for name in self.library.trainings:
            drawn = trainings.figures(self.library, name)
            self._page(("training", name), trainings.page(self.library, name), figures=drawn)
        if self.rows:
            everywhere = search.everywhere(self.library, {})
            self._page(("search",), replace(everywhere, sources=list(self.rows)))
        if ("report",) in self.there:
            write_report(self.evaluated, self.to / "report.html", training=list(self.library.trainings.values()))

    def _notes(self) -> list[str]:
        if not self.left_out:
            return []
        n, all_ = len(self.left_out), len(self.pairs) + len(self.left_out)
        return [
            f"{n:,} of {all_:,} comparisons of two runs are not in this folder; "
            f"the pages of the runs say which, `--comparisons {all_}` writes them all"
        ]

    def _notes_of(self, name: str, shown: int, of: int) -> list[str]:
        """What of a run is not here, and what writes it."""
        others = [b if a == name else a for a, b in self.left_out if name in (a, b)]
        found: list[str] = []
        if shown < of:
            found.append(f"{shown:,} of {of:,} episodes are in this folder, `--episodes {of}` writes them all")
        if others:
            found.append(f"not compared in this folder with {', '.join(others)}; `--comparisons` writes more")
        return found

    def _run(self, shelf: Shelf) -> None:
        rows = self.rows[shelf.name]
        n = sum(len(row.cells) for row in rows)
        self.told(f"{shelf.name}: {n} episodes")
        shown = run.page(self.library, shelf.name, {}, per_page=max(1, n))
        lines = [line for line in shown.listing.lines if ("episode", shelf.name, line.id) in self.there]
        notes = [*shown.notes, *self._notes_of(shelf.name, n, shown.listing.n)]
        shown = replace(shown, matrix=rows, listing=replace(shown.listing, lines=lines), notes=notes)
        more = {} if shown.why_no_figures else {"figures": run.figures(self.library, shelf.name)}
        self._page(("run", shelf.name), shown, **more)
        for row in rows:
            self._page(
                ("group", shelf.name, row.task, str(row.seed)),
                group.page(self.library, shelf.name, row.task, str(row.seed)),
            )
            for cell in row.cells:
                self._episode(shelf, shelf.trajectory(cell.id))
        self._page(("search", shelf.name), replace(search.page(self.library, shelf.name, {}), sources=[shelf.name]))
        written = (shelf.trajectory(cell.id) for row in rows for cell in row.cells)
        self._file(("search", f"{shelf.name}.js"), spoken(shelf, written))
        if not self.library.held(shelf):
            shelf.close()

    def _episode(self, shelf: Shelf, t: Trajectory) -> None:
        page = episode.page(self.library, shelf.name, t.id)
        near = {
            side: other if ("episode", shelf.name, other) in self.there else ""
            for side, other in (("before", page.before), ("after", page.after))
        }
        links = Links(2, static=True)
        more: dict[str, str | dict[int, str]] = {}
        if page.replays:
            more["moments"] = render(moments.page(self.library, shelf.name, t.id), links)
        if page.replays and self.extent.best:
            more["best"] = {i + 1: render(best, links) for i, best in enumerate(moments.bests(shelf, t))}
        if page.has_tokens and self.extent.tokens:
            called = (tokens.TokensPage(turn=turn.index, calls=tokens.calls_of(turn)) for turn in t.turns)
            more["tokens"] = {part.turn + 1: render(part, links) for part in called if part.calls}
        self._page(("episode", shelf.name, t.id), replace(page, **near), **more)

    def _page(self, parts: tuple[str, ...], page: object, **inline: str | dict[int, str]) -> None:
        links = Links(depth_of(parts), static=True, there=self.there)
        self._file((*parts[:-1], f"{parts[-1]}.html"), render(page, links, inline=inline))

    def _file(self, parts: Sequence[str], text: str) -> None:
        path = self.to.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text.encode("utf-8", "replace"), durable=False)


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
