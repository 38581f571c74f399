"""`sonde leaderboard`: a folder of results as tables, or as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sonde.evaluation.leaderboard import board

from . import tables
from .shared import JsonOpt
from .terminal import out, stderr


def leaderboard(
    results: Annotated[Path, typer.Argument(help="A folder with files of `sonde eval --submit`.")] = Path("results"),
    to: Annotated[Path | None, typer.Option("--export", help="Write the page into this new folder instead.")] = None,
    as_json: JsonOpt = False,
) -> None:
    """Show who came to what in every suite, and how well each agent asks, decides and follows the format."""
    found = board(results)
    for result, reasons in found.stale:
        for why in reasons:
            stderr.print(
                f"sonde: out of date: {result.agent} in {result.suite}: {why}; again: {result.command}",
                highlight=False, markup=False, soft_wrap=True,
            )  # fmt: skip
    if to is not None:
        from sonde.viewer.leaderboard import export

        first = export(found, to)
        if as_json:
            out.print_json(data={"written": str(first)})
        else:
            out.print(f"written: {first}", highlight=False, soft_wrap=True)
    elif as_json:
        out.print_json(data=found.to_json())
    else:
        out.print(tables.leaderboard(found))
