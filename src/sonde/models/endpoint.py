"""What backends behind an HTTP endpoint share: the address, the key, calls that are tried again, and whose fault it is.

The client is aiohttp, chosen by measured CPU per request (`benchmarks/http_client.py`): official clients walk every
message of the conversation on each call, which makes long episodes quadratic.

What fails is told apart by who can mend it. What may pass (a connection that breaks, no whole reply in time, 408, 409,
425, 429, 5xx, a reply that cannot be read) is tried again, said once (`TroubleWarning`), and at last an `Outage`; a
conversation that the endpoint will not take (too long, filtered) is a `WorldError` at once. What can only be a wrong
configuration (nothing has ever answered at this address, 401, 403, 404, other 4xx, a redirect) is a `UserError`, so
that a run stops instead of failing ten thousand episodes.

The key is read from the environment at call time. It is in no configuration, representation, error or completion, not
even where the endpoint repeats it, as it is or encoded (`masking`). In completions that holds for keys of `SECRET`
characters or more: a shorter one ("EMPTY") is no secret, but may well be a word of an answer.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import Any, TypeVar
from urllib.parse import urlsplit

import aiohttp
import orjson

from sonde.core import HOW, Completion, Model, UserError, WorldError, invalid

from .masking import hide
from .pool import Pool, fine
from .retry import Backoff, Stats, Transient, retrying

T = TypeVar("T")

SECRET = 8
"""Characters of the shortest key that is hidden in what a model says."""

_MAY_PASS = {408, 409, 425, 429}
_THIS_CONVERSATION = re.compile(
    r"context[ _-]?(length|window|size)|maximum context|(prompt|input) is too long|longer than the m|too many tokens"
    r"|maximum allowed length|content[ _](filter|policy|management)",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class Endpoint(Model):
    """The model called `model` behind `base_url`.

    `api_key_env` names the environment variable with the key; it may be unset where the endpoint is on this machine or
    network, and "" sends none. At most `concurrency` calls are in flight in one event loop, a waiting retry included;
    attempts are spaced evenly where `requests_per_minute` is given. `timeout` bounds one attempt from connecting to the
    last byte, `connect_timeout` its start (seconds). Up to `retries` further attempts wait `backoff` seconds, then
    twice that and so on, plus what the endpoint asks for, at most `max_wait`. A reply larger than what was asked for
    can be (`reply.largest`) is not read to its end.
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
    stats: Stats = field(default_factory=Stats, init=False, repr=False, compare=False)
    _pools: dict[asyncio.AbstractEventLoop, Pool] = field(
        default_factory=dict[asyncio.AbstractEventLoop, Pool], init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        _check_url(self.base_url)
        if not self.model:
            raise invalid("model", self.model, "the name under which the endpoint serves the model")
        if self.api_key_env and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", self.api_key_env):
            raise UserError("api_key_env: not the name of an environment variable (the key itself never goes here)")
        self._check_request()
        _check_numbers(self)

    def _check_request(self) -> None:
        """Raise for fields of a request that cannot be; between address and numbers."""

    def url(self, path: str) -> str:
        """The address of a path behind `base_url`."""
        return self.base_url.rstrip("/") + path

    async def ask(
        self, url: str, body: Mapping[str, Any] | None, read: Callable[[bytes, str], T], *, most: Callable[[int], int],
        seed: int = 0,
    ) -> T:  # fmt: skip
        """What `read` finds in the reply to this request (a GET where `body` is None), given the key, which the reply
        may repeat; a `ValueError` of `read` is a reply that cannot be read. `most` bounds its bytes, given those of the
        request; `seed` is of the call, for the jitter of waits."""
        sent = None if body is None else _dumps(body)
        pool = await self._pool()
        async with pool.slots:
            return await retrying(
                lambda: self._attempt(pool, url, sent, most(len(sent or b"")), read),
                Backoff(self.retries, self.backoff, self.max_wait),
                seed,
                self.stats,
            )

    async def _attempt(self, pool: Pool, url: str, body: bytes | None, most: int, read: Callable[[bytes, str], T]) -> T:
        """One attempt."""
        await pool.pace()
        key, path = _key(self.api_key_env, self.base_url), urlsplit(url).path
        try:
            status, after, reply = await pool.post(url, body, _headers(key), most)
        except (aiohttp.ClientError, OSError) as e:
            raise self._unanswered(e, key, path, pool.answered) from e
        if not fine(status):
            raise self._refusal(status, f"{status} from {path}: {_clean(reply, key)}", after)
        try:
            return read(reply, key)
        except UserError:
            raise
        except ValueError as e:
            raise Transient(f"{status} from {path}: {e}: {_clean(reply, key)}") from e

    def _unanswered(self, error: Exception, key: str, path: str, answered: bool) -> WorldError | UserError:
        """The error for an attempt that got no whole reply. An address at which nothing has `answered` yet is taken for
        a wrong one, or for one where no server runs."""
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            return UserError(f"base_url: the endpoint's certificate is not trusted: {_clean(str(error), key)}")
        if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError) and not answered:
            why = os.strerror(error.errno) if error.errno and error.errno > 0 else _clean(str(error), key)
            return UserError(f"base_url: nothing answers at {self.base_url} ({why}); is the server running?")
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return Transient(f"no connection for {path} within {self.connect_timeout:g} s")
        if isinstance(error, TimeoutError):
            return Transient(f"no whole reply from {path} within {self.timeout:g} s")
        return Transient(f"no whole reply from {path}: {_clean(f'{type(error).__name__}: {error}', key)}")

    def _refusal(self, status: int, line: str, after: float | None) -> UserError | WorldError:
        """The error for a reply that does not say that all is well."""
        if status == 429 and "insufficient_quota" in line:
            return UserError(f"api_key_env: this account's quota is used up: {line}")
        if status in _MAY_PASS or status >= 500:
            return Transient(line, after)
        if status == 413 or (status in (400, 422) and _THIS_CONVERSATION.search(line)):
            return WorldError(line)
        if status in (401, 402, 403):
            return UserError(f"api_key_env: {line}")
        return self._wrong(status, line)

    def _wrong(self, status: int, line: str) -> UserError:
        """The error for a request that the endpoint does not understand, or has nobody to answer."""
        what = "model or extra: the endpoint refuses the request" if status in (400, 422) else "base_url or model"
        return UserError(f"{what}: {line}")

    async def _pool(self) -> Pool:
        """The connections of the running event loop; those of loops that have ended are let go."""
        loop = asyncio.get_running_loop()
        if loop not in self._pools:
            await self.close()
        if loop not in self._pools:  # another task may have been here meanwhile
            self._pools[loop] = Pool(
                slots=self.concurrency,
                per_minute=self.requests_per_minute,
                total=self.timeout,
                connect=self.connect_timeout,
            )
            await anext(self._pools[loop].until_the_end)
        return self._pools[loop]

    async def close(self) -> None:
        """Close the connections of the running event loop and of those that have ended. A later call opens new ones."""
        running = asyncio.get_running_loop()
        for loop in [loop for loop in self._pools if loop is running or loop.is_closed()]:
            if pool := self._pools.pop(loop, None):  # another task may close at the same time
                await pool.session.close()


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
    """Raise for fields added to a request that sonde sends itself, or that no JSON can hold."""
    if wrong := sorted({k for k in extra if k.lower() in taken}):
        raise UserError(f"extra: {wrong[0]!r} is not set here, allowed: fields that sonde does not send itself")
    try:
        json.dumps(extra, allow_nan=False)
    except (TypeError, ValueError) as e:
        raise UserError(f"extra: not JSON ({e}), allowed: JSON values") from None


async def all_of(calls: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """What these calls return, all at once; where one fails, or the asker is gone, none goes on."""
    tasks = [asyncio.ensure_future(call) for call in calls]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


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
    headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
    return headers | {"Authorization": f"Bearer {key}"} if key else headers


def _dumps(body: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError:  # a lone surrogate somewhere in the conversation, which only the slower writer escapes
        return json.dumps(body).encode()


def _clean(text: str | bytes, key: str) -> str:
    """The first 200 characters of what the endpoint said: one printable line, without the key."""
    shown = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    line = " ".join("".join(c if c.isprintable() else " " for c in hide(shown, key)[:2000]).split())
    return line[:200] or "(empty body)"


def without(key: str, c: Completion) -> Completion:
    """The completion without the key, should the endpoint have repeated it."""
    if len(key) < SECRET:
        return c
    said = {name: getattr(c, name) for name in ("text", "reasoning", "model", "weights")}
    hidden = {name: hide(text, key) for name, text in said.items()}
    return c if hidden == said else replace(c, **hidden)
