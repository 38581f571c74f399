"""Every environment as a taskset and an env of verifiers (0.4, the v1 API), for verifiers and all trainers that use it.

    vf-eval sonde-verifiers -m MODEL -n 20 -r 4 --no-push --env.taskset.env wordle

The taskset selects the tasks: `env`, its constructor's `arguments`, `split`, and one world `seed`; a rollout of task i
is the episode of that task and seed, with its own sample number (`session.py`). The env plays it: the seat `agent` is
the model, and the environment's text is the next user turn. The other seats are sonde's own policies, or agents of
verifiers if `seats` names them (`--env.seats '["user"]' --env.user.model U`): each has its own conversation and trace
and is not trainable.

The trace gets the reward `return` (the sum of rewards), metrics `success`, `score`, `turns` and one per kind of
outcome, and in `info` the rewards of the turns (`turn_rewards`, the key that prime-rl's credit per turn reads), their
facts, the outcome, and the text after the last turn (`ending`). Neither row nor trace holds the hidden setup; the
traces of users and judges do, because these are told it. verifiers loads the package `sonde_verifiers` by name, which
exports these classes.

With `--env.taskset.task.tools true` the model acts by tool calls: verifiers starts a tool server per rollout, which
offers the environment's tool (`core.tools`) over MCP, and its harness makes the calls. Server and env share the calls
made so far (`CalledState`), and each plays the episode from them, so neither holds it for the other. A reply without a
call is a turn with the defect `no_call`, after which the model is asked again.

Departure: an agent's runtime is a local process by default; verifiers' default is a cloud.
"""

# Types are checked without this extra, too.
# pyright: reportMissingImports=false

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar

from sonde._util.extras import missing_extra
from sonde.core import Action, Env, Policy, View, WorldError, invalid, make, unknown
from sonde.core.tools import ToolCall

from ..session import SeatObservation, Session, score_outcome

try:
    import verifiers.v1 as vf
    from mcp.types import CallToolResult, TextContent, Tool
except ModuleNotFoundError as e:
    raise missing_extra("sonde.interop.outward.verifiers", "verifiers") from e


class TaskRow(vf.TaskData):
    """The public part of a task: environment, index in the split, and world seed."""

    env: str
    arguments: dict[str, Any] = {}  # noqa: RUF012 (pydantic copies it)
    split: str
    index: int
    seed: int


class SondeTaskConfig(vf.TaskConfig):
    """Set by `--env.taskset.task.*`: whether the model acts by tool calls."""

    tools: bool = False


class CalledState(vf.State):
    """The tool calls so far, one per turn: name and arguments, both empty for a reply without a call."""

    sample: int = 0
    calls: list[tuple[str, str]] = []  # noqa: RUF012


class SondeToolset(vf.Toolset[vf.ToolsetConfig, CalledState]):
    """The tool server of one rollout; see the module."""

    TOOL_PREFIX = None

    async def setup_task(self, task: Any) -> None:
        self._row = task
        self._session = Session(make(task.env, **task.arguments), split=task.split)

    def register(self, mcp: Any) -> None:
        mcp.list_tools = self._with_state(self.list_tools)
        mcp.call_tool = self._with_state(self.call_tool)

    async def list_tools(self) -> list[Any]:
        await self._session.reset_async(self._row.seed, index=self._row.index)
        tool = self._session.tool.to_json()["function"]
        return [Tool(name=tool["name"], description=tool["description"], input_schema=tool["parameters"])]

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        state = self.state
        _, turns = await _play_calls(self._session, self._row, state)
        if turns and turns[-1].done:
            return CallToolResult(content=[TextContent(type="text", text=_OVER)])
        call = (name, json.dumps(arguments))
        heard = await self._session.call_async([ToolCall(*call)])
        state.calls = [*state.calls, call]
        text = f"{heard.text}\n\n{_OVER}".strip() if heard.done else heard.text
        return CallToolResult(content=[TextContent(type="text", text=text)])


_OVER = "The game is over. Reply in one sentence, without calling a tool."


async def _play_calls(session: Session, row: Any, state: CalledState) -> tuple[SeatObservation, list[SeatObservation]]:
    """Replay the calls made so far; returns the opening and the turns."""
    opening = await session.reset_async(row.seed, index=row.index, sample=state.sample)
    turns = [await session.call_async([ToolCall(*call)] if any(call) else []) for call in state.calls]
    return opening, turns


class SondeTask(vf.Task[TaskRow, CalledState, SondeTaskConfig]):
    """A task of an environment; the environment itself computes the rewards."""

    @classmethod
    def toolsets(cls, config: SondeTaskConfig) -> list[Any]:
        return [SondeToolset(vf.ToolsetConfig())] if config.tools else []


class SondeTasksetConfig(vf.TasksetConfig):
    """Set by `--env.taskset.*`; see the module."""

    env: str = "wordle"
    arguments: dict[str, Any] = {}  # noqa: RUF012 (pydantic copies it)
    split: str = "train"
    seed: int = 0
    task: SondeTaskConfig = SondeTaskConfig()

    def make_env(self) -> Env[Any]:
        return make(self.env, **self.arguments)


class SondeTaskset(vf.Taskset[SondeTask, SondeTasksetConfig]):
    """The tasks of a split, in order."""

    def load(self) -> Iterator[SondeTask]:
        c = self.config
        for index in range(len(c.make_env().tasks(c.split))):
            place: dict[str, Any] = {"env": c.env, "arguments": c.arguments, "split": c.split}
            row = TaskRow(name=f"{c.env} {c.split}[{index}]", index=index, seed=c.seed, **place)
            yield SondeTask(row, c.task)


def _agent_config(**sampling: Any) -> vf.AgentConfig:
    runtime = {"harness": {"id": "null"}, "runtime": {"type": "subprocess"}}
    return vf.AgentConfig.model_validate({**runtime, "sampling": sampling or None})


OTHERS = ("user", "judge", "opponent")


class SondeEnvConfig(vf.EnvConfig):
    """An agent per seat. `seats` names the seats besides `agent` that agents of verifiers play; the settings of the
    others are ignored. Users and judges sample as in PAPRIKA (appendix E): temperature 0, at most 1,024 tokens."""

    agent: vf.AgentConfig = _agent_config()
    user: vf.AgentConfig = _agent_config(temperature=0.0, max_tokens=1024)
    judge: vf.AgentConfig = _agent_config(temperature=0.0, max_tokens=1024)
    opponent: vf.AgentConfig = _agent_config()
    seats: tuple[str, ...] = ()


class SondeEnv(vf.Env[SondeEnvConfig]):
    """One task is one episode; see the module."""

    def __init__(self, config: SondeEnvConfig) -> None:
        super().__init__(config)
        taskset: SondeTasksetConfig = self.taskset.config
        self._env, self._split, self._samples = taskset.make_env(), taskset.split, count()
        for seat in config.seats:
            if seat not in OTHERS or seat not in self._env.spec.seats:
                raise unknown("seats", seat, [other for other in OTHERS if other in self._env.spec.seats])
        others = {seat: _VerifiersSeat(ask=_refuse_call) for seat in config.seats}
        Session(self._env, others, split=self._split)  # raises where a seat has no policy

    async def setup(self, agents: Any) -> None:
        for seat in OTHERS:
            getattr(agents, seat).trainable = False

    async def run(self, task: Any, agents: Any) -> None:
        if self.taskset.config.task.tools:
            await self._run_by_tools(task, agents)
            return
        turns: list[SeatObservation] = []
        async with agents.agent.interaction(task) as exchange, AsyncExitStack() as stack:
            others = {
                seat: _VerifiersSeat(ask=_connect_agent(getattr(agents, seat), task, stack))
                for seat in self.config.seats
            }
            session = Session(self._env, others, split=self._split, gains=True)
            try:
                heard = await session.reset_async(task.data.seed, index=task.data.index, sample=next(self._samples))
                while not heard.done:
                    segment = await exchange.turn(heard.text)
                    if segment.terminated:
                        break
                    heard = await session.say_async(segment.last_reply or "")
                    turns.append(heard)
            except _AgentEnded as e:
                exchange.trace.info["error"] = str(e)
            _write_trace(exchange.trace, turns)

    async def _run_by_tools(self, task: Any, agents: Any) -> None:
        """The model calls the tool within a segment; a segment that ends before the game is a turn without a call."""
        if self.config.seats:
            raise invalid("seats", self.config.seats, "none with tools: the tool server fills them itself")
        async with agents.agent.interaction(task) as exchange:
            trace = exchange.trace  # the tool server replaces its state at every call
            trace.state.sample = next(self._samples)
            session = Session(self._env, split=self._split, gains=True)
            opening, turns = await _play_calls(session, task.data, trace.state)
            text = f"{opening.text}\n\nAct only by calling the tool {session.tool.name}."
            while not (turns and turns[-1].done):
                segment = await exchange.turn(text)
                if segment.terminated:
                    break
                _, turns = await _play_calls(session, task.data, trace.state)
                if not (turns and turns[-1].done):
                    trace.state.calls = [*trace.state.calls, ("", "")]
                    turns.append(heard := await session.call_async([], segment.last_reply or ""))
                    text = heard.text
            _write_trace(trace, turns)
            said = [turn.acts[0].action.completions[0] for turn in session.episode.turns]
            trace.record_metrics({"bad_calls": float(sum(bool(c.call_defect) for c in said))})


AskAgent = Callable[[str], Awaitable[str]]
"""Send a text to an agent of verifiers and return its reply."""


class _AgentEnded(WorldError):
    """An agent of verifiers ended before its episode did."""


@dataclass(frozen=True, kw_only=True)
class _VerifiersSeat(Policy):
    """A seat other than `agent`, played by an agent of verifiers."""

    kind: ClassVar[str] = "users"

    ask: AskAgent

    async def act(self, view: View) -> Action:
        return Action(await self.ask(view.messages[-1].content))


def _connect_agent(agent: Any, task: Any, stack: AsyncExitStack) -> AskAgent:
    """A function that asks an agent of verifiers. Its conversation starts with its first turn, so a judge that is never
    called has none."""
    exchange: list[Any] = []

    async def ask_agent(text: str) -> str:
        if not exchange:
            own_task = vf.Task(vf.TaskData(idx=task.data.idx, name=task.data.name, prompt=None))
            exchange.append(await stack.enter_async_context(agent.interaction(own_task)))
        segment = await exchange[0].turn(text)
        if segment.terminated:
            raise _AgentEnded(f"the agent {exchange[0].trace.agent.name!r} of verifiers ended before the episode did")
        return segment.last_reply

    return ask_agent


async def _refuse_call(text: str) -> str:
    raise AssertionError(text)


def _write_trace(trace: Any, turns: list[SeatObservation]) -> None:
    """Write rewards, metrics and outcome to the trace. If the agent's side ended the episode early, it is an `error`
    without a reward."""
    end = turns[-1].outcome if turns else None
    rewards = [heard.reward for heard in turns]
    if end is not None:
        trace.record_reward("return", sum(rewards))
    trace.record_metrics({**score_outcome(end), "turns": len(turns)})
    trace.info["turn_rewards"] = rewards
    trace.info["turn_gains"] = [heard.gain for heard in turns]
    trace.info["turn_facts"] = [dict(heard.facts) for heard in turns]
    trace.info["outcome"] = None if end is None else dict(end)
    trace.info["ending"] = turns[-1].text if end is not None else ""


__all__ = ["SondeEnv", "SondeTaskset"]


if __name__ == "__main__":  # how verifiers starts a tool server
    SondeToolset.run()
