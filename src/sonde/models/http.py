"""Any endpoint that speaks the OpenAI chat protocol: vLLM, SGLang, llama.cpp, hosted ones.

The client is aiohttp, chosen by measured CPU per request (`benchmarks/http_client.py`): official clients walk every
message of the conversation on each call, which makes long episodes quadratic.

What fails is told apart by who can mend it. What may pass (a connection that breaks, no whole reply in time, 408, 409,
425, 429, 5xx, a reply that is no completion) is tried again, said once (`TroubleWarning`), and at last an `Outage`; a
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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import Any, TypeVar
from urllib.parse import urlsplit

import aiohttp
import orjson

from sonde.core import (
    EMPTY,
    HOW,
    Capabilities,
    CapabilityError,
    Completion,
    Message,
    Model,
    Probe,
    Sampling,
    UserError,
    WorldError,
    freeze,
    invalid,
)
from sonde.core.model import CAPABILITIES

from .echo import Echo, echo, largest_echo, scores
from .masking import hide
from .pool import Pool, fine
from .reply import completion, largest
from .retry import Backoff, Stats, Transient, retrying

T = TypeVar("T")

MAX_TOKENS = ("max_tokens", "max_completion_tokens")
"""The two names that endpoints have for the same limit."""
OMITTABLE = ("logprobs", "min_p", "seed", "stop", "temperature", "top_p")
SECRET = 8
"""Characters of the shortest key that is hidden in what a model says."""

_NOT_EXTRA = {*OMITTABLE, *MAX_TOKENS, "api_key", "authorization", "messages", "model", "n", "stream",
              "prompt_logprobs", "add_generation_prompt", "continue_final_message"}  # fmt: skip
_MAY_PASS = {408, 409, 425, 429}
_THIS_CONVERSATION = re.compile(
    r"context[ _-]?(length|window|size)|maximum context|(prompt|input) is too long|longer than the m|too many tokens"
    r"|content[ _](filter|policy|management)",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class Http(Model):
    """The model called `model` behind `base_url`, the address up to but not including `/chat/completions`.

    `api_key_env` names the environment variable with the key; it may be unset where the endpoint is on this machine or
    network, and "" sends none. At most `concurrency` calls are in flight in one event loop, a waiting retry included;
    attempts are spaced evenly where `requests_per_minute` is given. `timeout` bounds one attempt from connecting to the
    last byte, `connect_timeout` its start (seconds). Up to `retries` further attempts wait `backoff` seconds, then
    twice that and so on, plus what the endpoint asks for, at most `max_wait`. `max_tokens_field` is one of
    `MAX_TOKENS`; `omit` names fields (of `OMITTABLE`) that the endpoint would refuse, `extra` adds others to the
    request; `logprobs` asks for log-probabilities, which come without token ids; `prompt_logprobs` says that the
    endpoint gives those of a prompt, which `score` needs (vLLM does). A reply larger than what was asked for can be
    (`reply.largest`) is not read to its end.

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
    prompt_logprobs: bool = field(default=False, metadata=HOW)
    omit: tuple[str, ...] = ()
    extra: Mapping[str, Any] = EMPTY
    stats: Stats = field(default_factory=Stats, init=False, repr=False, compare=False)
    _pools: dict[asyncio.AbstractEventLoop, Pool] = field(
        default_factory=dict[asyncio.AbstractEventLoop, Pool], init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if not isinstance(self.omit, tuple | list):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid("omit", self.omit, f"a list of {', '.join(OMITTABLE)}")
        if not isinstance(self.extra, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise invalid("extra", self.extra, "a mapping of names of fields to JSON values")
        object.__setattr__(self, "omit", tuple(self.omit))
        object.__setattr__(self, "extra", freeze(self.extra))
        object.__setattr__(self, "capabilities", Capabilities(logprobs=self.logprobs, score=self.prompt_logprobs))
        _check_url(self.base_url)
        _check_request(self)
        _check_numbers(self)

    async def generate(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        return await self.stats.counting(self._generate(messages, sampling))

    async def _generate(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        body = _dumps(self.body(messages, sampling))
        most = largest(len(body), sampling.max_new_tokens, self._logprobs_per_token)
        backoff = Backoff(self.retries, self.backoff, self.max_wait)
        pool = await self._pool()
        async with pool.slots:
            return await retrying(lambda: self._attempt(pool, body, most), backoff, sampling.seed, self.stats)

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

    @property
    def _logprobs_per_token(self) -> int:
        others = self.extra.get("top_logprobs", 0)
        return 1 + others if self.logprobs and isinstance(others, int) else int(self.logprobs)

    async def _attempt(self, pool: Pool, body: bytes, most: int) -> Completion:
        found = await self._post(pool, body, most, lambda reply, key: _without(key, completion(reply, self.model)))
        if self.logprobs and found.text and not found.logprobs:
            raise UserError("logprobs: got True, allowed: False, since the endpoint returns no log-probabilities")
        return found

    async def _post(self, pool: Pool, body: bytes, most: int, read: Callable[[bytes, str], T]) -> T:
        """One attempt: what `read` finds in the reply, which may repeat the key."""
        await pool.pace()
        key = _key(self.api_key_env, self.base_url)
        try:
            status, after, reply = await pool.post(self._url, body, _headers(key), most)
        except (aiohttp.ClientError, OSError) as e:
            raise self._unanswered(e, key, pool.answered) from e
        if not fine(status):
            raise _refusal(status, f"{status} from {self._path}: {_clean(reply, key)}", after)
        try:
            return read(reply, key)
        except ValueError as e:
            raise Transient(f"{status} from {self._path}: {e}: {_clean(reply, key)}") from e

    # --- scores ------------------------------------------------------------------------------------------------------

    async def score(self, probes: Sequence[Probe]) -> list[list[float]]:
        if not self.prompt_logprobs:
            raise self.lacks("score")
        tasks = [asyncio.ensure_future(self._score(probe, i)) for i, probe in enumerate(probes)]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()

    async def _score(self, probe: Probe, seed: int) -> list[float]:
        """Two calls where the end of the message counts too: only without it is known where the message stops."""
        said = await self.stats.counting(self._echo(probe, seed, ends=False))
        ended = await self.stats.counting(self._echo(probe, seed, ends=True)) if probe.ending else None
        return scores(probe, said, ended)

    async def _echo(self, probe: Probe, seed: int, *, ends: bool) -> Echo:
        body = _dumps(self.echo_body(probe, ends=ends))
        backoff = Backoff(self.retries, self.backoff, self.max_wait)
        pool = await self._pool()

        async def attempt() -> Echo:
            found = await self._post(pool, body, largest_echo(len(body)), lambda reply, key: echo(reply))
            if found is None:
                raise CapabilityError(
                    f"prompt_logprobs: got True, but {self._path} returns none; "
                    f"backends that can score: {', '.join(CAPABILITIES['score'])}"
                )
            return found

        async with pool.slots:
            return await retrying(attempt, backoff, seed, self.stats)

    def echo_body(self, probe: Probe, *, ends: bool) -> dict[str, Any]:
        """The request for the log-probabilities of a prompt that stops where the probe's last message does, or, if it
        `ends`, after what the template puts there."""
        fields: dict[str, Any] = {
            "model": self.model,
            "messages": [m.to_json() for m in probe.messages],
            self.max_tokens_field: 1,
            "temperature": 1.0,
            "prompt_logprobs": 0,
            "add_generation_prompt": False,
            "continue_final_message": not ends,
        }
        return {k: v for k, v in fields.items() if k not in self.omit} | dict(self.extra)

    def _unanswered(self, error: Exception, key: str, answered: bool) -> WorldError | UserError:
        """The error for an attempt that got no whole reply. An address at which nothing has `answered` yet is taken for
        a wrong one, or for one where no server runs."""
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            return UserError(f"base_url: the endpoint's certificate is not trusted: {_clean(str(error), key)}")
        if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError) and not answered:
            why = os.strerror(error.errno) if error.errno and error.errno > 0 else _clean(str(error), key)
            return UserError(f"base_url: nothing answers at {self.base_url} ({why}); is the server running?")
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


def _without(key: str, c: Completion) -> Completion:
    """The completion without the key, should the endpoint have repeated it."""
    if len(key) < SECRET:
        return c
    said = {name: getattr(c, name) for name in ("text", "reasoning", "model", "weights")}
    hidden = {name: hide(text, key) for name, text in said.items()}
    return c if hidden == said else replace(c, **hidden)


def _refusal(status: int, line: str, after: float | None) -> UserError | WorldError:
    """The error for a reply that does not say that all is well."""
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
