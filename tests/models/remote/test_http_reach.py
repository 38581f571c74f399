"""How an endpoint is reached: proxies of the environment, queries and headers of one's own."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

import sonde
from sonde import UserError
from sonde.core import Outage
from sonde.models.http import Http
from sonde.models.remote.addresses import proxy_for
from tests.cases import each

from ..endpoint import ASKED, HELLO, KEY, ask, ask_and_close, fails, on
from ..server import Server, chat, reply, response, says

pytestmark = pytest.mark.filterwarnings("ignore::sonde.models.remote.retry.TroubleWarning")
AWAY = "http://models.example.invalid/v1"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@dataclass
class Proxy:
    """Answers itself what it is asked for; refuses tunnels."""

    status: int = 200
    asked: list[str] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    url: str = ""

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.asked.append(" ".join(head.split()[:2]))
        self.heads.append(head)
        writer.write(response(chat("by way of a proxy"), self.status, {"Connection": "close"}))
        await writer.drain()
        writer.close()


@asynccontextmanager
async def proxy(status: int = 200) -> AsyncIterator[Proxy]:
    made = Proxy(status)
    server = await asyncio.start_server(made._serve, "127.0.0.1", 0)
    made.url = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield made
    finally:
        server.close()


def ask_through(
    variable: str, monkeypatch: pytest.MonkeyPatch, status: int = 200, user: str = "", **config: Any
) -> Any:
    """The text, or the error, and the proxy that the environment names."""

    async def main() -> tuple[str, Proxy]:
        async with proxy(status) as between:
            monkeypatch.setenv(variable, f"http://{user}{between.url}")
            model = Http(**{"base_url": AWAY, "model": "m", "retries": 0} | config)
            try:
                return (await model.generate(HELLO, ASKED)).text, between
            except (UserError, Outage) as e:
                return str(e), between
            finally:
                await model.close()

    return asyncio.run(main())


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_the_proxy_of_the_environment_is_taken(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, between = ask_through(variable, monkeypatch)
    assert (text, between.asked) == ("by way of a proxy", [f"POST {AWAY}/chat/completions"])


def test_a_password_of_a_proxy_is_sent_to_it_and_shown_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    text, between = ask_through("HTTP_PROXY", monkeypatch, user="me:long-password-1@")
    assert text == "by way of a proxy"
    assert f"Proxy-Authorization: Basic {b64encode(b'me:long-password-1').decode()}" in between.heads[0]
    line, _ = ask_through("HTTP_PROXY", monkeypatch, status=407, user="me:long-password-1@")
    assert line.startswith("proxy: it requires user and password") and "long-password" not in line


def test_https_goes_through_a_tunnel(monkeypatch: pytest.MonkeyPatch) -> None:
    line, between = ask_through("HTTPS_PROXY", monkeypatch, status=403, base_url="https://models.example.invalid/v1")
    assert between.asked == ["CONNECT models.example.invalid:443"]
    assert line.startswith(f"proxy: {between.url}, from the environment, answers 403")
    assert KEY not in between.heads[0], "the key is for the endpoint"


def test_a_proxy_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    async def gone() -> str:
        async with proxy() as between:
            return between.url

    address = asyncio.run(gone())
    monkeypatch.setenv("HTTP_PROXY", f"http://me:long-password-1@{address}")
    with pytest.raises(UserError) as caught:
        asyncio.run(ask_and_close(Http(base_url=AWAY, model="m", retries=0)))
    line = str(caught.value)
    assert line == f"proxy: nothing answers at {address}, from the environment (Connection refused)"


def test_this_machine_is_asked_directly_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(**config: Any) -> tuple[str, int]:
        async with Server((says("directly"),)) as server, proxy() as between:
            monkeypatch.setenv("HTTP_PROXY", between.url)
            model = Http(base_url=server.url, model="m", **config)
            try:
                return (await model.generate(HELLO, ASKED)).text, len(between.asked)
            finally:
                await model.close()

    assert asyncio.run(main()) == asyncio.run(main(proxy=False)) == ("directly", 0)
    assert asyncio.run(main(proxy=True)) == ("by way of a proxy", 1)


@pytest.mark.parametrize(
    ("url", "environment", "wanted", "found"),
    [
        ("http://host/v1", {"HTTP_PROXY": "p:3128"}, None, "http://p:3128"),
        ("http://host/v1", {"HTTPS_PROXY": "http://p"}, None, None),
        ("https://host/v1", {"HTTPS_PROXY": "http://p"}, None, "http://p"),
        ("https://host/v1", {"ALL_PROXY": "http://p"}, None, "http://p"),
        ("http://api.example.com/v1", {"HTTP_PROXY": "http://p", "NO_PROXY": "example.com"}, None, None),
        ("http://api.example.com:81/v1", {"HTTP_PROXY": "http://p", "NO_PROXY": "api.example.com:81"}, None, None),
        ("http://example.org/v1", {"HTTP_PROXY": "http://p", "NO_PROXY": "example.com"}, None, "http://p"),
        ("http://example.org/v1", {"HTTP_PROXY": "http://p", "NO_PROXY": "*"}, None, None),
        ("http://host/v1", {"HTTP_PROXY": "http://p"}, False, None),
        *((f"http://{host}/v1", {"HTTP_PROXY": "http://p"}, None, None)
          for host in ("localhost", "127.0.0.1", "127.1.2.3:8000", "[::1]:8000", "a.localhost")),
        ("http://localhost/v1", {"HTTP_PROXY": "http://p"}, True, "http://p"),
        ("http://10.0.0.1/v1", {"HTTP_PROXY": "http://p"}, None, "http://p"),
        ("http://host/v1", {}, None, None),
    ],
)  # fmt: skip
def test_which_proxy(
    url: str, environment: dict[str, str], wanted: bool | None, found: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert proxy_for(url, wanted) == found


def test_a_proxy_of_another_protocol_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://me:secret-secret@p:1080")
    with pytest.raises(UserError, match="proxy: got a socks5 proxy from the environment, allowed: http") as caught:
        proxy_for(AWAY, None)
    assert "secret-secret" not in str(caught.value)


# --- queries and headers ---------------------------------------------------------------------------------------------


def test_azures_query_and_header(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_AZURE_KEY", "azure-secret-0123")
    more: dict[str, Any] = {
        "api_key_env": "",
        "headers": {"api-key": "MY_AZURE_KEY"},
        "query": {"api-version": "2026-01"},
    }
    _, server, model = ask(says(), **more)
    [request] = server.requests
    assert request.path == "/v1/chat/completions?api-version=2026-01"
    assert request.headers["api-key"] == "azure-secret-0123" and "authorization" not in request.headers
    assert "azure-secret" not in json.dumps(model.config) + repr(model) + repr(vars(model))
    assert sonde.build(model.config) == model
    plain = Http(base_url=model.base_url, model="m")
    assert plain.fingerprint == model.fingerprint, "how an endpoint is reached decides nothing of what it says"


def test_a_header_that_is_repeated_is_hidden_like_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_AZURE_KEY", "azure-secret-0123")
    headers = {"headers": {"api-key": "MY_AZURE_KEY"}}
    line, *_ = fails(Outage, reply(f"bad azure-secret-0123 and {KEY}", 503), retries=0, **headers)
    assert "bad *** and ***" in line
    c, *_ = ask(says("it is azure-secret-0123", reasoning=KEY), **headers)
    assert (c.text, c.reasoning) == ("it is ***", "***")


def test_a_header_that_is_not_set_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MY_AZURE_KEY", raising=False)
    line, *_ = fails(UserError, says(), headers={"api-key": "MY_AZURE_KEY"})
    assert line == "headers: api-key: the environment variable MY_AZURE_KEY is not set"
    monkeypatch.setenv("MY_AZURE_KEY", "two\r\nX: lines")
    line, server, _ = fails(UserError, says(), headers={"api-key": "MY_AZURE_KEY"})
    assert line == "headers: api-key: the value of MY_AZURE_KEY is not a header" and not server.requests


@each(
    "config, message",
    [
        ({"headers": {"api-key": "azure-secret-0123"}}, "headers: api-key: not the name of an environment variable"),
        ({"headers": {"Content-Type": "X"}}, "headers: got 'Content-Type', allowed: headers that sonde does not send"),
        ({"headers": {"a b": "X"}}, "headers: got 'a b'"),
        ({"headers": {"Authorization": "X"}}, "headers: Authorization comes from api_key_env"),
        ({"query": {"key": "azure-secret-0123"}}, "query: 'key' may be a secret, allowed: `headers`"),
        ({"query": {"api-version": 5}}, "query"),
        ({"query": "x=1"}, "query"),
        ({"proxy": "http://p"}, "proxy"),
    ],
)
def test_what_may_not_be_in_them(config: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Http(**{"base_url": AWAY, "model": "m"} | config)
    assert message in str(caught.value) and "azure-secret" not in str(caught.value)


def test_authorization_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY", "Basic bWU6c2VjcmV0")
    _, server, _ = ask(says(), api_key_env="", headers={"Authorization": "GATEWAY"})
    assert server.requests[0].headers["authorization"] == "Basic bWU6c2VjcmV0"


def test_servers_by_token_ids_take_both_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY", "Basic bWU6c2VjcmV0")

    async def once(server: Server, model: Http) -> str:
        url = server.url.removesuffix("/v1")
        vllm: Any = sonde.make(
            "models:vllm", base_url=url, model="m", api_key_env="", headers={"X-Key": "GATEWAY"}, query={"a": "b"}
        )
        try:
            await vllm.send_command("/pause?mode=wait", {}, "")
        finally:
            await vllm.close()
        assert server.requests[0].headers["x-key"] == "Basic bWU6c2VjcmV0"
        return server.requests[0].path

    assert on([reply("{}")], once) == "/pause?mode=wait&a=b"
