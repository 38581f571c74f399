"""The HTTP backend when something goes wrong: what passes is tried again, what does not is told in one line."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import time
import tracemalloc
from typing import Any

import pytest

from sonde import Sampling, UserError
from sonde.core import ContentRefused, ContextFull, Outage
from sonde.models.http import Http
from sonde.models.remote.openai_chat import ROOM, max_reply_bytes
from sonde.models.remote.retry import TroubleWarning
from tests.cases import each

from ..endpoint import ASKED, HELLO, KEY, ask, fails, on, openai_key  # noqa: F401 (a fixture)
from ..server import Handler, Server, chat, drips, drops_mid_body, hangs_up, reply, says, slowly

pytestmark = [
    pytest.mark.filterwarnings("ignore::sonde.models.remote.retry.TroubleWarning"),
    pytest.mark.filterwarnings("ignore::sonde.models.remote.verdicts.ConversationWarning"),
]


@each(
    "trouble, config",
    [
        (hangs_up, {}), (drops_mid_body, {}), (drips, {"timeout": 0.5}), (slowly(5.0, says()), {"timeout": 0.5}),
        (reply("<html>bad gateway</html>", 502), {}), (reply("", 500), {}), (reply("busy", 429), {}),
        (reply("", 499), {}), (reply("{not json"), {}), (reply("[" * 100_000), {}), (reply("", 204), {}),
        (reply("", 200), {}), (reply(b"\xff\xfe\x00"), {}), (reply("7"), {}), (reply("{}"), {}),
        (reply('{"choices": []}'), {}),
        (reply('{"choices": {"0": 1}}'), {}), (reply('{"choices": [null]}'), {}),
        (reply('{"error": {"message": "upstream is overloaded"}}'), {}), (says(None), {}),
    ],
)  # fmt: skip
def test_trouble_that_passes(trouble: Handler, config: dict[str, Any]) -> None:
    c, server, model = ask(trouble, trouble, says("at last"), **config)
    assert c.text == "at last"
    assert len(server.requests) == 3
    assert (model.stats.calls, model.stats.retries, model.stats.failures) == (1, 2, 0)


@each(
    "trouble, says_so",
    [
        (hangs_up, "no complete reply from /v1/chat/completions: ServerDisconnectedError"),
        (drops_mid_body, "no complete reply from /v1/chat/completions: Client"),
        (drips, "no complete reply from /v1/chat/completions within 0.5 s"),
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
    assert "more than 7" in line and "bytes, the limit for this request" in line
    assert sent and max(sent) < 8_000_000, "sockets hold some of it, the client stops reading"
    assert (
        max_reply_bytes(2_000, 50)
        == ROOM + 8_000 + 12_800
        < max_reply_bytes(2_000, 50, logprobs=1)
        < max_reply_bytes(2_000, 51, logprobs=2)
    )


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
    assert "the limit for this request" in line, "50 tokens are no 200,000 characters"


def test_a_packed_reply_is_not_unpacked() -> None:
    packed = gzip.compress(chat("x" * 1_000_000))
    line, server, _ = fails(Outage, reply(packed, Content_Encoding="gzip"), retries=0)
    assert "not JSON" in line
    assert server.requests[0].headers["accept-encoding"] == "identity"


@each(
    "status, body, kind, names",
    [
        (401, f"Incorrect API key provided: {KEY}", UserError, "api_key_env"),
        (403, "not for you", UserError, "api_key_env"),
        (402, "no credit", UserError, "api_key_env"),
        (429, '{"error": {"code": "insufficient_quota"}}', UserError, "api_key_env"),
        (404, "The model `m` does not exist.", UserError, "model"),
        (405, "", UserError, "base_url"),
        (307, "", UserError, "base_url"),
        (400, "min_p must be above 1", UserError, "omit=[min_p] leaves it out"),
        (422, "extra inputs are not permitted", UserError, "extra"),
        (400, '{"error": {"code": "context_length_exceeded"}}', ContextFull, "400"),
        (400, '{"error": {"type": "exceed_context_size_error"}}', ContextFull, "400"),
        (400, '{"code": "content_filter"}', ContentRefused, "400"),
        (400, '{"error": {"innererror": {"code": "ResponsibleAIPolicyViolation"}}}', ContentRefused, "400"),
        (413, "too large", ContextFull, "413"),
    ],
)
def test_refusals_are_final(status: int, body: str, kind: type[Exception], names: str) -> None:
    line, server, model = fails(kind, reply(body, status, Location="http://127.0.0.1:1/"))
    assert names in line
    assert f"{status} from /v1/chat/completions: {body.replace(KEY, '***') or '(empty body)'}" in line
    assert (len(server.requests), model.stats.retries) == (1, 0)


QUOTA = (
    "You exceeded your current quota, please check your plan and billing details. For more information, read the docs: "
)


@each("kind", ["insufficient_quota", "exceeded_current_quota_error"])
def test_a_spent_account_is_known_by_a_code_behind_a_long_message(kind: str) -> None:
    body = json.dumps({"error": {"message": QUOTA + "https://example.org/" + "x" * 200, "type": kind, "param": None}})
    line, server, _ = fails(UserError, reply(body, 429))
    assert line.startswith("api_key_env: this account's quota is used up: 429 from") and len(server.requests) == 1


def test_a_wait_that_only_the_body_names_is_waited() -> None:
    body = '[{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": [{"retryDelay": "0.4s"}]}}]'
    start = time.perf_counter()
    ask(reply(body, 429), says())
    assert 0.4 <= time.perf_counter() - start < 2.0


def test_long_bodies_are_cut_to_one_printable_line() -> None:
    body = "\n\x1b[31m" + "a" * 190 + KEY + "b" * 5000
    line, *_ = fails(UserError, reply(body, 400))
    assert line.endswith("[31m " + "a" * 190 + "***bb") or line.endswith("[31m" + "a" * 190 + "***bbb")
