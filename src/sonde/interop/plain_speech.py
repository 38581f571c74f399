"""Free text where a trainer wants tools: whatever a model says is a call of `say`, the answer the user's next message.

TRL's `environment_factory` refuses models whose template knows no tools (Gemma, Llama 3, sonde-tiny, ...), and models
that know some have to write a call around every word. Under this template neither the one nor the other: a conversation
of calls reads, token for token, as the conversation of user and assistant that it is.
"""

from __future__ import annotations

import copy
from typing import Any

from sonde.core import invalid

_ANCHOR = "where the agent speaks"


def plain_speech(tokenizer: Any) -> Any:
    """A copy of a tokenizer with such a template, and with what parses a turn (`response_template`)."""
    if not tokenizer.chat_template:
        raise invalid("plain_speech: chat_template", tokenizer.chat_template, "a tokenizer with one")
    spoken = copy.deepcopy(tokenizer)
    spoken.chat_template = _SPOKEN + tokenizer.chat_template
    opened, plain = (_rendered(tokenizer, add_generation_prompt=flag) for flag in (True, False))
    anchor = opened.removeprefix(plain)
    if anchor == opened or not anchor:
        raise invalid("plain_speech: chat_template", tokenizer.chat_template[:60], "one with a generation prompt")
    call = {"type": "function", "function": {"name": "say", "arguments": {"text": "{content}"}}}
    said = {"close": tokenizer.eos_token, "content": "text", "transform": [call]}
    spoken.response_template = {
        "defaults": {"role": "assistant"}, "start_anchor": anchor, "fields": {"tool_calls": said}
    }  # fmt: skip
    return spoken


def _rendered(tokenizer: Any, *, add_generation_prompt: bool) -> str:
    asked = [{"role": "user", "content": _ANCHOR}]
    return tokenizer.apply_chat_template(asked, tokenize=False, add_generation_prompt=add_generation_prompt)


_SPOKEN = """\
{%- set spoken = namespace(rows=[]) -%}
{%- for m in messages -%}
{%- if m.tool_calls -%}
{%- set call = m.tool_calls[0].function -%}
{%- set other = call.name ~ ' ' ~ (call.arguments | tojson) -%}
{%- set said = call.arguments.text | default('') if call.name == 'say' else other -%}
{%- set spoken.rows = spoken.rows + [{'role': 'assistant', 'content': said}] -%}
{%- else -%}
{%- set spoken.rows = spoken.rows + [{'role': 'user' if m.role == 'tool' else m.role, 'content': m.content}] -%}
{%- endif -%}
{%- endfor -%}
{%- set messages = spoken.rows -%}
{%- set tools = none -%}
"""
