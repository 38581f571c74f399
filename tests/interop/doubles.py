"""Doubles of the base classes of verl and NeMo Gym, which cannot run here; `test_elsewhere.py` holds them against the
source of the real packages."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

END = 0


class Codec:
    """Tokens of up to 64 characters, each of which is known by its number from the moment it is needed."""

    def __init__(self) -> None:
        self.parts = ["<end>"]
        self.known = {"<end>": END}
        self.added_tokens_decoder: dict[int, Any] = {}

    def encode(self, text: str) -> list[int]:
        parts = [text[i : i + 64] for i in range(0, len(text), 64)]
        for part in parts:
            if part not in self.known:
                self.known[part] = len(self.parts)
                self.parts.append(part)
        return [self.known[part] for part in parts]

    def decode(self, ids: list[int], skip_special_tokens: bool = False, **options: bool) -> str:
        return "".join(self.parts[i] for i in ids if i != END)


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
    """What of verl's base class the adapter calls. A turn of the model ends with `END`."""

    def __init__(self, reply: Any, response_length: int = 100_000) -> None:
        self.reply = reply
        self.rollout_config = SimpleNamespace(response_length=response_length)
        self.server_manager, self.tokenizer = self, Codec()
        self.told: list[str] = []
        self.asked: list[dict[str, Any]] = []

    async def ct_build_initial_tokens(self, messages: list[dict[str, str]]) -> list[int]:
        self.told.append(messages[-1]["content"])
        return [id_ for message in messages for id_ in self.tokenizer.encode(message["content"])]

    async def generate(self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any]) -> Any:
        self.asked.append(sampling_params)
        ids = [*self.tokenizer.encode(await self.reply(self.told[-1])), END][: sampling_params["max_tokens"]]
        return SimpleNamespace(token_ids=ids, log_probs=[-1.0] * len(ids))

    async def ct_merge_assistant_token(
        self, runtime: list[int], ids: list[int], mask: list[int], logprobs: Any, assistant_logprobs: Any
    ) -> Any:
        return Merged([*runtime, *ids]), [*mask, *[1] * len(ids)], [*logprobs, *assistant_logprobs]

    async def ct_merge_context_msg(
        self, before: list[Any], after: list[Any], runtime: list[int], mask: list[int], logprobs: list[float]
    ) -> Any:
        (added,) = after[len(before) :]
        self.told.append(added["content"])
        ids = self.tokenizer.encode(added["content"])
        return Merged([*runtime, *ids]), [*mask, *[0] * len(ids)], [*logprobs, *[0.0] * len(ids)]


class GymServer:
    """Of NeMo Gym's base class, what the adapter uses."""

    def __init__(self) -> None:
        self.session_state: dict[Any, Any] = {}


def _module(name: str, **members: Any) -> ModuleType:
    made = ModuleType(name)
    vars(made).update(members)
    return made


def _adapter(name: str, doubles: Mapping[str, ModuleType]) -> Any:
    """The adapter on doubles, which nobody else gets to see."""
    with mock.patch.dict(sys.modules, doubles):
        sys.modules.pop(name, None)
        return importlib.import_module(name)


@cache
def verl() -> Any:
    folder = "verl.experimental.agent_loop"
    base = _module("agent_loop", AgentLoopBase=Loop, AgentLoopOutput=Output, register=lambda name: lambda cls: cls)
    above = {name: _module(name) for name in ("verl", "verl.experimental", folder)}
    return _adapter("sonde.interop.outward.verl", {**above, f"{folder}.agent_loop": base})


@cache
def nemo_gym() -> Any:
    gym = _module("gymnasium", GymnasiumServer=GymServer, extract_text=lambda response: response)
    above = {"resources_servers": _module("resources_servers")}
    return _adapter("sonde.interop.nemo_gym", {**above, "resources_servers.gymnasium": gym})
