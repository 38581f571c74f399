"""verl and NeMo Gym: hosts that cannot run here. Their adapters play against doubles of the base classes, and what the
doubles have is held against the source of the real packages wherever that can be found."""

from __future__ import annotations

import ast
import asyncio
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

import sonde
from sonde.testing import check_interop

from . import doubles, hosts, pages

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


@pytest.mark.parametrize("host", [hosts.verl, hosts.nemo_gym], ids=["verl", "nemo_gym"])
@pytest.mark.parametrize("name", hosts.SOME)
def test_they_keep_the_contract_of_adapters(name: str, host: Any) -> None:
    check_interop(host, sonde.make(name), episodes=3, concurrent=30)


# --- verl ------------------------------------------------------------------------------------------------------------

LOOP = "verl/experimental/agent_loop/agent_loop.py"


def test_verl_has_what_the_adapter_calls() -> None:
    base = members(source(LOOP), "AgentLoopBase")
    assert base["ct_build_initial_tokens"] == (True, ["messages", *base["ct_build_initial_tokens"][1][1:]])
    merge = ["runtime_token_ids", "assistant_token_ids", "response_mask", "response_logprobs", "assistant_logprobs"]
    assert base["ct_merge_assistant_token"] == (True, merge)
    context = ["previous_messages", "updated_messages", "runtime_token_ids", "response_mask", "response_logprobs"]
    assert base["ct_merge_context_msg"] == (True, [*context, "tools"])
    assert base["run"] == (True, ["sampling_params"])
    fields = members(source(LOOP), "AgentLoopOutput")
    assert set(doubles.Output.__dataclass_fields__) <= set(fields)
    client = members(source("verl/workers/rollout/llm_server.py"), "LLMServerClient")
    assert client["generate"][1][:3] == ["request_id", "prompt_ids", "sampling_params"]
    assert {"token_ids", "log_probs"} <= set(members(source("verl/workers/rollout/replica.py"), "TokenOutput"))


ROOM = 3
"""Tokens of a response: those of a turn and its end, and not those of an answer to it."""


def test_verl_stops_where_there_is_no_room() -> None:
    verl = doubles.verl()

    async def reply(text: str) -> str:
        return "<Answer>1 2 3 4</Answer>"

    (row,) = verl.rows("mastermind", 1, seed=3)
    loop = verl.SondeAgentLoop(reply, response_length=ROOM)
    out = asyncio.run(loop.run({}, extra_info=row["extra_info"]))
    assert len(out.response_ids) == len(out.response_mask) <= ROOM
    assert (out.extra_fields["outcome"], out.extra_fields["truncated"]) == ("timeout", "context")
    assert [asked["max_tokens"] for asked in loop.asked] == [ROOM]
    assert row["agent_name"] == "sonde" and row["extra_info"]["seed"] == 3


# --- NeMo Gym --------------------------------------------------------------------------------------------------------

GYM = "resources_servers/gymnasium/base.py"


def test_nemo_gym_has_what_the_adapter_overrides() -> None:
    base = members(source(GYM), "GymnasiumServer")
    assert base["reset"] == (True, ["metadata", "session_id"])
    assert base["step"] == (True, ["action", "metadata", "session_id"])
    assert base["session_state"] == "Dict[str, Any]"
    assert any(isinstance(n, ast.FunctionDef) and n.name == "extract_text" for n in source(GYM).body)


def test_nemo_gym_names_what_a_row_lacks() -> None:
    with pytest.raises(sonde.UserError, match="sonde: got None, allowed: an episode"):
        asyncio.run(doubles.nemo_gym().SondeServer().reset({}, "x"))


def test_the_configuration_of_the_page_is_as_its_own_are() -> None:
    """The fields of NeMo Gym's example of a server for its `gymnasium_agent`, less descriptions."""
    ours = yaml.safe_load(next(b for b in pages.blocks("nemo_gym.md", "yaml")))
    assert ours["sonde_agent"]["responses_api_agents"]["gymnasium_agent"]["resources_server"]["name"] in ours
    file = Path(os.environ.get(SOURCES, "")) / "resources_servers/gymnasium/configs/gymnasium.yaml"
    if not file.is_file():
        pytest.skip(f"{file} is not here: unpack its wheel and name the folder in {SOURCES}")
    theirs = yaml.safe_load(file.read_text("utf-8"))
    (server,) = (v["resources_servers"].popitem()[1] for v in theirs.values() if "resources_servers" in v)
    (agent,) = (v["responses_api_agents"]["gymnasium_agent"] for v in theirs.values() if "responses_api_agents" in v)
    assert set(ours["sonde"]["resources_servers"]["sonde"]) == set(server) - {"description", "value"}
    assert set(ours["sonde_agent"]["responses_api_agents"]["gymnasium_agent"]) == set(agent)


# --- their pages -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["verl", "nemo_gym"])
def test_the_page_says_what_happens(host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if host == "verl":
        pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, f"sonde.interop.{host}", getattr(doubles, host)())
    ((_, code, printed),) = pages.examples(f"{host}.md")
    assert pages.run(code) == printed


def test_the_agent_loop_of_the_page_is_that_of_the_recipe() -> None:
    recipe = Path(__file__).parents[2] / "recipes" / "interop" / "verl" / "agent_loop.yaml"
    (shown,) = pages.blocks("verl.md", "yaml")
    assert yaml.safe_load(shown) == yaml.safe_load(recipe.read_text("utf-8"))
