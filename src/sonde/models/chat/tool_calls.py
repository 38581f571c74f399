"""Read tool calls in the replies of local models, in the form in which the model's own chat template writes them.

    <tool_call>{"name": "say", "arguments": {"text": "..."}}</tool_call>        Qwen 2.5 and 3, Hermes, SmolLM 3, ...
    [TOOL_CALLS][{"name": "say", "arguments": {"text": "..."}}]                 Mistral
    {"name": "say", "parameters": {"text": "..."}}                              Llama 3.1 and later

What these have in common is a JSON object with a name and arguments, between marks or alone. So no table of families is
needed: the template is asked to render a call of a probe, and the object and the mark before it are found in the
rendering. A template that writes its calls in another form (XML, Python) is refused, as is one that shows no tools.

History is not rendered again: an assistant message stays the text that the model wrote, so the ids that it sampled go
back into the prompt unchanged. Departure: a server's parsers also repair calls that are not JSON; here such a call
counts as one with bad arguments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from sonde.core.errors import UserError
from sonde.core.tools import ToolCall

from .rendering import Renderer

_PROBE = "sonde_probe"
_ARGUMENTS = ("arguments", "parameters")
_DECODER = json.JSONDecoder()


HERMES = "<tool_call>"
"""The mark of the first form above."""


def find_call_mark(plain: Renderer, shown: Renderer, label: str) -> str:
    """The mark before the JSON object of a call in the template of the model called `label`, empty if there is none;
    `plain` renders without, `shown` with tools."""
    asked = (("user", "Go."),)
    if plain.render_messages(asked, speak=True) == shown.render_messages(asked, speak=True):
        raise UserError(
            f"tools: the chat template of {label!r} shows no tools; allowed: a model whose template does, or an agent "
            "that writes its answers (tools=false)"
        )
    text = shown.render_call(_PROBE, {"x": "y"})
    for start, found in _json_objects(text):
        if found.get("name") == _PROBE and any(name in found for name in _ARGUMENTS):
            return _mark_before(text[:start])
    raise UserError(
        f"tools: the chat template of {label!r} writes calls in a form that is not read here, {text[-200:]!r}; "
        "allowed: JSON objects with name and arguments, or a server that reads the calls (models:http)"
    )


def _mark_before(text: str) -> str:
    """The mark that ends a text: a word in brackets, `<tool_call>` or `[TOOL_CALLS]`; empty if there is none."""
    text = text.rstrip()
    if text.endswith("]["):  # a list of calls begins behind the mark
        text = text.removesuffix("[")
    found = re.search(r"(?:<[^<]*>|\[[^\[]*\])\Z", text)
    return found[0] if found and "call" in found[0].lower() else ""


def read_calls(text: str, mark: str) -> tuple[ToolCall, ...]:
    """The calls in a reply, each behind this mark; if there is none in it, what the whole reply holds. What follows a
    mark without being a call counts as one without a name.

    >>> read_calls('I ask.<tool_call>{"name": "say", "arguments": {"text": "Is it alive?"}}</tool_call>', HERMES)
    (ToolCall(name='say', arguments='{"text": "Is it alive?"}', id=''),)
    >>> read_calls('<tool_call>{"name": "say", "argum', HERMES)
    (ToolCall(name='', arguments='{"name": "say", "argum', id=''),)
    """
    if mark and mark in text:
        return tuple(call for part in text.split(mark)[1:] for call in _calls_in(part.strip()))
    bare = text.strip()
    if bare[:1] in ("{", "[") and not mark.startswith("<"):  # special tokens are not decoded, such as [TOOL_CALLS]
        return tuple(_calls_in(bare))
    return ()


def _calls_in(text: str) -> list[ToolCall]:
    """The calls at the beginning of a text, one or a list of them; one without a name for what is no call."""
    try:
        found, _ = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        found = None
    return [_read_call(row) or ToolCall("", text) for row in (found if isinstance(found, list) else [found])]


def _read_call(row: object) -> ToolCall | None:
    """The call that a JSON value is; None if it has no name or no arguments."""
    if not isinstance(row, dict) or not isinstance(row.get("name"), str):
        return None
    given = next((row[name] for name in _ARGUMENTS if name in row), None)
    if given is None:
        return None
    return ToolCall(row["name"], given if isinstance(given, str) else json.dumps(given))


def _json_objects(text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The JSON objects in a text with their places."""
    at = text.find("{")
    while at >= 0:
        try:
            found, _ = _DECODER.raw_decode(text, at)
            yield at, found
        except ValueError:
            pass
        at = text.find("{", at + 1)
