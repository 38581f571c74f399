"""Two runs, paired by task: who won where, and by how much, with an interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sonde import metrics
from sonde.core import UserError, identity
from sonde.metrics import Estimate

from .library import Library, Shelf
from .runs import Headline, headline_of

PER_PAGE = 100
ONLY = ("", "a", "b", "both", "neither", "differ")


@dataclass(frozen=True, kw_only=True)
class Side:
    """What one run did with a task: episodes won, of how many, in how many turns and with what score on average."""

    wins: int
    n: int
    turns: float
    score: float
    id: str

    @property
    def rate(self) -> float:
        return self.wins / self.n


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A task that both have played."""

    task: str
    seed: int
    index: int
    a: Side
    b: Side

    @property
    def gap(self) -> float:
        return self.a.rate - self.b.rate

    @property
    def who(self) -> str:
        """`a` or `b` who won more often, else `both` or `neither`."""
        if self.gap:
            return "a" if self.gap > 0 else "b"
        return "both" if self.a.wins else "neither"


@dataclass(frozen=True, kw_only=True)
class ComparePage:
    """`gaps` are means of A - B over tasks, by name; `counts` says how many tasks each won more often."""

    template = "compare.html.j2"

    title: str
    a: Headline
    b: Headline
    same: bool
    gaps: Mapping[str, Estimate]
    counts: Mapping[str, int]
    pairs: Sequence[Pair]
    n: int
    of: int
    only_a: int
    only_b: int
    query: Mapping[str, str]
    number: int
    pages: int
    version: str


def page(library: Library, a: str, b: str, query: Mapping[str, str]) -> ComparePage:
    """The comparison; `only` in the query picks tasks by who won them more often."""
    left, right = library.run(a), library.run(b)
    mine, theirs = _sides(left), _sides(right)
    shared = [key for key in mine if key in theirs]
    if not shared:
        raise UserError(f"compare: {a} and {b} share no task")
    pairs = [Pair(task=t, seed=s, index=mine[t, s][0], a=mine[t, s][1], b=theirs[t, s][1]) for t, s in shared]
    pairs.sort(key=lambda p: (p.index, p.task, p.seed))
    only = query.get("only", "")
    shown = [p for p in pairs if only in ("", p.who) or (only == "differ" and p.gap)]
    number = int(query["page"]) if query.get("page", "").isdigit() else 0
    return ComparePage(
        title=f"{left.agent} and {right.agent}",
        a=headline_of(library, left),
        b=headline_of(library, right),
        same=identity(left.config["env"]) == identity(right.config["env"]),
        gaps=_gaps(pairs),
        counts={who: sum(p.who == who for p in pairs) for who in ("a", "b", "both", "neither")},
        pairs=shown[number * PER_PAGE : (number + 1) * PER_PAGE],
        n=len(shown),
        of=len(pairs),
        only_a=len(mine) - len(shared),
        only_b=len(theirs) - len(shared),
        query=query,
        number=number,
        pages=max(1, -(-len(shown) // PER_PAGE)),
        version=left.version + right.version,
    )


def _sides(shelf: Shelf) -> dict[tuple[str, int], tuple[int, Side]]:
    rows = shelf.run.trajectories.select(
        "task, seed, min(task_index), coalesce(sum(success), 0), count(*), avg(turns), coalesce(avg(score), 0), min(id)",
        group="task, seed",
    )
    return {
        (task, int(seed)): (index, Side(wins=wins, n=n, turns=turns, score=score, id=first))
        for task, seed, index, wins, n, turns, score, first in rows
    }


def _gaps(pairs: Sequence[Pair]) -> dict[str, Estimate]:
    """Of the episodes that there are; an evaluation also counts those that are missing."""
    unit = (0.0, 1.0)
    return {
        "success": metrics.difference([[p.a.rate] for p in pairs], [[p.b.rate] for p in pairs], bounds=unit),
        "score": metrics.difference([[p.a.score] for p in pairs], [[p.b.score] for p in pairs]),
        "turns": metrics.difference([[p.a.turns] for p in pairs], [[p.b.turns] for p in pairs]),
    }
