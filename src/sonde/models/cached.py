"""Another model, with a memory: a call that was made before is answered from disk, so an interrupted run costs once.

The key of a call is the model's configuration (of a local model with the fingerprint of its weights), the messages and
the sampling with its seed. Seeds differ between the k samples of a task, so samples never collapse into one. How a
reply is got (the address of an endpoint, retries, timeouts: `core.config.HOW`) is no part of it. Errors and scores are
not kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sonde.core import HOW, Completion, Message, Model, Probe, Sampling, UserError, identity, invalid

from .cache import Store, cache_key
from .retry import Stats

Flight = tuple[asyncio.AbstractEventLoop, bytes]


@dataclass(frozen=True, kw_only=True)
class Cached(Model):
    """`model`, with its completions kept in the folder `path`. Tasks that ask the same at the same time share one call.

    A completion comes back whole: tokens, log-probabilities, and the usage of the call that made it. `stats` are those
    of `model` (kept here where it keeps no such count), with `hits` for the calls that never reached it.
    """

    model: Model
    path: str = field(metadata=HOW)
    stats: Stats = field(default_factory=Stats, init=False, repr=False, compare=False)
    _flights: dict[Flight, asyncio.Task[Completion]] = field(
        default_factory=dict[Flight, asyncio.Task[Completion]], init=False, repr=False, compare=False
    )
    _stores: list[Store] = field(default_factory=list[Store], init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.model, Model):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid("model", self.model, "a model, such as sonde.make('models:http', ...)")
        if getattr(self.model, "steer", None) is not None:
            raise UserError("model: got one with a steer function, allowed: one without, since no key tells two apart")
        if not self.path or not isinstance(self.path, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid("path", self.path, "the name of a folder")
        object.__setattr__(self, "capabilities", replace(self.model.capabilities, steer=False))
        if self._model_counts:
            object.__setattr__(self, "stats", self.model.stats)  # type: ignore[attr-defined]

    @property
    def _model_counts(self) -> bool:
        return isinstance(getattr(self.model, "stats", None), Stats)

    @property
    def identity(self) -> dict[str, Any]:
        """The part of the model's configuration that decides what it says, as it is now."""
        return identity(self.model.config)

    async def generate(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        key = cache_key(self.identity, messages, sampling)
        if flight := self._flights.get((asyncio.get_running_loop(), key)):
            return self._hit(await asyncio.shield(flight))
        if known := self._store().get(key):
            return self._hit(known)
        return await asyncio.shield(self._start(key, messages, sampling))  # cancelling one asker spares the others

    def _hit(self, completion: Completion) -> Completion:
        self.stats.hits += 1
        return completion

    def _start(self, key: bytes, messages: Sequence[Message], sampling: Sampling) -> asyncio.Task[Completion]:
        async def fetch() -> Completion:
            call = self.model.generate(messages, sampling)
            completion = await (call if self._model_counts else self.stats.counting(call))
            self._store().put(key, completion)
            return completion

        name = (asyncio.get_running_loop(), key)
        flight = self._flights[name] = asyncio.create_task(fetch())
        flight.add_done_callback(lambda done: self._land(name, done))
        return flight

    def _land(self, name: Flight, done: asyncio.Task[Completion]) -> None:
        del self._flights[name]
        if not done.cancelled():
            done.exception()  # seen, even when everyone who waited has been cancelled

    async def score(self, probes: Sequence[Probe]) -> list[list[float]]:
        return await self.model.score(probes)

    async def rank(self, probes: Sequence[Probe]) -> list[float]:
        return await self.model.rank(probes)

    def _store(self) -> Store:
        if not self._stores:
            self._stores.append(Store(Path(self.path).expanduser()))
        return self._stores[0]

    async def close(self) -> None:
        """Give up the calls in flight in this event loop, close the wrapped model and the file. A later call opens
        them again."""
        loop = asyncio.get_running_loop()
        flights = [flight for (where, _), flight in self._flights.items() if where is loop]
        for flight in flights:
            flight.cancel()
        await asyncio.gather(*flights, return_exceptions=True)
        await self.model.close()
        while self._stores:
            self._stores.pop().close()
