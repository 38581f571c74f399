"""How long a failed call waits: what an endpoint asks for, and what is derived."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from sonde.core import Rng
from sonde.models.remote.retry import Backoff, parse_retry_after, parse_retry_delay
from tests.cases import each


@each(
    "header, seconds",
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
    assert parse_retry_after(header, now=784_111_740.0) == seconds  # Sun, 06 Nov 1994 08:49:00 GMT


@given(st.text() | st.from_regex(r"\w{3}, \d+ \w{3} \d+ [\d:]+ [+\-\w]+"), st.floats(0, 4e9))
def test_any_retry_after_is_none_or_seconds(header: str, now: float) -> None:
    wait = parse_retry_after(header, now)
    assert wait is None or 0.0 <= wait < 1e12


@given(st.integers(0, 4_000_000_000), st.integers(0, 100_000))
def test_dates_are_read_exactly(now: int, ahead: int) -> None:
    from email.utils import formatdate

    assume(now + ahead < 2**32)
    assert parse_retry_after(formatdate(now + ahead, usegmt=True), float(now)) == ahead


@each(
    "reply, seconds",
    [
        (
            b'[{"error": {"details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "58s"}]}}]',
            58.0,
        ),
        (b'{"error": {"metadata": {"raw": "{\\n \\"retryDelay\\": \\"45.837906927s\\"}"}}}', 45.837906927),
        (b'{"retryDelay": "soon"}', None),
        (b'{"retryDelay": 58}', None),
        (b"58s", None),
    ],
)
def test_retry_delay_in_the_reply(reply: bytes, seconds: float | None) -> None:
    assert parse_retry_delay(reply) == seconds


@given(st.integers(0, 5000), st.integers(0, 2**64), st.none() | st.floats(0, 1e9))
def test_waits_are_bounded_and_derived(attempt: int, seed: int, after: float | None) -> None:
    backoff = Backoff(retries=6, first=0.5, longest=60.0)
    wait = backoff.wait_seconds(attempt, seed, after)
    grown = min(60.0, 0.5 * 2.0 ** min(attempt, 20))
    assert min(60.0, grown / 2 + (after or 0.0)) <= wait <= min(60.0, grown + (after or 0.0))
    assert wait == backoff.wait_seconds(attempt, seed, after)


def test_jitter_spreads() -> None:
    waits = [Backoff(6, 1.0, 60.0).wait_seconds(0, seed) for seed in range(200)]
    assert len(set(waits)) == 200
    assert min(waits) < 0.55 < 0.95 < max(waits)
    assert waits[3] == 0.5 + 0.5 * Rng(3, "retry", 0).random()
