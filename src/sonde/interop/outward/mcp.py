"""Every environment as a server of the Model Context Protocol (SDK mcp 2), for assistants and agents that use tools.

    sonde mcp twenty_questions --out runs/mine        # over standard input and output; or, in Python:
    await serve_stdio(make_server("twenty_questions"))

A client finds two tools: `new_game`, which begins an episode and returns its rules, and the environment's own, `say` or
`act`, with its JSON schema (`core.tools`). A call of it is the agent's turn, and its result is what the agent is told.
`structured_content` has the reward of the turn, `done`, and at the end the outcome; the hidden setup stays here. Users,
opponents and judges play the other seats (`session.py`).

A process serves one client and one game at a time, and plays concurrent calls one after another. A call that does not
fit the schema (`core.tools.read_call`) and a call without a running game are tool errors: they cost nothing, and the
client may call again, as hosts of this protocol do. The error tells only the schema. Without arguments, `new_game`
takes the tasks of the split in order with the world seed 0, as `sonde eval` does; `task` and `seed` choose others, and
games of one world have different sample numbers. Finished games are appended to the run folder `out`, if one is given,
and `sonde rescore` evaluates the client by them.

Departures: a model that sonde plays pays for a call that does not fit (`docs/tools.md`), a client here does not, and
its record does not have such calls. No HTTP transport. The protocol's newest version has no sessions there, so each
game would need an id.
"""

# Types are checked without this extra, too.
# pyright: reportMissingImports=false

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from importlib.metadata import version
from itertools import count
from pathlib import Path
from typing import Any

from sonde._util.extras import missing_extra
from sonde.core import AGENT, EMPTY, AnyPolicy, Env, SondeError, Trajectory, invalid, unknown
from sonde.core.tools import Tool, ToolCall, explain_defect, read_call
from sonde.runs.store import Key, RunWriter

from ..session import SeatObservation, Session, common_tool, find_task, resolve_env

try:
    from mcp.server import Server
    from mcp.server.stdio import stdio_server
    from mcp.types import CallToolResult, ListToolsResult, TextContent
    from mcp.types import Tool as McpTool
except ModuleNotFoundError as e:
    raise missing_extra("sonde.interop.outward.mcp", "mcp") from e

NEW_GAME = Tool(
    "new_game",
    "Begin a new game and read its rules. A game that is still running is abandoned.",
    {
        "type": "object",
        "properties": {
            "task": {"type": "integer", "minimum": 0, "description": "Number of a task. Default: the next one."},
            "seed": {"type": "integer", "minimum": 0, "description": "World seed; equal seeds give equal worlds."},
        },
        "additionalProperties": False,
    },
)
_CLIENT = {"name": "agents:human"}
"""Stands for the client in the run's configuration: a player that sonde cannot call."""
_OVER = "The game is over."


class _Games:
    """The games of one client, one after another."""

    def __init__(self, session: Session, out: Path | None) -> None:
        self._session, self._lock, self._running, self._folder = session, asyncio.Lock(), False, out
        self._played, self._next = set[Key](), 0
        env = session.env
        self._tasks = env.tasks(session.split)
        self.tool = common_tool(env, session.split)
        seats = {AGENT: _CLIENT, **{seat: policy.config for seat, policy in session.policies.items()}}
        self._config = {
            "env": env.config, "seats": seats, "split": session.split, "seed": 0, "version": env.spec.version,
        }  # fmt: skip
        if out is not None:
            with RunWriter.open(out, self._config) as writer:
                self._played.update(writer.finished_keys)

    async def answer_call(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        async with self._lock:
            try:
                if name == NEW_GAME.name:
                    self._check_new_game(arguments)
                    return await self._begin_game(**arguments)
                if not self._running:
                    return _refuse_call("no game is running; call new_game")
                call = ToolCall(name, json.dumps(arguments))
                if defect := read_call(self._session.tool, [call])[1]:
                    return _refuse_call(explain_defect(self._session.tool, defect))
                return await self._take_turn(call)
            except SondeError as e:
                return _refuse_call(str(e))

    def _check_new_game(self, arguments: Mapping[str, Any]) -> None:
        for name, value in arguments.items():
            if name not in NEW_GAME.parameters["properties"]:
                raise unknown(f"{NEW_GAME.name}: argument", name, NEW_GAME.parameters["properties"])
            last = len(self._tasks) - 1 if name == "task" else 2**64 - 1
            if type(value) is not int or not 0 <= value <= last:
                raise invalid(f"{NEW_GAME.name}: {name}", value, f"a whole number, 0 to {last}")

    async def _begin_game(self, task: int | None = None, seed: int = 0) -> CallToolResult:
        self._running = False
        chosen = self._next % len(self._tasks) if task is None else task
        sample = next(n for n in count() if not self._was_played(chosen, seed, n))
        heard = await self._session.reset_async(seed, index=chosen, sample=sample)
        self._running, self._next = True, chosen + 1
        act = f"Call the tool {self.tool.name} for each of your turns; put into it what these rules ask you to write."
        return _tell_client(f"{heard.text}\n\n{act}", {"task": chosen, "seed": seed, "done": False})

    def _was_played(self, task: int, seed: int, sample: int) -> bool:
        return Key(find_task(self._session.env, self._session.split, seed, task).id, seed, sample) in self._played

    async def _take_turn(self, call: ToolCall) -> CallToolResult:
        heard = await self._session.call_async([call])
        if not heard.done:
            return _tell_client(heard.text, _describe_turn(heard))
        self._running = False
        self._save_game(self._session.trajectory())
        return _tell_client(f"{heard.text}\n\n{_OVER}".strip(), _describe_turn(heard))

    def _save_game(self, played: Trajectory) -> None:
        self._played.add(Key(played.task.id, played.seed, played.sample))
        if self._folder is not None:
            with RunWriter.open(self._folder, self._config) as writer:
                writer.append_trajectory(played)


def _describe_turn(heard: SeatObservation) -> dict[str, Any]:
    outcome = {} if heard.outcome is None else {"outcome": dict(heard.outcome)}
    return {"reward": heard.reward, "done": heard.done, **outcome}


def _tell_client(text: str, facts: Mapping[str, Any]) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=dict(facts))


def _refuse_call(why: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=why)], is_error=True)


def make_server(
    env: Env[Any] | str,
    policies: Mapping[str, AnyPolicy] = EMPTY,
    *,
    split: str = "test",
    out: Path | None = None,
    **config: Any,
) -> Server[Any]:
    """A server of an environment, or of a name with constructor arguments, for one client; see the module."""
    made = resolve_env(env, config)
    games = _Games(Session(made, policies, split=split), out)

    async def list_tools(context: Any, params: Any) -> ListToolsResult:
        tools = [tool.to_json()["function"] for tool in (NEW_GAME, games.tool)]
        return ListToolsResult(
            tools=[
                McpTool(name=tool["name"], description=tool["description"], input_schema=tool["parameters"])
                for tool in tools
            ]
        )

    async def call_tool(context: Any, params: Any) -> CallToolResult:
        return await games.answer_call(params.name, params.arguments or {})

    return Server(
        f"sonde-{made.name}",
        version=version("sonde-rl"),
        instructions=f"{made.spec.summary}. Call new_game, then {games.tool.name} until the game is over.",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def serve_stdio(server: Server[Any]) -> None:
    """Serve over standard input and output until the input ends."""
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
