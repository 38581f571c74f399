"""verl and NeMo Gym: hosts that cannot run here. Their adapters play against doubles of the base classes, and what the
doubles have is held against the source of the real packages wherever that can be found."""

from __future__ import annotations

import ast
import asyncio
import importlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import sonde
from sonde.core import Episode
from sonde.testing import Played, check_interop

SOURCES = "SONDE_TEST_WHEELS"
"""A variable of the environment: the folder into which wheels of verl and NeMo Gym were unpacked."""


def source(path: str) -> ast.Module:
    """A file of a host, parsed and not imported."""
    root = os.environ.get(SOURCES, "")
    spec = find_spec(path.partition("/")[0])
    roots = [Path(root), *([Path(spec.origin).parents[1]] if spec and spec.origin else [])]
    file = next((r / path for r in roots if (r / path).is_file()), None)
    if file is None:
        pytest.skip(f"{path} is not here: unpack its wheel and name the folder in {SOURCES}")
    return ast.parse(file.read_text("utf-8"))


def members(tree: ast.Module, name: str) -> dict[str, Any]:
    """The methods of a class with their parameters, and its fields."""
    (found,) = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name]
    rows: dict[str, Any] = {}
    for node in found.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = [a.arg for a in (*node.args.args, *node.args.kwonlyargs)][1:]
            rows[node.name] = (isinstance(node, ast.AsyncFunctionDef), arguments)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            rows[node.target.id] = ast.unparse(node.annotation)
    return rows


# --- verl ------------------------------------------------------------------------------------------------------------

END = 0x110000
LOOP = "verl/experimental/agent_loop/agent_loop.py"


@dataclass
class Merged:
    token_ids: list[int]


@dataclass
class Output:
    prompt_ids: list[int]
    response_ids: list[int]
    response_mask: list[int]
    metrics: Any
    response_logprobs: list[float] | None = None
    reward_score: float | None = None
    num_turns: int = 0
    extra_fields: dict[str, Any] = field(default_factory=dict)


class Loop:
    """What of verl's base class the adapter calls. A character is a token; a turn of the model ends with `END`."""

    def __init__(self, reply: Any, response_length: int = 100_000) -> None:
        self.reply = reply
        self.rollout_config = SimpleNamespace(response_length=response_length)
        self.server_manager = self.tokenizer = self
        self.told: list[str] = []
        self.asked: list[dict[str, Any]] = []

    async def ct_build_initial_tokens(self, messages: list[dict[str, str]]) -> list[int]:
        self.told.append(messages[-1]["content"])
        return [ord(c) for message in messages for c in message["content"]]

    async def generate(self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any]) -> Any:
        self.asked.append(sampling_params)
        ids = [*map(ord, await self.reply(self.told[-1])), END][: sampling_params["max_tokens"]]
        return SimpleNamespace(token_ids=ids, log_probs=[-1.0] * len(ids))

    def decode(self, ids: list[int], skip_special_tokens: bool) -> str:
        return "".join(chr(i) for i in ids if i != END)

    async def ct_merge_assistant_token(
        self, runtime: list[int], ids: list[int], mask: list[int], logprobs: Any, assistant_logprobs: Any
    ) -> Any:
        return Merged([*runtime, *ids]), [*mask, *[1] * len(ids)], [*logprobs, *assistant_logprobs]

    async def ct_merge_context_msg(
        self, before: list[Any], after: list[Any], runtime: list[int], mask: list[int], logprobs: list[float]
    ) -> Any:
        (added,) = after[len(before) :]
        self.told.append(added["content"])
        ids = [ord(c) for c in added["content"]]
        return Merged([*runtime, *ids]), [*mask, *[0] * len(ids)], [*logprobs, *[0.0] * len(ids)]


def module(name: str, **members: Any) -> ModuleType:
    made = ModuleType(name)
    vars(made).update(members)
    return made


@pytest.fixture
def verl(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("verl", "verl.experimental", "verl.experimental.agent_loop"):
        monkeypatch.setitem(sys.modules, name, module(name))
    double = module(LOOP, AgentLoopBase=Loop, AgentLoopOutput=Output, register=lambda name: lambda cls: cls)
    monkeypatch.setitem(sys.modules, "verl.experimental.agent_loop.agent_loop", double)
    monkeypatch.delitem(sys.modules, "sonde.interop.verl", raising=False)
    yield importlib.import_module("sonde.interop.verl")
    sys.modules.pop("sonde.interop.verl", None)


def test_verl_has_what_the_adapter_calls() -> None:
    base = members(source(LOOP), "AgentLoopBase")
    assert base["ct_build_initial_tokens"] == (True, ["messages", *base["ct_build_initial_tokens"][1][1:]])
    merge = ["runtime_token_ids", "assistant_token_ids", "response_mask", "response_logprobs", "assistant_logprobs"]
    assert base["ct_merge_assistant_token"] == (True, merge)
    context = ["previous_messages", "updated_messages", "runtime_token_ids", "response_mask", "response_logprobs"]
    assert base["ct_merge_context_msg"] == (True, [*context, "tools"])
    assert base["run"] == (True, ["sampling_params"])
    fields = members(source(LOOP), "AgentLoopOutput")
    assert set(Output.__dataclass_fields__) <= set(fields)
    client = members(source("verl/workers/rollout/llm_server.py"), "LLMServerClient")
    assert client["generate"][1][:3] == ["request_id", "prompt_ids", "sampling_params"]
    assert {"token_ids", "log_probs"} <= set(members(source("verl/workers/rollout/replica.py"), "TokenOutput"))


def test_verl_keeps_the_contract_of_adapters(verl: Any) -> None:
    async def adapter(env: Any, *, seed: int, index: int, reply: Any) -> Played:
        row = next(verl.rows(env, 1, seed=max(0, seed)))
        loop = verl.SondeAgentLoop(reply)
        out = await loop.run({"temperature": 1.0}, extra_info={**row["extra_info"], "seed": seed, "index": index})
        ids, mask = out.response_ids, out.response_mask
        spoken = [c for c, sampled in zip(ids, mask, strict=True) if sampled]
        turns = [""]
        for c in spoken:
            turns = [*turns, ""] if c == END else [*turns[:-1], turns[-1] + chr(c)]
        assert turns.pop() == ""
        assert len(turns) == len(out.extra_fields["turn_scores"]), "one end of a turn for each reward"
        assert [ids[end - 1] for end in out.extra_fields["turn_ends"]] == [END] * len(turns)
        assert out.reward_score == sum(out.extra_fields["turn_scores"]) and len(out.response_logprobs) == len(mask)
        ep = Episode.begin(env, env.tasks("train")[index], seed=seed)
        for text in turns:
            ep = ep.step(text)
        outcome = ep.outcome
        assert outcome is not None and out.extra_fields["outcome"] == outcome.kind
        cut = outcome.truncated == "turns"
        return Played(
            told=[*loop.told, ep.turns[-1].told], rewards=out.extra_fields["turn_scores"],
            outcome=outcome._asdict(), terminated=not cut, truncated=cut, crossed=[row, loop.told],
        )  # fmt: skip

    check_interop(adapter, sonde.make("mastermind", length=3, digits=5, max_turns=6), episodes=4, concurrent=30)


def test_verl_stops_where_there_is_no_room(verl: Any) -> None:
    async def reply(text: str) -> str:
        return "<Answer>1 2 3 4</Answer>"

    (row,) = verl.rows("mastermind", 1, seed=3)
    loop = verl.SondeAgentLoop(reply, response_length=60)
    out = asyncio.run(loop.run({}, extra_info=row["extra_info"]))
    assert len(out.response_ids) == len(out.response_mask) <= 60 and out.extra_fields["outcome"] == "error"
    assert [asked["max_tokens"] for asked in loop.asked] == [60]
    assert row["agent_name"] == "sonde" and row["extra_info"]["seed"] == 3


# --- NeMo Gym --------------------------------------------------------------------------------------------------------

GYM = "resources_servers/gymnasium/base.py"


class GymServer:
    def __init__(self) -> None:
        self.session_state: dict[Any, Any] = {}


@pytest.fixture
def nemo_gym(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setitem(sys.modules, "resources_servers", module("resources_servers"))
    double = module("resources_servers.gymnasium", GymnasiumServer=GymServer, extract_text=lambda response: response)
    monkeypatch.setitem(sys.modules, "resources_servers.gymnasium", double)
    monkeypatch.delitem(sys.modules, "sonde.interop.nemo_gym", raising=False)
    yield importlib.import_module("sonde.interop.nemo_gym")
    sys.modules.pop("sonde.interop.nemo_gym", None)


def test_nemo_gym_has_what_the_adapter_overrides() -> None:
    base = members(source(GYM), "GymnasiumServer")
    assert base["reset"] == (True, ["metadata", "session_id"])
    assert base["step"] == (True, ["action", "metadata", "session_id"])
    assert base["session_state"] == "Dict[str, Any]"
    assert any(isinstance(n, ast.FunctionDef) and n.name == "extract_text" for n in source(GYM).body)


def test_nemo_gym_keeps_the_contract_of_adapters(nemo_gym: Any) -> None:
    server = nemo_gym.SondeServer()

    async def adapter(env: Any, *, seed: int, index: int, reply: Any) -> Played:
        row = next(nemo_gym.rows(env, 1, seed=max(0, seed)))
        session, metadata = object(), {"sonde": {**row["sonde"], "seed": seed, "index": index}}
        text, info = await server.reset(metadata, session)
        told, rewards, crossed = [text], list[float](), [row, info]
        terminated = truncated = False
        while not (terminated or truncated):
            text, reward, terminated, truncated, info = await server.step(await reply(told[-1]), metadata, session)
            told.append(text or "")
            rewards.append(reward)
            crossed.append(info)
        return Played(
            told=told, rewards=rewards, outcome=info["outcome"], terminated=terminated, truncated=truncated,
            crossed=crossed,
        )  # fmt: skip

    check_interop(adapter, sonde.make("wordle"), episodes=3, concurrent=100)
    check_interop(adapter, sonde.make("twenty_questions"), episodes=2, concurrent=10)
    with pytest.raises(sonde.UserError, match="sonde: got None, allowed: an episode"):
        asyncio.run(server.reset({}, "x"))
