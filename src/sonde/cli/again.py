"""What was typed, as one command that measures the same again."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from sonde.core import UserError

from .shared import check_writable

WHERE = ("runs", "report", "fresh", "cache", "concurrency", "processes", "on", "as_json", "resume")
"""Options that change nothing in what is measured, only where and how it is."""


def check_submission(to: Path, suite: str | None, config: Path | None) -> None:
    """Raise `UserError` for a result that could not be written, or not be measured again by its command."""
    check_writable("--submit", to)
    if suite is None:
        raise UserError("--submit: allowed: together with --suite")
    if config is not None:
        raise UserError("--submit: allowed: without --config, a file that others do not have; see -o KEY=VALUE")


def again(context: typer.Context) -> str:
    """The command with the options that were given, in the order of its help."""
    return shlex.join(["sonde", str(context.info_name), *_words(context)])


def _words(context: typer.Context) -> Iterator[str]:
    for parameter in context.command.params:
        name = str(parameter.name)
        source = context.get_parameter_source(name)
        if name in WHERE or source is None or source.name != "COMMANDLINE":
            continue
        value: Any = context.params[name]
        option = getattr(parameter, "opts", [name])[0] if parameter.param_type_name == "option" else None
        if isinstance(value, bool):
            yield str(option if value else parameter.secondary_opts[0])
            continue
        for one in value if isinstance(value, list | tuple) else [value]:
            yield from ([option] if option else [])
            yield str(one)
