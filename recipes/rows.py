"""Results of recipes: rows that are computed once, and tables for the pages of the papers.

A row is appended to `results.jsonl` and never computed twice, so an interrupted script resumes, and scripts that need
the same row share it. A table goes to `results/papers/PAPER/NAME.json`, from which `docs/build_papers.py` writes
the page of the paper.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

STORE = "results.jsonl"
TABLES = Path(__file__).parents[1] / "results" / "papers"

Row = Mapping[str, Any]
Cell = str | float | int | None


def load_or_make_row(folder: Path, key: Row, make: Callable[[], Row]) -> Row:
    """The row with this key; if it is missing, make it and store it."""
    for row in load_rows(folder):
        if all(row.get(name) == value for name, value in key.items()):
            return row
    row = {**key, **make()}
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / STORE).open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    return row


def load_rows(folder: Path) -> list[Row]:
    """All stored rows."""
    file = folder / STORE
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.is_file() else []


def save_table(
    paper: str,
    name: str,
    command: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    seeds: Sequence[int] = (),
    seconds: float | None = None,
    measured: str = "",
) -> Path:
    """Write a measured table for the page of a paper; the first column names the rows.

    `command` made it, with these training or play `seeds`, in `seconds` of CPU time; `measured` says when, if an
    earlier version measured it.
    """
    if bad := [row for row in rows if len(row) != len(columns)]:
        raise ValueError(f"{paper}/{name}: got a row of {len(bad[0])} cells, allowed: {len(columns)}, as columns")
    if len({row[0] for row in rows}) < len(rows):
        raise ValueError(f"{paper}/{name}: got two rows of one name, allowed: each name once")
    about = {"command": command, "seeds": [*seeds], "seconds": seconds, "measured": measured}
    table = {**{key: value for key, value in about.items() if value}, "columns": [*columns]}
    head = json.dumps(table, ensure_ascii=False, indent=1).removesuffix("\n}")
    body = ",\n".join(f"  {json.dumps([*row], ensure_ascii=False)}" for row in rows)
    file = TABLES / paper / f"{name}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'{head},\n "rows": [\n{body}\n ]\n}}\n', "utf-8")
    return file
