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
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from sonde.core.errors import UserError
from sonde.core.tools import ToolCall

from .rendering import Renderer

_PROBE = "sonde_probe"
_ARGUMENTS = ("arguments", "parameters")
_DECODER = json.JSONDecoder()


class CallFormat(NamedTuple):
    """How a template writes a call: the mark before its JSON object, empty if there is none."""

    mark: str = ""


HERMES = CallFormat("<tool_call>")


def find_call_format(plain: Renderer, shown: Renderer, label: str) -> CallFormat:
    """The form of calls in the template of the model called `label`; `plain` renders without, `shown` with tools."""
    asked = (("user", "Go."),)
    if plain.render_messages(asked, speak=True) == shown.render_messages(asked, speak=True):
        raise UserError(
            f"tools: the chat template of {label!r} shows no tools; allowed: a model whose template does, or an agent "
            "that writes its answers (tools=false)"
        )
    text = shown.render_call(_PROBE, {"x": "y"})
    for start, found in _json_objects(text):
        if found.get("name") == _PROBE and any(name in found for name in _ARGUMENTS):
            return CallFormat(_mark_before(text[:start]))
    raise UserError(
        f"tools: the chat template of {label!r} writes calls in a form that is not read here, {text[-200:]!r}; "
        "allowed: JSON objects with name and arguments, or a server that reads the calls (models:http)"
    )


def _mark_before(text: str) -> str:
    """The mark that ends a text: a word in brackets, `<tool_call>` or `[TOOL_CALLS]`; empty if there is none."""
    text = text.rstrip().removesuffix("[").rstrip() if text.rstrip().endswith("][") else text.rstrip()
    for opens, closes in ("<>", "[]"):
        start = text.rfind(opens)
        if text.endswith(closes) and start >= 0 and "call" in text[start:].lower():
            return text[start:]
    return ""


def read_calls(text: str, form: CallFormat) -> tuple[ToolCall, ...]:
    """The calls in a reply. What follows a mark without being a call counts as one without a name.

    >>> read_calls('I ask.<tool_call>{"name": "say", "arguments": {"text": "Is it alive?"}}</tool_call>', HERMES)
    (ToolCall(name='say', arguments='{"text": "Is it alive?"}', id=''),)
    >>> read_calls('<tool_call>{"name": "say", "argum', HERMES)
    (ToolCall(name='', arguments='{"name": "say", "argum', id=''),)
    """
    if form.mark and form.mark in text:
        return tuple(call for part in text.split(form.mark)[1:] for call in _calls_in(part.strip()))
    bare = text.strip()
    if bare[:1] in ("{", "[") and not form.mark.startswith("<"):  # special tokens are not decoded, such as [TOOL_CALLS]
        return tuple(_calls_in(bare))
    return ()


def _calls_in(text: str) -> Iterator[ToolCall]:
    """The calls at the beginning of a text, one or a list of them."""
    try:
        found, _ = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        found = None
    rows = found if isinstance(found, list) else [found]
    for row in rows:
        given = next((row[name] for name in _ARGUMENTS if name in row), None) if isinstance(row, dict) else None
        if isinstance(row, dict) and isinstance(row.get("name"), str) and given is not None:
            yield ToolCall(row["name"], given if isinstance(given, str) else json.dumps(given))
        else:
            yield ToolCall("", text)


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
