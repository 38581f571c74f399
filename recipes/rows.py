"""Rows that recipes measure: each is appended to `results.jsonl` once and never made twice, so that an interrupted
script goes on, and scripts that need the same row share it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

STORE = "results.jsonl"

Row = Mapping[str, Any]


def kept(folder: Path, key: Row, make: Callable[[], Row]) -> Row:
    """The row with this key, made where it is missing."""
    for row in rows(folder):
        if all(row.get(name) == value for name, value in key.items()):
            return row
    row = {**key, **make()}
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / STORE).open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    return row


def rows(folder: Path) -> list[Row]:
    """All that are there."""
    file = folder / STORE
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.is_file() else []
