"""The key of an endpoint: where it is needed, and that it is in nothing that is kept or shown."""

from __future__ import annotations

import asyncio
import gc
import json
from base64 import b64encode, urlsafe_b64encode
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sonde
from sonde import Completion, UserError
from sonde.core import Outage
from sonde.models.http import Http
from sonde.models.remote.keys import hide_secret

from ..endpoint import ASKED, HELLO, KEY, ask, ask_and_close, fails, on, openai_key  # noqa: F401 (a fixture)
from ..server import Server, chat, reply, says

pytestmark = pytest.mark.filterwarnings("ignore::sonde.models.remote.retry.TroubleWarning")


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
    called = {"name": told, "arguments": json.dumps({"text": f"My key is {told}."})}
    data["choices"][0]["message"]["tool_calls"] = [{"id": told, "type": "function", "function": called}]

    async def once(server: Server, model: Http) -> Completion:
        cached = sonde.make("models:cached", model=model, path=str(tmp_path))
        found = await cached.generate(HELLO, ASKED)
        await cached.close()
        return found

    c = on([reply(json.dumps(data))], once)
    stored = b"".join(file.read_bytes() for file in tmp_path.iterdir()).decode("latin-1")
    for kept in (c.text, c.reasoning, c.model, c.weights, *c.calls[0], stored):
        assert told not in kept and KEY not in kept and KEY[8:-8] not in kept
        assert all(part not in kept for part in encoded(KEY[4:-4]).values())
    assert c.text.startswith("Your key is ") and "***" in c.text and c.text.endswith(", right?")
    assert "***" in c.calls[0].name and c.calls[0].arguments.startswith('{"text": "My key is ')
    line, *_ = fails(Outage, reply(f"overloaded, {told}", 503), retries=0)
    assert told not in line and "***" in line
    line, *_ = fails(UserError, reply(json.dumps({"error": told}).replace("/", "\\/"), 400))
    assert told not in line.replace("\\/", "/") and "***" in line


def test_a_key_that_is_no_secret_stays_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    assert ask(says("The box is EMPTY."))[0].text == "The box is EMPTY."


@given(st.text(), st.from_regex(r"[!-~]{8,60}", fullmatch=True), st.text())
def test_whatever_surrounds_a_key_it_is_hidden(before: str, key: str, after: str) -> None:
    assert key not in hide_secret(f"{before}{key}{after}", key) or key in "***"
    assert hide_secret(before, "\x00" * 8) == before or "\x00" in before


@pytest.mark.parametrize("key", ["x", "ab", "abc"])
def test_a_key_of_a_few_characters_garbles_nothing(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    line, *_ = fails(Outage, reply("exit ab abc x", 503), retries=0)
    assert line == "503 from /v1/chat/completions: exit ab abc x (attempts: 1)"


def test_a_short_key_is_hidden_where_it_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    line, *_ = fails(Outage, reply("key EMPTY, EMPTYING", 503), retries=0)
    assert "key ***, EMPTYING" in line


def test_key_is_needed_only_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    _, server, _ = ask(says())
    assert "authorization" not in server.requests[0].headers
    remote = Http(base_url="https://api.example.com/v1", model="m", retries=0)
    with pytest.raises(UserError, match="api_key_env: the environment variable OPENAI_API_KEY is not set"):
        asyncio.run(ask_and_close(remote))


def test_no_key_on_request() -> None:
    _, server, _ = ask(says(), api_key_env="")
    assert "authorization" not in server.requests[0].headers


def test_value_that_cannot_be_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "two words\r\nX-Injected: 1")
    line, server, _ = fails(UserError, says())
    assert line.startswith("api_key_env: the value of OPENAI_API_KEY is not a key")
    assert "two words" not in line
    assert not server.requests
