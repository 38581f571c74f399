"""The comparison of two runs, paired by task: which won where, and the difference with an interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from sonde.core import UserError, identity
from sonde.evaluation import metrics, scale
from sonde.evaluation.metrics import Estimate

from .library import Library, Shelf
from .links import parse_whole
from .runs import Headline, read_headline

PER_PAGE = 100


@dataclass(frozen=True, kw_only=True)
class Side:
    """The results of one run in a task: episodes won and played, mean turns and mean return."""

    wins: int
    n: int
    turns: float
    score: float

    @property
    def rate(self) -> float:
        return self.wins / self.n


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A task that both runs have played."""

    task: str
    seed: int
    index: int
    a: Side
    b: Side

    @property
    def gap(self) -> float:
        return self.a.rate - self.b.rate

    @property
    def winner(self) -> str:
        """`a` or `b`, which won more often; else `both` or `neither`."""
        if self.gap:
            return "a" if self.gap > 0 else "b"
        return "both" if self.a.wins else "neither"


@dataclass(frozen=True, kw_only=True)
class ComparePage:
    """`gaps` are mean differences A - B over tasks, by name; `counts` the number of tasks by winner."""

    template = "compare.html.j2"
    scripts = ("tables.js",)

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


def make_compare_page(
    library: Library, a: str, b: str, query: Mapping[str, str], per_page: int = PER_PAGE
) -> ComparePage:
    """The comparison; `only` in the query selects tasks by their winner."""
    left, right = library.run(a), library.run(b)
    mine, theirs = _read_sides(left), _read_sides(right)
    both = [key for key in mine if key in theirs]
    if not both:
        raise UserError(f"compare: got {a} and {b}, which share no task, allowed: runs of the same tasks")
    pairs = [Pair(task=t, seed=s, index=mine[t, s][0], a=mine[t, s][1], b=theirs[t, s][1]) for t, s in both]
    pairs.sort(key=lambda p: (p.index, p.task, p.seed))
    only = query.get("only", "")
    shown = [p for p in pairs if only in ("", p.winner) or (only == "differ" and p.gap)]
    number = parse_whole("page", query.get("page") or "0")
    return ComparePage(
        title=f"{left.agent} and {right.agent}",
        a=read_headline(library, left),
        b=read_headline(library, right),
        same=identity(left.env_config) == identity(right.env_config),
        gaps=_estimate_gaps(pairs, left, right),
        counts={who: sum(p.winner == who for p in pairs) for who in ("a", "b", "both", "neither")},
        pairs=shown[number * per_page : (number + 1) * per_page],
        n=len(shown),
        of=len(pairs),
        only_a=len(mine) - len(both),
        only_b=len(theirs) - len(both),
        query=query,
        number=number,
        pages=max(1, -(-len(shown) // per_page)),
        version=left.version + right.version,
    )


def _read_sides(shelf: Shelf) -> dict[tuple[str, int], tuple[int, Side]]:
    rows = shelf.run.trajectories.select_columns(
        "task, seed, min(task_index), coalesce(sum(success), 0), count(*), avg(turns), coalesce(avg(agent_return), 0)",
        group="task, seed",
    )
    return {
        (task, int(seed)): (index, Side(wins=wins, n=n, turns=turns, score=score))
        for task, seed, index, wins, n, turns, score in rows
    }


def _estimate_gaps(pairs: Sequence[Pair], *shelves: Shelf) -> dict[str, Estimate]:
    """Differences over the recorded episodes; an evaluation also counts missing ones."""
    spec, others = shelves[0].env.spec, "coalesce(max(agent_return NOT IN (0, 1)), 0)"
    binary = not any(shelf.run.trajectories.select_columns(others, order="1")[0][0] for shelf in shelves)
    bounds = {
        "rate": (0.0, 1.0),
        "score": (0.0, 1.0) if binary else scale.return_bounds(spec),
        "turns": (0.0, float(spec.max_turns)),
    }
    return {
        {"rate": "success"}.get(name, name): metrics.paired_difference(
            [[getattr(p.a, name)] for p in pairs], [[getattr(p.b, name)] for p in pairs], bounds=limits
        )
        for name, limits in bounds.items()
    }


def list_pairs(library: Library) -> list[tuple[str, str]]:
    """All pairs of runs of one environment that share a task."""
    known = [(shelf.name, identity(shelf.env_config), _read_tasks(library, shelf)) for shelf in library.runs]
    return [(a, b) for (a, env, mine), (b, other, theirs) in combinations(known, 2) if env == other and mine & theirs]


def _read_tasks(library: Library, shelf: Shelf) -> frozenset[tuple[str, int]]:
    found = shelf.run.trajectories.select_columns("DISTINCT task, seed", order="1, 2")
    if not library.is_open(shelf):
        shelf.free_memory()
    return frozenset(found)
