"""Unverified, never run with NeMo Gym: a resources server for its `gymnasium_agent`.

The package was not available where this was written. Written for NeMo Gym 0.4 (Python 3.12), whose
`GymnasiumServer` has the methods `reset` and `step` below. Install sonde into its environment, copy this file to
`resources_servers/sonde/app.py`, and make a data set with one line per world:

    python app.py wordle 1000 > train.jsonl

The configuration, `resources_servers/sonde/configs/sonde.yaml`; `max_steps` is at least the environment's turns:

    sonde:
      resources_servers:
        sonde: {entrypoint: app.py, domain: games, verified: false}
    sonde_agent:
      responses_api_agents:
        gymnasium_agent:
          entrypoint: app.py
          resources_server: {type: resources_servers, name: sonde}
          model_server: {type: responses_api_models, name: policy_model}
          max_steps: 20
          datasets:
          - {name: train, type: train, jsonl_fpath: train.jsonl}

The environment's text is the next user message, the reward is that of the turn, and `truncated` means that the turn
limit ended the episode; at the end `info` has the outcome. Equal seeds give equal episodes.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from resources_servers.gymnasium import GymnasiumServer, extract_text

from sonde.core import invalid
from sonde.interop.session import Session, episode_rows


class SondeServer(GymnasiumServer):
    """A session of NeMo Gym is one of ours, in `session_state`."""

    async def reset(self, metadata: dict[str, Any], session_id: str | None = None) -> tuple[str | None, dict[str, Any]]:
        place = metadata.get("sonde")
        if not isinstance(place, dict) or "seed" not in place:
            raise invalid("sonde", place, "an episode, such as the rows of this file have")
        session = Session(place["env"], split=place.get("split", "train"), **json.loads(place.get("config") or "{}"))
        heard = await session.reset_async(place["seed"], index=place.get("index"), sample=place.get("sample", 0))
        self.session_state[session_id] = session
        return heard.text, {}

    async def step(
        self, action: Any, metadata: dict[str, Any], session_id: str | None = None
    ) -> tuple[str | None, float, bool, bool, dict[str, Any]]:
        heard = await self.session_state[session_id].say_async(extract_text(action))
        info: dict[str, Any] = {"facts": dict(heard.facts)}
        if heard.outcome is not None:
            info["outcome"] = dict(heard.outcome)
        return heard.text or None, heard.reward, heard.terminated, heard.truncated, info


def make_rows(env: str, n: int) -> Iterator[dict[str, Any]]:
    """n lines of a data set, of the worlds from 0 on; nothing in them is hidden from the model."""
    for place in episode_rows(env, n):
        agent = {"type": "responses_api_agents", "name": "sonde_agent"}
        yield {"responses_create_params": {"input": []}, "sonde": place, "agent_ref": agent}


if __name__ == "__main__":
    if len(sys.argv) == 3:
        for row in make_rows(sys.argv[1], int(sys.argv[2])):
            print(json.dumps(row))
    else:
        SondeServer.run_webserver()
