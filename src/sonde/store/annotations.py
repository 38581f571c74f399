"""What is computed about trajectories later: elicited log-probabilities, gains, a judge's new scores, shaped rewards.

A sidecar file per name, in the format of the shards. Trajectories are never rewritten.
"""

from __future__ import annotations

import re
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from sonde.core import UserError, invalid

from .codec import dumps, loads
from .folder import read_config
from .frames import contents, read_lines
from .log import Log, tell

_NAME = re.compile(r"[a-z0-9]([a-z0-9_.-]*[a-z0-9])?")
_PREFIX, _SUFFIX = "annotations-", ".jsonl.zst"


class Annotation(NamedTuple):
    """A number or another JSON value about a trajectory, or about one of its turns, and who computed it."""

    value: Any
    producer: str
    version: str


class Annotator:
    """Appends annotations of one name to a run folder. A context manager; one at a time per name."""

    def __init__(self, log: Log, producer: str, version: str) -> None:
        self._log, self._producer, self._version = log, producer, version

    @classmethod
    def open(cls, folder: Path | str, name: str, *, producer: str, version: str, fsync: bool = False) -> Self:
        """Begin or continue the annotations called `name`, as computed by `producer` in this version."""
        folder = Path(folder)
        read_config(folder)
        return cls(Log(_path(folder, name), fsync=fsync), producer, version)

    def add(self, trajectory: str, value: Any, *, turn: int | None = None) -> None:
        """Note `value` for a trajectory id, or for one of its turns. A later note takes the place of an earlier one."""
        if turn is not None and turn < 0:
            raise invalid("annotation.turn", turn, "None or 0 and up")
        row = {"trajectory": trajectory, "turn": turn, "value": value}
        self._log.add(dumps({**row, "producer": self._producer, "version": self._version}), None)

    def flush(self) -> None:
        """Write everything noted so far to the file."""
        self._log.flush()

    def close(self) -> None:
        """Flush and make everything durable. Idempotent."""
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def annotation_names(folder: Path | str) -> list[str]:
    """The names under which a run has annotations, sorted."""
    names = (p.name for p in Path(folder).glob(f"{_PREFIX}*{_SUFFIX}"))
    return sorted(name.removeprefix(_PREFIX).removesuffix(_SUFFIX) for name in names)


def read_annotations(folder: Path | str, name: str) -> dict[tuple[str, int | None], Annotation]:
    """The annotations called `name`, by (trajectory id, turn)."""
    path = _path(Path(folder), name)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        known = ", ".join(annotation_names(folder)) or "none"
        raise UserError(f"annotations: {folder} has none called {name!r}; known: {known}") from None
    found: dict[tuple[str, int | None], Annotation] = {}
    held = contents(data, path)
    tell(held.damage)
    for frame in held.frames:
        for line in read_lines(data, frame.at, frame.size, path):
            row = loads(line)
            found[row["trajectory"], row["turn"]] = Annotation(row["value"], row["producer"], row["version"])
    return found


def remove_annotations(folder: Path | str, name: str) -> None:
    """Remove the annotations called `name`, if there are any."""
    read_config(Path(folder))
    _path(Path(folder), name).unlink(missing_ok=True)


def _path(folder: Path, name: str) -> Path:
    if not _NAME.fullmatch(name):
        raise invalid("annotation name", name, "lower-case letters, digits, and _ . - between them")
    return folder / f"{_PREFIX}{name}{_SUFFIX}"
