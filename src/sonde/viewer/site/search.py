"""Search over what was said in the episodes of a run: a part of a text, whatever its case.

The logs are read one after the other, a stretch at a time, so memory is bounded and the first hits are there at once;
an answer says where to go on. No index of words is kept: what it would cost is more than one reading.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sonde.core import AGENT, Trajectory
from sonde.core.plain import Piece
from sonde.store.codec import dumps

from ..text import pieces
from .episodes import chosen
from .library import Library
from .links import whole

HITS = 30
PATIENCE = 1.0
"""Seconds of reading in one answer."""
AROUND = 60
"""Characters shown on either side of a hit."""


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A place where it was said; `turn` counts from 1, 0 is before the first."""

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
    """`next` is where to go on, None at the end; `read` episodes were looked at, of `of`."""

    template = "search.html.j2"

    title: str
    run: str
    env: str
    text: str
    hits: Sequence[Hit]
    read: int
    of: int
    next: int | None
    query: Mapping[str, str]


def page(library: Library, run: str, query: Mapping[str, str]) -> SearchPage:
    """`query` holds `text`, may hold `from`, the number of the first episode to read, and what `chosen` takes."""
    shelf = library.run(run)
    text = query.get("text", "")
    found = chosen(shelf, {**query, "sort": "stored"})
    start = at = whole("from", query.get("from") or "0")
    needle = dumps(text)[1:-1].lower().strip()  # as the records have it, of which few need to be read then
    hits: list[Hit] = []
    began = time.monotonic()
    while text and at < len(found) and len(hits) < HITS and time.monotonic() - began < PATIENCE:
        if needle in found.record(at).lower():
            hits += _hits(found[at], text.lower())
        at += 1
    done = not text or at >= len(found)
    return SearchPage(
        title=f"Search in {shelf.env.spec.name.replace('_', ' ')}: {shelf.agent}",
        run=shelf.name, env=shelf.env.spec.name, text=text, hits=hits, read=at - start, of=len(found),
        next=None if done else at, query=query,
    )  # fmt: skip


def _hits(t: Trajectory, text: str) -> Iterator[Hit]:
    """The first place in every act."""
    kind = t.outcome.kind if t.outcome else "error"
    for turn, seat, said in _said(t):
        at = said.lower().find(text)
        if at < 0 or len(said.lower()) != len(said):  # a few letters change their length with their case
            at = said.find(text)
        if at >= 0:
            end = at + len(text)
            yield Hit(
                id=t.id, index=t.task.index, sample=t.sample, kind=kind, turn=turn, seat=seat,
                before=pieces(said[max(0, at - AROUND) : at]), found=pieces(said[at:end]),
                after=pieces(said[end : end + AROUND]),
            )  # fmt: skip


def _said(t: Trajectory) -> Iterator[tuple[int, str, str]]:
    for turn, acts in ((0, t.opening), *((turn.index + 1, turn.acts) for turn in t.turns)):
        for act in acts:
            yield turn, act.seat, act.action.text
            for c in act.action.completions:
                if c.reasoning:
                    yield turn, f"{act.seat}, reasoning", c.reasoning
            told = act.told.get(AGENT, "")
            if told and told != act.action.text:
                yield turn, "told", told
