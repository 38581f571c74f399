"""Chat templates that keep history unchanged, and a check that a template terminates.

Some model families have templates that render an earlier turn differently from when the reply was requested. Every turn
of an episode then becomes a training row of its own, and play recomputes all earlier turns. Qwen3 without thinking puts
an empty thought before the requested reply and leaves it out of earlier replies. Mistral (version 3 of its format)
moves the system message to the last user message. (It also puts a space before earlier replies; `chat.py` counts that
space as part of the reply.)

`TRAINING` has replacements, chosen by name: `template={"training": "qwen3", "enable_thinking": False}`, wherever a
template is given (in play, training and evaluation alike; a saved model keeps its own). For a single turn they give
exactly the text of the tokenizer's own template. `rendering.py` checks this, so a name that does not fit the model is
refused.

`check_template` guards against templates that never end. A template is a program by whoever made the model.
transformers runs it in a sandbox that blocks access to files, but not endless loops or texts of gigabytes, and code in
this process cannot be stopped. So every template first renders some short conversations in a process of its own, with
limits on time and memory.

Source: the tokens are those of the formats (the chat templates of Qwen3-8B and Mistral-7B-Instruct-v0.3); the templates
are ours. Departure: neither handles tools, and reasoning stays in a message that contains it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from sonde.core.errors import UserError

QWEN3 = (
    "{% set thought = '<think>\\n\\n</think>\\n\\n' if enable_thinking is false else '' %}"
    "{% set opening = '<|im_start|>assistant\\n' ~ thought %}"
    "{% for m in messages %}"
    "{{ opening if m.role == 'assistant' else '<|im_start|>' ~ m.role ~ '\\n' }}{{ m.content }}{{ '<|im_end|>\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ opening }}{% endif %}"
)
MISTRAL = (
    "{% set held = namespace(system='') %}{{ bos_token }}"
    "{% for m in messages %}"
    "{% if m.role == 'system' %}{% set held.system = m.content ~ '\\n\\n' %}"
    "{% elif m.role == 'user' %}{{ '[INST] ' ~ held.system ~ m.content ~ '[/INST]' }}{% set held.system = '' %}"
    "{% else %}{{ m.content ~ eos_token }}{% endif %}"
    "{% endfor %}"
)
TRAINING = {"qwen3": QWEN3, "mistral": MISTRAL}
"""Training templates by the name that `template={"training": NAME}` gives."""


# --- check that a template ends ---------------------------------------------------------------------------------------


SECONDS = 5
"""CPU time; the limit on wall time is ten times as much, whatever the load of the machine."""
MEMORY = 1 << 30
LONGEST = 1 << 20
"""Most characters that a conversation of a few words may render to."""
_HUGE, _SILENT = 4, 5
"""Exit statuses that say so."""
_CONVERSATIONS = (
    (("user", "Hello"),),
    (("system", "Be brief."), ("user", "Hello"), ("assistant", "Yes."), ("user", "Go on.")),
)
_PROGRAM = """
import datetime, json, sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
except (ImportError, ValueError, OSError):
    pass  # not supported by this system; the limit on wall time still holds
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

class Generation(Extension):
    tags = {"generation"}
    def parse(self, parser):
        next(parser.stream)
        return parser.parse_statements(["name:endgeneration"], drop_needle=True)

def raise_exception(message):
    raise ValueError(message)

given = json.load(sys.stdin)
env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
env.filters["tojson"] = lambda x, **more: json.dumps(x)
env.globals |= {"raise_exception": raise_exception, "strftime_now": datetime.datetime.now().strftime}
for text in given["templates"]:
    seen = []
    for messages in given["conversations"]:
        for speak in (True, False):
            try:
                template = env.from_string(text)
                shown = template.render(messages=messages, add_generation_prompt=speak, **given["tokens"])
            except MemoryError:
                sys.exit(HUGE)
            except Exception:
                continue  # a template that refuses a conversation terminates
            if len(shown) > LONGEST:
                sys.exit(HUGE)
            seen.append(bool(shown.strip()))
    if seen and not any(seen):
        sys.exit(SILENT)
"""


def check_template(model: str, tokenizer: Any) -> None:
    """Raise `UserError` if a chat template of this tokenizer takes too long or too much memory, or shows nothing."""
    template = getattr(tokenizer, "chat_template", None)
    templates = tuple(template.values()) if isinstance(template, Mapping) else (template,)
    tokens = {name: str(value) for name, value in tokenizer.special_tokens_map.items() if isinstance(value, str)}
    texts = tuple(text for text in templates if isinstance(text, str))
    if texts and (why := _find_defect(texts, json.dumps(tokens, sort_keys=True))):
        raise UserError(
            f"model: {model!r}: its chat template {why}; allowed: one that shows a conversation and terminates"
        )


@lru_cache(maxsize=64)
def _find_defect(templates: tuple[str, ...], tokens: str) -> str:
    """What is wrong with these templates; empty if each of them terminates."""
    numbers = {"SECONDS": SECONDS, "MEMORY": MEMORY, "LONGEST": LONGEST, "HUGE": _HUGE, "SILENT": _SILENT}
    program = "".join(f"{name} = {value}\n" for name, value in numbers.items()) + _PROGRAM
    conversations = [[{"role": role, "content": text} for role, text in told] for told in _CONVERSATIONS]
    given = {"templates": templates, "conversations": conversations, "tokens": json.loads(tokens)}
    try:  # -P: jinja2 is the installed one, not a file of this name in the current folder
        done = subprocess.run(
            [sys.executable, "-P", "-c", program], input=json.dumps(given), capture_output=True, text=True,
            timeout=10 * SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"was not rendered within {10 * SECONDS} seconds"
    if done.returncode == _HUGE:
        return f"makes more than {LONGEST:,} characters of a few words, or takes more than {MEMORY >> 20:,} MB"
    if done.returncode == _SILENT:
        return "shows nothing of a conversation"
    return f"was not rendered within {SECONDS} seconds" if done.returncode < 0 else ""
