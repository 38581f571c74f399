"""Completions on disk, by key: one SQLite file that survives `kill -9` and may be shared by processes.

SQLite keeps a write-ahead log, so a completion is either stored whole or not at all, and storing one takes no waiting
for the disk. A power cut may lose the last few, never the file.
"""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import fields
from hashlib import blake2b
from pathlib import Path
from typing import Any

from sonde.core import Completion, Message, Sampling, Usage, UserError

FILE = "completions.sqlite"
SCHEMA = 1
"""Version of the file; another one is refused."""


def cache_key(model: Mapping[str, Any], messages: Sequence[Message], sampling: Sampling) -> bytes:
    """Twenty bytes that identify a call: the model's configuration, what was said, and the sampling with its seed.

    The tokens behind assistant messages count too: the same text in other tokens is another prompt. Finding the key
    hashes the whole conversation.
    """
    said = [(m.role, m.content, _tokens(m.completion)) for m in messages]
    text = json.dumps([SCHEMA, model, vars(sampling), said], sort_keys=True, separators=(",", ":"))
    return blake2b(text.encode(), digest_size=20).digest()


def _tokens(completion: Completion | None) -> str:
    if completion is None or not completion.ids:
        return ""
    parts = (completion.prompt_ids, completion.ids)
    return f"{completion.shared}:" + blake2b(b"/".join(p.tobytes() for p in parts), digest_size=20).hexdigest()


class Store:
    """The completions in `folder`, which is made if need be. Raises `UserError` where it cannot be used."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._db = self._open()
        except (OSError, sqlite3.Error) as e:
            raise self._unusable(e) from e

    def _open(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._file, timeout=30.0, isolation_level=None, check_same_thread=False)
        found: int = db.execute("PRAGMA user_version").fetchone()[0]
        if found not in (0, SCHEMA):
            raise UserError(f"path: {self._file} is a cache of version {found}, this sonde reads version {SCHEMA}")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        if found == 0:
            db.execute("CREATE TABLE IF NOT EXISTS completions (key BLOB PRIMARY KEY, value TEXT) WITHOUT ROWID")
            db.execute(f"PRAGMA user_version = {SCHEMA}")
        return db

    def _unusable(self, error: Exception) -> UserError:
        return UserError(f"path: {self._file} cannot be used as a cache ({error})")

    def get(self, key: bytes) -> Completion | None:
        try:
            row = self._db.execute("SELECT value FROM completions WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error as e:
            raise self._unusable(e) from e
        return row and _unpack(row[0])

    def put(self, key: bytes, completion: Completion) -> None:
        """Store a completion; where another process was faster, its one stays."""
        try:
            self._db.execute("INSERT OR IGNORE INTO completions VALUES (?, ?)", (key, _pack(completion)))
        except sqlite3.Error as e:
            raise self._unusable(e) from e

    def __len__(self) -> int:
        return self._db.execute("SELECT count(*) FROM completions").fetchone()[0]

    def close(self) -> None:
        self._db.close()


def _pack(completion: Completion) -> str:
    row = {f.name: getattr(completion, f.name) for f in fields(completion)}
    return json.dumps({k: v.tolist() if isinstance(v, array) else v for k, v in row.items()})


def _unpack(text: str) -> Completion:
    row: dict[str, Any] = json.loads(text)
    for name, typecode in (("ids", "i"), ("prompt_ids", "i"), ("logprobs", "f")):
        row[name] = array(typecode, row[name])
    row["usage"] = Usage(*row["usage"])
    row["unsent"] = tuple(row.get("unsent", ()))
    return Completion(**row)
