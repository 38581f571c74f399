"""Whether a refused request is about its conversation, and if so, whether that is too long or says what is not wanted.

Hosts say so in a hundred sentences, and in as many languages. What decides here is what they do. Some name it by status
(413) or by a code; any other refusal is put to the test with two requests like the refused one:

1. *Short*: the same roles and fields, of every text one character. Refused as well: the conversation is not to blame,
   the request's form is, and every other conversation will fare alike.
2. *Long*: the conversation as it is, but for what is new in it, in whose place stand as many bytes of digits. Refused
   as well: the conversation is too long. Taken: it is what the new messages say.

Digits, because no filter minds them, and because they are more tokens than any text of as many bytes: a conversation
that has just outgrown the limit outgrows it with them, too. Prompts of token ids are tested with one id, alone and
repeated. It costs at most two calls in a conversation, at its end.

A host that does not refuse, but drops the beginning of what is too long, is found by its own count: a prompt that holds
all of an earlier one and more has more tokens (`Experience.shrunk`).

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

from sonde.core import Message

Verdict = Literal["form", "length", "content"]
"""What a refusal is about: any request of this form, or this conversation's length or content."""

ABOUT_REQUESTS = frozenset({400, 403, 413, 422, 451})
"""Statuses of refusals that may be about what is asked, not about who asks, where or how often."""
_TOO_LARGE = 413
_LENGTH = {"contextlengthexceeded", "exceedcontextsizeerror", "requesttoolarge", "stringabovemaxlength"}
_CONTENT = {"contentfilter", "contentpolicyviolation", "responsibleaipolicyviolation", "datainspectionfailed"}
"""Codes without case and punctuation."""
_NAMES = ("code", "type", "status", "error_type")
_DIGIT = "9 "
_FIT = 2_000
"""Characters of text that every model has room for."""
LONGEST = 16
"""Characters of a token, on average over a prompt, that no tokenizer comes to."""
_KEPT = 4096
"""Conversations whose prompt tokens are remembered, the latest ones."""


class Refused(Exception):
    """An endpoint refuses a request: what it said, in one `line` and as it is, and the `error` that this is unless the
    conversation is to blame. Never leaves the endpoint."""

    def __init__(self, line: str, error: Exception, status: int, reply: bytes) -> None:
        super().__init__(line)
        self.line, self.error, self.status, self.reply = line, error, status, reply


class ConversationWarning(UserWarning):
    """An endpoint does not take conversations as they grow: said once per model and kind."""


@dataclass(slots=True, eq=False)
class Experience:
    """What an endpoint has shown of itself so far."""

    taken: bool = False
    """Whether it has taken any request."""
    _warned: set[str] = field(default_factory=set[str])
    _prompts: OrderedDict[int, int] = field(default_factory=OrderedDict[int, int])
    """The tokens of conversations, by their hash."""

    def warn(self, kind: str, text: str) -> None:
        """Say this, unless something of the kind was said before."""
        if kind not in self._warned:
            self._warned.add(kind)
            warnings.warn(text, ConversationWarning, stacklevel=2)

    def shrunk(self, messages: Sequence[Message], tokens: int) -> tuple[int, int] | None:
        """The tokens that the prompt before had, and those of this one, where that one is the beginning of this one and
        has no fewer; None otherwise, or where nothing is known of it, or what is reported is no count at all."""
        before = self._prompts.get(_key(messages[:-2]))
        if before and LONGEST * before < sum(len(m.content) for m in messages[:-2]):
            before = None
        if tokens:
            self._prompts[_key(messages)] = tokens
        if len(self._prompts) > _KEPT:
            self._prompts.popitem(last=False)
        return (before, tokens) if before and 0 < tokens <= before else None


def _key(messages: Sequence[Message]) -> int:
    return hash(tuple((m.role, m.content) for m in messages))


# --- what the refusal says -------------------------------------------------------------------------------------------


def stated_verdict(status: int, reply: bytes) -> Verdict | None:
    """What the status or a code of a refusal says; None where they say nothing of the kind.

    >>> stated_verdict(400, b'{"error": {"code": "context_length_exceeded", "message": "Zu viel."}}')
    'length'
    """
    codes = set(_codes(reply))
    if codes & _CONTENT:
        return "content"
    return "length" if status == _TOO_LARGE or codes & _LENGTH else None


def _codes(reply: bytes) -> Iterator[str]:
    try:
        data: object = json.loads(reply)
    except (ValueError, RecursionError):
        return
    for part in _mappings(data):
        for name in _NAMES:
            if isinstance(code := part.get(name), str):
                yield re.sub("[^a-z]", "", code.lower())


def _mappings(data: object, depth: int = 8) -> Iterator[Mapping[str, object]]:
    """All mappings in a reply."""
    if isinstance(data, Mapping):
        yield cast("Mapping[str, object]", data)
    inner = list(cast("Mapping[str, object]", data).values()) if isinstance(data, Mapping) else data
    if isinstance(inner, list) and depth:
        for value in cast("list[object]", inner):
            yield from _mappings(value, depth - 1)


# --- what the endpoint does ------------------------------------------------------------------------------------------

Body = dict[str, Any]


class Tests(NamedTuple):
    """The two requests that tell what a refusal is about."""

    short: Body
    long: Body


async def tested_verdict(tests: Tests, takes: Callable[[Body], Awaitable[bool]]) -> Verdict:
    """What an endpoint refuses, by whether it takes these requests."""
    if not await takes(tests.short):
        return "form"
    return "content" if await takes(tests.long) else "length"


def tests_of(body: Mapping[str, Any], *, taken: bool) -> Tests | None:
    """The tests for a refused request. None where its form is to blame anyway: an endpoint that has not `taken` any
    request refuses the short beginning of a conversation."""
    for name in ("prompt", "input_ids"):
        if isinstance(ids := body.get(name), list) and ids:
            return Tests({**body, name: ids[:1]}, {**body, name: ids[:1] * len(cast("list[int]", ids))})
    messages: list[dict[str, str]] = body.get("messages") or []
    texts = sum(len(m["content"]) for m in messages)
    if not messages or not (taken or texts > _FIT or any(m["role"] == "assistant" for m in messages)):
        return None
    return Tests({**body, "messages": _short(messages)}, {**body, "messages": _long(messages)})


def _short(messages: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """The beginning of the conversation and what is new in it, as short as can be; what is empty stays so."""
    systems = [m for m in messages if m["role"] == "system"]
    new, others = _new(messages), [m for m in messages if m["role"] != "system"]
    opening = others[:1] if new[0]["role"] == "assistant" and len(others) > len(new) else []
    return [{**m, "content": m["content"].strip()[:1]} for m in (*systems, *opening, *new)]


def _long(messages: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """The conversation with digits in place of what is new."""
    new = _new(messages)
    digits = ({**m, "content": (_DIGIT * -(-len(m["content"].encode("utf-8", "replace")) // 2)).strip()} for m in new)
    return [*messages[: len(messages) - len(new)], *digits]


def _new(messages: Sequence[dict[str, str]]) -> Sequence[dict[str, str]]:
    """What was said since the call before: the last reply and what followed it; of a conversation that begins, all."""
    said = [m for m in messages if m["role"] != "system"]
    return said[-2:] if len(said) > 2 else said or messages
