"""The templates of all pages, and the files that stand beside them. What others wrote is escaped by every template."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from sonde._util.escaping import plain
from sonde.evaluation.rows import TRUNCATED

from .text import pieces


def asset(name: str) -> str:
    """A style sheet or a script."""
    return (files("sonde.viewer") / "templates" / name).read_text("utf-8")


def fingerprint(script: str) -> str:
    """What a page's content policy knows a script by."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def templates() -> Any:
    """jinja's environment: everything is escaped, and a name that is missing is an error."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    env = Environment(
        loader=FunctionLoader(asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters.update(pieces=pieces, plain=plain)
    env.globals.update(truncated=TRUNCATED)
    return env
