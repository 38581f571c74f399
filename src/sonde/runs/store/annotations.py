"""Annotations: results computed about trajectories later, such as elicited beliefs, gains, judge scores, shaped
rewards.

One sidecar file per name, in the format of the logs. Trajectories are never rewritten.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple, Self

from filelock import FileLock

from sonde.core import UserError, invalid

from .codec import dump_json, load_json
from .folder import hold_lock, read_config
from .frames import read_frames
from .log import Closing, Log, warn_damage

_NAME = re.compile(r"[a-z0-9]([a-z0-9_.-]*[a-z0-9])?")
_PREFIX, _SUFFIX = "annotations-", ".jsonl.zst"


class Annotation(NamedTuple):
    """A JSON value about a trajectory, or about one of its turns, and what computed it."""

    value: Any
    producer: str
    version: str


class Annotator(Closing):
    """Appends annotations of one name to a run folder. A context manager; one writer at a time per name."""

    def __init__(self, log: Log, held: FileLock, producer: str, version: str) -> None:
        self._log, self._held, self._producer, self._version = log, held, producer, version

    @classmethod
    def open_annotations(cls, folder: Path | str, name: str, *, producer: str, version: str) -> Self:
        """Start or continue the annotations called `name`, computed by `producer` in this version."""
        folder = Path(folder)
        read_config(folder)
        path = _annotations_path(folder, name)
        held = _hold_annotations(path)
        try:
            return cls(Log(path), held, producer, version)
        except BaseException:
            held.release()
            raise

    def add_note(self, trajectory: str, value: Any, *, turn: int | None = None) -> None:
        """Store `value` for a trajectory id, or for one of its turns. A later note replaces an earlier one."""
        if turn is not None and turn < 0:
            raise invalid("annotation.turn", turn, "None or 0 and up")
        row = {"trajectory": trajectory, "turn": turn, "value": value}
        self._log.add_line(dump_json({**row, "producer": self._producer, "version": self._version}))

    def flush(self) -> None:
        """Write all pending notes to the file."""
        self._log.flush()

    def close(self) -> None:
        """Flush and make everything durable. Idempotent."""
        try:
            self._log.close()
        finally:
            self._held.release()


def annotation_names(folder: Path | str) -> list[str]:
    """The names under which a run has annotations, sorted."""
    names = (p.name for p in Path(folder).glob(f"{_PREFIX}*{_SUFFIX}"))
    return sorted(name.removeprefix(_PREFIX).removesuffix(_SUFFIX) for name in names)


def read_annotations(folder: Path | str, name: str) -> dict[tuple[str, int | None], Annotation]:
    """The annotations called `name`, by (trajectory id, turn)."""
    path = _annotations_path(Path(folder), name)
    found: dict[tuple[str, int | None], Annotation] = {}
    try:
        for frame in read_frames(path):
            warn_damage([f"{path}: {frame.damage}"] if frame.damage else [])
            for row in map(load_json, frame.lines):
                found[row["trajectory"], row["turn"]] = Annotation(row["value"], row["producer"], row["version"])
    except FileNotFoundError:
        known = ", ".join(annotation_names(folder)) or "none"
        raise UserError(f"annotations: {folder} has none called {name!r}; known: {known}") from None
    return found


def remove_annotations(folder: Path | str, name: str) -> None:
    """Delete the annotations called `name`, if there are any. Raises `StoreError` while somebody writes them."""
    read_config(Path(folder))
    path = _annotations_path(Path(folder), name)
    if path.exists():
        held = _hold_annotations(path)
        try:
            path.unlink(missing_ok=True)
        finally:
            held.release()


def _hold_annotations(path: Path) -> FileLock:
    """The lock of the writer of these annotations."""
    return hold_lock(path.with_name(f".{path.name}.lock"))


def _annotations_path(folder: Path, name: str) -> Path:
    if not _NAME.fullmatch(name):
        raise invalid("annotation name", name, "lower-case letters, digits, and _ . - between them")
    return folder / f"{_PREFIX}{name}{_SUFFIX}"
