"""Export a run as Parquet tables: one row per episode, and one per act.

    export_parquet("runs/a", "tables")     # tables/trajectories.parquet, tables/acts.parquet; columns in docs/store.md

Own schema. The tables are a copy for other programs; sonde itself reads the run. Row group g of both files holds the
same episodes. Both files are read back with page checksums before they get their final names.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from sonde._util.argument_checks import check_call
from sonde.core import AGENT, StoreError, UserError

from . import Run
from .codec import dump_json
from .index import index_entry
from .parquet import import_pyarrow, open_parquet_file, open_parquet_writer, parquet_errors

GROUP = 256
"""Episodes per row group."""

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
    "open_mark": "text",
    "name": "text",
    "unread": "text",
    "model": "text",
    "weights": "text",
    "usage": "list<int64>",
    "unsent": "json",
    "calls": "json",
    "call_defect": "text",
}
"""Fields of one element of `acts.completions`."""

TABLES: Mapping[str, Mapping[str, str]] = {
    "trajectories": {
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
        "task_id": "text",
        "env_name": "text",
        "preset": "text",
        "split": "text",
        "index": "int64",
        "kind": "text",
        "success": "bool",
        "score": "float64",
        "truncated": "text",
        "n_opening": "int64",
        "n_turns": "int64",
        "n_acts": "int64",
        "n_tokens": "int64",
    },
    "acts": {
        "trajectory": "text",
        "turn": "int64",
        "act": "int64",
        "seat": "text",
        "text": "text",
        "told": "json",
        "rewards": "json",
        "info": "json",
        "memory": "json",
        "completions": "completions",
        "reward": "float64",
    },
}
"""Column types per table; `json` is JSON as text."""


@check_call
def export_parquet(folder: Path | str, to: Path | str) -> Path:
    """Write the episodes of a run as Parquet into a new folder, and return it. Needs the extra `parquet`."""
    run, target = Run.load(folder), Path(to)
    if not len(run):
        raise UserError(f"export: {folder} holds no trajectories yet; allowed: a run with episodes")
    if target.exists():
        raise UserError(f"export: {target} already exists; allowed: a new folder")
    import_pyarrow()
    temporary = target.with_name(f".{target.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        for table, count in _write_tables(run, temporary).items():
            _check_table(temporary / f"{table}.parquet", count)
        temporary.rename(target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return target


def _write_tables(run: Run, folder: Path) -> dict[str, int]:
    """Write both tables and return the number of rows of each."""
    counts = dict.fromkeys(TABLES, 0)
    schemas = {table: _arrow_schema(columns) for table, columns in TABLES.items()}
    # Token ids and log-probabilities rarely repeat, so only texts use dictionary encoding.
    texts = {table: [c for c, kind in TABLES[table].items() if kind in ("text", "json")] for table in TABLES}
    with ExitStack() as opened:
        files = {
            table: opened.enter_context(
                open_parquet_writer(folder / f"{table}.parquet", schema, use_dictionary=texts[table])
            )
            for table, schema in schemas.items()
        }
        for group in _row_groups(run):
            found = {
                "trajectories": [_trajectory_row(t) for t in group],
                "acts": [row for t in group for row in _act_rows(t)],
            }
            for table, rows in found.items():
                batch = {c: [_to_cell(row.get(c), kind) for row in rows] for c, kind in TABLES[table].items()}
                files[table].write_table(
                    import_pyarrow().table(batch, schema=schemas[table]), row_group_size=len(rows) or 1
                )
                counts[table] += len(rows)
    return counts


def _row_groups(run: Run) -> Iterator[list[Row]]:
    group: list[Row] = []
    for trajectory in run:
        group.append(trajectory.to_json())
        if len(group) == GROUP:
            yield group
            group = []
    if group:
        yield group


def _check_table(path: Path, count: int) -> None:
    with open_parquet_file(path) as file, parquet_errors(path):
        found = sum(file.read_row_group(g, use_threads=False).num_rows for g in range(file.num_row_groups))
    if found != count:
        raise StoreError(f"{path}: {found} rows read back, {count} were written")


def _trajectory_row(data: Mapping[str, Any]) -> Row:
    known = index_entry(data)
    return {
        **data,
        "task_id": known.task,
        "env_name": known.env,
        "preset": known.preset,
        "split": known.split,
        "index": known.task_index,
        "kind": known.kind,
        "success": known.success,
        "score": known.score,
        "truncated": known.truncated,
        "n_opening": len(data["opening"]),
        "n_turns": known.turns,
        "n_acts": len(data["opening"]) + sum(map(len, data["turns"])),
        "n_tokens": known.tokens,
    }


def _act_rows(data: Mapping[str, Any]) -> list[Row]:
    numbered = [(None, act) for act in data["opening"]]
    numbered += [(turn, act) for turn, acts in enumerate(data["turns"]) for act in acts]
    return [
        {
            **act,
            "trajectory": data["id"],
            "turn": turn,
            "act": n,
            "completions": [_completion_cell(c) for c in act.get("completions", ())],
            "reward": float(act.get("rewards", {}).get(AGENT, 0.0)),
        }
        for n, (turn, act) in enumerate(numbered)
    ]


def _completion_cell(data: Mapping[str, Any]) -> Row:
    whole = {"open_mark": "", "unsent": [], "calls": [], "call_defect": "", **data}
    return {name: _to_cell(whole[name], kind) for name, kind in COMPLETION.items()}


def _to_cell(value: Any, kind: str) -> Any:
    """A value in the form of its column; characters that UTF-8 cannot encode become `?`."""
    if kind == "json":
        return None if value is None else dump_json(value).decode()
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "replace").decode()
    return value


def _arrow_schema(columns: Mapping[str, str]) -> Any:
    pa = import_pyarrow()
    plain = {
        "text": pa.string(),
        "json": pa.string(),
        "bool": pa.bool_(),
        "int64": pa.int64(),
        "uint64": pa.uint64(),
        "float64": pa.float64(),
        "list<int32>": pa.list_(pa.int32()),
        "list<int64>": pa.list_(pa.int64()),
        "list<float32>": pa.list_(pa.float32()),
    }
    plain["completions"] = pa.list_(pa.struct([(name, plain[kind]) for name, kind in COMPLETION.items()]))
    return pa.schema([(name, plain[kind]) for name, kind in columns.items()])
