"""All pages as files: a site for any web server, or for a folder that is opened in a browser.

The pages are those of the application (`pages.render_page`), with the parts on demand already included. A script sorts,
filters and groups their tables (`tables.js`), and a script beside the search page holds the conversations
(`search.write_script`). The play page needs a server and is left out. Of each run, the first tasks are written with all
their samples, up to a number of episodes. Pages load only their style sheet and those texts, from the same folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sonde._util.extras import require_extra
from sonde._util.folders import write_atomically
from sonde.core import Trajectory, UserError

from ..report import write_report
from ..templating import STYLE, read_asset
from . import compare, episode, group, replay, run, runs, search, tokens, training
from .library import Library, Shelf
from .links import Links, page_depth
from .pages import render_page

Report = Callable[[str], None]


@dataclass(frozen=True)
class Extent:
    """How much is written: episodes per run, comparisons of two runs, and whether to include the best question and the
    tokens of every turn."""

    episodes: int = 200
    comparisons: int = 1000
    best: bool = True
    tokens: bool = True


def export_site(
    places: Sequence[Path], to: Path, extent: Extent | None = None, *, on_progress: Report = lambda _: None
) -> Path:
    """Write the site into `to`, a new or empty folder, and return its first page.

    Raises `UserError` for a folder that is not empty, without the extra `report`, and for the same reasons as
    `Library`.
    """
    require_extra("sonde view --export", "matplotlib")
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise UserError(f"export: got {to}, which is not empty, allowed: a new or an empty folder")
    library = Library(places)
    _Site(library, to, extent or Extent(), on_progress).write_all()
    return to / "index.html"


class _Site:
    """A site being written. `there` holds its addresses."""

    def __init__(self, library: Library, to: Path, extent: Extent, on_progress: Report) -> None:
        self.library, self.to, self.extent, self.on_progress = library, to, extent, on_progress
        self.rows = {shelf.name: _select_tasks(shelf, extent.episodes) for shelf in library.runs}
        pairs = compare.list_pairs(library)
        self.pairs, self.left_out = pairs[: extent.comparisons], pairs[extent.comparisons :]
        self.evaluated = [shelf.folder for shelf in library.runs if shelf.evaluation is not None]
        self.there = frozenset(self._list_addresses())

    def _list_addresses(self) -> Iterable[tuple[str, ...]]:
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

    def write_all(self) -> None:
        self._write_file(("assets", STYLE), read_asset(STYLE))
        notes = self._describe_left_out()
        for note in notes:
            self.on_progress(f"sonde: {note}")
        self._write_page(("index",), replace(runs.make_runs_page(self.library, {}), notes=notes, pairs=self.pairs))
        for shelf in self.library.runs:
            self._write_run(shelf)
        for a, b in self.pairs:
            self._write_page(("compare", a, b), compare.make_compare_page(self.library, a, b, {}, per_page=10_000))
        for name in self.library.trainings:
            drawn = training.draw_figures(self.library, name)
            self._write_page(("training", name), training.make_training_page(self.library, name), figures=drawn)
        if self.rows:
            everywhere = search.search_all_runs(self.library, {})
            self._write_page(("search",), replace(everywhere, sources=list(self.rows)))
        if ("report",) in self.there:
            write_report(self.evaluated, self.to / "report.html", training=list(self.library.trainings.values()))

    def _describe_left_out(self) -> list[str]:
        if not self.left_out:
            return []
        n, all_ = len(self.left_out), len(self.pairs) + len(self.left_out)
        return [
            f"{n:,} of {all_:,} comparisons of two runs are not in this folder; "
            f"the page of each run lists its own, `--comparisons {all_}` writes all"
        ]

    def _describe_left_out_of(self, name: str, shown: int, of: int) -> list[str]:
        """What is left out of a run, and the option that writes it."""
        others = [b if a == name else a for a, b in self.left_out if name in (a, b)]
        found: list[str] = []
        if shown < of:
            found.append(f"{shown:,} of {of:,} episodes are in this folder, `--episodes {of}` writes all")
        if others:
            found.append(f"not compared in this folder with {', '.join(others)}; `--comparisons` writes more")
        return found

    def _write_run(self, shelf: Shelf) -> None:
        rows = self.rows[shelf.name]
        n = sum(len(row.cells) for row in rows)
        self.on_progress(f"{shelf.name}: {n} episodes")
        shown = run.make_run_page(self.library, shelf.name, {}, per_page=max(1, n))
        lines = [line for line in shown.listing.lines if ("episode", shelf.name, line.id) in self.there]
        notes = [*shown.notes, *self._describe_left_out_of(shelf.name, n, shown.listing.n)]
        shown = replace(shown, matrix=rows, listing=replace(shown.listing, lines=lines), notes=notes)
        more = {} if shown.why_no_figures else {"figures": run.draw_figures(self.library, shelf.name)}
        self._write_page(("run", shelf.name), shown, **more)
        for row in rows:
            self._write_page(
                ("group", shelf.name, row.task, str(row.seed)),
                group.make_group_page(self.library, shelf.name, row.task, str(row.seed)),
            )
            for cell in row.cells:
                self._write_episode(shelf, shelf.read_trajectory(cell.id))
        self._write_page(
            ("search", shelf.name), replace(search.make_search_page(self.library, shelf.name, {}), sources=[shelf.name])
        )
        written = (shelf.read_trajectory(cell.id) for row in rows for cell in row.cells)
        self._write_file(("search", f"{shelf.name}.js"), search.write_script(shelf, written))
        if not self.library.is_open(shelf):
            shelf.free_memory()

    def _write_episode(self, shelf: Shelf, t: Trajectory) -> None:
        page = episode.make_episode_page(self.library, shelf.name, t.id)
        near = {
            side: other if ("episode", shelf.name, other) in self.there else ""
            for side, other in (("before", page.before), ("after", page.after))
        }
        links = Links(2, static=True)
        more: dict[str, str | dict[int, str]] = {}
        if page.replays:
            more["replay"] = render_page(replay.make_replay_part(self.library, shelf.name, t.id), links)
        if page.replays and self.extent.best:
            more["best"] = {i + 1: render_page(best, links) for i, best in enumerate(replay.find_all_best(shelf, t))}
        if page.has_tokens and self.extent.tokens:
            called = (tokens.TokensPart(turn=turn.index, calls=tokens.list_calls(turn)) for turn in t.turns)
            more["tokens"] = {part.turn + 1: render_page(part, links) for part in called if part.calls}
        self._write_page(("episode", shelf.name, t.id), replace(page, **near), **more)

    def _write_page(self, parts: tuple[str, ...], page: object, **inline: str | dict[int, str]) -> None:
        links = Links(page_depth(parts), static=True, there=self.there)
        self._write_file((*parts[:-1], f"{parts[-1]}.html"), render_page(page, links, inline=inline))

    def _write_file(self, parts: Sequence[str], text: str) -> None:
        path = self.to.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, text.encode("utf-8", "replace"), durable=False)


def _select_tasks(shelf: Shelf, episodes: int) -> list[run.TaskRow]:
    """The first tasks with all their samples, up to a number of episodes."""
    rows: list[run.TaskRow] = []
    left = episodes
    _, found = run.read_matrix(shelf, tasks=max(1, episodes))
    for row in found:
        left -= len(row.cells)
        if left < 0 and rows:
            break
        rows.append(row)
    return rows
