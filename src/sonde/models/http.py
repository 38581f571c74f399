"""Any endpoint that speaks the OpenAI chat protocol: vLLM, SGLang, llama.cpp, hosted ones.

The client is aiohttp, chosen by measured CPU per request (`benchmarks/http_client.py`): official clients walk every
message of the conversation on each call, which makes long episodes quadratic.

What fails is told apart by who can mend it. What may pass (no connection, no whole reply in time, 408, 409, 425, 429,
5xx, a reply that is no completion) is tried again and becomes a `WorldError`; so does, at once, a conversation that the
endpoint will not take (too long, filtered). What can only be a wrong configuration (401, 403, 404, other 4xx, a
redirect) is a `UserError`, so that a run stops instead of failing ten thousand episodes.

The key is read from the environment at call time. It is in no configuration, representation or error, not even where
the endpoint repeats it.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import time
from array import array
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any, Literal, cast
from urllib.parse import urlsplit

import aiohttp
import orjson

from sonde.core import (
    EMPTY,
    HOW,
    Capabilities,
    Completion,
    Message,
    Model,
    Sampling,
    Usage,
    UserError,
    WorldError,
    freeze,
    invalid,
)

from .retry import Backoff, Stats, Transient, retry_after, retrying

MAX_TOKENS = ("max_tokens", "max_completion_tokens")
"""The two names that endpoints have for the same limit."""
OMITTABLE = ("logprobs", "min_p", "seed", "stop", "temperature", "top_p")
LARGEST_REPLY = 64 * 1024 * 1024
"""Bytes; a reply that is larger is not read to its end."""

_NOT_EXTRA = {*OMITTABLE, *MAX_TOKENS, "api_key", "authorization", "messages", "model", "n", "stream"}
_MAY_PASS = {408, 409, 425, 429}
_THIS_CONVERSATION = re.compile(
    r"context[ _-]?(length|window|size)|maximum context|(prompt|input) is too long|longer than the m|too many tokens"
    r"|content[ _](filter|policy|management)",
    re.IGNORECASE,
)
_FINISH: Mapping[object, Literal["stop", "length", "filter"]] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "filter",
}


@dataclass(frozen=True, kw_only=True)
class Http(Model):
    """The model called `model` behind `base_url`, the address up to but not including `/chat/completions`.

    `api_key_env` names the environment variable with the key; it may be unset where the endpoint is on this machine or
    network, and "" sends none. At most `concurrency` calls are in flight in one event loop, a waiting retry included;
    attempts are spaced evenly where `requests_per_minute` is given. `timeout` bounds one attempt from connecting to the
    last byte, `connect_timeout` its start (seconds). Up to `retries` further attempts wait `backoff` seconds, then
    twice that and so on, plus what the endpoint asks for, at most `max_wait`. `max_tokens_field` is one of
    `MAX_TOKENS`; `omit` names fields (of `OMITTABLE`) that the endpoint would refuse, `extra` adds others to the
    request; `logprobs` asks for log-probabilities, which come without token ids.

    >>> Http(base_url="http://localhost:8000/v1", model="qwen").config["concurrency"]
    64
    """

    base_url: str = field(metadata=HOW)
    model: str
    api_key_env: str = field(default="OPENAI_API_KEY", metadata=HOW)
    concurrency: int = field(default=64, metadata=HOW)
    requests_per_minute: float | None = field(default=None, metadata=HOW)
    timeout: float = field(default=120.0, metadata=HOW)
    connect_timeout: float = field(default=10.0, metadata=HOW)
    retries: int = field(default=6, metadata=HOW)
    backoff: float = field(default=0.5, metadata=HOW)
    max_wait: float = field(default=60.0, metadata=HOW)
    max_tokens_field: str = "max_tokens"
    logprobs: bool = False
    omit: tuple[str, ...] = ()
    extra: Mapping[str, Any] = EMPTY
    stats: Stats = field(default_factory=Stats, init=False, repr=False, compare=False)
    _pools: dict[asyncio.AbstractEventLoop, _Pool] = field(
        default_factory=dict[asyncio.AbstractEventLoop, "_Pool"], init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if not isinstance(self.omit, tuple | list):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid("omit", self.omit, f"a list of {', '.join(OMITTABLE)}")
        if not isinstance(self.extra, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid("extra", self.extra, "a mapping of names of fields to JSON values")
        object.__setattr__(self, "omit", tuple(self.omit))
        object.__setattr__(self, "extra", freeze(self.extra))
        object.__setattr__(self, "capabilities", Capabilities(logprobs=self.logprobs))
        _check_url(self.base_url)
        _check_request(self)
        _check_numbers(self)

    async def generate(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        return await self.stats.counting(self._generate(messages, sampling))

    async def _generate(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        body = _dumps(self.body(messages, sampling))
        backoff = Backoff(self.retries, self.backoff, self.max_wait)
        pool = await self._pool()
        async with pool.slots:
            return await retrying(lambda: self._attempt(pool, body), backoff, sampling.seed, self.stats)

    def body(self, messages: Sequence[Message], sampling: Sampling) -> dict[str, Any]:
        """The request as it is sent. Seeds are cut to 31 bits, the most that every endpoint takes."""
        fields: dict[str, Any] = {
            "model": self.model,
            "messages": [m.to_json() for m in messages],
            self.max_tokens_field: sampling.max_new_tokens,
            "temperature": sampling.temperature,
            "seed": sampling.seed & 0x7FFFFFFF,
        }
        if sampling.top_p < 1.0:
            fields["top_p"] = sampling.top_p
        if sampling.min_p > 0.0:
            fields["min_p"] = sampling.min_p
        if sampling.stop:
            fields["stop"] = list(sampling.stop)
        if self.logprobs:
            fields["logprobs"] = True
        return {k: v for k, v in fields.items() if k not in self.omit} | dict(self.extra)

    async def _attempt(self, pool: _Pool, body: bytes) -> Completion:
        await pool.pace()
        key = _key(self.api_key_env, self.base_url)
        try:
            status, after, reply = await pool.post(self._url, body, _headers(key))
        except (aiohttp.ClientError, OSError) as e:
            raise self._unanswered(e, key) from e
        if status != 200:
            raise _refusal(status, f"{status} from {self._path}: {_clean(reply, key)}", after)
        try:
            completion = _completion(reply, self.model)
        except ValueError as e:
            raise Transient(f"{status} from {self._path}: {e}: {_clean(reply, key)}") from e
        if self.logprobs and completion.text and not completion.logprobs:
            raise UserError("logprobs: got True, allowed: False, since the endpoint returns no log-probabilities")
        return completion

    def _unanswered(self, error: Exception, key: str) -> WorldError | UserError:
        """The error for an attempt that got no whole reply."""
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            return UserError(f"base_url: the endpoint's certificate is not trusted: {_clean(str(error), key)}")
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return Transient(f"no connection for {self._path} within {self.connect_timeout:g} s")
        if isinstance(error, TimeoutError):
            return Transient(f"no whole reply from {self._path} within {self.timeout:g} s")
        return Transient(f"no whole reply from {self._path}: {_clean(f'{type(error).__name__}: {error}', key)}")

    @property
    def _url(self) -> str:
        return self.base_url.rstrip("/") + "/chat/completions"

    @property
    def _path(self) -> str:
        return urlsplit(self._url).path

    async def _pool(self) -> _Pool:
        """The connections of the running event loop; those of loops that have ended are let go."""
        loop = asyncio.get_running_loop()
        if loop not in self._pools:
            await self.close()
        if loop not in self._pools:  # another task may have been here meanwhile
            self._pools[loop] = _Pool(self)
            await anext(self._pools[loop].until_the_end)
        return self._pools[loop]

    async def close(self) -> None:
        """Close the connections of the running event loop and of those that have ended. A later call opens new ones."""
        running = asyncio.get_running_loop()
        for loop in [loop for loop in self._pools if loop is running or loop.is_closed()]:
            if pool := self._pools.pop(loop, None):  # another task may close at the same time
                await pool.session.close()


class _Pool:
    """Connections, slots and pace of one event loop."""

    def __init__(self, config: Http) -> None:
        self.slots = asyncio.Semaphore(config.concurrency)
        self.interval = 60.0 / config.requests_per_minute if config.requests_per_minute else 0.0
        self.next = 0.0
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),  # `slots` is the limit
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=config.timeout, sock_connect=config.connect_timeout),
        )

        self.until_the_end = self._until_the_end()

    async def _until_the_end(self) -> AsyncGenerator[None, None]:
        """Close the connections with the event loop, which ends its generators: a policy that is kept open for the next
        play may meet another loop there, and sockets can only be closed in their own."""
        try:
            yield
        finally:
            await self.session.close()

    async def pace(self) -> None:
        """Wait for this attempt's place in the even spacing of attempts."""
        if self.interval:
            now = asyncio.get_running_loop().time()
            start = max(now, self.next)
            self.next = start + self.interval
            await asyncio.sleep(start - now)

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, float | None, bytes]:
        """Status, seconds asked for by `Retry-After`, and body of the reply."""
        async with self.session.post(url, data=body, headers=headers, allow_redirects=False) as response:
            reply = bytearray()
            async for chunk in response.content.iter_any():
                reply += chunk
                if len(reply) > LARGEST_REPLY:
                    raise aiohttp.ClientPayloadError(f"a reply of more than {LARGEST_REPLY} bytes")
            after = retry_after(response.headers.get("Retry-After"), time.time())
            return response.status, after, bytes(reply)


def _check_url(url: str) -> None:
    allowed = "http(s)://host[:port]/path without user, password or query; the key comes from `api_key_env`"
    if not isinstance(url, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid("base_url", url, allowed)
    if set(url) & set("@?#"):  # what follows may be a key, so the value is not shown
        raise UserError(f"base_url: holds a user, password or query, allowed: {allowed}")
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise invalid("base_url", url, allowed)


def _check_request(config: Http) -> None:
    if not config.model:
        raise invalid("model", config.model, "the name under which the endpoint serves the model")
    if config.api_key_env and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", config.api_key_env):
        raise UserError("api_key_env: not the name of an environment variable (the key itself never goes here)")
    if config.max_tokens_field not in MAX_TOKENS:
        raise invalid("max_tokens_field", config.max_tokens_field, " or ".join(MAX_TOKENS))
    if wrong := sorted(set(config.omit) - set(OMITTABLE)):
        raise invalid("omit", wrong[0], ", ".join(OMITTABLE))
    if wrong := sorted({k for k in config.extra if k.lower() in _NOT_EXTRA}):
        raise UserError(f"extra: {wrong[0]!r} is not set here, allowed: fields that sonde does not send itself")
    try:
        json.dumps(config.extra, allow_nan=False)
    except (TypeError, ValueError) as e:
        raise UserError(f"extra: not JSON ({e}), allowed: JSON values") from None


def _check_numbers(config: Http) -> None:
    for name in ("concurrency", "retries"):
        value: object = getattr(config, name)
        least = 1 if name == "concurrency" else 0
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise invalid(name, value, f"an integer, {least} or more")
    for name in ("requests_per_minute", "timeout", "connect_timeout", "backoff", "max_wait"):
        value = getattr(config, name)
        if value is None and name == "requests_per_minute":
            continue
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0.0 < value < math.inf:
            raise invalid(name, value, "a number above 0")


def _key(variable: str, base_url: str) -> str:
    """The key, or "" where none is needed."""
    key = os.environ.get(variable, "").strip() if variable else ""
    if key and not re.fullmatch(r"[!-~]+", key):
        raise UserError(f"api_key_env: the value of {variable} is not a key (printable ASCII without spaces)")
    if variable and not key and not _is_local(urlsplit(base_url).hostname or ""):
        raise UserError(f'api_key_env: the environment variable {variable} is not set (api_key_env="" sends no key)')
    return key


def _is_local(host: str) -> bool:
    """Whether the host is this machine or on its network: a private address, or a name without a public domain."""
    try:
        return ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".local", ".localhost", ".internal"))


def _headers(key: str) -> dict[str, str]:
    headers = {"Content-Type": "application/json"}
    return headers | {"Authorization": f"Bearer {key}"} if key else headers


def _dumps(body: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError:  # a lone surrogate somewhere in the conversation, which only the slower writer escapes
        return json.dumps(body).encode()


def _clean(text: str | bytes, key: str) -> str:
    """The first 200 characters of what the endpoint said: one printable line, without the key."""
    shown = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    if key:
        shown = shown.replace(key, "***")
    line = " ".join("".join(c if c.isprintable() else " " for c in shown[:2000]).split())
    return line[:200] or "(empty body)"


def _refusal(status: int, line: str, after: float | None) -> UserError | WorldError:
    """The error for a reply that is not a 200."""
    if status == 429 and "insufficient_quota" in line:
        return UserError(f"api_key_env: this account's quota is used up: {line}")
    if status in _MAY_PASS or status >= 500:
        return Transient(line, after)
    if status == 413 or (status in (400, 422) and _THIS_CONVERSATION.search(line)):
        return WorldError(line)
    if status in (401, 402, 403):
        return UserError(f"api_key_env: {line}")
    if status in (400, 422):
        return UserError(f"model, omit or extra: the endpoint refuses the request: {line}{_leave_out(line)}")
    return UserError(f"base_url or model: {line}")


def _leave_out(line: str) -> str:
    """How to send a request without the fields that a refusal names."""
    named = [name for name in OMITTABLE if re.search(rf"\b{name}\b", line)]
    return f"; omit=[{','.join(named)}] leaves {'it' if len(named) == 1 else 'them'} out" if named else ""


def _completion(reply: bytes, model: str) -> Completion:
    """The completion in a reply. Raises `ValueError` where there is none."""
    try:
        data = _mapping(json.loads(reply))
    except (ValueError, RecursionError):
        raise ValueError("not JSON") from None
    choices = data.get("choices")
    if not isinstance(choices, list) or not choices:
        raise ValueError("no choices")
    choice = _mapping(cast("list[object]", choices)[0])
    message = _mapping(choice.get("message"))
    finish = _FINISH.get(_text(choice.get("finish_reason")), "stop")
    text = _text(message.get("content"))
    reasoning = _text(message.get("reasoning_content")) or _text(message.get("reasoning")) or ""
    refusal = _text(message.get("refusal"))
    if text is None and refusal is None and finish == "stop" and not reasoning:
        raise ValueError("no content")
    return Completion(
        text=text or refusal or "",
        logprobs=_logprobs(choice),
        finish=finish,
        reasoning=reasoning,
        model=_text(data.get("model")) or model,
        weights=_text(data.get("system_fingerprint")) or "",
        usage=_usage(_mapping(data.get("usage"))),
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _text(value: object) -> str | None:
    """A string as any file can hold it: lone surrogates, which JSON can carry, become question marks. Content that
    comes in parts is joined."""
    if isinstance(value, list):
        parts = [_mapping(part).get("text") for part in cast("list[object]", value)]
        value = "".join(part for part in parts if isinstance(part, str))
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else None


def _logprobs(choice: Mapping[str, Any]) -> array[float]:
    """The log-probability of each token; none at all unless all are there."""
    content = _mapping(choice.get("logprobs")).get("content")
    rows = cast("list[object]", content) if isinstance(content, list) else []
    values = [_mapping(row).get("logprob") for row in rows]
    numbers = [float(v) for v in values if isinstance(v, int | float) and abs(v) < 1e30]
    return array("f", numbers if len(numbers) == len(values) else [])


def _usage(usage: Mapping[str, Any]) -> Usage:
    cached = _mapping(usage.get("prompt_tokens_details")).get("cached_tokens")
    return Usage(*map(_count, (usage.get("prompt_tokens"), usage.get("completion_tokens"), cached)))


def _count(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < 2**53 else 0
