"""Lists of episodes from the index of a run: filtered, sorted, a page at a time. No transcript is read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sonde.core import UserError, unknown
from sonde.evaluation.rows import Row
from sonde.runs.store import TrajectoryDataset

from .evaluation_file import EvaluationFile
from .library import Shelf
from .links import parse_whole

PER_PAGE = 50
ORDERS = {
    "task": "task_index, task, seed, sample",
    "turns": "turns, task_index, sample",
    "score": "agent_return, task_index, sample",
    "tokens": "tokens, task_index, sample",
    "stored": "log, at, line",
    "newest": "log DESC, at DESC, line DESC",
}
"""SQL orders by their names in addresses; a minus in front of a name reverses the first column."""
GROUPS = {"kind": "coalesce(kind, 'error')", "task": "task_index"}
_COLUMNS = "id, task, seed, sample, task_index, coalesce(kind, 'error'), agent_return, turns, tokens, tags, error"


@dataclass(frozen=True, kw_only=True)
class Line:
    """An episode in a list; `score` is the agent's return; `bits` and `efficiency` are None if it was not evaluated."""

    id: str
    task: str
    seed: int
    sample: int
    index: int
    kind: str
    score: float | None
    turns: int
    tokens: int
    tags: Mapping[str, str]
    error: str
    bits: float | None = None
    prior: float | None = None
    efficiency: float | None = None

    def group_heading(self, group: str) -> str:
        """The heading of its group; empty if the list is not grouped."""
        return {"kind": self.kind, "task": f"task {self.index}"}.get(group, "")


@dataclass(frozen=True, kw_only=True)
class Listing:
    """A page of a list; `first` is the number of its first line, from 0."""

    lines: Sequence[Line]
    n: int
    first: int
    per_page: int = PER_PAGE

    @property
    def tags(self) -> list[str]:
        """All tags of its lines, as `name:value`."""
        return sorted({f"{name}:{value}" for line in self.lines for name, value in line.tags.items()})

    @property
    def number(self) -> int:
        return self.first // self.per_page

    @property
    def pages(self) -> int:
        return max(1, -(-self.n // self.per_page))


def select_episodes(shelf: Shelf, query: Mapping[str, str]) -> TrajectoryDataset:
    """The episodes that match a query: `kind`, `task` (its index), `sample`, `tag` (`name:value`); sorted by `sort`
    within the groups of `group`."""
    conditions, values = ["1"], list[object]()
    if kind := query.get("kind"):
        conditions.append("coalesce(kind, 'error') = ?")
        values.append(kind)
    for name, column in (("task", "task_index"), ("sample", "sample")):
        if text := query.get(name):
            conditions.append(f"{column} = ?")
            values.append(parse_whole(name, text))
    if tag := query.get("tag"):
        name, _, value = tag.partition(":")
        conditions.append("json_extract(tags, ?) = ?")
        values += ['$."' + name.replace('"', "") + '"', value]
    return shelf.run.trajectories.select_where(" AND ".join(conditions), *values, order=_make_order(query))


def _make_order(query: Mapping[str, str]) -> str:
    sort, group = query.get("sort", ""), query.get("group", "")
    if group and group not in GROUPS:
        raise unknown("group", group, GROUPS)
    order = _make_sort(sort)
    return f"{GROUPS[group]}, {order}" if group else order


def _make_sort(sort: str) -> str:
    name = sort.removeprefix("-") or "task"
    if name not in ORDERS:
        raise unknown("sort", name, ORDERS)
    first, comma, rest = ORDERS[name].partition(", ")
    return f"{first} DESC{comma}{rest}" if sort.startswith("-") and "DESC" not in first else ORDERS[name]


def list_episodes(shelf: Shelf, query: Mapping[str, str], per_page: int = PER_PAGE) -> Listing:
    """A page (`page` in the query, from 0) of the episodes that match a query."""
    found = select_episodes(shelf, query)
    number = parse_whole("page", query.get("page") or "0")
    order = _make_order(query)
    rows = found.select_columns(_COLUMNS, order=order, limit=per_page, offset=number * per_page)
    kept = shelf.evaluation
    return Listing(
        lines=[_make_line(kept, row) for row in rows],
        n=found.select_columns("count(*)", order="1")[0][0],
        first=number * per_page,
        per_page=per_page,
    )


def _make_line(kept: EvaluationFile | None, row: Sequence[object]) -> Line:
    names = ("id", "task", "seed", "sample", "index", "kind", "score", "turns", "tokens", "tags", "error")
    values = dict(zip(names, row, strict=True))
    plain = {**values, "seed": int(str(values["seed"])), "tags": json.loads(str(values["tags"]))}
    known = kept.find_row(str(values["id"]), int(str(values["index"]))) if kept is not None else None
    return Line(**plain, **({} if known is None else _measure_information(known)))  # type: ignore[arg-type]


def _measure_information(row: Row) -> dict[str, float | None]:
    bits = None if row.gains is None else sum(gain.realised for gain in row.gains)
    return {"bits": bits, "prior": row.entropy[0] if row.entropy else None, "efficiency": mean_efficiency(row)}


def mean_efficiency(row: Row) -> float | None:
    """The mean efficiency over the turns at which something was left to learn."""
    found = [e for gain in row.gains or () if (e := gain.efficiency) is not None]
    return sum(found) / len(found) if found else None


def find_neighbours(shelf: Shelf, line: Line) -> tuple[str, str]:
    """The ids of the episodes before and after one, in order of task and sample; empty at the ends."""
    found = shelf.run.trajectories
    key = (line.index, line.task, line.seed, line.sample)
    columns = "(task_index, task, seed, sample)"
    order = "task_index {0}, task {0}, seed {0}, sample {0}"
    before = found.select_where(f"{columns} < (?, ?, ?, ?)", *key).select_columns(
        "id", order=order.format("DESC"), limit=1
    )
    after = found.select_where(f"{columns} > (?, ?, ?, ?)", *key).select_columns(
        "id", order=order.format("ASC"), limit=1
    )
    return (before[0][0] if before else ""), (after[0][0] if after else "")


def read_line(shelf: Shelf, identity: str) -> Line:
    """One episode as recorded in the index and the evaluation."""
    rows = shelf.run.trajectories.select_where("id = ?", identity).select_columns(_COLUMNS, limit=1)
    if not rows:
        raise UserError(f"episode: got {identity!r}, allowed: the id of an episode of {shelf.name}")
    return _make_line(shelf.evaluation, rows[0])
