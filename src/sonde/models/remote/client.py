"""Client of an HTTP endpoint: connections, request limits, retries, and errors by who can fix them.

The client is aiohttp, chosen by measured CPU time per request (`benchmarks/http_client.py`): official clients walk
every message of the conversation on each call, which makes long episodes quadratic.

Failures are classified by who can fix them. A failure that may pass (a connection that breaks, no complete reply in
time, 408, 409, 425, 429, 499, 5xx, a reply that cannot be parsed or that reports a failure) is retried, reported once
(`TroubleWarning`), and finally becomes an `Outage`. A conversation that the endpoint does not accept raises
`ContextFull` or `ContentRefused` at once (`verdicts` decides which). What can only be a wrong configuration (no reply
has ever come from this address, 401, 404, other 4xx, a redirect) is a `UserError`, so that a run stops instead of
failing ten thousand episodes.

Keys and other secrets: `keys`. Forms of addresses, and proxies: `addresses`.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit

import aiohttp
import orjson

from sonde.core import (
    EMPTY,
    HOW,
    Completion,
    ContentRefused,
    ContextFull,
    Model,
    UserError,
    WorldError,
    freeze,
    invalid,
)

from .adapting import Refusal
from .addresses import check_query, proxy_for, read_base_url
from .keys import SecretHeaders, check_names, read_keys
from .openai_chat import ROOM, FilteredReply, HostError, is_whole
from .retry import Backoff, CallStats, Transient, parse_retry_after, parse_retry_delay, retry_call
from .verdicts import (
    ABOUT_REQUESTS,
    EndpointHistory,
    RefusedRequest,
    UnreadableReply,
    failed_calls,
    make_refusal_tests,
    stated_verdict,
    tested_verdict,
)

T = TypeVar("T")
R = TypeVar("R")

_HEADERS = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
_MAY_PASS = {408, 409, 425, 429, 499}
"""Statuses of failures that may pass, besides 5xx. 499: a proxy gave up waiting for its own host."""
_SPENT = re.compile(rb"insufficient_(quota|balance)|exceeded_current_quota")
"""Codes of accounts that have to be paid for first."""


class ConnectionPool:
    """Connections, concurrency limit and request rate in one event loop. All requests go through the `proxy`, if any,
    and add `query` to their addresses."""

    def __init__(
        self,
        *,
        slots: int,
        per_minute: float | None,
        total: float,
        connect: float,
        proxy: str | None,
        query: Mapping[str, str],
    ) -> None:
        self.proxy, self._query = proxy, query
        self.slots = asyncio.Semaphore(slots)
        self.interval = 60.0 / per_minute if per_minute else 0.0
        self.next = 0.0
        self.answered = False
        """Whether any reply has come from the endpoint's address."""
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),  # `slots` is the limit
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,  # so that a few bytes cannot expand to many
            timeout=aiohttp.ClientTimeout(total=total, sock_connect=connect),
        )
        self.until_the_end = self._until_the_end()

    async def _until_the_end(self) -> AsyncGenerator[None, None]:
        """Close the connections when the event loop ends, which closes its generators. A policy that stays open for
        later play may be used in another loop, and sockets can only be closed in their own."""
        try:
            yield
        finally:
            await self.session.close()

    async def wait_for_turn(self) -> None:
        """Wait for this attempt's place in the even spacing of attempts."""
        if self.interval:
            now = asyncio.get_running_loop().time()
            start = max(now, self.next)
            self.next = start + self.interval
            await asyncio.sleep(start - now)

    async def exchange_bytes(
        self, url: str, body: bytes | None, headers: Mapping[str, str], most: int
    ) -> tuple[int, float | None, bytes]:
        """Send a POST request, or a GET request without a `body`; returns status, seconds of `Retry-After`, and body. A
        completion may have at most `most` bytes; any other reply is cut at `ROOM` bytes."""
        method = "GET" if body is None else "POST"
        async with self.session.request(
            method, url, params=self._query, data=body, headers=headers, allow_redirects=False, proxy=self.proxy
        ) as response:
            self.answered, reply = True, bytearray()
            after = parse_retry_after(response.headers.get("Retry-After"), time.time())
            limit = most if is_success(response.status) else ROOM
            async for chunk in response.content.iter_any():
                reply += chunk
                if len(reply) > limit and is_success(response.status):
                    raise aiohttp.ClientPayloadError(f"more than {limit} bytes, the limit for this request")
                if len(reply) > limit:
                    break
            return response.status, after, bytes(reply[:limit])


def is_success(status: int) -> bool:
    """Whether the status means success."""
    return 200 <= status < 300


# --- endpoint --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Endpoint(Model):
    """The model called `model` behind `base_url`, which may end with the path of a request.

    `api_key_env` names the environment variable with the key; it may be unset if the endpoint is on this machine or
    network, and "" sends no key. `headers` maps header names to the environment variables with their values; `query` is
    added to every address (Azure's `api-key` and `api-version`). Proxies come from the environment, but are not used
    for this machine: `proxy` True uses them there too, False never.

    At most `concurrency` calls are in flight in one event loop, including calls that wait for a retry; attempts are
    spaced evenly if `requests_per_minute` is given. `timeout` limits one attempt from connecting to the last byte,
    `connect_timeout` its connection (seconds). Up to `retries` further attempts wait `backoff` seconds, then twice that
    and so on, plus what the endpoint asks for, at most `max_wait`. A reply larger than the request allows
    (`openai_chat.max_reply_bytes`) is not read to its end.
    """

    base_url: str = field(metadata=HOW)
    model: str
    api_key_env: str = field(default="OPENAI_API_KEY", metadata=HOW)
    headers: Mapping[str, str] = field(default=EMPTY, metadata=HOW)
    query: Mapping[str, str] = field(default=EMPTY, metadata=HOW)
    proxy: bool | None = field(default=None, metadata=HOW)
    concurrency: int = field(default=64, metadata=HOW)
    requests_per_minute: float | None = field(default=None, metadata=HOW)
    timeout: float = field(default=120.0, metadata=HOW)
    connect_timeout: float = field(default=10.0, metadata=HOW)
    retries: int = field(default=6, metadata=HOW)
    backoff: float = field(default=0.5, metadata=HOW)
    max_wait: float = field(default=60.0, metadata=HOW)
    stats: CallStats = field(default_factory=CallStats, init=False, repr=False, compare=False)
    experience: EndpointHistory = field(default_factory=EndpointHistory, init=False, repr=False, compare=False)
    _pools: dict[asyncio.AbstractEventLoop, ConnectionPool] = field(
        default_factory=dict[asyncio.AbstractEventLoop, ConnectionPool], init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "base_url", read_base_url(self.base_url))
        object.__setattr__(self, "headers", freeze(self.headers))
        object.__setattr__(self, "query", freeze(self.query))
        if not self.model:
            raise invalid("model", self.model, "the name under which the endpoint serves the model")
        check_names(self.api_key_env, self.headers)
        check_query(self.query)
        self._check_request()
        _check_numbers(self)

    def _check_request(self) -> None:
        """Raise for invalid request fields; called between the checks of address and numbers."""

    def url_of(self, path: str) -> str:
        """The address of a path behind `base_url`."""
        return self.base_url + path

    async def send_request(
        self,
        url: str,
        body: Mapping[str, Any] | None,
        read: Callable[[bytes, SecretHeaders], T],
        *,
        most: Callable[[int], int],
        seed: int = 0,
    ) -> T:
        """Send this request (GET if `body` is None) and return what `read` parses from the reply, given the keys, which
        the reply may repeat; a `ValueError` of `read` means an unreadable reply. `most` limits the bytes of the reply,
        given those of the request; `seed` belongs to the call and seeds the jitter of waits."""
        pool = await self._get_pool()

        async def send_body(body: Mapping[str, Any] | None, read: Callable[[bytes, SecretHeaders], R]) -> R:
            sent, backoff = (
                None if body is None else _to_json_bytes(body),
                Backoff(self.retries, self.backoff, self.max_wait),
            )
            bound = most(len(sent or b""))
            return await retry_call(lambda: self._try_once(pool, url, sent, bound, read), backoff, seed, self.stats)

        async def accepts_body(body: Mapping[str, Any]) -> bool:
            try:
                return await send_body(body, lambda reply, keys: is_whole(reply))
            except RefusedRequest:
                return False

        async with pool.slots:
            try:
                result = await send_body(body, read)
            except RefusedRequest as refusal:
                raise (
                    refusal.error if body is None else await self._judge_refusal(refusal, body, accepts_body)
                ) from None
        self.experience.taken = True
        return result

    async def _judge_refusal(
        self, refusal: RefusedRequest, body: Mapping[str, Any], takes: Callable[[Mapping[str, Any]], Awaitable[bool]]
    ) -> Exception:
        """The error for a refused request: the conversation's, if it is to blame. Token ids are refused for their
        number alone, since no server that takes ids looks at their meaning."""
        verdict = stated_verdict(refusal.status, refusal.reply)
        if verdict is None and self._blames_fields(refusal.reply, body):
            return refusal.error
        if verdict is None and (tests := make_refusal_tests(body, taken=self.experience.taken)) is not None:
            verdict = await tested_verdict(tests, takes)
        if verdict == "length":
            self.experience.warn_once("length", f"a conversation is too long for {self.model}: {refusal.line}")
            return ContextFull(refusal.line)
        if verdict == "content" and "messages" in body:
            return self._content_error(refusal.line)
        if verdict == "reply" and "messages" in body:
            keys = read_keys(self.api_key_env, self.headers, self.base_url, proxy_for(self.base_url, self.proxy))
            unread = Completion(text="", calls=failed_calls(refusal.reply), model=self.model)
            return UnreadableReply(refusal.line, keys.hide_in(unread))
        return refusal.error

    async def _try_once(
        self, pool: ConnectionPool, url: str, body: bytes | None, most: int, read: Callable[[bytes, SecretHeaders], T]
    ) -> T:
        """Make one attempt."""
        await pool.wait_for_turn()
        keys, path = read_keys(self.api_key_env, self.headers, self.base_url, pool.proxy), urlsplit(url).path
        try:
            status, after, reply = await pool.exchange_bytes(url, body, {**_HEADERS, **keys.headers}, most)
        except (aiohttp.ClientError, OSError) as e:
            raise self._unanswered_error(e, keys, path, pool) from e
        if not is_success(status):
            raise self._status_error(status, f"{status} from {path}: {_clean_line(reply, keys)}", after, reply)
        try:
            return read(reply, keys)
        except UserError:
            raise
        except ValueError as e:
            raise self._unplayable_error(e, f"{status} from {path}: {e}", reply, keys) from e

    def _unanswered_error(
        self, error: Exception, keys: SecretHeaders, path: str, pool: ConnectionPool
    ) -> WorldError | UserError:
        """The error for an attempt without a complete reply. If no reply has ever come from the address, it counts as a
        wrong one, or one without a running server."""
        said = _clean_line(str(error), keys)
        if isinstance(error, aiohttp.ClientHttpProxyError) and error.status < 500:
            return UserError(f"proxy: {_proxy_host(pool.proxy)}, from the environment, answers {error.status}: {said}")
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            return UserError(f"base_url: the endpoint's certificate is not trusted: {said}")
        if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError) and not pool.answered:
            why = os.strerror(error.errno) if error.errno and error.errno > 0 else said
            if pool.proxy:
                return UserError(f"proxy: nothing answers at {_proxy_host(pool.proxy)}, from the environment ({why})")
            return UserError(f"base_url: nothing answers at {self.base_url} ({why}); is the server running?")
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return Transient(f"no connection for {path} within {self.connect_timeout:g} s")
        if isinstance(error, TimeoutError):
            return Transient(f"no complete reply from {path} within {self.timeout:g} s")
        return Transient(f"no complete reply from {path}: {_clean_line(f'{type(error).__name__}: {error}', keys)}")

    def _blames_fields(self, reply: bytes, body: Mapping[str, Any]) -> bool:
        """Whether a refusal of this request is about optional fields."""
        return False

    def _unplayable_error(self, error: ValueError, line: str, reply: bytes, keys: SecretHeaders) -> Exception:
        """The error for a reply with status 200 but without a usable completion. If it reports a failure of the host,
        its status or code decides."""
        if isinstance(error, HostError):
            reported = error.reply or reply
            status = error.status or (400 if stated_verdict(0, reported) else 500)
            return self._status_error(status, f"{line}: {_clean_line(reported, keys)}", None, reported)
        line = f"{line}: {_clean_line(reply, keys)}"
        return self._content_error(line) if isinstance(error, FilteredReply) else Transient(line)

    def _content_error(self, line: str) -> ContentRefused:
        """The error for content that the host's filter blocks; reported once."""
        self.experience.warn_once("content", f"the host of {self.model} refuses the content of a conversation: {line}")
        return ContentRefused(line)

    def _status_error(self, status: int, line: str, after: float | None, reply: bytes) -> Exception:
        """The error for an unsuccessful reply; if it may be about the conversation, that is yet to be decided."""
        error = self._refusal_error(status, line, after, reply)
        about_request = status in ABOUT_REQUESTS or stated_verdict(status, reply) == "reply"
        return RefusedRequest(line, error, status, reply) if about_request else error

    def _refusal_error(self, status: int, line: str, after: float | None, reply: bytes) -> UserError | WorldError:
        """The error for an unsuccessful reply, judged by its status."""
        if status == 429 and _SPENT.search(reply):
            return UserError(f"api_key_env: this account's quota is used up: {line}")
        if status in _MAY_PASS or status >= 500:
            return Transient(line, parse_retry_delay(reply) if after is None else after)
        if status in (401, 402, 403):
            return UserError(f"api_key_env: {line}")
        if status == 407:
            return UserError(
                f"proxy: it requires user and password; put them into its address in the environment: {line}"
            )
        return Refusal(str(self._wrong_request_error(status, line)), status, reply, asker=self)

    def _wrong_request_error(self, status: int, line: str) -> UserError:
        """The error for a request that the endpoint does not understand or cannot serve."""
        what = "model or extra: the endpoint refuses the request" if status in (400, 422) else "base_url or model"
        return UserError(f"{what}: {line}")

    async def _get_pool(self) -> ConnectionPool:
        """The connections of the running event loop; those of ended loops are closed."""
        loop = asyncio.get_running_loop()
        if loop not in self._pools:
            await self.close()
        if loop not in self._pools:  # another task may have added it meanwhile
            self._pools[loop] = ConnectionPool(
                slots=self.concurrency,
                per_minute=self.requests_per_minute,
                total=self.timeout,
                connect=self.connect_timeout,
                proxy=proxy_for(self.base_url, self.proxy),
                query=self.query,
            )
            await anext(self._pools[loop].until_the_end)
        return self._pools[loop]

    async def close(self) -> None:
        """Close the connections of the running event loop and of ended ones. A later call opens new ones."""
        running = asyncio.get_running_loop()
        for loop in [loop for loop in self._pools if loop is running or loop.is_closed()]:
            if pool := self._pools.pop(loop, None):  # another task may close at the same time
                await pool.session.close()


def _check_numbers(config: Endpoint) -> None:
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


def check_extra(extra: Mapping[str, Any], taken: Collection[str]) -> None:
    """Raise for extra request fields that sonde sends itself, or that JSON cannot represent."""
    if wrong := sorted({k for k in extra if k.lower() in taken}):
        raise UserError(f"extra: {wrong[0]!r} is set by sonde itself, allowed: other fields")
    try:
        json.dumps(extra, allow_nan=False)
    except (TypeError, ValueError) as e:
        raise UserError(f"extra: not JSON ({e}), allowed: JSON values") from None


async def gather_all(calls: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run these calls at once and return their results; if one fails, or the caller is cancelled, all others are
    cancelled."""
    tasks = [asyncio.ensure_future(call) for call in calls]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


def _proxy_host(proxy: str | None) -> str:
    """A proxy's address without user and password."""
    parts = urlsplit(proxy or "")
    return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)


def _to_json_bytes(body: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError:  # a lone surrogate in the conversation, which only the slower encoder escapes
        return json.dumps(body).encode()


def _clean_line(text: str | bytes, keys: SecretHeaders) -> str:
    """The first 200 characters of the endpoint's text: one printable line, without secrets."""
    shown = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    line = " ".join("".join(c if c.isprintable() else " " for c in keys.hide_secrets(shown)[:2000]).split())
    return line[:200] or "(empty body)"
