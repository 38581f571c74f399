"""The HTTP backend against a real local server: what it sends, what it reads, and everything that goes wrong."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import re
import time
import tracemalloc
from array import array
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sonde
from sonde import Completion, Message, Sampling, UserError, WorldError
from sonde.core import Outage, Rng
from sonde.models import http
from sonde.models.http import Http
from sonde.models.masking import hide
from sonde.models.reply import ROOM, largest
from sonde.models.retry import Backoff, TroubleWarning, retry_after

from .server import Handler, Server, chat, drips, drops_mid_body, hangs_up, reply, says, slowly

pytestmark = pytest.mark.filterwarnings("ignore::sonde.models.retry.TroubleWarning")

KEY = "sk-very-secret-0123456789/+a"
HELLO = (Message("user", "Hello?"),)
ASKED = Sampling(max_new_tokens=50, temperature=0.7, min_p=0.3, seed=2**63 + 5)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def on(handlers: Sequence[Handler], use: Callable[[Server, Http], Awaitable[Any]], **config: Any) -> Any:
    """What `use` returns, given a running server with these handlers and a model that points at it."""

    async def main() -> Any:
        async with Server(tuple(handlers)) as server:
            model = Http(**{"base_url": server.url, "model": "m", "backoff": 0.01, "max_wait": 2.0} | config)
            try:
                return await use(server, model)
            finally:
                await model.close()

    return asyncio.run(main())


def ask(*handlers: Handler, sampling: Sampling = ASKED, **config: Any) -> tuple[Completion, Server, Http]:
    async def once(server: Server, model: Http) -> tuple[Completion, Server, Http]:
        return await model.generate(HELLO, sampling), server, model

    return on(handlers, once, **config)


def fails(kind: type[Exception], *handlers: Handler, **config: Any) -> tuple[str, Server, Http]:
    """The one line of the error, which must be of exactly this kind and never hold the key."""

    async def once(server: Server, model: Http) -> tuple[str, Server, Http]:
        with pytest.raises(kind) as caught:
            await model.generate(HELLO, ASKED)
        assert type(caught.value) is kind
        line = str(caught.value)
        assert KEY not in line + repr(caught.value) + repr(caught.value.__cause__) + repr(caught.value.__context__)
        assert "\n" not in line
        assert model.stats.failures == 1
        return line, server, model

    return on(handlers, once, **config)


# What is sent and read


def test_request_and_completion() -> None:
    c, server, model = ask(says("blue", reasoning_content="colours, then"))
    [request] = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hello?"}],
        "max_tokens": 50,
        "temperature": 0.7,
        "min_p": 0.3,
        "seed": 5,
    }
    assert (c.text, c.reasoning, c.finish, c.model, c.usage) == ("blue", "colours, then", "stop", "served", (7, 3, 5))
    assert (len(c.ids), len(c.logprobs)) == (0, 0)
    assert (model.stats.calls, model.stats.prompt, model.stats.completion, model.stats.cached) == (1, 7, 3, 5)
    assert (model.stats.retries, model.stats.failures) == (0, 0)


def test_optional_fields() -> None:
    sampling = Sampling(max_new_tokens=9, top_p=0.9, stop=("END",), seed=1)
    config: dict[str, Any] = {"max_tokens_field": "max_completion_tokens", "omit": ["temperature", "seed"]}
    _, server, _ = ask(says(), sampling=sampling, extra={"chat_template_kwargs": {"thinking": [1, 2]}}, **config)
    assert server.requests[0].body == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hello?"}],
        "max_completion_tokens": 9,
        "top_p": 0.9,
        "stop": ["END"],
        "chat_template_kwargs": {"thinking": [1, 2]},
    }


def test_logprobs() -> None:
    data = json.loads(chat("hi"))
    data["choices"][0]["logprobs"] = {"content": [{"token": "h", "logprob": -0.5}, {"token": "i", "logprob": -2}]}
    c, server, model = ask(reply(json.dumps(data)), logprobs=True)
    assert server.requests[0].body["logprobs"] is True
    assert c.logprobs == array("f", [-0.5, -2.0])
    assert model.require("logprobs") is model


def test_missing_logprobs_stop_the_run() -> None:
    line, server, _ = fails(UserError, says("hi"), logprobs=True)
    assert line.startswith("logprobs: got True")
    assert len(server.requests) == 1
    with pytest.raises(sonde.CapabilityError):
        Http(base_url="http://localhost/v1", model="m").require("logprobs")


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("content_filter", "filter"),
        (None, "stop"),
        ("eos", "stop"),
        ([], "stop"),
    ],
)
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
            await asyncio.to_thread(lambda: asyncio.run(_ask_and_close(first)))
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


async def _ask_and_close(model: Http) -> None:
    try:
        await model.generate(HELLO, ASKED)
    finally:
        await model.close()


def test_a_cancelled_call_frees_its_slot() -> None:
    async def cancel_then_ask(server: Server, model: Http) -> tuple[str, int]:
        call = asyncio.create_task(model.generate(HELLO, ASKED))
        await server.asked.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return (await model.generate(HELLO, ASKED)).text, model.stats.failures

    assert on([slowly(5.0, says("late")), says("next")], cancel_then_ask, concurrency=1) == ("next", 0)


# What may pass


@pytest.mark.parametrize(
    ("trouble", "config"),
    [
        (hangs_up, {}),
        (drops_mid_body, {}),
        (drips, {"timeout": 0.5}),
        (slowly(5.0, says()), {"timeout": 0.5}),
        (reply("<html>bad gateway</html>", 502), {}),
        (reply("", 500), {}),
        (reply("busy", 429), {}),
        (reply("{not json"), {}),
        (reply("[" * 100_000), {}),
        (reply("", 204), {}),
        (reply("", 200), {}),
        (reply(b"\xff\xfe\x00"), {}),
        (reply("7"), {}),
        (reply("{}"), {}),
        (reply('{"choices": []}'), {}),
        (reply('{"choices": {"0": 1}}'), {}),
        (reply('{"choices": [null]}'), {}),
        (reply('{"error": {"message": "upstream is overloaded"}}'), {}),
        (says(None), {}),
    ],
)
def test_trouble_that_passes(trouble: Handler, config: dict[str, Any]) -> None:
    c, server, model = ask(trouble, trouble, says("at last"), **config)
    assert c.text == "at last"
    assert len(server.requests) == 3
    assert (model.stats.calls, model.stats.retries, model.stats.failures) == (1, 2, 0)


@pytest.mark.parametrize(
    ("trouble", "says_so"),
    [
        (hangs_up, "no whole reply from /v1/chat/completions: ServerDisconnectedError"),
        (drops_mid_body, "no whole reply from /v1/chat/completions: Client"),
        (drips, "no whole reply from /v1/chat/completions within 0.5 s"),
        (reply(f"overloaded, key {KEY}", 503), "503 from /v1/chat/completions: overloaded, key ***"),
        (reply("{not json"), "200 from /v1/chat/completions: not JSON: {not json"),
        (reply('{"choices": []}'), '200 from /v1/chat/completions: no choices: {"choices": []}'),
        (says(None), "200 from /v1/chat/completions: no content: {"),
        (reply("", 204), "204 from /v1/chat/completions: no content: (empty body)"),
    ],
)
def test_trouble_that_stays(trouble: Handler, says_so: str) -> None:
    line, server, model = fails(Outage, trouble, retries=1, timeout=0.5)
    assert line.startswith(says_so)
    assert line.endswith("(attempts: 2)")
    assert (len(server.requests), model.stats.retries) == (2, 1)


def test_an_address_at_which_nothing_has_answered_ends_it_at_once() -> None:
    async def main() -> tuple[str, Http]:
        async with Server((says(),)) as server:
            gone = server.url
        model = Http(base_url=gone, model="m")
        with pytest.raises(UserError) as caught:
            await model.generate(HELLO, ASKED)
        await model.close()
        assert KEY not in repr(caught.value)
        return str(caught.value), model

    start = time.perf_counter()
    line, model = asyncio.run(main())
    assert re.fullmatch(
        r"base_url: nothing answers at http://127.0.0.1:\d+/v1 \(Connection refused\); is the server running\?", line
    )
    assert (model.stats.retries, model.stats.failures) == (0, 1)
    assert time.perf_counter() - start < 5.0, "six retries take half a minute"


def test_an_endpoint_that_goes_away_may_come_back() -> None:
    async def main() -> tuple[str, int]:
        async with Server((says("before"),)) as server:
            model = Http(base_url=server.url, model="m", retries=1, backoff=0.01)
            await model.generate(HELLO, ASKED)
        with pytest.raises(Outage, match=r"ClientConnectorError|ServerDisconnected|ClientOSError"):
            await model.generate(HELLO, ASKED)
        await model.close()
        return model.stats.failures, model.stats.retries

    assert asyncio.run(main()) == (1, 1)


def test_the_first_trouble_is_said_while_it_happens() -> None:
    async def both(server: Server, model: Http) -> None:
        with pytest.warns(
            TroubleWarning, match=r"an attempt failed: 503 from /v1/chat/completions: busy \*\*\*"
        ) as said:
            call = asyncio.create_task(model.generate(HELLO, ASKED))
            await server.asked.wait()
            await asyncio.sleep(0.2)
            assert len(said) == 1 and not call.done()
            await call
        assert len(said) == 1, "once per model"

    on([reply(f"busy {KEY}", 503), reply("", 502), says()], both, backoff=0.5)


def test_retry_after_is_waited_for() -> None:
    start = time.perf_counter()
    _, server, _ = ask(reply("slow down", 429, Retry_After="0.4"), says())
    assert 0.4 <= time.perf_counter() - start < 2.0
    assert len(server.requests) == 2


def test_retry_after_is_capped() -> None:
    start = time.perf_counter()
    ask(reply("come back tomorrow", 503, Retry_After="86400"), says(), max_wait=0.2)
    assert 0.2 <= time.perf_counter() - start < 2.0


def floods(sent: list[int], status: int = 200, each: int = 65536, total: int = 20_000_000) -> Handler:
    """A reply of 20 MB; `sent` holds how much of it the client took before it went away."""

    async def handle(request: Any, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 {status} Whatever\r\nContent-Length: {total}\r\n\r\n".encode())
        sent.append(0)
        while sent[-1] < total:
            writer.write(b'"' + b"x" * (each - 1))
            await writer.drain()
            sent[-1] += each

    return handle


def test_a_reply_is_bounded_by_what_was_asked_for() -> None:
    sent: list[int] = []
    line, *_ = fails(Outage, floods(sent), retries=0)
    assert "more than 7" in line and "bytes, the most for what was asked" in line
    assert sent and max(sent) < 8_000_000, "sockets hold some of it, the client stops reading"
    assert largest(2_000, 50) == ROOM + 8_000 + 12_800 < largest(2_000, 50, logprobs=1) < largest(2_000, 51, logprobs=2)


def test_many_large_replies_at_once_stay_small() -> None:
    tracemalloc.start()
    try:

        async def all_fail(server: Server, model: Http) -> int:
            calls = [model.generate(HELLO, Sampling(seed=i)) for i in range(32)]
            found = await asyncio.gather(*calls, return_exceptions=True)
            assert all(isinstance(e, Outage) for e in found)
            return tracemalloc.get_traced_memory()[1]

        assert on([floods([])], all_fail, retries=0) < 64 * 1024 * 1024, "32 replies of 20 MB are 640 MB"
    finally:
        tracemalloc.stop()


def test_a_large_error_is_an_error_all_the_same() -> None:
    sent: list[int] = []
    line, *_ = fails(Outage, floods(sent, status=500), retries=0)
    assert line.startswith('500 from /v1/chat/completions: "xxx')
    assert max(sent) < 8_000_000


def test_a_reply_that_was_asked_for_is_read_whole() -> None:
    long = "\u4f60" * 1024  # a thousand tokens of one character each, escaped to six bytes
    assert ask(says(long), sampling=Sampling(max_new_tokens=1024))[0].text == long
    line, *_ = fails(Outage, says("x" * 200_000), retries=0)
    assert "the most for what was asked" in line, "50 tokens are no 200,000 characters"


def test_a_packed_reply_is_not_unpacked() -> None:
    packed = gzip.compress(chat("x" * 1_000_000))
    line, server, _ = fails(Outage, reply(packed, Content_Encoding="gzip"), retries=0)
    assert "not JSON" in line
    assert server.requests[0].headers["accept-encoding"] == "identity"


# What no retry mends


@pytest.mark.parametrize(
    ("status", "body", "kind", "names"),
    [
        (401, f"Incorrect API key provided: {KEY}", UserError, "api_key_env"),
        (403, "not for you", UserError, "api_key_env"),
        (402, "no credit", UserError, "api_key_env"),
        (429, '{"error": {"code": "insufficient_quota"}}', UserError, "api_key_env"),
        (404, "The model `m` does not exist.", UserError, "model"),
        (405, "", UserError, "base_url"),
        (307, "", UserError, "base_url"),
        (400, "min_p is not supported", UserError, "omit=[min_p] leaves it out"),
        (422, "extra inputs are not permitted", UserError, "extra"),
        (400, "This model's maximum context length is 2048 tokens.", WorldError, "400"),
        (400, '{"error": {"code": "context_length_exceeded"}}', WorldError, "400"),
        (400, "the request exceeds the available context size", WorldError, "400"),
        (400, "The input (9 tokens) is longer than the model's context length (5 tokens).", WorldError, "400"),
        (400, '{"code": "content_filter"}', WorldError, "400"),
        (413, "too large", WorldError, "413"),
    ],
)
def test_refusals_are_final(status: int, body: str, kind: type[Exception], names: str) -> None:
    line, server, model = fails(kind, reply(body, status, Location="http://127.0.0.1:1/"))
    assert names in line
    assert f"{status} from /v1/chat/completions: {body.replace(KEY, '***') or '(empty body)'}" in line
    assert (len(server.requests), model.stats.retries) == (1, 0)


def test_long_bodies_are_cut_to_one_printable_line() -> None:
    body = "\n\x1b[31m" + "a" * 190 + KEY + "b" * 5000
    line, *_ = fails(UserError, reply(body, 400))
    assert line.endswith("[31m " + "a" * 190 + "***bb") or line.endswith("[31m" + "a" * 190 + "***bbb")


def test_key_in_nothing_that_is_kept() -> None:
    _, _, model = ask(says())
    assert KEY not in json.dumps(model.config) + repr(model) + repr(vars(model)) + str(model.stats)
    assert sonde.build(model.config) == model
    gc.collect()


def encoded(key: str) -> dict[str, str]:
    """The forms in which an endpoint may repeat a key."""
    coded = {f"base64 behind {n}": b64encode(b"Bearer "[:n] + key.encode() + b" it is").decode() for n in range(7)}
    return coded | {
        "plain": key,
        "bearer": f"Authorization: Bearer {key}",
        "base64": b64encode(key.encode()).decode(),
        "websafe": urlsafe_b64encode(b"x" + key.encode()).decode(),
        "url": quote(key, safe=""),
        "url, all of it": "".join(f"%{ord(c):02x}" for c in key),
        "JSON in JSON": "".join(f"\\u{ord(c):04X}" for c in key),
        "HTML": "".join(f"&#{ord(c)};" for c in key),
        "hex": key.encode().hex(),
    }


@pytest.mark.parametrize("form", encoded(KEY))
def test_a_key_that_a_reply_repeats_is_in_nothing_that_is_kept(form: str, tmp_path: Any) -> None:
    told = encoded(KEY)[form]
    data = json.loads(chat(f"Your key is {told}, right?", reasoning=f"He sent {told}"))
    data |= {"model": f"m {told}", "system_fingerprint": told}

    async def once(server: Server, model: Http) -> Completion:
        cached = sonde.make("models:cached", model=model, path=str(tmp_path))
        found = await cached.generate(HELLO, ASKED)
        await cached.close()
        return found

    c = on([reply(json.dumps(data))], once)
    stored = b"".join(file.read_bytes() for file in tmp_path.iterdir()).decode("latin-1")
    for kept in (c.text, c.reasoning, c.model, c.weights, stored):
        assert told not in kept and KEY not in kept and KEY[8:-8] not in kept
        assert all(part not in kept for part in encoded(KEY[4:-4]).values())
    assert c.text.startswith("Your key is ") and "***" in c.text and c.text.endswith(", right?")
    line, *_ = fails(Outage, reply(f"overloaded, {told}", 503), retries=0)
    assert told not in line and "***" in line
    line, *_ = fails(UserError, reply(json.dumps({"error": told}).replace("/", "\\/"), 400))
    assert told not in line.replace("\\/", "/") and "***" in line


def test_a_key_that_is_no_secret_stays_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    assert ask(says("The box is EMPTY."))[0].text == "The box is EMPTY."


@given(st.text(), st.from_regex(r"[!-~]{8,60}", fullmatch=True), st.text())
def test_whatever_surrounds_a_key_it_is_hidden(before: str, key: str, after: str) -> None:
    assert key not in hide(f"{before}{key}{after}", key) or key in "***"
    assert hide(before, "\x00" * 8) == before or "\x00" in before


def test_key_is_needed_only_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    _, server, _ = ask(says())
    assert "authorization" not in server.requests[0].headers
    remote = Http(base_url="https://api.example.com/v1", model="m", retries=0)
    with pytest.raises(UserError, match="api_key_env: the environment variable OPENAI_API_KEY is not set"):
        asyncio.run(_ask_and_close(remote))


def test_no_key_on_request() -> None:
    _, server, _ = ask(says(), api_key_env="")
    assert "authorization" not in server.requests[0].headers


def test_value_that_cannot_be_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "two words\r\nX-Injected: 1")
    line, server, _ = fails(UserError, says())
    assert line.startswith("api_key_env: the value of OPENAI_API_KEY is not a key")
    assert "two words" not in line
    assert not server.requests


@pytest.mark.parametrize(
    ("host", "local"),
    [
        *((h, True) for h in ("localhost", "node17", "127.0.0.1", "10.1.2.3", "192.168.0.9", "::1", "gpu.local")),
        *((h, False) for h in ("api.openai.com", "8.8.8.8", "127.0.0.1.evil.com", "localhost.com")),
    ],
)
def test_what_is_local(host: str, local: bool) -> None:
    assert http._is_local(host) is local


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"base_url": "localhost:8000"}, "base_url: got 'localhost:8000', allowed: http(s)"),
        ({"base_url": "http://[broken"}, "base_url: got"),
        ({"base_url": "http://host:99999/v1"}, "base_url: got"),
        ({"base_url": 5}, "base_url: got 5"),
        ({"base_url": f"https://me:{KEY}@host/v1"}, "base_url: holds a user, password or query"),
        ({"base_url": f"https://host/v1?key={KEY}"}, "base_url: holds a user, password or query"),
        ({"model": ""}, "model: got ''"),
        ({"api_key_env": KEY}, "api_key_env: not the name of an environment variable"),
        ({"concurrency": 0}, "concurrency: got 0, allowed: an integer, 1 or more"),
        ({"concurrency": "8"}, "concurrency: got '8'"),
        ({"retries": -1}, "retries: got -1"),
        ({"retries": True}, "retries: got True"),
        ({"timeout": 0}, "timeout: got 0, allowed: a number above 0"),
        ({"timeout": float("nan")}, "timeout: got nan"),
        ({"timeout": None}, "timeout: got None"),
        ({"requests_per_minute": 0}, "requests_per_minute: got 0"),
        ({"max_tokens_field": "limit"}, "max_tokens_field: got 'limit', allowed: max_tokens or max_completion_tokens"),
        ({"omit": ("messages",)}, "omit: got 'messages', allowed: logprobs, min_p"),
        ({"omit": "seed"}, "omit: got 'seed', allowed: a list of"),
        ({"extra": {"temperature": 1}}, "extra: 'temperature' is not set here"),
        ({"extra": {"API_Key": KEY}}, "extra: 'API_Key' is not set here"),
        ({"extra": {"x": object()}}, "extra: not JSON"),
        ({"extra": ["x"]}, "extra: got ['x'], allowed: a mapping"),
    ],
)
def test_bad_configuration(config: dict[str, Any], message: str) -> None:
    fields: dict[str, Any] = {"base_url": "http://localhost/v1", "model": "m"}
    with pytest.raises(UserError, match=re.escape(message)) as caught:
        Http(**fields | config)
    assert KEY not in str(caught.value)


# Waiting


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("0", 0.0),
        ("120", 120.0),
        (" 1.5 ", 1.5),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 37.0),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 37.0),
        ("Sun Nov  6 08:49:37 1994", 37.0),
        ("Sun, 06 Nov 1994 09:49:37 +0100", 37.0),
        ("Sun, 06 Nov 1994 08:00:00 GMT", 0.0),
        *(
            (h, None)
            for h in (None, "", "soon", "-1", "1e9", "nan", "inf", "٣", "1" * 400, "Sun, 99 Nov 1994 08:49:37 GMT")
        ),
    ],
)
def test_retry_after(header: str | None, seconds: float | None) -> None:
    assert retry_after(header, now=784_111_740.0) == seconds  # Sun, 06 Nov 1994 08:49:00 GMT


@given(st.text() | st.from_regex(r"\w{3}, \d+ \w{3} \d+ [\d:]+ [+\-\w]+"), st.floats(0, 4e9))
def test_any_retry_after_is_none_or_seconds(header: str, now: float) -> None:
    wait = retry_after(header, now)
    assert wait is None or 0.0 <= wait < 1e12


@given(st.integers(0, 4_000_000_000), st.integers(0, 100_000))
def test_dates_are_read_exactly(now: int, ahead: int) -> None:
    from email.utils import formatdate

    assume(now + ahead < 2**32)
    assert retry_after(formatdate(now + ahead, usegmt=True), float(now)) == ahead


@given(st.integers(0, 5000), st.integers(0, 2**64), st.none() | st.floats(0, 1e9))
def test_waits_are_bounded_and_derived(attempt: int, seed: int, after: float | None) -> None:
    backoff = Backoff(retries=6, first=0.5, longest=60.0)
    wait = backoff.wait(attempt, seed, after)
    grown = min(60.0, 0.5 * 2.0 ** min(attempt, 20))
    assert min(60.0, grown / 2 + (after or 0.0)) <= wait <= min(60.0, grown + (after or 0.0))
    assert wait == backoff.wait(attempt, seed, after)


def test_jitter_spreads() -> None:
    waits = [Backoff(6, 1.0, 60.0).wait(0, seed) for seed in range(200)]
    assert len(set(waits)) == 200
    assert min(waits) < 0.55 < 0.95 < max(waits)
    assert waits[3] == 0.5 + 0.5 * Rng(3, "retry", 0).random()
