"""Environments behind a server of OpenEnv (openenv-core 0.3) as environments of sonde.

    env = sonde.make("openenv:http://localhost:8000")
    env = sonde.make("openenv:http://localhost:8000", says="message", tells="response")

`says` is the field of an action that takes what is said, `tells` the field of an observation that is told (empty: all
of it, as JSON); other fields of an action come from `options`. An episode ends when the server says so: with the
outcome that an observation may name (as those of sonde do), truncated if it says that, else won by a last reward of 1.

A record is replayed by the seed, if the server honours it, which many do not (OpenEnv #1078, #1127): then a replay
tells that it differs. The address is part of what an environment is called, so a run belongs to one.
"""

# Types are checked without this extra too.
# pyright: reportMissingImports=false

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from dataclasses import dataclass
from functools import cache
from threading import Thread
from typing import Any, ClassVar

from sonde._util.extras import lacking
from sonde.core import AGENT, Outcome, invalid

from .foreign import Foreign, Heard, ending

try:
    from openenv.core.generic_client import GenericEnvClient
except ModuleNotFoundError as e:
    raise lacking("openenv:...", "openenv-core") from e

PATIENCE = 120.0
"""Seconds that a server may take for an answer."""


@dataclass(frozen=True, kw_only=True)
class OpenEnv(Foreign):
    """See the module."""

    source: ClassVar[str] = "openenv"
    package: ClassVar[str] = "openenv-core"

    says: str = "text"
    tells: str = "text"
    max_turns: int = 100

    def made(self) -> Any:
        return GenericEnvClient(base_url=self.game, message_timeout_s=PATIENCE)

    def begun(self, host: Any, seed: int) -> Heard:
        result = _waited(host.reset(seed=seed))
        return Heard({AGENT: self._told(result.observation)})

    def answered(self, host: Any, seat: str, text: str) -> Heard:
        result = _waited(host.step({**self.options, self.says: text}))
        observation, reward = result.observation, float(result.reward or 0.0)
        told, rewards = {AGENT: self._told(observation)}, {AGENT: reward}
        if not result.done:
            return Heard(told, rewards=rewards)
        known = observation.get("outcome")
        if isinstance(known, dict) and set(known) == set(Outcome._fields):
            return Heard(told, None, rewards, Outcome(**known))
        return Heard(told, None, rewards, ending(reward, cut=bool(observation.get("truncated"))))

    def ended(self, host: Any) -> None:
        _waited(host.disconnect())

    def _told(self, observation: dict[str, Any]) -> str:
        if not self.tells:
            return json.dumps(observation, ensure_ascii=False)
        if self.tells not in observation:
            raise invalid(f"{self.name}: tells", self.tells, f"a field of its observations: {', '.join(observation)}")
        return str(observation[self.tells])


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """Where the connections live, whoever waits for them."""
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, daemon=True, name="openenv").start()
    return loop


def _waited(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run_coroutine_threadsafe(work, _loop()).result(PATIENCE + 10.0)


def found(address: str) -> type[Foreign]:
    if address.partition("://")[0] not in ("http", "https", "ws", "wss"):
        raise invalid("openenv", address, "an address, such as http://localhost:8000")
    return OpenEnv.of(address)
