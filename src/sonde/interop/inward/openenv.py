"""Environments behind a server of OpenEnv (openenv-core 0.3) as environments of sonde.

    env = sonde.make("openenv:http://localhost:8000")
    env = sonde.make("openenv:http://localhost:8000", says="message", tells="response")

`says` is the field of an action that takes the agent's text, `tells` the field of an observation that is passed on
(empty: the whole observation, as JSON); other fields of an action come from `options`. An episode ends when the server
says so: with the outcome in the observation if there is one (sonde's own servers send it), truncated if the observation
says so, otherwise won if the last reward is 1.

Replay needs a server that honours its seed, which many do not (OpenEnv #1078, #1127); the replay then reports the
difference. The address is part of the environment's name, so a run belongs to one server.
"""

# Types are checked without this extra, too.
# pyright: reportMissingImports=false

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from dataclasses import dataclass
from functools import cache
from threading import Thread
from typing import Any, ClassVar

from sonde._util.extras import missing_extra
from sonde.core import AGENT, Outcome, invalid

from ..third_party import HostReply, ThirdPartyEnv, make_outcome

try:
    from openenv.core.generic_client import GenericEnvClient
except ModuleNotFoundError as e:
    raise missing_extra("openenv:...", "openenv-core") from e

PATIENCE = 120.0
"""Seconds to wait for an answer from the server."""


@dataclass(frozen=True, kw_only=True)
class OpenEnv(ThirdPartyEnv):
    """See the module."""

    source: ClassVar[str] = "openenv"
    package: ClassVar[str] = "openenv-core"

    says: str = "text"
    tells: str = "text"
    max_turns: int = 100

    @classmethod
    def check_game(cls, game: str) -> None:
        if game.partition("://")[0] not in ("http", "https", "ws", "wss"):
            raise invalid("openenv", game, "an address, such as http://localhost:8000")

    def make_host(self) -> Any:
        return GenericEnvClient(base_url=self.game, message_timeout_s=PATIENCE)

    def begin_host(self, host: Any, seed: int) -> HostReply:
        result = _wait_for(host.reset(seed=seed))
        return HostReply({AGENT: self._select_text(result.observation)})

    def tell_host(self, host: Any, seat: str, text: str) -> HostReply:
        result = _wait_for(host.step({**self.options, self.says: text}))
        observation, reward = result.observation, float(result.reward or 0.0)
        told, rewards = {AGENT: self._select_text(observation)}, {AGENT: reward}
        if not result.done:
            return HostReply(told, rewards=rewards)
        outcome = observation.get("outcome")
        if isinstance(outcome, dict) and set(outcome) == set(Outcome._fields):
            return HostReply(told, None, rewards, Outcome(**outcome))
        return HostReply(told, None, rewards, make_outcome(reward, cut=bool(observation.get("truncated"))))

    def end_host(self, host: Any) -> None:
        _wait_for(host.disconnect())

    def _select_text(self, observation: dict[str, Any]) -> str:
        if not self.tells:
            return json.dumps(observation, ensure_ascii=False)
        if self.tells not in observation:
            raise invalid(f"{self.name}: tells", self.tells, f"a field of its observations: {', '.join(observation)}")
        return str(observation[self.tells])


@cache
def _event_loop() -> asyncio.AbstractEventLoop:
    """The event loop of all connections, in a separate thread."""
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, daemon=True, name="openenv").start()
    return loop


def _wait_for(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run_coroutine_threadsafe(work, _event_loop()).result(PATIENCE + 10.0)
