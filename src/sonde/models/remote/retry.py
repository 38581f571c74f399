"""Retry with exponential backoff, and call statistics.

Waits double from attempt to attempt and are jittered, so that many episodes refused at once do not return at once. The
jitter is derived from the call's seed, never from a global generator. A server's own request is added, up to a limit:
the `Retry-After` header of RFC 9110 section 10.2.3 (seconds, or an HTTP date), or the `retryDelay` in the reply of
Google's hosts, which send no such header (google.rpc.RetryInfo).
"""

from __future__ import annotations

import asyncio
import re
import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from itertools import count
from typing import Protocol, TypeVar

from sonde.core import Outage, Rng, Usage, WorldError

T = TypeVar("T")


class _HasUsage(Protocol):
    @property
    def usage(self) -> Usage: ...


C = TypeVar("C", bound=_HasUsage)


@dataclass(slots=True)
class CallStats:
    """Running counts of a backend, for reports; not part of its configuration.

    `calls` reached the backend, and `failures` of them ended in an error; `retries` are attempts beyond the first of
    each call; `hits` were answered by a cache instead. `prompt`, `completion` and `cached` are tokens, as in `Usage`.
    `warned`: whether a `TroubleWarning` was given; `said`: other messages that were given once.
    """

    calls: int = 0
    failures: int = 0
    retries: int = 0
    hits: int = 0
    prompt: int = 0
    completion: int = 0
    cached: int = 0
    warned: bool = False
    said: set[str] = field(default_factory=set[str])

    def say_once(self, text: str) -> None:
        """Warn about the endpoint, unless the same was said before."""
        if text not in self.said:
            self.said.add(text)
            warnings.warn(text, EndpointWarning, stacklevel=2)

    def warn_of_failure(self, error: Exception) -> None:
        """Warn about the first failed attempt as soon as it happens; further failures are only counted."""
        if not self.warned:
            self.warned = True
            warnings.warn(f"an attempt failed: {error}", TroubleWarning, stacklevel=2)

    async def count_call(self, call: Awaitable[C]) -> C:
        """Await `call` and return its result; counts it with its tokens, or as a failure."""
        self.calls += 1
        try:
            result = await call
        except Exception:
            self.failures += 1
            raise
        usage = result.usage
        self.prompt += usage.prompt
        self.completion += usage.completion
        self.cached += usage.cached
        return result


class TroubleWarning(UserWarning):
    """A call to an endpoint failed and may be tried again: given once per model, as soon as it happens."""


class EndpointWarning(UserWarning):
    """A property of an endpoint that affects what its model says: given once per model."""


class Transient(WorldError):
    """A failure that may pass. `after`: the seconds that the server asked to wait, None if it did not."""

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


@dataclass(frozen=True, slots=True)
class Backoff:
    """Up to `retries` attempts after the first; waits start at `first` seconds and never exceed `longest`."""

    retries: int
    first: float
    longest: float

    def wait_seconds(self, attempt: int, seed: int, after: float | None = None) -> float:
        """Seconds to wait after `attempt` (from 0) failed: half of the doubled wait is fixed, half is jitter."""
        grown = min(self.longest, self.first * 2.0 ** min(attempt, 60))
        jittered = grown * (0.5 + 0.5 * Rng(seed, "retry", attempt).random())
        return min(self.longest, jittered + (after or 0.0))


async def retry_call(call: Callable[[], Awaitable[T]], backoff: Backoff, seed: int, stats: CallStats) -> T:
    """Call until it succeeds, retrying after `Transient`; the last one becomes an `Outage`."""
    for attempt in count():
        try:
            return await call()
        except Transient as e:
            stats.warn_of_failure(e)
            if attempt >= backoff.retries:
                raise Outage(f"{e} (attempts: {attempt + 1})") from e
            wait = backoff.wait_seconds(attempt, seed, e.after)
        stats.retries += 1
        await asyncio.sleep(wait)
    raise AssertionError("unreachable: count() never ends")


def parse_retry_after(header: str | None, now: float) -> float | None:
    """Seconds that a `Retry-After` header asks for at `now` (seconds since 1970); None if it is missing or unreadable.

    >>> parse_retry_after("2", now=0.0), parse_retry_after("Thu, 01 Jan 1970 00:01:00 GMT", now=50.0)
    (2.0, 10.0)
    >>> parse_retry_after("soon", now=0.0) is None
    True
    """
    if header is None:
        return None
    text = header.strip()
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, IndexError, OverflowError):
        return None
    aware = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, aware.timestamp() - now)


_DELAY = re.compile(rb'retryDelay\\*"\s*:\s*\\*"([0-9]{1,9}(?:\.[0-9]{1,9})?)s')
"""In JSON, or in JSON that another host's reply quotes."""


def parse_retry_delay(reply: bytes) -> float | None:
    """Seconds that the reply of a Google host asks for; None if it names none.

    >>> parse_retry_delay(b'[{"error": {"details": [{"retryDelay": "45.8s"}]}}]')
    45.8
    """
    found = _DELAY.search(reply)
    return float(found[1]) if found else None
