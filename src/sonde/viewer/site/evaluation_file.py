"""Read `evaluation.json` of a run in parts, so that pages need not parse the rows of 100,000 episodes.

`evaluation.run_evaluation` writes the file indented, with the rows of single episodes between two separate lines, in
the order of their tasks. The file is memory-mapped; a file with another layout is parsed as a whole.
"""

from __future__ import annotations

import mmap
import re
from functools import cached_property
from pathlib import Path

import orjson

from sonde._util.json_types import read_as
from sonde.core import StoreError
from sonde.evaluation.evaluate import Evaluation
from sonde.evaluation.rows import Row
from sonde.evaluation.run_evaluation import EVALUATION, load_evaluation

_ROWS, _END = b'\n  "rows": [', b'\n  ],\n  "metrics": '
_ROW = b"\n    {\n"
_INDEX = re.compile(rb'\n      "index": (\d+),\n')


class EvaluationFile:
    """The evaluation of a run folder; raises the same errors as `evaluation.run_evaluation.load_evaluation`."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._path = folder, folder / EVALUATION
        self._whole: Evaluation | None = None
        if not self._path.is_file() or not self._path.stat().st_size:
            self._whole = load_evaluation(folder)
            return
        with self._path.open("rb") as file:
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._begin = self._data.find(_ROWS)
        self._end = self._data.rfind(_END, self._begin) if self._begin >= 0 else -1
        if self._end < 0:
            self._whole = load_evaluation(folder)

    @cached_property
    def summary(self) -> Evaluation:
        """The numbers without the rows of single episodes."""
        if self._whole is not None:
            return self._whole
        head, tail = self._data[: self._begin], self._data[self._end + len(b"\n  ],") :]
        try:
            return Evaluation.from_json(orjson.loads(head + b'\n  "rows": [],' + tail))
        except ValueError as e:
            raise self._describe_damage(e) from e

    @cached_property
    def _rows(self) -> dict[str, Row]:
        return {row.trajectory: row for row in self._whole.rows} if self._whole else {}

    def find_row(self, trajectory: str, index: int) -> Row | None:
        """The row of an episode of the task with this index; None if it was not evaluated or cannot be parsed."""
        if self._whole is not None:
            return self._rows.get(trajectory)
        at = self._data.find(
            f'"trajectory": "{trajectory}"'.encode(), self._find_rows(index), self._find_rows(index + 1)
        )
        if at < 0:
            return None
        begin, end = self._data.rfind(b"\n    {", 0, at), self._data.find(b"\n    }", at)
        try:
            return read_as(Row, orjson.loads(self._data[begin : end + 6]), "row")
        except ValueError:
            return None

    def _find_rows(self, index: int) -> int:
        """Yield the offsets of rows of tasks from this index on, found by binary search."""
        low, high = self._begin, self._end
        while low < high:
            middle = (low + high) // 2
            at = self._data.find(_ROW, middle, self._end)
            found = _INDEX.search(self._data, at, self._end) if at >= 0 else None
            if found is None or int(found[1]) >= index:
                high = middle
            else:
                low = at + 1
        at = self._data.find(_ROW, low, self._end)
        return at if at >= 0 else self._end

    def _describe_damage(self, e: Exception) -> StoreError:
        return StoreError(f"{self._path}: not an evaluation ({e}); `sonde rescore {self._folder}` after removing it")
