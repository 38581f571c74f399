"""Parse replies of the OpenAI chat protocol, and limit their size. `http` sends the requests.

A reply is limited by what was requested, so that the total of many endpoints' replies stays small: so many bytes per
token of the limit (the longest tokens of common vocabularies, escaped), more if log-probabilities come with each, and
some multiple of the request, which some endpoints repeat.

A reply with status 200 may still report a failure: an `error` beside the choices or in the first one, or a finish
reason that does not end a message (`HostError`, `FilteredReply`). What the model said until then is no answer.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Callable, Mapping
from typing import Any, Literal, cast

from sonde.core import Completion, Usage
from sonde.core.tools import ToolCall

ROOM = 64 * 1024
"""Bytes that any reply may have, an error for example."""
PER_TOKEN = 256
PER_LOGPROB = 512
"""Bytes of a log-probability with its token, as text and as a list of bytes."""
PER_REQUEST = 4
"""Multiple of the request's own size."""

End = Literal["stop", "length", "filter", "failed"]

_ENDS: Mapping[End, frozenset[str]] = {
    "failed": frozenset({
        *("error", "errored", "failed", "failure", "fail", "abort", "aborted", "cancel", "cancelled", "canceled"),
        *("timeout", "network", "interrupted", "insufficient", "overloaded", "unavailable", "malformed", "unexpected"),
        *("rate", "quota"),
    }),
    "filter": frozenset({
        *("filter", "filtered", "sensitive", "safety", "refusal", "blocked", "blocklist", "prohibited", "moderation"),
        *("recitation", "spii", "guardrail", "policy"),
    }),
    "length": frozenset({"length", "max", "limit", "exceeded", "window"}),
    "stop": frozenset({"stop", "stopped", "end", "eos", "eot", "finish", "finished", "complete", "completed", "done",
                       "tool", "function"}),
}  # fmt: skip
"""What the words of a finish reason mean, the most decisive first: `insufficient_system_resource`, `MAX_TOKENS`,
`content_filter: PROHIBITED_CONTENT`, `model_context_window_exceeded`, `end_turn`."""
_SPOILT, _CALLS = frozenset({"malformed", "unexpected"}), frozenset({"function", "tool"})
"""Words of which a finish reason has one each if the model wrote an unusable call: `MALFORMED_FUNCTION_CALL`."""


_CACHED = ("cached_tokens", "prompt_cache_hit_tokens")
"""Names of the number of cached tokens outside of the details of a prompt (Moonshot, SGLang; DeepSeek)."""
_OF_CALLS = ("function", "id", "index", "type")
"""Fields of a call that the protocol knows."""


class HostError(ValueError):
    """A failure of the host, reported in a reply with status 200: `reply` is its description, and `status` the HTTP
    status that it names, or 0."""

    def __init__(self, message: str, status: int = 0, reply: bytes = b"") -> None:
        super().__init__(message)
        self.status, self.reply = status, reply


class FilteredReply(ValueError):
    """The host's filter ended or withheld the reply."""


def max_reply_bytes(request: int, tokens: int, logprobs: int = 0) -> int:
    """The most bytes of a reply, given the bytes of the request, the token limit and the log-probabilities per token.

    >>> max_reply_bytes(request=2_000, tokens=1_024)
    335680
    """
    return ROOM + PER_REQUEST * request + tokens * (PER_TOKEN + PER_LOGPROB * logprobs)


def read_completion(
    reply: bytes, model: str, unknown: Callable[[str], None] = lambda reason: None, *, by_tools: bool = False
) -> Completion:
    """Parse the completion in a reply. `unknown` is called with a finish reason of unknown meaning; the text then
    counts as ended. `by_tools`: whether the model was to call a tool. Raises `HostError` or `FilteredReply` if the host
    says that it failed or filtered, and other `ValueError`s if there is no completion."""
    if not reply.strip():
        raise ValueError("no content")
    try:
        data = as_mapping(_parse_json(reply))
    except (ValueError, RecursionError):
        raise ValueError("not JSON") from None
    _check_error(data)
    choices = data.get("choices")
    if not isinstance(choices, list) or not choices:
        raise ValueError("no choices")
    choice = as_mapping(cast("list[object]", choices)[0])
    _check_error(choice)
    spoilt = by_tools and _has_spoilt_call(choice.get("finish_reason"))
    finish: Literal["stop", "length", "filter"] = (
        "stop" if spoilt else _read_finish(choice.get("finish_reason"), unknown)
    )
    message = as_mapping(choice.get("message"))
    text, refusal = _read_text(message.get("content")), _read_text(message.get("refusal"))
    reasoning = _read_reasoning(message)
    if refusal and not text:
        finish = "filter"
    calls = (ToolCall("", ""),) if spoilt else read_tool_calls(message.get("tool_calls"))
    if text is None and refusal is None and finish == "stop" and not reasoning and not calls:
        raise ValueError("no content")
    return Completion(
        text=text or refusal or "",
        logprobs=_read_logprobs(choice),
        finish=finish,
        reasoning=reasoning,
        model=_read_text(data.get("model")) or model,
        weights=_read_text(data.get("system_fingerprint")) or "",
        usage=read_usage(as_mapping(data.get("usage"))),
        calls=calls,
    )


def read_tool_calls(rows: object) -> tuple[ToolCall, ...]:
    """The `tool_calls` of a message, whatever is wrong with them. Marks of the model's template may follow a name
    (`act<|channel|>commentary`); they are no part of it."""
    calls = [as_mapping(row) for row in cast("list[object]", rows)] if isinstance(rows, list) else []
    found: list[ToolCall] = []
    for call in calls:
        called = as_mapping(call.get("function"))
        name = (_read_text(called.get("name")) or "").split("<|")[0]
        extra = {key: value for key, value in call.items() if key not in _OF_CALLS and value is not None}
        found.append(
            ToolCall(
                name,
                _read_arguments(called.get("arguments")),
                _read_text(call.get("id")) or "",
                json.dumps(extra) if extra else "",
            )
        )
    return tuple(found)


def _read_arguments(given: object) -> str:
    """The arguments of a call as JSON; some hosts write them as an object, or as a JSON text within a JSON text."""
    text = _read_text(given if isinstance(given, str) else json.dumps(given)) or ""
    if not text.startswith('"'):
        return text
    try:
        inner: object = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return inner if isinstance(inner, str) else text


def _parse_json(reply: bytes) -> object:
    """The JSON value of a reply. Servers may put a text into it as the model left it: cut inside a character, or with
    line breaks that are not escaped."""
    return json.loads(reply.decode("utf-8-sig", "replace"), strict=False)


def is_whole(reply: bytes) -> bool:
    """True for a reply with status 200; `HostError` if it reports a failure."""
    try:
        _check_error(as_mapping(_parse_json(reply)))
    except HostError:
        raise
    except (ValueError, RecursionError):
        pass  # unreadable, but accepted
    return True


def _check_error(part: Mapping[str, Any]) -> None:
    """Raise for an error inside a reply, with the HTTP status that its code gives, if any."""
    if error := part.get("error"):
        details = as_mapping(error)
        status = next((code for name in ("code", "status") if (code := _http_status(details.get(name)))), 0)
        raise HostError("an error inside the reply", status, json.dumps(error).encode())


def _http_status(code: object) -> int:
    """An HTTP status, as a number or as digits; 0 for anything else."""
    number = int(code) if isinstance(code, str) and re.fullmatch("[45][0-9]{2}", code) else code
    return number if isinstance(number, int) and 400 <= number < 600 else 0


def _read_finish(reason: object, unknown: Callable[[str], None]) -> Literal["stop", "length"]:
    """Why a message ended. Raises if it has not ended."""
    text = _read_text(reason)
    if not text:
        return "stop"
    end = classify_finish(text)
    if end == "failed":
        raise HostError(f"finish_reason {text!r}")
    if end == "filter":
        raise FilteredReply(f"finish_reason {text!r}")
    if end is None:
        unknown(text)
    return "length" if end == "length" else "stop"


def _has_spoilt_call(reason: object) -> bool:
    """Whether a message ended because the model wrote an unusable call, which is its reply, not a failure."""
    words = set(re.findall("[a-z]+", (_read_text(reason) or "").lower()))
    return bool(words & _SPOILT and words & _CALLS)


def classify_finish(reason: str) -> End | None:
    """What a finish reason means, by its words; None if none of them is known.

    >>> [classify_finish(reason) for reason in ("end_turn", "MAX_TOKENS", "network_error", "SAFETY", "sunset")]
    ['stop', 'length', 'failed', 'filter', None]
    """
    words = set(re.findall("[a-z]+", reason.lower()))
    return next((end for end, known in _ENDS.items() if words & known), None)


def as_mapping(value: object) -> Mapping[str, Any]:
    """The value, or an empty mapping if it is none."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _read_text(value: object) -> str | None:
    """A string that any file can hold: lone surrogates, which JSON can carry, become question marks. Content in parts
    is joined, without parts that are reasoning or no text."""
    if isinstance(value, list):
        parts = [as_mapping(part) for part in cast("list[object]", value)]
        said = [part.get("text") for part in parts if not _is_thought(part)]
        value = "".join(text for text in said if isinstance(text, str))
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else None


def _read_reasoning(message: Mapping[str, Any]) -> str:
    """The model's reasoning, if the host returns it separately: in a field, or in parts."""
    lists = (message.get(name) for name in ("content", "reasoning_details"))
    parts = [as_mapping(part) for rows in lists if isinstance(rows, list) for part in cast("list[object]", rows)]
    thoughts = (
        next((text for name in (str(part["type"]), "text", "summary") if (text := _read_text(part.get(name)))), "")
        for part in parts
        if _is_thought(part)
    )
    apart = (message.get(name) for name in ("reasoning_content", "reasoning"))
    return next((text for text in map(_read_text, apart) if text), "".join(thought for thought in thoughts if thought))


def _is_thought(part: Mapping[str, Any]) -> bool:
    kind = part.get("type")
    return isinstance(kind, str) and bool(re.search("think|reason|thought", kind))


def _read_logprobs(choice: Mapping[str, Any]) -> array[float]:
    """The log-probability of each token; empty unless all are there."""
    content = as_mapping(choice.get("logprobs")).get("content")
    rows = cast("list[object]", content) if isinstance(content, list) else []
    values = [as_mapping(row).get("logprob") for row in rows]
    numbers = [float(v) for v in values if isinstance(v, int | float) and abs(v) < 1e30]
    return array("f", numbers if len(numbers) == len(values) else [])


def read_usage(reported: Mapping[str, Any]) -> Usage:
    """The token counts that a reply reports; 0 for missing ones. Some hosts count reasoning in the total alone, so what
    the total has beyond the prompt was sampled."""
    prompt, completion, total = (
        _read_count(reported.get(f"{name}_tokens")) for name in ("prompt", "completion", "total")
    )
    details = as_mapping(reported.get("prompt_tokens_details"))
    cached = (details.get("cached_tokens"), *(reported.get(name) for name in _CACHED))
    return Usage(prompt, max(completion, total - prompt) if prompt else completion, max(map(_read_count, cached)))


def _read_count(value: object) -> int:
    """A number of tokens; some hosts write 7.0 for 7."""
    return int(value) if isinstance(value, int | float) and 0 <= value < 2**53 else 0
