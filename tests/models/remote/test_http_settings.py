"""The arguments of the HTTP backend: what is refused, and which hosts are local."""

from __future__ import annotations

import re
from typing import Any

import pytest

from sonde import UserError
from sonde.models.http import Http
from sonde.models.remote.addresses import is_local
from tests.cases import each

from ..endpoint import KEY


@each(
    "host, local",
    [
        *((h, True) for h in ("localhost", "node17", "127.0.0.1", "10.1.2.3", "192.168.0.9", "::1", "gpu.local")),
        *((h, False) for h in ("api.openai.com", "8.8.8.8", "127.0.0.1.evil.com", "localhost.com")),
    ],
)
def test_what_is_local(host: str, local: bool) -> None:
    assert is_local(host) is local


@each(
    "config, message",
    [
        ({"base_url": "localhost:8000"}, "base_url: got 'localhost:8000', allowed: http(s)"),
        ({"base_url": "http://[broken"}, "base_url: got"), ({"base_url": "http://host:99999/v1"}, "base_url: got"),
        ({"base_url": 5}, "base_url: got 5"),
        ({"base_url": f"https://me:{KEY}@host/v1"}, "base_url: holds a user, password or query"),
        ({"base_url": f"https://host/v1?key={KEY}"}, "base_url: holds a user, password or query"),
        ({"model": ""}, "model: got ''"),
        ({"api_key_env": KEY}, "api_key_env: not the name of an environment variable"),
        ({"concurrency": 0}, "concurrency: got 0, allowed: an integer, 1 or more"),
        ({"concurrency": "8"}, "concurrency: got '8'"), ({"retries": -1}, "retries: got -1"),
        ({"retries": True}, "retries: got True"), ({"timeout": 0}, "timeout: got 0, allowed: a number above 0"),
        ({"timeout": float("nan")}, "timeout: got nan"), ({"timeout": None}, "timeout: got None"),
        ({"requests_per_minute": 0}, "requests_per_minute: got 0"),
        ({"max_tokens_field": "limit"}, "max_tokens_field: got 'limit', allowed: max_tokens or max_completion_tokens"),
        ({"omit": ("messages",)}, "omit: got 'messages', allowed: logprobs, min_p"),
        ({"omit": "seed"}, "omit: got 'seed', allowed: a list of"),
        ({"extra": {"temperature": 1}}, "extra: 'temperature' is set by sonde itself"),
        ({"extra": {"API_Key": KEY}}, "extra: 'API_Key' is set by sonde itself"),
        ({"extra": {"x": object()}}, "extra: not JSON"), ({"extra": ["x"]}, "extra: got ['x'], allowed: a mapping"),
    ],
)  # fmt: skip
def test_bad_configuration(config: dict[str, Any], message: str) -> None:
    fields: dict[str, Any] = {"base_url": "http://localhost/v1", "model": "m"}
    with pytest.raises(UserError, match=re.escape(message)) as caught:
        Http(**fields | config)
    assert KEY not in str(caught.value)
