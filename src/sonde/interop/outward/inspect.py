"""Every environment as a task of Inspect AI (0.3.285): Inspect's models and logs, our environments and outcomes.

    inspect eval sonde/wordle --model openai/... -T preset=lmrl --epochs 4
    inspect_ai.eval(make_task("wordle", preset="lmrl"), model=..., epochs=4)

An Inspect sample is a task of a split, an epoch is a sample of its group: sample i, epoch k is the episode of task i,
world seed `seed` and sample k - 1, as in `sonde eval`. Other seats are filled as described in `session.py`; they are
not Inspect's models. The score of a sample is a value per name: `success`, `score`, `return` (the sum of rewards),
`turns`, one for every kind of outcome (`win`, `loss`, `unreadable`, `out_of_turns`, `error`), `cut` (the limit on
turns), and with `gains`, if the environment has a filter, `gain`, the bits gained in total. Inspect requires the same
names for every sample of a task, so an episode that ended before its first turn has 0 bits and a return of 0. Each
value gets its mean and standard error, clustered by task. Each turn's reward and facts are in the sample's store under
`sonde`; neither sample nor log contains the hidden setup.

As with `agents:llm`, an answer that the token limit cut is marked as such, and reasoning does not reach the
environment. If Inspect's own limits (messages, tokens, time) end a sample, its outcome is `error`.

With `tools` (`-T tools=true`) the model acts by tool calls: Inspect offers it the environment's tool (`core.tools`),
and the environment's text is the result of the call. `bad_calls` then counts replies without exactly one usable call.
"""

# Types are checked without this extra, too.
# pyright: reportMissingImports=false

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from sonde._util.extras import missing_extra
from sonde.core import EMPTY, Action, AnyPolicy, Completion, Env, names
from sonde.core.tools import Tool, ToolCall, to_plain
from sonde.models.chat.reasoning import split_completion

from ..session import SeatObservation, Session, find_task, resolve_env, score_outcome

try:
    from inspect_ai import Task, task
    from inspect_ai._util.registry import registry_info
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ChatMessage, ChatMessageTool, ChatMessageUser, ModelOutput
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
    from inspect_ai.solver import Generate, Solver, TaskState, solver
    from inspect_ai.tool import ToolDef, ToolParams
except ModuleNotFoundError as e:
    raise missing_extra("sonde.interop.outward.inspect", "inspect-ai") from e

_STORE = "sonde"
_FINISH: Mapping[str, Literal["stop", "length", "filter"]] = {
    "max_tokens": "length", "model_length": "length", "content_filter": "filter",
}  # fmt: skip


def make_task(
    env: Env[Any] | str,
    *,
    split: str = "test",
    indices: Sequence[int] | None = None,
    seed: int = 0,
    gains: bool = False,
    tools: bool = False,
    policies: Mapping[str, AnyPolicy] = EMPTY,
    **config: Any,
) -> Task:
    """An environment, or a name with constructor arguments, as a task of Inspect: all tasks of the split, or those in
    `indices`. With `tools` the model acts by tool calls."""
    made = resolve_env(env, config)
    tasks = made.tasks(split)
    rows = [
        Sample(
            id=f"{split}-{i}",
            input=f"{made.name}, preset {made.spec.preset}: {split}[{i}], world seed {seed}",
            metadata={"task": find_task(made, split, seed, i).id, "index": i, "seed": seed},
        )
        for i in (range(len(tasks)) if indices is None else indices)
    ]
    return Task(
        dataset=MemoryDataset(rows, name=f"{made.name}/{made.spec.preset}/{split}"),
        solver=play(lambda: Session(made, policies, split=split, gains=gains), tools=tools),
        scorer=outcome(gains=gains and any(made.filter(t.public) is not None for t in tasks), tools=tools),
        metadata={"env": made.config, "version": made.spec.version},
    )


@solver
def play(seat: Callable[[], Session], tools: bool = False) -> Solver:
    """The game loop: the environment's text becomes a user message or, with `tools`, the result of a call; the model's
    answer goes to the environment."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        session, place = seat(), state.metadata
        heard = await session.reset_async(place["seed"], index=place["index"], sample=state.epoch - 1)
        state.messages = [ChatMessageUser(content=heard.text)]
        if tools:
            state.tools = [_offer_tool(session.tool)]
        played: dict[str, Any] = {"turns": [], "outcome": None, "bad_calls": 0}
        state.store.set(_STORE, played)  # filled turn by turn: one of Inspect's limits may end the sample at any time
        while not heard.done:
            state = await generate(state, tool_calls="none")
            calls = _read_calls(state.output) if tools else ()
            heard = await (
                session.call_async(calls, state.output.completion)
                if tools
                else session.say_async(_read_answer(state.output))
            )
            played["bad_calls"] += bool(session.episode.turns[-1].acts[0].action.completions[0].call_defect)
            played["turns"].append(_turn_record(heard))
            played["outcome"] = heard.outcome
            state.messages += _answer_calls(state.output, heard.text) if calls else _tell_user(heard.text)
        state.completed = True
        return state

    return solve


def _read_answer(output: ModelOutput) -> Action:
    finish = _FINISH.get(output.stop_reason, "stop")
    completion, answer = split_completion(Completion(text=output.completion, finish=finish, model=output.model))
    return Action(answer, completions=(completion,))


def _offer_tool(tool: Tool) -> Any:
    """The environment's tool as one of Inspect. It is never executed: the solver takes the calls."""

    async def execute(**fields: str) -> str:
        raise AssertionError("the solver plays the calls itself")

    parameters = ToolParams.model_validate(to_plain(tool.parameters))
    return ToolDef(execute, tool.name, tool.description, parameters, parallel=False).as_tool()


def _read_calls(output: ModelOutput) -> tuple[ToolCall, ...]:
    """The calls of a reply; arguments that Inspect could not parse are none."""
    called = output.message.tool_calls or [] if output.choices else []
    return tuple(
        ToolCall(call.function, "" if call.parse_error else json.dumps(call.arguments), call.id) for call in called
    )


def _answer_calls(output: ModelOutput, text: str) -> list[ChatMessage]:
    """The results of the calls in a reply, of which there is one unless it was defective."""
    called = output.message.tool_calls or []
    return [ChatMessageTool(content=text, tool_call_id=call.id, function=call.function) for call in called]


def _tell_user(text: str) -> list[ChatMessage]:
    return [ChatMessageUser(content=text)] if text else []


def _turn_record(heard: SeatObservation) -> dict[str, Any]:
    row = dataclasses.asdict(heard)
    return {name: row[name] for name in ("reward", "facts", "gain", "truth_gain")}


@scorer(metrics={"*": [mean(), stderr(cluster="task")]})
def outcome(gains: bool = False, tools: bool = False) -> Scorer:
    """The outcome of the episode as numbers, with `gains` also the bits gained, with `tools` the replies without a
    usable call; see the module."""

    async def score(state: TaskState, target: Target) -> Score:
        found = state.store.get(_STORE) or {"turns": [], "outcome": None}
        turns, end = found["turns"], found["outcome"] or {"kind": "error"}
        scored = score_outcome(found["outcome"])
        value: dict[str, float] = {
            "success": scored.pop("success"),
            "score": scored.pop("score"),
            "return": float(sum(turn["reward"] for turn in turns)),
            "turns": float(len(turns)),
            **scored,
            "cut": float(end.get("truncated") == "turns"),
        }
        if gains:
            value["gain"] = float(sum(turn["gain"] or 0.0 for turn in turns))
        if tools:
            value["bad_calls"] = float(found.get("bad_calls", 0))
        return Score(value=dict(value), explanation=f"{end['kind']} after {len(turns)} turns", metadata=found)

    return score


def _register_task(name: str) -> Callable[..., Task]:
    def build_task(split: str = "test", seed: int = 0, gains: bool = False, tools: bool = False, **config: Any) -> Task:
        return make_task(name, split=split, seed=seed, gains=gains, tools=tools, **config)

    build_task.__name__ = build_task.__qualname__ = name
    build_task.__doc__ = f"The environment {name}."
    found = task(name=name)(build_task)
    if registry_info(found).name == name:  # in an editable install, Inspect omits the package
        found = task(name=f"sonde/{name}")(build_task)
    return found


TASKS: Mapping[str, Callable[..., Task]] = {name: _register_task(name) for name in names()}
"""The tasks that `inspect eval sonde/NAME` finds."""
