"""Case-insensitive full-text search over the conversations of a run, or of all runs.

The logs are read in order, for a second per answer, so memory is bounded and the first hits appear at once; an answer
has a link that continues the search. There is no word index, which would cost more than one pass.

Pages in a folder have no server: the texts lie beside the page as a data script (`write_script`), and the page searches
them itself.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sonde._util.escaping import Piece, make_visible
from sonde.core import AGENT, SondeError, Trajectory, UserError
from sonde.runs.store.codec import dump_json

from ..templating import split_pieces
from .episodes import select_episodes
from .library import Library, Shelf
from .links import parse_whole

HITS = 30
PATIENCE = 1.0
"""Seconds of reading per answer."""
AROUND = 60
"""Characters shown on either side of a hit."""


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A place where the text was found; `turn` counts from 1, 0 is before the first."""

    run: str
    env: str
    agent: str
    id: str
    index: int
    sample: int
    kind: str
    turn: int
    seat: str
    before: Sequence[Piece]
    found: Sequence[Piece]
    after: Sequence[Piece]


@dataclass(frozen=True, kw_only=True)
class SearchPage:
    """`next` is the episode to continue with, None at the end; `read` episodes were searched, of the `of` of one run.

    For a search over all runs, `run` is empty, `at` is the run to continue in, `runs` (of `of_runs`) have been read to
    their end, and `unread` lists unreadable runs and why. `sources` are the runs whose texts lie beside the page, if it
    is a file.
    """

    template = "search.html.j2"
    scripts = ("search.js",)

    title: str
    run: str
    env: str
    text: str
    hits: Sequence[Hit]
    read: int
    next: int | None
    query: Mapping[str, str]
    of: int = 0
    at: str = ""
    runs: int = 0
    of_runs: int = 0
    environments: Sequence[str] = ()
    unread: Sequence[tuple[str, str]] = ()
    sources: Sequence[str] = ()


@dataclass
class _Search:
    """The hits of one answer, and its time limit."""

    text: str
    hits: list[Hit] = field(default_factory=list)
    read: int = 0
    began: float = field(default_factory=time.monotonic)

    @property
    def is_over(self) -> bool:
        """False until one episode was read; otherwise a search would make no progress."""
        return len(self.hits) >= HITS or (self.read > 0 and time.monotonic() - self.began >= PATIENCE)

    def search_run(self, shelf: Shelf, query: Mapping[str, str], start: int) -> tuple[int | None, int]:
        """Search a run from an episode on. Return the episode to continue with, None at the end, and the total
        number."""
        found = select_episodes(shelf, {**query, "sort": "stored", "group": ""})
        needle = dump_json(self.text)[1:-1].lower().strip()  # encoded as in the records, so that few need to be parsed
        at = start
        while self.text and at < len(found) and not self.is_over:
            if needle in found.record_line(at).lower():
                self.hits += _find_hits(shelf, found[at], self.text.lower())
            at += 1
            self.read += 1
        return (at if self.text and at < len(found) else None), len(found)


def make_search_page(library: Library, run: str, query: Mapping[str, str]) -> SearchPage:
    """Search one run; `query` holds `text`, and may hold `from`, the number of the first episode to read, and the
    filters of `select_episodes`."""
    shelf = library.run(run)
    reading = _Search(query.get("text", ""))
    following, of = reading.search_run(shelf, query, parse_whole("from", query.get("from") or "0"))
    return SearchPage(
        title=f"Search in {shelf.env.spec.name.replace('_', ' ')}: {shelf.agent}",
        run=shelf.name, env=shelf.env.spec.name, text=reading.text, hits=reading.hits, read=reading.read, of=of,
        next=following, query=query,
    )  # fmt: skip


def search_all_runs(library: Library, query: Mapping[str, str]) -> SearchPage:
    """Search all runs in order; `query` as above, plus `env` to search the runs of one environment and `at`, the run to
    continue in."""
    library.refresh()
    wanted = query.get("env", "")
    shelves = [shelf for shelf in library.runs if wanted in ("", shelf.env_config["name"])]
    first = _find_run(shelves, query.get("at", ""))
    start = parse_whole("from", query.get("from") or "0")
    reading, unread = _Search(query.get("text", "")), list(library.unread)
    following, at, done = None, "", first
    for shelf in shelves[first:] if reading.text else ():
        if reading.is_over:
            following, at = 0, shelf.name
            break
        try:
            following, _ = reading.search_run(shelf, query, start)
        except (SondeError, OSError) as e:
            unread.append((shelf.name, str(e)))
        if following is not None:
            at = library.run(shelf.name).name  # opened again, so that it stays open for the next answer
            break
        if not library.is_open(shelf):
            shelf.free_memory()
        start, done = 0, done + 1
    return SearchPage(
        title="Search in all runs", run="", env=wanted, text=reading.text, hits=reading.hits, read=reading.read,
        next=following, at=at, query=query, runs=done, of_runs=len(shelves), unread=unread,
        environments=sorted({str(shelf.env_config["name"]) for shelf in library.runs}),
    )  # fmt: skip


def _find_run(shelves: Sequence[Shelf], name: str) -> int:
    """The index of a run; 0 without a name."""
    names = [shelf.name for shelf in shelves]
    if name and name not in names:
        raise UserError(f"at: got {name!r}, allowed: the name of one of the {len(names)} runs")
    return names.index(name) if name else 0


def _find_hits(shelf: Shelf, t: Trajectory, text: str) -> Iterator[Hit]:
    """The first place in each message."""
    kind = t.outcome.kind if t.outcome else "error"
    for turn, seat, words in list_messages(t):
        at = words.lower().find(text)
        if at < 0 or len(words.lower()) != len(words):  # a few letters change length with case
            at = words.find(text)
        if at >= 0:
            end = at + len(text)
            yield Hit(
                run=shelf.name, env=str(shelf.env_config["name"]), agent=shelf.agent,
                id=t.id, index=t.task.index, sample=t.sample, kind=kind, turn=turn, seat=seat,
                before=split_pieces(words[max(0, at - AROUND) : at]), found=split_pieces(words[at:end]),
                after=split_pieces(words[end : end + AROUND]),
            )  # fmt: skip


def list_messages(t: Trajectory) -> Iterator[tuple[int, str, str]]:
    """All texts of an episode: the turn, the speaker, and the words."""
    for turn, acts in ((0, t.opening), *((turn.index + 1, turn.acts) for turn in t.turns)):
        for act in acts:
            yield turn, act.seat, act.action.text
            for c in act.action.completions:
                if c.reasoning:
                    yield turn, f"{act.seat}, reasoning", c.reasoning
            told = act.told.get(AGENT, "")
            if told and told != act.action.text:
                yield turn, "told", told


def write_script(shelf: Shelf, episodes: Iterable[Trajectory]) -> str:
    """The data script that `search.js` reads: id, task, sample, outcome and messages of each episode.

    A page in a folder may not read another file, but may run a script beside it. The texts are JSON with invisible
    characters shown by their code, so no message can become a program.
    """
    told = [
        [
            t.id, t.task.index, t.sample, t.outcome.kind if t.outcome else "error",
            [[turn, make_visible(seat), make_visible(words)] for turn, seat, words in list_messages(t) if words],
        ]
        for t in episodes
    ]  # fmt: skip
    run = {"env": str(shelf.env_config["name"]), "agent": make_visible(shelf.agent), "episodes": told}
    return f"(globalThis.said ??= {{}})[{_to_literal(shelf.name)}] = {_to_literal(run)};\n"


def _to_literal(value: object) -> str:
    """JSON that is valid as a script and cannot end a script element."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
