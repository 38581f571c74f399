"""Every environment as a server of OpenEnv (openenv-core 0.3), and a client for it.

    python -m sonde.interop.outward.openenv wordle --preset lmrl --port 8000      # or uvicorn with
    `make_app("wordle", ...)`

    with SondeClient(base_url="http://localhost:8000").sync() as env:
        result = env.reset(seed=7)
        result = env.step(SayAction(text="<Answer>toast</Answer>"))           # .observation.text .reward .done

Each connection is a separate session; up to `sessions` of them may be open at once. `reset` takes `seed`, `index` and
`sample` (`session.py`) and honours them; without a seed one is drawn, and the state reports it. OpenEnv's metadata
never reaches a client (OpenEnv #616), so everything is in fields of `SondeObservation`: `turn`, `facts`, `gain` (bits,
on request), `truncated` and at the end `outcome`. The hidden setup stays on the server.

An agent that acts by tool calls finds the environment's tool, as OpenAI's API takes it, in the state (`tool`), and
sends the calls of a reply, as that API returns them: `SayAction(calls=reply.model_dump()["tool_calls"])`. The text
beside them is then not read.
"""

# Types are checked without this extra, too.
# pyright: reportMissingImports=false

from __future__ import annotations

import argparse
import logging
import secrets
from collections.abc import Mapping
from typing import Any

from sonde._util.extras import missing_extra
from sonde.core import EMPTY, AnyPolicy, Env, run_sync
from sonde.models.remote.openai_chat import read_tool_calls

from ..session import SeatObservation, Session, resolve_env

try:
    from openenv.core.client_types import StepResult
    from openenv.core.env_client import EnvClient
    from openenv.core.env_server.http_server import create_app
    from openenv.core.env_server.interfaces import Environment
    from openenv.core.env_server.types import Action, EnvironmentMetadata, Observation, State
    from starlette.websockets import WebSocketDisconnect
except ModuleNotFoundError as e:
    raise missing_extra("sonde.interop.outward.openenv", "openenv-core") from e


class SayAction(Action):
    """What the agent says, or the tool calls of its reply, in OpenAI's form."""

    text: str = ""
    calls: list[dict[str, Any]] | None = None


class SondeObservation(Observation):
    """What the agent is told, in addition to OpenEnv's own `reward` and `done`."""

    text: str
    turn: int = 0
    truncated: bool = False
    facts: dict[str, Any] = {}  # noqa: RUF012 (pydantic copies it)
    gain: float | None = None
    outcome: dict[str, Any] | None = None


class SondeState(State):
    """The episode being played."""

    env: str = ""
    seed: int | None = None
    index: int | None = None
    sample: int = 0
    tool: dict[str, Any] | None = None


class SondeEnvironment(Environment[SayAction, SondeObservation, SondeState]):
    """One session; see the module."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, env: Env[Any], policies: Mapping[str, AnyPolicy], split: str, gains: bool) -> None:
        super().__init__()
        self._session = Session(env, policies, split=split, gains=gains)
        self._where = SondeState(env=env.name)

    async def reset_async(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        index: int | None = None,
        sample: int = 0,
        **more: Any,
    ) -> SondeObservation:
        world = secrets.randbits(63) if seed is None else seed
        heard = await self._session.reset_async(world, index=index, sample=sample)
        self._where = SondeState(
            episode_id=episode_id,
            env=self._session.env.name,
            seed=world,
            index=index,
            sample=sample,
            tool=self._session.tool.to_json(),
        )
        return _make_observation(heard, 0)

    async def step_async(self, action: SayAction, timeout_s: float | None = None, **more: Any) -> SondeObservation:
        if action.calls is None:
            heard = await self._session.say_async(action.text)
        else:
            heard = await self._session.call_async(read_tool_calls(action.calls), action.text)
        self._where.step_count += 1
        return _make_observation(heard, self._where.step_count)

    def reset(self, seed: int | None = None, episode_id: str | None = None, **more: Any) -> SondeObservation:
        return run_sync(self.reset_async(seed, episode_id, **more))

    def step(self, action: SayAction, timeout_s: float | None = None, **more: Any) -> SondeObservation:
        return run_sync(self.step_async(action, timeout_s, **more))

    @property
    def state(self) -> SondeState:
        return self._where

    def get_metadata(self) -> EnvironmentMetadata:
        spec = self._session.env.spec
        return EnvironmentMetadata(name=f"sonde/{spec.name}", description=spec.summary, version=spec.version)


def _make_observation(heard: SeatObservation, turn: int) -> SondeObservation:
    return SondeObservation(
        text=heard.text,
        reward=heard.reward if turn else None,
        done=heard.done,
        turn=turn,
        truncated=heard.truncated,
        facts=dict(heard.facts),
        gain=heard.gain,
        outcome=None if heard.outcome is None else dict(heard.outcome),
    )


class SondeClient(EnvClient[SayAction, SondeObservation, SondeState]):
    """The client, with the types of this module. Asynchronous; `.sync()` gives a blocking one."""

    def _step_payload(self, action: SayAction) -> dict[str, Any]:
        return action.model_dump()

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[SondeObservation]:
        reward, done = payload.get("reward"), payload.get("done", False)
        told = SondeObservation.model_validate({**payload["observation"], "reward": reward, "done": done})
        return StepResult(observation=told, reward=reward, done=done)

    def _parse_state(self, payload: dict[str, Any]) -> SondeState:
        return SondeState.model_validate(payload)


def make_app(
    env: Env[Any] | str,
    policies: Mapping[str, AnyPolicy] = EMPTY,
    *,
    split: str = "train",
    gains: bool = False,
    sessions: int = 1024,
    **config: Any,
) -> Any:
    """The server, for uvicorn: an environment, or a name with constructor arguments."""
    made = resolve_env(env, config)
    logging.getLogger("uvicorn.error").addFilter(_is_no_disconnection)
    return create_app(
        lambda: SondeEnvironment(made, policies, split, gains),
        SayAction,
        SondeObservation,
        env_name=f"sonde/{made.name}",
        max_concurrent_envs=sessions,
    )


def _is_no_disconnection(record: logging.LogRecord) -> bool:
    """False for the log record of a client that has disconnected, which OpenEnv's server logs with a traceback."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, WebSocketDisconnect)


def main() -> None:
    """Run the command; see the module."""
    import uvicorn

    prog = "python -m sonde.interop.outward.openenv"
    parser = argparse.ArgumentParser(prog=prog, description="Serve an environment over OpenEnv's protocol.")
    parser.add_argument("env")
    parser.add_argument("--preset")
    parser.add_argument("--split", default="train")
    parser.add_argument("--gains", action="store_true", help="send the bits that each turn gained")
    parser.add_argument("--sessions", type=int, default=1024, help="maximum number of connections (default 1024)")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    args = parser.parse_args()
    config = {} if args.preset is None else {"preset": args.preset}
    server = make_app(args.env, split=args.split, gains=args.gains, sessions=args.sessions, **config)
    uvicorn.run(server, host=args.host, port=args.port, log_level="warning")


if __name__ == "__main__":
    main()
