"""The HTTP backend against a real local server: what it sends, what it reads, and how many calls run at once."""

from __future__ import annotations

import asyncio
import gc
import json
import time
from array import array
from typing import Any

import pytest

import sonde
from sonde import Message, Sampling, UserError
from sonde.models.http import Http
from tests.cases import each

from .endpoint import ASKED, HELLO, KEY, ask, ask_and_close, fails, on, openai_key  # noqa: F401 (a fixture)
from .server import Server, chat, reply, says, slowly

pytestmark = pytest.mark.filterwarnings("ignore::sonde.models.remote.retry.TroubleWarning")


def test_request_and_completion() -> None:
    c, server, model = ask(says("blue", reasoning_content="colours, then"))
    [request] = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "model": "m", "messages": [{"role": "user", "content": "Hello?"}], "max_tokens": 50, "temperature": 0.7,
        "min_p": 0.3, "seed": 5,
    }  # fmt: skip
    assert (c.text, c.reasoning, c.finish, c.model, c.usage) == ("blue", "colours, then", "stop", "served", (7, 3, 5))
    assert (len(c.ids), len(c.logprobs)) == (0, 0)
    assert (model.stats.calls, model.stats.prompt, model.stats.completion, model.stats.cached) == (1, 7, 3, 5)
    assert (model.stats.retries, model.stats.failures) == (0, 0)


def test_optional_fields() -> None:
    sampling = Sampling(max_new_tokens=9, top_p=0.9, stop=("END",), seed=1)
    config: dict[str, Any] = {"max_tokens_field": "max_completion_tokens", "omit": ["temperature", "seed"]}
    _, server, _ = ask(says(), sampling=sampling, extra={"chat_template_kwargs": {"thinking": [1, 2]}}, **config)
    assert server.requests[0].body == {
        "model": "m", "messages": [{"role": "user", "content": "Hello?"}], "max_completion_tokens": 9, "top_p": 0.9,
        "stop": ["END"], "chat_template_kwargs": {"thinking": [1, 2]},
    }  # fmt: skip


def test_logprobs() -> None:
    data = json.loads(chat("hi"))
    data["choices"][0]["logprobs"] = {"content": [{"token": "h", "logprob": -0.5}, {"token": "i", "logprob": -2}]}
    c, server, model = ask(reply(json.dumps(data)), logprobs=True)
    assert server.requests[0].body["logprobs"] is True
    assert c.logprobs == array("f", [-0.5, -2.0])
    assert model.require_capabilities("logprobs") is model


def test_missing_logprobs_stop_the_run() -> None:
    line, server, _ = fails(UserError, says("hi"), logprobs=True)
    assert line.startswith("logprobs: got True")
    assert len(server.requests) == 1
    with pytest.raises(sonde.CapabilityError):
        Http(base_url="http://localhost/v1", model="m").require_capabilities("logprobs")


@each(
    "sent, read",
    [
        ("stop", "stop"), ("length", "length"), (None, "stop"), ("eos", "stop"), ([], "stop"),
    ],
)  # fmt: skip
def test_finish_reasons(sent: object, read: str) -> None:
    assert ask(says("x", sent))[0].finish == read


def test_empty_replies_that_are_replies() -> None:
    assert ask(says("", "stop"))[0].text == ""
    thinking = ask(says(None, "length", reasoning="hm"))[0]
    assert (thinking.text, thinking.reasoning, thinking.finish) == ("", "hm", "length")
    assert ask(says(None, refusal="I will not."))[0].text == "I will not."
    assert ask(says([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, 7, {"text": [[]]}]))[0].text == "ab"


def test_lone_surrogates_both_ways() -> None:
    async def once(server: Server, model: Http) -> tuple[str, str]:
        text = (await model.generate((Message("user", "\udc80?"),), ASKED)).text
        return text, server.requests[0].body["messages"][0]["content"]

    assert on([says("a\ud800b")], once) == ("a?b", "\udc80?")


def test_connections_are_used_again() -> None:
    async def in_turn(server: Server, model: Http) -> tuple[int, int]:
        for _ in range(5):
            await model.generate(HELLO, ASKED)
        return len(server.requests), server.connections

    assert on([says()], in_turn) == (5, 1)


def test_concurrency_is_limited() -> None:
    async def at_once(server: Server, model: Http) -> tuple[int, int, int]:
        await asyncio.gather(*(model.generate(HELLO, Sampling(seed=i)) for i in range(30)))
        return len(server.requests), server.most_running, server.connections

    assert on([slowly(0.01, says())], at_once, concurrency=4) == (30, 4, 4)


def test_rate_is_limited() -> None:
    async def at_once(server: Server, model: Http) -> float:
        start = time.perf_counter()
        await asyncio.gather(*(model.generate(HELLO, ASKED) for _ in range(6)))
        return time.perf_counter() - start

    assert on([says()], at_once, requests_per_minute=1200) >= 5 * 0.05 - 0.005


def test_one_model_in_several_event_loops() -> None:
    model: list[Http] = []

    async def main() -> None:
        async with Server((says(),)) as server:
            first = Http(base_url=server.url, model="m")
            model.append(first)
            await first.generate(HELLO, ASKED)
            await asyncio.to_thread(lambda: asyncio.run(ask_and_close(first)))
            await first.generate(HELLO, ASKED)
            assert server.connections == 2
            await first.close()
            await first.close()
            await first.generate(HELLO, ASKED)
            assert server.connections == 3
            await first.close()

    asyncio.run(main())
    assert model[0].stats.calls == 4


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # sockets that the first loop left open
def test_event_loop_that_ended_without_close() -> None:
    model: list[Http] = []

    async def main(close: bool) -> str:
        async with Server((says(),)) as server:
            model[:] = model or [Http(base_url=server.url, model="m", retries=0)]
            object.__setattr__(model[0], "base_url", server.url)
            text = (await model[0].generate(HELLO, ASKED)).text
            assert len(model[0]._pools) == 1, "those of the loop that ended are gone"
            if close:
                await model[0].close()
            return text

    assert [asyncio.run(main(close=False)), asyncio.run(main(close=True))] == ["hello", "hello"]
    assert model[0]._pools == {}
    gc.collect()


def test_a_cancelled_call_frees_its_slot() -> None:
    async def cancel_then_ask(server: Server, model: Http) -> tuple[str, int]:
        call = asyncio.create_task(model.generate(HELLO, ASKED))
        await server.asked.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return (await model.generate(HELLO, ASKED)).text, model.stats.failures

    assert on([slowly(5.0, says("late")), says("next")], cancel_then_ask, concurrency=1) == ("next", 0)
