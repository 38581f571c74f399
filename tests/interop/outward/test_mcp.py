"""An environment as a server of the Model Context Protocol, played by the SDK's own client: in this process, and as the
command that a client starts."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="needs the extra: pip install 'sonde-rl[mcp]'")

from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client

import sonde
from sonde.core import Episode, UserError
from sonde.evaluation.run_evaluation import reopen_run
from sonde.interop.outward.mcp import make_server
from sonde.interop.session import Session
from sonde.runs.store import Run
from sonde.testing import HostEpisode, check_interop

from .. import hosts, pages


async def play_through(env: Any, *, seed: int, index: int, reply: hosts.Reply) -> HostEpisode:
    """An episode by the tool of the environment; what the server adds to the environment's texts is taken away."""
    told, rewards, crossed = list[str](), list[float](), list[Any]()
    async with Client(make_server(env, split="train")) as client:
        found: Any = await client.call_tool("new_game", {"seed": seed, "task": index})
        while not found.is_error:
            told.append(
                found.content[0].text.partition("\n\nCall the tool")[0].removesuffix("The game is over.").strip()
            )
            crossed.append(found.model_dump())
            if found.structured_content["done"]:
                break
            found = await client.call_tool("say", {"text": await reply(told[-1])})
            rewards.append(found.structured_content["reward"])
    if found.is_error:
        raise UserError(found.content[0].text.replace("new_game: task", "index"))  # the tool's word for it
    outcome = found.structured_content["outcome"]
    cut = outcome["truncated"] == "turns"
    return HostEpisode(
        told=told, rewards=rewards, outcome=outcome, terminated=not cut, truncated=cut, crossed=[crossed]
    )


def test_a_game_is_that_of_a_session() -> None:
    """Texts, rewards and outcome beside the same turns taken in Python, and what the client learns of the tools."""
    env = sonde.make("mastermind")
    secret = env.tasks("test")[3].hidden

    async def play() -> list[Any]:
        async with Client(make_server("mastermind")) as client:
            tools = (await client.list_tools()).tools
            calls = [("act", {"action": "0123"}), ("new_game", {"task": 3}), ("act", {"action": "0123"}),
                     ("act", {"action": secret}), ("act", {"action": secret})]  # fmt: skip
            return [tools, *[await client.call_tool(name, arguments) for name, arguments in calls]]

    tools, early, begun, first, won, late = asyncio.run(play())
    assert [tool.name for tool in tools] == ["new_game", "act"]
    assert tools[1].input_schema == env.tool({}).to_json()["function"]["parameters"]
    assert early.is_error and late.is_error and "call new_game" in early.content[0].text
    seat = Session(env, split="test")
    assert begun.content[0].text.startswith(seat.reset(0, index=3).text) and begun.structured_content == {
        "task": 3,
        "seed": 0,
        "done": False,
    }
    heard = seat.say("<Answer>0123</Answer>")
    assert (first.content[0].text, first.structured_content) == (heard.text, {"reward": heard.reward, "done": False})
    heard = seat.say(f"<Answer>{secret}</Answer>")
    assert won.content[0].text == f"{heard.text}\n\nThe game is over."
    assert won.structured_content["outcome"]["kind"] == "win" and won.structured_content["reward"] == 1.0


def test_calls_that_do_not_fit_are_tool_errors() -> None:
    async def play(name: str, arguments: Any) -> Any:
        async with Client(make_server("guess_my_city")) as client:
            await client.call_tool("new_game", {})
            return await client.call_tool(name, arguments)

    for name, arguments, told in (
        ("say", {"words": "Is it Rome?"}, "The arguments were not"),
        ("say", {}, "The arguments were not"),
        ("ask", {"text": "Is it Rome?"}, "There is no tool of that name"),
    ):
        found = asyncio.run(play(name, arguments))
        assert found.is_error and found.content[0].text.startswith(told) and found.structured_content is None
    for arguments, told in (({"seed": -1}, "seed: got -1"), ({"seed": "x"}, "seed: got 'x'"), ({"tasks": 1}, "tasks")):
        found = asyncio.run(play("new_game", arguments))
        assert found.is_error and told in found.content[0].text


def test_after_a_call_that_does_not_fit_the_client_calls_again(tmp_path: Path) -> None:
    """Even where an unreadable answer ends the game; the record has the calls that fitted."""
    env = sonde.make("wordle")
    word = env.tasks("test")[7].hidden

    async def play() -> list[Any]:
        async with Client(make_server("wordle", out=tmp_path)) as client:
            await client.call_tool("new_game", {"task": 7})
            calls = [
                ("act", {"word": word}),
                ("say", {"text": word}),
                ("act", {"action": ["a"]}),
                ("act", {"action": word}),
            ]
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    *refused, won = asyncio.run(play())
    assert all(found.is_error and "one call of act(action)" in found.content[0].text for found in refused)
    assert won.structured_content["outcome"]["kind"] == "win"
    (t,) = Run.load(tmp_path)
    assert [turn.text for turn in t.turns] == [env.say(word)]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"tsk": 1}, "new_game: argument: unknown name 'tsk' (did you mean 'task'?); known: seed, task"),
        ({"task": "x"}, "new_game: task: got 'x', allowed: a whole number, 0 to 499"),
        ({"task": 500}, "new_game: task: got 500, allowed: a whole number, 0 to 499"),
        ({"task": True}, "new_game: task: got True, allowed: a whole number, 0 to 499"),
        ({"seed": -1}, "new_game: seed: got -1, allowed: a whole number, 0 to 18446744073709551615"),
    ],
)
def test_wrong_arguments_of_a_new_game_are_named(arguments: dict[str, Any], says: str) -> None:
    async def call() -> Any:
        async with Client(make_server("mastermind")) as client:
            return await client.call_tool("new_game", arguments)

    refused = asyncio.run(call())
    assert refused.is_error and refused.content[0].text == says


def test_calls_that_come_together_are_turns_one_after_another() -> None:
    async def play() -> list[Any]:
        async with Client(make_server("mastermind")) as client:
            await client.call_tool("new_game", {"task": 3})
            return await asyncio.gather(*(client.call_tool("act", {"action": "0000"}) for _ in range(8)))

    told = sorted(found.content[0].text for found in asyncio.run(play()))
    assert len(set(told)) == 8  # each names the guesses left


@pytest.mark.parametrize("name", ["twenty_questions", "car_dealer"])
def test_it_keeps_the_contract_of_adapters(name: str) -> None:
    check_interop(play_through, sonde.make(name), episodes=3, concurrent=20)


def test_the_command_serves_a_client_that_starts_it(tmp_path: Path) -> None:
    """Over standard input and output; what was played is in the run folder, a world played twice with two samples."""
    out = tmp_path / "run"
    arguments = ["-m", "sonde", "mcp", "best_arm", "--preset", "small", "--out", str(out)]
    started = StdioServerParameters(command=sys.executable, args=arguments, env={**os.environ})

    async def play() -> list[Any]:
        async with Client(stdio_client(started)) as client:
            _, tool = (await client.list_tools()).tools
            [answer, *_] = tool.input_schema["properties"]["action"]["enum"]
            found: list[Any] = []
            for place in ({}, {"task": 0}, {}):
                begun = await client.call_tool("new_game", place)
                turn = await client.call_tool("act", {"action": answer})
                while not turn.structured_content["done"]:
                    turn = await client.call_tool("act", {"action": answer})
                found += [begun.content[0].text, turn.structured_content["outcome"]["kind"]]
            return found

    first, end, again, end_again, other, last = asyncio.run(play())
    assert first == again == other and {end, end_again, last} <= {"win", "loss"}
    stored = sorted(Run.load(out), key=lambda t: (t.task.index, t.sample))
    assert [(t.task.index, t.seed, t.sample) for t in stored] == [(0, 0, 0), (0, 0, 1), (1, 0, 0)]
    env = sonde.make("best_arm", preset="small")
    for t in stored:
        assert Episode.replay(env, t).outcome == t.outcome
        assert all(act.action.completions[0].calls[0].name == "act" for turn in t.turns for act in turn.acts[:1])
    assert reopen_run(Run.load(out)).config.n_tasks == 2


def test_the_page_says_what_happens() -> None:
    ((_, code, printed),) = pages.page_examples("mcp.md")
    assert pages.run_code(code) == printed
