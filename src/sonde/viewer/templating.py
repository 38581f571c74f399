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
_VARIABLE = re.compile(r"(--[a-z0-9]+): ([^;]+);")
OUTCOMES = {
    "win": "won",
    "loss": "lost: a mine, or a wrong final choice",
    "unreadable": "no answer could be read, which ends the episode",
    "out_of_turns": "out of turns, or out of room in the model's context",
    "error": "an external failure: network, endpoint, malformed reply, refusal of a host",
    "missing": "planned, but not in the run folder",
}


def read_asset(name: str) -> str:
    """The text of a style sheet, a script or a template."""
    return (files("sonde.viewer") / "templates" / name).read_text("utf-8")


def list_colours(drawing: str, *more: str, dark: bool = True) -> str:
    """The style sheet of a drawing that stands alone: the colours that it uses (and `more`), of the light theme, and
    with `dark` those of the dark theme for readers who prefer it."""
    light, night, *_ = (dict(_VARIABLE.findall(part)) for part in read_asset(STYLE).split("@media"))
    used = {name for name in light if f"var({name})" in drawing} | {*more}
    sheets = ["".join(f"{name}:{theme[name]};" for name in sorted(used & set(theme))) for theme in (light, night)]
    return f":root{{{sheets[0]}}}" + (f"@media(prefers-color-scheme:dark){{:root{{{sheets[1]}}}}}" if dark else "")


def embed_style(svg: str, *, dark: bool = False) -> str:
    """A board (`boards`) as a file of its own, with the rules and colours that it uses in it (`list_colours`)."""
    rules = re.findall(r"^(\.b-[^\n]+)$", read_asset(STYLE), re.MULTILINE)
    used = set(re.findall(r'class="([^"]*)"', svg)) - {"board"}
    names = {name for classes in used for name in classes.split()}
    styles = [rule for line in rules for rule in re.findall(r"\.b-[^{]+\{[^}]*\}", line)]
    kept = "".join(rule for rule in styles if rule[1:].split()[0] in names)
    opened, rest = svg.split(">", 1)
    style = f"{list_colours(kept + rest, dark=dark)}text{{font-family:system-ui,sans-serif}}{kept}"
    return f'{opened} xmlns="http://www.w3.org/2000/svg"><style>{style}</style>{rest}\n'


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
    return [piece for part in cut_text(text, limit) for piece in ([part] if part.code else split_invisible(part.text))]


def cut_text(text: str, limit: int = LIMIT) -> list[Piece]:
    """`text` in one piece, or its beginning and its end with what is left out between them.

    >>> [len(part.text) for part in cut_text("a" * 3000)]
    [1500, 27, 500]
    """
    if len(text) <= limit:
        return [Piece(text)]
    left_out = Piece(f" … {len(text) - limit:,} more characters … ", "left out of this page; the run folder has them")
    return [Piece(text[: limit - _TAIL]), left_out, Piece(text[-_TAIL:])]


def to_compact_json(value: Any, limit: int = 240) -> str:
    """A JSON value in one short line."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return make_visible(text if len(text) <= limit else text[:limit] + "…")


def to_indented_json(value: Mapping[str, Any]) -> str:
    """A JSON value over several lines."""
    return make_visible(json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True, default=str))
