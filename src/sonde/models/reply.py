"""What an endpoint's reply says: a completion, and how large one may be. See `http` for who asks.

A reply is bounded by what was asked for, so that what many endpoints could send at once stays small: so many bytes per
token of the limit (the longest tokens of common vocabularies, escaped), more where log-probabilities come with each,
and some multiple of the request, which some endpoints repeat.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping
from typing import Any, Literal, cast

from sonde.core import Completion, Usage

ROOM = 64 * 1024
"""Bytes that any reply may have: an error, say."""
PER_TOKEN = 256
PER_LOGPROB = 512
"""Bytes of a log-probability with its token, as text and as a list of bytes."""
PER_REQUEST = 4
"""How many times the request's own size."""

_FINISH: Mapping[object, Literal["stop", "length", "filter"]] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "filter",
}
_THOUGHTS = ("thinking", "reasoning")
"""Types of the parts of a content that are no answer."""


def largest(request: int, tokens: int, logprobs: int = 0) -> int:
    """The most bytes of a reply to a request of so many bytes, at most so many tokens and so many log-probabilities
    with each.

    >>> largest(request=2_000, tokens=1_024)
    335680
    """
    return ROOM + PER_REQUEST * request + tokens * (PER_TOKEN + PER_LOGPROB * logprobs)


def completion(reply: bytes, model: str) -> Completion:
    """The completion in a reply. Raises `ValueError` where there is none."""
    if not reply.strip():
        raise ValueError("no content")
    try:
        data = mapping(json.loads(reply))
    except (ValueError, RecursionError):
        raise ValueError("not JSON") from None
    choices = data.get("choices")
    if not isinstance(choices, list) or not choices:
        raise ValueError("no choices")
    choice = mapping(cast("list[object]", choices)[0])
    message = mapping(choice.get("message"))
    finish = _FINISH.get(_text(choice.get("finish_reason")), "stop")
    content = message.get("content")
    text = _text(content)
    told_apart = (_text(message.get(name)) for name in ("reasoning_content", "reasoning"))
    reasoning = next((thought for thought in told_apart if thought), _thoughts(content))
    refusal = _text(message.get("refusal"))
    if refusal and not text:
        finish = "filter"
    if text is None and refusal is None and finish == "stop" and not reasoning:
        raise ValueError("no content")
    return Completion(
        text=text or refusal or "",
        logprobs=_logprobs(choice),
        finish=finish,
        reasoning=reasoning,
        model=_text(data.get("model")) or model,
        weights=_text(data.get("system_fingerprint")) or "",
        usage=usage(mapping(data.get("usage"))),
    )


def mapping(value: object) -> Mapping[str, Any]:
    """The value, or an empty mapping for what is none."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _text(value: object) -> str | None:
    """A string as any file can hold it: lone surrogates, which JSON can carry, become question marks. Content that
    comes in parts is joined, thoughts left out."""
    if isinstance(value, list):
        parts = [part.get("text") for part in _parts(value) if part.get("type") not in _THOUGHTS]
        value = "".join(part for part in parts if isinstance(part, str))
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else None


def _thoughts(content: object) -> str:
    """The parts of a content that are thoughts: `{"type": "thinking", "thinking": ...}` (Mistral, in parts again), or
    `{"type": "reasoning", "text": ...}`."""
    thoughts = [part for part in _parts(content) if part.get("type") in _THOUGHTS]
    return "".join(_text(part.get("thinking")) or _text(part.get("text")) or "" for part in thoughts)


def _parts(content: object) -> list[Mapping[str, Any]]:
    return [mapping(part) for part in cast("list[object]", content)] if isinstance(content, list) else []


def _logprobs(choice: Mapping[str, Any]) -> array[float]:
    """The log-probability of each token; none at all unless all are there."""
    content = mapping(choice.get("logprobs")).get("content")
    rows = cast("list[object]", content) if isinstance(content, list) else []
    values = [mapping(row).get("logprob") for row in rows]
    numbers = [float(v) for v in values if isinstance(v, int | float) and abs(v) < 1e30]
    return array("f", numbers if len(numbers) == len(values) else [])


def usage(told: Mapping[str, Any]) -> Usage:
    """The tokens that a reply says it took; 0 where it does not say."""
    cached = mapping(told.get("prompt_tokens_details")).get("cached_tokens")
    return Usage(*map(_count, (told.get("prompt_tokens"), told.get("completion_tokens"), cached)))


def _count(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < 2**53 else 0
