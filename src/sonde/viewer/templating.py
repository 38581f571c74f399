"""Templates, assets and safe text of all pages.

Templates escape all text of models, environments and configurations. The rest is done here: long text is cut, and
invisible characters are shown by their code (`_util.escaping`).
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from sonde._util.escaping import Piece, make_visible, split_invisible
from sonde.evaluation.failure_kinds import LABELLED, MEASURES
from sonde.evaluation.rows import TRUNCATED

from .information_losses import CAUSES, MEANINGS

LIMIT = 2000
"""Maximum characters of a message that are shown; of a longer one, the beginning and the end."""
_TAIL = 500
STYLE = "style.css"
OUTCOMES = {
    "win": "won",
    "loss": "lost: a mine, or a wrong final choice",
    "format": "no answer could be read, which ends the episode",
    "timeout": "out of turns, or out of room in the model's context",
    "error": "an external failure: network, endpoint, malformed reply, refusal of a host",
    "missing": "planned, but not in the run folder",
}


def read_asset(name: str) -> str:
    """The text of a style sheet, a script or a template."""
    return (files("sonde.viewer") / "templates" / name).read_text("utf-8")


def embed_style(svg: str) -> str:
    """A board (`boards`) as a file of its own: with the colours of the light theme in it."""
    css = read_asset(STYLE)
    colours = dict(re.findall(r"(--[a-z0-9]+): ([^;]+);", css[: css.index("@media")]))
    rules = re.findall(r"^(\.b-[^\n]+)$", css, re.MULTILINE)
    used = set(re.findall(r'class="([^"]*)"', svg)) - {"board"}
    names = {name for classes in used for name in classes.split()}
    styles = [rule for line in rules for rule in re.findall(r"\.b-[^{]+\{[^}]*\}", line)]
    kept = "".join(rule for rule in styles if rule[1:].split()[0] in names)
    for name, value in colours.items():
        kept = kept.replace(f"var({name})", value)
    opened, rest = svg.split(">", 1)
    style = f"<style>text{{font-family:system-ui,sans-serif}}{kept}</style>"
    return f'{opened} xmlns="http://www.w3.org/2000/svg">{style}{rest}\n'


def hash_script(script: str) -> str:
    """The hash by which a content security policy allows a script."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def template_environment() -> Any:
    """The jinja environment: it escapes everything, and an unknown name is an error."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    env = Environment(
        loader=FunctionLoader(read_asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters.update({"pieces": split_pieces, "plain": make_visible})
    causes = {key: (name, MEANINGS[key]) for key, name in CAUSES.items()}
    env.globals.update(truncated=TRUNCATED, kinds=OUTCOMES, causes=causes, failure_kinds=MEASURES, labelled=LABELLED)
    return env


def render_template(name: str, **values: Any) -> str:
    """Render a template of this package."""
    return template_environment().get_template(name).render(**values)


def split_pieces(text: str, limit: int = LIMIT) -> list[Piece]:
    """Split `text` for a template: invisible characters become pieces of their own, and a long text is cut.

    >>> split_pieces("a\\u202eb")
    [Piece(text='a', code=''), Piece(text='U+202E', code='RIGHT-TO-LEFT OVERRIDE'), Piece(text='b', code='')]
    """
    if len(text) <= limit:
        return split_invisible(text)
    head, tail = text[: limit - _TAIL], text[-_TAIL:]
    left_out = Piece(f" … {len(text) - limit:,} more characters … ", "left out of this page; the run folder has them")
    return [*split_invisible(head), left_out, *split_invisible(tail)]


def to_compact_json(value: Any, limit: int = 240) -> str:
    """A JSON value in one short line."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return make_visible(text if len(text) <= limit else text[:limit] + "…")


def to_indented_json(value: Mapping[str, Any]) -> str:
    """A JSON value over several lines."""
    return make_visible(json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True, default=str))
