"""Every environment as a resources server of NeMo Gym (0.4), for its `gymnasium_agent`.

    # resources_servers/sonde/app.py
    from sonde.interop.nemo_gym import SondeServer
    SondeServer.run_webserver()

A line of the data set names the environment and the episode beside `responses_create_params`: `rows` makes them. What
is told is the next user message, the reward is that of the turn, and `truncated` says that the limit on turns has ended
it; give the agent `max_steps` of at least the environment's turns. At the end `info` has the outcome.

NeMo Gym needs Python 3.12: here this file is tested against the source of its wheel and with a double of its base
class.
"""

# Types are checked without this extra too.
# pyright: reportMissingImports=false

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from sonde.core import Env, invalid
from sonde.core.extras import lacking

from .session import Session, places

try:
    from resources_servers.gymnasium import GymnasiumServer, extract_text
except ModuleNotFoundError as e:
    raise lacking("sonde.interop.nemo_gym", "nemo-gym") from e


class SondeServer(GymnasiumServer):
    """See the module. A session of NeMo Gym is one of ours, in `session_state`."""

    async def reset(self, metadata: dict[str, Any], session_id: str | None = None) -> tuple[str | None, dict[str, Any]]:
        place = metadata.get("sonde")
        if not isinstance(place, dict) or "seed" not in place:
            raise invalid("sonde", place, "an episode, such as the rows of sonde.interop.nemo_gym.rows have")
        session = Session(place["env"], split=place.get("split", "train"), **json.loads(place.get("config") or "{}"))
        heard = await session.areset(place["seed"], index=place.get("index"), sample=place.get("sample", 0))
        self.session_state[session_id] = session
        return heard.text, {}

    async def step(
        self, action: Any, metadata: dict[str, Any], session_id: str | None = None
    ) -> tuple[str | None, float, bool, bool, dict[str, Any]]:
        heard = await self.session_state[session_id].asay(extract_text(action))
        info: dict[str, Any] = {"facts": dict(heard.facts)}
        if heard.outcome is not None:
            info["outcome"] = dict(heard.outcome)
        return heard.text or None, heard.reward, heard.terminated, heard.truncated, info


def rows(
    env: Env[Any] | str, n: int, *, seed: int = 0, split: str = "train", **config: Any
) -> Iterator[dict[str, Any]]:
    """n lines of a data set, of the worlds from `seed` on; nothing in them is hidden from the model."""
    for place in places(env, n, seed=seed, split=split, **config):
        agent = {"type": "responses_api_agents", "name": "sonde_agent"}
        yield {"responses_create_params": {"input": []}, "sonde": place, "agent_ref": agent}
