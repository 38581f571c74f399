"""The `sonde` command, called in this process."""

from __future__ import annotations

import json
from typing import Any

from typer.testing import CliRunner, Result

import sonde.cli.terminal  # noqa: F401  here, not in the first test: a console keeps the COLUMNS that it is made under
from sonde.cli.app import app
from sonde.core import SondeError

COLUMNS = 100
"""The width of the terminal; modules of this folder set it by a constant of the same name."""


def invoke(*args: str, columns: int = 0, **more: Any) -> Result:
    """Run the command on a terminal of this width; `more` goes to `CliRunner.invoke`."""
    return CliRunner().invoke(app, list(args), env={"COLUMNS": str(columns or COLUMNS)}, **more)


def run(*args: str, columns: int = 0, typed: str = "") -> str:
    """What a command that succeeds prints after this input."""
    result = invoke(*args, columns=columns, input=typed)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


def run_json(*args: str) -> Any:
    """What a command that succeeds prints with `--json`."""
    return json.loads(run(*args, "--json"))


def failure(*args: str, columns: int = 0) -> str:
    """The message of a command that fails, as `sonde.cli.main` would print it."""
    result = invoke(*args, columns=columns)
    assert result.exit_code != 0, result.output
    if isinstance(result.exception, (SondeError, OSError)):
        return str(result.exception)
    assert isinstance(result.exception, SystemExit), f"a defect, not a mistake: {result.exception!r}"
    return result.output
