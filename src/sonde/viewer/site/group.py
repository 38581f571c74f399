"""The samples of a task side by side, aligned by turn: where they diverge, and what each branch gained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sonde._util.escaping import Piece
from sonde.core import AGENT, Trajectory, UserError
from sonde.evaluation.rows import Row

from ..templating import split_pieces
from .episodes import Line, read_line
from .library import Library
from .links import parse_whole

CELL = 500
"""Characters of a message in a cell."""
MOST = 32
"""Maximum number of samples shown side by side."""


@dataclass(frozen=True, kw_only=True)
class GroupTurn:
    """A turn of one sample. `together` is the number of samples with the same messages up to here."""

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
    turns: Sequence[GroupTurn]


@dataclass(frozen=True, kw_only=True)
class GroupPage:
    """`part` is the turn, from 1, at which the samples diverge; None if they never do."""

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


def make_group_page(library: Library, run: str, task: str, seed: str) -> GroupPage:
    """The samples of a task in one world."""
    shelf = library.run(run)
    found = shelf.run.trajectories.select_where(
        "task = ? AND seed = ?", task, parse_whole("seed", seed), order="sample"
    )
    if not found:
        raise UserError(f"task: got {task!r} with seed {seed}, allowed: a task and seed of {shelf.name}")
    shown = found[:MOST]
    kept = shelf.evaluation
    together = _count_together(shown)
    columns = [
        Column(
            line=read_line(shelf, t.id),
            turns=_describe_turns(t, kept.find_row(t.id, t.task.index) if kept is not None else None, together[i]),
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
        part=_find_divergence(together, len(shown)),
        turns=max((len(t.turns) for t in shown), default=0),
        wins=sum(c.line.kind == "win" for c in columns),
    )


def _describe_turns(t: Trajectory, row: Row | None, together: Sequence[int]) -> list[GroupTurn]:
    gains = row.gains if row is not None and row.gains is not None else ()
    return [
        GroupTurn(
            turn=turn.index + 1,
            said=split_pieces(_shorten_text(turn.text)),
            told=split_pieces(_shorten_text(turn.told)),
            bits=gains[turn.index].realised if turn.index < len(gains) else None,
            reward=turn.rewards.get(AGENT, 0.0),
            together=together[turn.index],
        )
        for turn in t.turns
    ]


def _shorten_text(text: str) -> str:
    return text if len(text) <= CELL else text[:CELL] + " …"


def _count_together(samples: Sequence[Trajectory]) -> list[list[int]]:
    """For every sample and turn: the number of samples with the same messages so far."""
    paths = [[tuple(turn.text.strip() for turn in t.turns[: i + 1]) for i in range(len(t.turns))] for t in samples]
    return [[sum(len(o) > i and o[i] == at for o in paths) for i, at in enumerate(path)] for path in paths]


def _find_divergence(together: Sequence[Sequence[int]], n: int) -> int | None:
    """The first turn at which a sample differs from the others."""
    longest = max((len(row) for row in together), default=0)
    return next((i + 1 for i in range(longest) if any(len(row) <= i or row[i] < n for row in together)), None)
