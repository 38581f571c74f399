"""Another model with a cache on disk: a repeated call is answered from it, so an interrupted run costs only once.

The key of a call is the model's configuration (for a local model including the fingerprint of its weights), the
messages and the sampling with its seed. Seeds differ between the k samples of a task, so samples never collapse into
one. Settings of how a reply is obtained (the address of an endpoint, retries, timeouts: `core.config.HOW`) are not part
of the key. Errors and scores are not cached.

The cache is one SQLite file that survives `kill -9` and may be shared by processes. SQLite keeps a write-ahead log, so
a completion is stored either completely or not at all, and storing does not wait for the disk. A power cut may lose the
last few completions, never the file.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from sonde.core import HOW, Completion, Message, Model, Probe, Sampling, Usage, UserError, identity, invalid
from sonde.core.tools import ToolCall

from .remote.retry import CallStats

FILE = "completions.sqlite"
SCHEMA = 1
"""Version of the file format; other versions are refused."""


def cache_key(model: Mapping[str, Any], messages: Sequence[Message], sampling: Sampling) -> bytes:
    """Twenty bytes that identify a call: the model's configuration, the messages, and the sampling with its seed.

    The tokens of assistant messages count too, because the same text in other tokens is another prompt. Computing the
    key hashes the whole conversation.
    """
    said = [(m.role, m.content, _hash_tokens(m.completion)) for m in messages]
    text = json.dumps([SCHEMA, model, vars(sampling), said], sort_keys=True, separators=(",", ":"))
    return blake2b(text.encode(), digest_size=20).digest()


def _hash_tokens(completion: Completion | None) -> str:
    if completion is None or not completion.ids:
        return ""
    parts = (completion.prompt_ids, completion.ids)
    return f"{completion.shared}:" + blake2b(b"/".join(p.tobytes() for p in parts), digest_size=20).hexdigest()


class CompletionStore:
    """The completions in `folder`, which is created if necessary. Raises `UserError` if it cannot be used."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._db = self._open_database()
        except (OSError, sqlite3.Error) as e:
            raise self._unusable_error(e) from e

    def _open_database(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._file, timeout=30.0, isolation_level=None, check_same_thread=False)
        version: int = db.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, SCHEMA):
            raise UserError(f"path: {self._file} is a cache of version {version}, this sonde reads version {SCHEMA}")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        if version == 0:
            db.execute("CREATE TABLE IF NOT EXISTS completions (key BLOB PRIMARY KEY, value TEXT) WITHOUT ROWID")
            db.execute(f"PRAGMA user_version = {SCHEMA}")
        return db

    def _unusable_error(self, error: Exception) -> UserError:
        return UserError(f"path: {self._file} cannot be used as a cache ({error})")

    def get(self, key: bytes) -> Completion | None:
        try:
            row = self._db.execute("SELECT value FROM completions WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error as e:
            raise self._unusable_error(e) from e
        return row and _from_row(row[0])

    def put(self, key: bytes, completion: Completion) -> None:
        """Store a completion; if another process stored one first, that one stays."""
        try:
            self._db.execute("INSERT OR IGNORE INTO completions VALUES (?, ?)", (key, _to_row(completion)))
        except sqlite3.Error as e:
            raise self._unusable_error(e) from e

    def __len__(self) -> int:
        return self._db.execute("SELECT count(*) FROM completions").fetchone()[0]

    def close(self) -> None:
        self._db.close()


def _to_row(completion: Completion) -> str:
    row = {f.name: getattr(completion, f.name) for f in fields(completion)}
    return json.dumps({k: v.tolist() if isinstance(v, array) else v for k, v in row.items()})


def _from_row(text: str) -> Completion:
    row: dict[str, Any] = json.loads(text)
    for name, typecode in (("ids", "i"), ("prompt_ids", "i"), ("logprobs", "f")):
        row[name] = array(typecode, row[name])
    row["usage"] = Usage(*row["usage"])
    row["unsent"] = tuple(row.get("unsent", ()))
    row["calls"] = tuple(ToolCall(*call) for call in row.get("calls", ()))
    return Completion(**row)


# --- the model --------------------------------------------------------------------------------------------------------


Flight = tuple[asyncio.AbstractEventLoop, bytes]


@dataclass(frozen=True, kw_only=True)
class Cached(Model):
    """`model` with its completions cached in the folder `path`. Concurrent tasks with the same call share it.

    A completion comes back complete: tokens, log-probabilities, and the usage of the call that made it. `stats` are
    those of `model` (counted here if it keeps none), with `hits` for the calls that never reached it.
    """

    model: Model
    path: str = field(metadata=HOW)
    stats: CallStats = field(default_factory=CallStats, init=False, repr=False, compare=False)
    _flights: dict[Flight, asyncio.Task[Completion]] = field(
        default_factory=dict[Flight, asyncio.Task[Completion]], init=False, repr=False, compare=False
    )
    _stores: list[CompletionStore] = field(default_factory=list[CompletionStore], init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.model, Model):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid("model", self.model, "a model, such as sonde.make('models:http', ...)")
        if getattr(self.model, "steer", None) is not None:
            raise UserError(
                "model: got one with a steer function, allowed: one without, since the cache key cannot include it"
            )
        if not self.path or not isinstance(self.path, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid("path", self.path, "the name of a folder")
        object.__setattr__(self, "capabilities", replace(self.model.capabilities, steer=False))
        if self._model_counts:
            object.__setattr__(self, "stats", self.model.stats)  # type: ignore[attr-defined]

    @property
    def _model_counts(self) -> bool:
        return isinstance(getattr(self.model, "stats", None), CallStats)

    @property
    def identity(self) -> dict[str, Any]:
        """The part of the model's configuration that determines its replies, as it is now."""
        return identity(self.model.config)

    async def generate(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        key = cache_key(self.identity, messages, sampling)
        if flight := self._flights.get((asyncio.get_running_loop(), key)):
            return self._count_hit(await asyncio.shield(flight))
        if known := self._open_store().get(key):
            return self._count_hit(known)
        call = self._start_call(key, messages, sampling)
        return await asyncio.shield(call)  # cancelling one caller spares the others

    def _count_hit(self, completion: Completion) -> Completion:
        self.stats.hits += 1
        return completion

    def _start_call(self, key: bytes, messages: Sequence[Message], sampling: Sampling) -> asyncio.Task[Completion]:
        async def fetch_completion() -> Completion:
            call = self.model.generate(messages, sampling)
            completion = await (call if self._model_counts else self.stats.count_call(call))
            self._open_store().put(key, completion)
            return completion

        name = (asyncio.get_running_loop(), key)
        flight = self._flights[name] = asyncio.create_task(fetch_completion())
        flight.add_done_callback(lambda done: self._finish_flight(name, done))
        return flight

    def _finish_flight(self, name: Flight, done: asyncio.Task[Completion]) -> None:
        del self._flights[name]
        if not done.cancelled():
            done.exception()  # retrieve it, even if every waiting caller was cancelled

    async def score(self, probes: Sequence[Probe]) -> list[list[float]]:
        return await self.model.score(probes)

    async def rank(self, probes: Sequence[Probe]) -> list[float]:
        return await self.model.rank(probes)

    def _open_store(self) -> CompletionStore:
        if not self._stores:
            self._stores.append(CompletionStore(Path(self.path).expanduser()))
        return self._stores[0]

    async def close(self) -> None:
        """Cancel the calls in flight in this event loop, close the wrapped model and the file. A later call opens them
        again."""
        loop = asyncio.get_running_loop()
        flights = [flight for (where, _), flight in self._flights.items() if where is loop]
        for flight in flights:
            flight.cancel()
        await asyncio.gather(*flights, return_exceptions=True)
        await self.model.close()
        while self._stores:
            self._stores.pop().close()
