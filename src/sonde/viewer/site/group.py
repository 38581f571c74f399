"""The samples of a task side by side, aligned by turn: where they part, and what each of the ways was worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sonde._util.escaping import Piece
from sonde.core import AGENT, Trajectory, UserError
from sonde.evaluation.rows import Row

from ..text import pieces
from .episodes import Line, line_of
from .library import Library
from .links import whole

CELL = 500
"""Characters of a message in a cell."""
MOST = 32
"""Samples that stand side by side."""


@dataclass(frozen=True, kw_only=True)
class Said:
    """A turn of one sample. `together` is the number of samples that have said just the same up to here."""

    turn: int
    said: Sequence[Piece]
    told: Sequence[Piece]
    bits: float | None
    reward: float
    together: int


@dataclass(frozen=True, kw_only=True)
class Column:
    """A sample."""

    line: Line
    turns: Sequence[Said]


@dataclass(frozen=True, kw_only=True)
class GroupPage:
    """`part` is the turn, from 1, at which not all samples say the same any more, None where they never part."""

    template = "group.html.j2"

    title: str
    run: str
    env: str
    task: str
    seed: int
    index: int
    columns: Sequence[Column]
    of: int
    part: int | None
    turns: int
    wins: int


def page(library: Library, run: str, task: str, seed: str) -> GroupPage:
    """The samples of a task in one world."""
    shelf = library.run(run)
    found = shelf.run.trajectories.where("task = ? AND seed = ?", task, whole("seed", seed), order="sample")
    if not found:
        raise UserError(f"task: {shelf.name} has none called {task!r} in the world of seed {seed}")
    shown = found[:MOST]
    kept = shelf.evaluation
    together = _together(shown)
    columns = [
        Column(
            line=line_of(shelf, t.id),
            turns=_turns(t, kept.row(t.id, t.task.index) if kept is not None else None, together[i]),
        )
        for i, t in enumerate(shown)
    ]
    return GroupPage(
        title=f"{shelf.env.spec.name.replace('_', ' ')}, task {shown[0].task.index}: {len(found)} samples",
        run=shelf.name,
        env=shelf.env.spec.name,
        task=task,
        seed=int(seed),
        index=shown[0].task.index,
        columns=columns,
        of=len(found),
        part=_part(together, len(shown)),
        turns=max((len(t.turns) for t in shown), default=0),
        wins=sum(c.line.kind == "win" for c in columns),
    )


def _turns(t: Trajectory, row: Row | None, together: Sequence[int]) -> list[Said]:
    gains = row.gains if row is not None and row.gains is not None else ()
    return [
        Said(
            turn=turn.index + 1,
            said=pieces(_short(turn.text)),
            told=pieces(_short(turn.told)),
            bits=gains[turn.index].realised if turn.index < len(gains) else None,
            reward=turn.rewards.get(AGENT, 0.0),
            together=together[turn.index],
        )
        for turn in t.turns
    ]


def _short(text: str) -> str:
    return text if len(text) <= CELL else text[:CELL] + " …"


def _together(samples: Sequence[Trajectory]) -> list[list[int]]:
    """For every sample and turn: how many samples have said just the same so far."""
    paths = [[tuple(turn.text.strip() for turn in t.turns[: i + 1]) for i in range(len(t.turns))] for t in samples]
    return [[sum(len(o) > i and o[i] == at for o in paths) for i, at in enumerate(path)] for path in paths]


def _part(together: Sequence[Sequence[int]], n: int) -> int | None:
    """The first turn at which a sample is not with all others."""
    longest = max((len(row) for row in together), default=0)
    return next((i + 1 for i in range(longest) if any(len(row) <= i or row[i] < n for row in together)), None)
