"""Whether a chat template comes to an end: tried in a process of its own, with a limit on time and on memory.

A template is a program of whoever made the model. The sandbox that transformers runs it in keeps it from files, not
from loops without end or texts of gigabytes, and what runs in this process cannot be stopped. So it is rendered once
there before it is rendered here, for some short conversations. What it shows is for others to judge (`chat.py`), as
long as it shows anything.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from sonde.core.errors import UserError

SECONDS = 5
"""Of a processor; in all, however busy the machine is, ten times as much."""
MEMORY = 1 << 30
LONGEST = 1 << 20
"""Characters that a conversation of a few words may take."""
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
    pass  # a system without them; the time in all holds there too
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
                continue  # a template that refuses a conversation has come to an end
            if len(shown) > LONGEST:
                sys.exit(HUGE)
            seen.append(bool(shown.strip()))
    if seen and not any(seen):
        sys.exit(SILENT)
"""


def check_template(model: str, tokenizer: Any) -> None:
    """Raise `UserError` for a tokenizer with a template that takes too long, or too much memory."""
    found = getattr(tokenizer, "chat_template", None)
    templates = tuple(found.values()) if isinstance(found, Mapping) else (found,)
    tokens = {name: str(value) for name, value in tokenizer.special_tokens_map.items() if isinstance(value, str)}
    texts = tuple(text for text in templates if isinstance(text, str))
    if texts and (why := _why_not(texts, json.dumps(tokens, sort_keys=True))):
        raise UserError(f"model: {model!r}: its chat template {why}; allowed: one that shows a conversation and ends")


@lru_cache(maxsize=64)
def _why_not(templates: tuple[str, ...], tokens: str) -> str:
    """What is wrong with these templates; empty where each of them ends."""
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
