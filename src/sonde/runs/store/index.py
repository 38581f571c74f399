"""The index of a run: every episode's outcome and position, in one SQLite file beside the logs.

`index.sqlite` is derived from the logs and never the only copy of anything. SQLite does not work on the file directly,
because its locks are unreliable on network file systems. Instead, every reader takes its own copy, updates it with what
the logs have gained, and may save it under a temporary name that is then renamed. So there is no lock to wait for, no
journal and no half-written page; any number of processes may do this at once, and each saves a correct state of some
moment. The copy is a temporary SQLite database: up to `CACHE_KB` of it is in memory, the rest in an unnamed file in the
system's temporary folder, which disappears with the process. The header carries a checksum of the file (`PRAGMA
user_version`), salted with the schema. If the checksum fails, or the logs are not those it was made from, the index is
rebuilt by reading all logs.

A writer saves the index when it closes and whenever the logs have grown enough, so a kill leaves little to be read
again.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4
from zlib import crc32

from sonde.core import AGENT, SondeError, StoreError, Task, content_hash
from sonde.core.record import check_record

from .codec import acts, load_json
from .frames import Frame, read_frames, read_lines

NAME = "index.sqlite"
SAVE_BYTES = 1024 * 1024
"""The index is saved when the logs have grown by this much since the last save, or by a sixteenth of their size if that
is more."""

CACHE_KB = 64 * 1024
"""Memory for the index; enough for about 250,000 episodes without a file."""

WRITERS = 1000
"""Maximum number of writers of a run."""
_LOGS = 1_000_000
_LOG = re.compile(r"trajectories-(?:([1-9]\d{0,2})-)?(\d{5,6})\.jsonl\.zst")

_NO_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)

_SUM = 60
"""Offset of the four bytes of `user_version` in an SQLite file."""


class Key(NamedTuple):
    """Identifies an episode of a run: task id, world seed, sample."""

    task: str
    seed: int
    sample: int


class Entry(NamedTuple):
    """What the index stores about a trajectory, and its position: line `line` of the frame of `length` bytes at byte
    `at` of that log. `kind`, `success`, `score`, `truncated` and `agent_return` (the sum of the agent's rewards) are
    None without an outcome; `error` is the failure of the outside world, otherwise empty; `tokens` covers all seats,
    prompt and completion; `tags` are those of the task and of the episode, as JSON."""

    task: str
    seed: int
    sample: int
    id: str
    error: str
    env: str
    preset: str
    split: str
    task_index: int
    kind: str | None
    success: bool | None
    score: float | None
    truncated: str | None
    agent_return: float | None
    turns: int
    tokens: int
    tags: str
    log: int = 0
    at: int = 0
    length: int = 0
    line: int = 0

    @property
    def episode_key(self) -> Key:
        return Key(self.task, self.seed, self.sample)

    @property
    def is_failed(self) -> bool:
        return bool(self.error)


class _State(NamedTuple):
    """A log when the index last read it: its size and modification time, the position read up to, its number of
    records, and its unreadable parts as JSON."""

    log: int
    size: int = 0
    changed: int = 0
    end: int = 0
    records: int = 0
    damage: str = "[]"


_SCHEMA = f"""
CREATE TABLE logs ({", ".join(_State._fields)}, PRIMARY KEY (log));
CREATE TABLE episodes ({", ".join(Entry._fields)}, PRIMARY KEY (task, seed, sample)) WITHOUT ROWID;
CREATE INDEX by_id ON episodes (id);
CREATE INDEX by_index ON episodes (task_index);
"""
PLACE = "log, at, line"
"""Storage order, writer by writer."""

_INSERT = f"""
INSERT INTO episodes VALUES ({", ".join("?" * len(Entry._fields))}) ON CONFLICT (task, seed, sample) DO UPDATE SET
{", ".join(f"{name} = excluded.{name}" for name in Entry._fields[3:])}
WHERE (excluded.error = '') > (error = '')
    OR (excluded.error = '') = (error = '') AND (excluded.log, excluded.at, excluded.line) > (log, at, line)
"""
"""One row per key: the last record without an error, otherwise the last one."""


def index_entry(data: Mapping[str, Any]) -> Entry:
    """The index entry of a trajectory in JSON form."""
    task, outcome = data["task"], data["outcome"]
    kind = score = truncated = success = returned = None
    if outcome is not None:
        kind, score, truncated = outcome["kind"], float(outcome["score"]), outcome["truncated"]
        success = kind == "win" and outcome["judged"] is not False
        returned = float(sum(act.get("rewards", {}).get(AGENT, 0.0) for turn in data["turns"] for act in turn))
    usages = [c["usage"] for act in acts(data) for c in act.get("completions", ())]
    return Entry(
        content_hash(task), data["seed"], data["sample"], data["id"], data["error"], task["env"], task["preset"],
        task["split"], task["index"], kind, success, score, truncated, returned, len(data["turns"]),
        sum(u[0] + u[1] for u in usages), json.dumps({**task["tags"], **data["tags"]}),
    )  # fmt: skip


class Index:
    """The current index of a run folder, as this process's own copy."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / NAME
        self._db = _load(self.path)
        self._unsaved = 0
        self.refresh()
        if self._unsaved >= SAVE_BYTES:
            with suppress(OSError, sqlite3.Error):  # if this process may not write, reading works without a saved index
                self.save_index()

    def refresh(self) -> None:
        """Read what has been appended to the logs; read them all if they are not the logs that the index knows."""
        found = list_logs(self.folder)
        if not all(
            state.log in found and self._is_continuation(state, found[state.log])
            for state in self._log_states().values()
        ):
            self._db = _empty_index()
        newest = {log // _LOGS: log for log in found}.values()
        with _temporary_space(), self._db:
            for log, path in found.items():
                self._read_log(log, path, log in newest)

    def _is_continuation(self, state: _State, path: Path) -> bool:
        """Whether the file is unchanged or only longer: the last known frame must still be there."""
        stat = path.stat()
        if stat.st_size == state.size:
            return stat.st_mtime_ns == state.changed
        query = "SELECT at, at + length FROM episodes WHERE log = ? ORDER BY at DESC LIMIT 1"
        try:
            for start, end in self._db.execute(query, [state.log]):
                read_lines(path, start, end)
        except StoreError:
            return False
        return stat.st_size >= state.end

    def _read_log(self, log: int, path: Path, newest: bool) -> None:
        known, stat = self.state(log), path.stat()
        if (stat.st_size, stat.st_mtime_ns) == (known.size, known.changed):
            return
        end, records, damage = known.end, known.records, json.loads(known.damage)
        for frame in read_frames(path, known.end, last=newest):
            rows, lost = _frame_entries(frame, log)
            self._db.executemany(_INSERT, rows)
            end, records, damage = frame.end, records + len(rows), damage + lost
        state = _State(log, stat.st_size, stat.st_mtime_ns, end, records, json.dumps(damage))
        self._db.execute("INSERT OR REPLACE INTO logs VALUES (?, ?, ?, ?, ?, ?)", state)
        self._unsaved += end - known.end

    def state(self, log: int) -> _State:
        """The recorded state of a log."""
        return self._log_states().get(log) or _State(log)

    def is_finished(self, key: Key) -> bool:
        """Whether this episode is stored without an error."""
        return any(self.select_columns("1", "task = ? AND seed = ? AND sample = ? AND error = ''", key))

    def newest_log(self, writer: int) -> int:
        """The log that a writer appends to."""
        return max((log for log in self._log_states() if log // _LOGS == writer), default=writer * _LOGS)

    def _log_states(self) -> dict[int, _State]:
        return {row[0]: _State(*row) for row in self._db.execute("SELECT * FROM logs ORDER BY log")}

    @property
    def damage_reports(self) -> list[str]:
        """The unreadable parts of the logs: file, offset and what was lost."""
        states = self._log_states().values()
        return [f"{log_path(self.folder, state.log)}: {what}" for state in states for what in json.loads(state.damage)]

    @property
    def superseded_count(self) -> int:
        """The number of records beyond one per key."""
        query = "SELECT coalesce((SELECT sum(records) FROM logs), 0) - (SELECT count(*) FROM episodes)"
        return self._db.execute(query).fetchone()[0]

    def select_columns(
        self, what: str, where: str = "1", values: Sequence[Any] = (), order: str = PLACE
    ) -> Iterator[tuple[Any, ...]]:
        """Columns of the episodes for which an SQL condition holds."""
        query = f"SELECT {what} FROM episodes WHERE {where} ORDER BY {order}"
        with _temporary_space():
            return self._db.execute(query, [_sql_value(value) for value in values])

    @property
    def save_slack(self) -> int:
        """How much the logs may grow before the index should be saved again."""
        return max(SAVE_BYTES, sum(state.end for state in self._log_states().values()) // 16)

    def save_index(self) -> None:
        """Save the index, if it holds anything. On an `OSError` or an SQLite error the old file stays."""
        self.refresh()
        if not self._unsaved:
            return
        temporary = self.folder / f".{NAME}-{uuid4().hex}"
        try:
            temporary.touch()  # the system's error is clearer than SQLite's
            with closing(_open_database(temporary, "nolock=1")) as file:
                # Not synced: after a power loss the checksum fails.
                file.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
                self._db.backup(file)
            found = _file_checksum(temporary)
            with temporary.open("r+b") as file:
                file.seek(_SUM)
                file.write(found)
            temporary.replace(self.path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        self._unsaved = 0


def log_path(folder: Path, log: int) -> Path:
    """The path of the log with this index number: 3,000,001 is the second log of writer 3."""
    writer, number = divmod(log, _LOGS)
    return folder / f"trajectories-{f'{writer}-' * bool(writer)}{number:05}.jsonl.zst"


def list_logs(folder: Path) -> dict[int, Path]:
    """The logs of a run by number, in order. Raises `StoreError` if one in a writer's series is missing."""
    matches = [(m, p) for p in folder.iterdir() if (m := _LOG.fullmatch(p.name))]
    found = {int(m[1] or 0) * _LOGS + int(m[2]): p for m, p in matches}
    for log in found:
        if log % _LOGS and log - 1 not in found:
            raise StoreError(f"{folder}: {log_path(folder, log - 1).name} is missing")
    return dict(sorted(found.items()))


def delete_index(folder: Path) -> None:
    """Delete a faulty index; the next opening rebuilds it."""
    with suppress(OSError):
        (folder / NAME).unlink(missing_ok=True)


def _load(path: Path) -> sqlite3.Connection:
    """A copy of the saved index; an empty one if it is missing, damaged or of another schema."""
    try:
        found = _file_checksum(path)
        # No locks: the copy that another writer saves is another file.
        with closing(_open_database(path, "mode=ro&immutable=1")) as file:
            db = _connect_database()
            file.backup(db)
        if db.execute("PRAGMA user_version").fetchone()[0] == int.from_bytes(found, "big", signed=True):
            db.execute("SELECT 1 FROM logs")
            return db
    except (OSError, sqlite3.Error):
        pass
    return _empty_index()


def _file_checksum(path: Path) -> bytes:
    """The checksum of an index file, without its own bytes and salted with the schema."""
    found = crc32(_SCHEMA.encode())
    with path.open("rb") as file:
        found = crc32(file.read(_SUM), found)
        file.seek(_SUM + 4)
        while part := file.read(1 << 20):
            found = crc32(part, found)
    return found.to_bytes(4, "big")


def _open_database(path: Path, how: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True)


class _Database(sqlite3.Connection):
    def __del__(self) -> None:
        self.close()  # later versions of Python complain otherwise


def _connect_database() -> sqlite3.Connection:
    db = sqlite3.connect("", check_same_thread=False, factory=_Database)  # no name: a temporary database
    db.execute(f"PRAGMA cache_size = -{CACHE_KB}")
    return db


@contextmanager
def _temporary_space() -> Iterator[None]:
    """Raise a `StoreError` that names the folder if SQLite finds no space for its temporary files."""
    try:
        yield
    except sqlite3.OperationalError as e:
        if e.sqlite_errorcode & 0xFF not in _NO_ROOM:
            raise
        folder = os.environ.get("SQLITE_TMPDIR") or tempfile.gettempdir()
        raise StoreError(
            f"{folder}: no space for the temporary files of an index ({e}); free some, or name a folder with more "
            "in SQLITE_TMPDIR or TMPDIR"
        ) from e


def _empty_index() -> sqlite3.Connection:
    db = _connect_database()
    with _temporary_space():
        db.executescript(_SCHEMA)
    return db


def _frame_entries(frame: Frame, log: int) -> tuple[list[list[Any]], list[str]]:
    """The rows of a frame's records, and its unreadable parts."""
    rows, damage, length = [], [frame.damage] if frame.damage else [], frame.end - frame.start
    for line, text in enumerate(frame.lines):
        try:
            data = load_json(text)
            check_record(data)
            Task.from_json(data["task"])
            found = index_entry(data)._replace(log=log, at=frame.start, length=length, line=line)
            rows.append([_sql_value(value) for value in found])
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError, SondeError) as e:
            damage.append(f"damaged at byte {frame.start} (line {line}: {e}); 1 record is left out")
    return rows, damage


def _sql_value(value: Any) -> Any:
    """A value that SQLite stores and sorts correctly: integers beyond 63 bits as text, `?` for characters that UTF-8
    cannot encode."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    return f"{value:020}" if isinstance(value, int) and value >= 2**63 else value
