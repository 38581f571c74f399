"""An episode: the conversation by seat, every turn with its information, and what stands beside it.

What takes a replay (boards, beliefs, the best question) comes separately (`moments.py`), so the page is there at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sonde.core import Trajectory
from sonde.core.plain import plain
from sonde.evaluate import row
from sonde.labels import label
from sonde.rows import Row
from sonde.store import annotation_names, read_annotations

from ..text import compact, indented
from ..transcripts import Transcript, laid_out
from .credits import Credit, credited
from .episodes import Line, line_of, neighbours
from .library import Library, Shelf

_OURS = ("information", "elicited")


@dataclass(frozen=True, kw_only=True)
class EpisodePage:
    """`players` are the seats with who sat there; `notes` annotations by others than sonde, by turn or None;
    `credits` what a training made of every turn, where it played the episode."""

    template = "episode.html.j2"

    title: str
    run: str
    line: Line
    transcript: Transcript
    players: Sequence[tuple[str, str]]
    before: str
    after: str
    siblings: Sequence[tuple[str, int, str]]
    notes: Mapping[int | None, Sequence[tuple[str, str]]]
    credits: Sequence[Credit]
    replays: bool
    has_tokens: bool
    evaluated: bool
    env: str
    seats: Sequence[str]
    details: str
    no_bits: str

    @cached_property
    def json(self) -> dict[str, Any]:
        """What the page says, for programs: the record, with what is known of its information."""
        return {"trajectory": self.transcript.trajectory.to_json(), "row": self.transcript.row}


def page(library: Library, run: str, identity: str) -> EpisodePage:
    """The page of one episode."""
    shelf = library.run(run)
    line, t = line_of(shelf, identity), shelf.trajectory(identity)
    kept = shelf.evaluation.row(identity, line.index) if shelf.evaluation is not None else None
    known = kept or row(t)
    before, after = neighbours(shelf, line)
    transcript = laid_out(shelf.env, t, known, shelf.beliefs.beliefs.get(identity), whole=True)
    where = f"task {t.task.index}, sample {t.sample}"
    return EpisodePage(
        title=f"{shelf.env.spec.name.replace('_', ' ')}, {where}",
        run=shelf.name,
        line=line,
        transcript=transcript,
        players=[(seat, plain(label(config))) for seat, config in t.policies.items()],
        before=before,
        after=after,
        siblings=_siblings(shelf, line),
        notes=_notes(shelf, t),
        credits=credited(shelf, t),
        replays=t.version == shelf.env.spec.version,
        has_tokens=any(act.action.completions for act in t.acts),
        evaluated=kept is not None,
        env=shelf.env.spec.name,
        seats=list(shelf.env.spec.seats),
        details=indented(
            {"task": t.task.to_json(), "seed": t.seed, "policies": dict(t.policies), "tags": dict(t.tags)}
        ),
        no_bits="" if known.gains is not None else _why_no_bits(shelf, kept),
    )


def _why_no_bits(shelf: Shelf, kept: Row | None) -> str:
    if kept is None:
        return "the run was not evaluated"
    return "there is no exact filter for what was played, or the run was evaluated without gains"


def _siblings(shelf: Shelf, line: Line) -> list[tuple[str, int, str]]:
    """The samples of the same task in the same world: id, sample, kind."""
    found = shelf.run.trajectories.where("task = ? AND seed = ?", line.task, line.seed, order="sample")
    return found.select("id, sample, coalesce(kind, 'error')")


def _notes(shelf: Shelf, t: Trajectory) -> dict[int | None, list[tuple[str, str]]]:
    found: dict[int | None, list[tuple[str, str]]] = {}
    for name in annotation_names(shelf.folder):
        if name in _OURS:
            continue
        notes = shelf.once(f"notes {name}", lambda name=name: read_annotations(shelf.folder, name))
        for turn in (None, *range(len(t.turns) + 1)):
            if (note := notes.get((t.id, turn))) is not None:
                found.setdefault(turn, []).append((name, f"{compact(note.value)} ({plain(note.producer)})"))
    return found
