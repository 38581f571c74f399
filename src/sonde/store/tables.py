"""Trajectories as rows of two tables, `trajectories` and `acts`, and back. The schema is explained in `docs/store.md`.

Columns are of two kinds: those of the record itself, from which it is restored exactly, and derived ones that make
queries easy. What does not fit its column (text with lone surrogates, fields of a later version) goes to `extra`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sonde.core import AGENT, Task, unknown

from .codec import acts

Row = dict[str, Any]

COMPLETION = {
    "text": "text",
    "ids": "list<int32>",
    "logprobs": "list<float32>",
    "temperature": "float64",
    "truncated": "bool",
    "prompt_ids": "list<int32>",
    "shared": "int64",
    "finish": "text",
    "reasoning": "text",
    "name": "text",
    "model": "text",
    "weights": "text",
    "usage": "list<int64>",
}
"""Fields of one element of `acts.completions`."""

_RECORD = {
    "id": "text",
    "group": "text",
    "schema": "int64",
    "version": "text",
    "env": "json",
    "task": "json",
    "seed": "uint64",
    "sample": "int64",
    "outcome": "json",
    "policies": "json",
    "privileged": "bool",
    "error": "text",
    "tags": "json",
}
_ACT = {"seat": "text", "text": "text", "told": "json", "rewards": "json", "info": "json", "memory": "json"}
_OPTIONAL = ("rewards", "info", "memory", "completions")

TABLES: Mapping[str, Mapping[str, str]] = {
    "trajectories": {
        **_RECORD,
        "task_id": "text",
        "env_name": "text",
        "preset": "text",
        "split": "text",
        "index": "int64",
        "kind": "text",
        "score": "float64",
        "truncated": "text",
        "n_opening": "int64",
        "n_turns": "int64",
        "n_acts": "int64",
        "extra": "json",
    },
    "acts": {
        "trajectory": "text",
        "turn": "int64",
        "act": "int64",
        **_ACT,
        "completions": "completions",
        "reward": "float64",
        "extra": "json",
    },
}
"""Column types per table. `json` is JSON as text in Parquet, and its value in rows."""

_DERIVED: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "task_id": lambda d: Task.from_json(d["task"]).id,
    "env_name": lambda d: d["task"]["env"],
    "preset": lambda d: d["task"]["preset"],
    "split": lambda d: d["task"]["split"],
    "index": lambda d: d["task"]["index"],
    "kind": lambda d: d["outcome"] and d["outcome"]["kind"],
    "score": lambda d: d["outcome"] and float(d["outcome"]["score"]),
    "truncated": lambda d: d["outcome"] and d["outcome"]["truncated"],
    "n_opening": lambda d: len(d["opening"]),
    "n_turns": lambda d: len(d["turns"]),
    "n_acts": lambda d: sum(1 for _ in acts(d)),
    "extra": lambda d: _extra(d, {**_RECORD, "opening": "", "turns": ""}) or None,
}


def check_columns(table: str, columns: Iterable[str] | None) -> list[str]:
    """`columns`, or all columns of a table for None. Raises `UnknownName` for one that the table does not have."""
    if table not in TABLES:
        raise unknown("table", table, TABLES)
    known = [*TABLES[table], *(f"completions.{f}" for f in COMPLETION if table == "acts")]
    chosen = list(TABLES[table] if columns is None else columns)
    for column in chosen:
        if column not in known:
            raise unknown(f"column of {table}", column, known)
    return chosen


def rows(data: Mapping[str, Any], table: str, columns: Sequence[str]) -> list[Row]:
    """The rows that a trajectory's JSON form has in a table: one for `trajectories`, one per act for `acts`."""
    if table == "trajectories":
        return [{c: _clean(_DERIVED[c](data) if c in _DERIVED else data[c]) for c in columns}]
    turns = [None] * len(data["opening"]) + [i for i, turn in enumerate(data["turns"]) for _ in turn]
    numbered = enumerate(zip(turns, acts(data), strict=True))
    return [_act_row({**act, "trajectory": data["id"], "turn": turn, "act": n}, columns) for n, (turn, act) in numbered]


def _act_row(act: Row, columns: Sequence[str]) -> Row:
    row: Row = {}
    for column in columns:
        name, _, field = column.partition(".")
        if name == "completions":
            _add_completions(row, act.get("completions", ()), [field] if field else list(COMPLETION))
        elif name == "reward":
            row[name] = float(act.get("rewards", {}).get(AGENT, 0.0))
        elif name == "extra":
            row[name] = _act_extra(act) or None
        else:
            row[name] = _clean(act.get(name))
    return row


def _add_completions(row: Row, completions: Sequence[Row], fields: Sequence[str]) -> None:
    parts = row.setdefault("completions", [{} for _ in completions])
    for part, completion in zip(parts, completions, strict=True):
        part |= {f: _cell(completion.get(f), COMPLETION[f]) for f in fields}


def restore(row: Row, act_rows: Sequence[Row]) -> dict[str, Any]:
    """The trajectory's JSON form of full rows; the inverse of `rows`."""
    data: dict[str, Any] = {c: row[c] for c in _RECORD}
    data["opening"], data["turns"] = [], []
    for act in act_rows:
        if act["turn"] is None:
            data["opening"].append(_restore_act(act))
            continue
        if act["turn"] == len(data["turns"]):
            data["turns"].append([])
        data["turns"][-1].append(_restore_act(act))
    return {**data, **(row["extra"] or {})}


def _restore_act(row: Row) -> Row:
    act = {c: row[c] for c in ("seat", "text", "told")}
    act |= {c: row[c] for c in _OPTIONAL if row[c] not in (None, [])}
    return {**act, **(row["extra"] or {})}


def _act_extra(act: Row) -> Row:
    extra = _extra(act, {**_ACT, "completions": "", "trajectory": "", "turn": "", "act": ""})
    completions = act.get("completions", ())
    if any(_extra(c, COMPLETION) for c in completions):
        extra["completions"] = completions
    return extra


def _extra(values: Mapping[str, Any], columns: Mapping[str, str]) -> Row:
    """The fields that no column holds, or that their column cannot hold exactly."""
    return {k: v for k, v in values.items() if k not in columns or (columns[k] == "text" and _clean(v) != v)}


def _cell(value: Any, kind: str) -> Any:
    """A field of a completion as its column gives it back: log-probabilities at the precision they have."""
    return np.array(value, np.float32).tolist() if kind == "list<float32>" else _clean(value)


def _clean(value: Any) -> Any:
    """`value`, with `?` for what UTF-8 cannot say if it is text."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "replace").decode()
    return value
