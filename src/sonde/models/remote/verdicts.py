"""Decide whether a refused request is about its conversation, and whether its length or its content is to blame.

Hosts describe this in countless sentences and many languages, so their behaviour decides. Some hosts name the cause by
status (413) or by a code. Any other refusal is tested with two requests like the refused one:

1. *Short*: the same roles and fields, with one character of every text. If it is refused too, the conversation is not
   to blame but the form of the request, and every other conversation will fail alike.
2. *Long*: the conversation unchanged, except that its new part is replaced by as many bytes of digits. If it is refused
   too, the conversation is too long; if it is accepted, the content of the new messages is to blame.

3. *Free*, if the model had to call a tool: the conversation unchanged, without that demand. If it is accepted, the
   model's reply is to blame: the host could not read the call that the model wrote. Some hosts state this by a code, or
   in a failure (status 500).

Digits, because no filter objects to them, and because they are more tokens than any text of as many bytes: a
conversation that has just outgrown the limit outgrows it with digits too. Prompts of token ids are tested with one id,
alone and repeated. This costs two calls per conversation, at its end, and three where the model calls tools.

A host that does not refuse, but drops the beginning of a conversation that is too long, is found by its own count: a
prompt that contains an earlier one and more must have more tokens (`EndpointHistory.find_shrunk_prompt`).

Sources of the codes: the error references of OpenAI, Azure OpenAI, Anthropic, Alibaba's DashScope, and llama.cpp's
server.
"""

from __future__ import annotations

import json
import re
import warnings
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, cast

from sonde.core import Completion, Message
from sonde.core.tools import ToolCall

from ..chat.tool_calls import read_calls

Verdict = Literal["form", "length", "content", "reply"]
"""What a refusal is about: any request of this form, this conversation's length or content, or the model's reply."""

ABOUT_REQUESTS = frozenset({400, 403, 413, 422, 451})
"""Statuses of refusals that may be about the request itself, not about its sender, address or rate."""
_TOO_LARGE = 413
_LENGTH = {"contextlengthexceeded", "exceedcontextsizeerror", "requesttoolarge", "stringabovemaxlength"}
_CONTENT = {"contentfilter", "contentpolicyviolation", "responsibleaipolicyviolation", "datainspectionfailed"}
_REPLY = {"toolusefailed", "outputparsefailed"}
"""Codes without case and punctuation."""
_CALL_UNREAD = re.compile(rb"\bpars(?:e|ing) (?:the )?tool[ _]calls?\b", re.IGNORECASE)
"""What hosts without such a code say: "error parsing tool call", "Failed to parse tool call arguments as JSON"."""
_NAMES = ("code", "type", "status", "error_type")
_DEMANDS = ("tool_choice", "parallel_tool_calls")
"""Fields that demand a call."""
_DIGIT = "9 "
_FIT = 2_000
"""Characters of text that fit into every model's context."""
LONGEST = 16
"""Mean characters per token of a prompt that no tokenizer reaches."""
_KEPT = 4096
"""Number of latest conversations whose prompt tokens are remembered."""


class RefusedRequest(Exception):
    """An endpoint refuses a request: its reply, in one `line` and unchanged, and the `error` that this is unless the
    conversation is to blame. Never leaves the endpoint."""

    def __init__(self, line: str, error: Exception, status: int, reply: bytes) -> None:
        super().__init__(line)
        self.line, self.error, self.status, self.reply = line, error, status, reply


class UnreadableReply(Exception):
    """The host cannot read what its model wrote; `completion` holds that as a call, as far as the host shows it. Never
    leaves the endpoint."""

    def __init__(self, line: str, completion: Completion) -> None:
        super().__init__(line)
        self.completion = completion


class ConversationWarning(UserWarning):
    """An endpoint does not accept conversations as they grow: given once per model and kind."""


@dataclass(slots=True, eq=False)
class EndpointHistory:
    """What is known about an endpoint so far."""

    taken: bool = False
    """Whether it has accepted any request."""
    _warned: set[str] = field(default_factory=set[str])
    _prompts: OrderedDict[int, int] = field(default_factory=OrderedDict[int, int])
    """Token counts of conversations, by their hash."""

    def warn_once(self, kind: str, text: str) -> None:
        """Warn, unless a warning of this kind was given before."""
        if kind not in self._warned:
            self._warned.add(kind)
            warnings.warn(text, ConversationWarning, stacklevel=2)

    def find_shrunk_prompt(self, messages: Sequence[Message], tokens: int) -> tuple[int, int] | None:
        """The token counts of the previous prompt and of this one, if the previous is the beginning of this one and has
        no fewer tokens. None otherwise, or if the previous count is unknown or implausible."""
        before = self._prompts.get(_conversation_key(messages[:-2]))
        if before and LONGEST * before < sum(len(m.content) for m in messages[:-2]):
            before = None
        if tokens:
            self._prompts[_conversation_key(messages)] = tokens
        if len(self._prompts) > _KEPT:
            self._prompts.popitem(last=False)
        return (before, tokens) if before and 0 < tokens <= before else None


def _conversation_key(messages: Sequence[Message]) -> int:
    return hash(tuple((m.role, m.content) for m in messages))


# --- what the refusal says -------------------------------------------------------------------------------------------


def stated_verdict(status: int, reply: bytes) -> Verdict | None:
    """The verdict that the status or a code of a refusal states; None if they state none.

    >>> stated_verdict(400, b'{"error": {"code": "context_length_exceeded", "message": "Zu viel."}}')
    'length'
    """
    codes = set(_refusal_codes(reply))
    if codes & _CONTENT:
        return "content"
    if codes & _REPLY or (status >= 500 and _CALL_UNREAD.search(reply)):
        return "reply"
    return "length" if status == _TOO_LARGE or codes & _LENGTH else None


def failed_calls(reply: bytes) -> tuple[ToolCall, ...]:
    """The tool calls in what a host could not read, if it shows that; else one call without a name.

    >>> failed_calls(b'{"error": {"code": "tool_use_failed", "failed_generation": "act(left)"}}')
    (ToolCall(name='', arguments='act(left)', id='', extra=''),)
    """
    try:
        data: object = json.loads(reply)
    except (ValueError, RecursionError):
        data = None
    shown = (part.get("failed_generation") for part in _all_mappings(data))
    text = next((text for text in shown if isinstance(text, str)), "")
    return read_calls(text, "") or (ToolCall("", text),)


def _refusal_codes(reply: bytes) -> Iterator[str]:
    try:
        data: object = json.loads(reply)
    except (ValueError, RecursionError):
        return
    for part in _all_mappings(data):
        for name in _NAMES:
            if isinstance(code := part.get(name), str):
                yield re.sub("[^a-z]", "", code.lower())


def _all_mappings(data: object, depth: int = 8) -> Iterator[Mapping[str, object]]:
    """All mappings in a reply."""
    if isinstance(data, Mapping):
        yield cast("Mapping[str, object]", data)
    inner = list(cast("Mapping[str, object]", data).values()) if isinstance(data, Mapping) else data
    if isinstance(inner, list) and depth:
        for value in cast("list[object]", inner):
            yield from _all_mappings(value, depth - 1)


# --- what the endpoint does ------------------------------------------------------------------------------------------

Body = dict[str, Any]


class RefusalTests(NamedTuple):
    """The requests that show what a refusal is about."""

    short: Body
    long: Body
    free: Body | None = None


async def tested_verdict(tests: RefusalTests, takes: Callable[[Body], Awaitable[bool]]) -> Verdict:
    """The verdict, by whether the endpoint accepts these requests."""
    if not await takes(tests.short):
        return "form"
    if not await takes(tests.long):
        return "length"
    return "reply" if tests.free is not None and await takes(tests.free) else "content"


def make_refusal_tests(body: Mapping[str, Any], *, taken: bool) -> RefusalTests | None:
    """The tests for a refused request. None if its form is to blame in any case: an endpoint that has not accepted any
    request refuses the short beginning of a conversation."""
    for name in ("prompt", "input_ids"):
        if isinstance(ids := body.get(name), list) and ids:
            return RefusalTests({**body, name: ids[:1]}, {**body, name: ids[:1] * len(cast("list[int]", ids))})
    messages: list[dict[str, Any]] = body.get("messages") or []
    texts = sum(len(m["content"] or "") for m in messages)
    if not messages or not (taken or texts > _FIT or any(m["role"] == "assistant" for m in messages)):
        return None
    free = {name: value for name, value in body.items() if name not in _DEMANDS}
    return RefusalTests(
        {**free, "messages": _short_messages(messages)},
        {**free, "messages": _long_messages(messages)},
        free if "tools" in body else None,
    )


def _short_messages(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The beginning of the conversation and its new part, as short as possible; empty messages stay empty."""
    systems = [m for m in messages if m["role"] == "system"]
    new, others = _new_messages(messages), [m for m in messages if m["role"] != "system"]
    opening = others[:1] if new[0]["role"] == "assistant" and len(others) > len(new) else []
    return [_with_content(m, lambda text: text.strip()[:1]) for m in (*systems, *opening, *new)]


def _long_messages(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The conversation with digits in place of its new part."""
    new = _new_messages(messages)
    digits = (
        _with_content(m, lambda text: (_DIGIT * -(-len(text.encode("utf-8", "replace")) // 2)).strip()) for m in new
    )
    return [*messages[: len(messages) - len(new)], *digits]


def _with_content(message: dict[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """A message with changed content; a null beside tool calls stays."""
    return {**message, "content": message["content"] and change(message["content"])}


def _new_messages(messages: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """The messages since the previous call: the last reply and what followed it; at the beginning of a conversation,
    all."""
    said = [m for m in messages if m["role"] != "system"]
    return said[-2:] if len(said) > 2 else said or messages
