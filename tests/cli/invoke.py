"""The `sonde` command, called in this process."""

from __future__ import annotations

from typer.testing import CliRunner

from sonde.cli.app import app


def run(*args: str, typed: str = "") -> str:
    """What it prints at 100 columns after this input, where it succeeds."""
    result = CliRunner().invoke(app, list(args), input=typed, env={"COLUMNS": "100"})
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


def failure(*args: str) -> str:
    """The error that ends it."""
    return str(CliRunner().invoke(app, list(args)).exception)
