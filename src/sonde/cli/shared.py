"""Options that several commands have, and what a shell offers to complete them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from sonde.core import invalid, names
from sonde.core.extras import need


def completing(kind: str) -> Callable[[str], list[str]]:
    """The names of a registry that begin as what is typed."""

    def begin(incomplete: str) -> list[str]:
        return [name for name in names(kind) if name.startswith(incomplete)]

    return begin


def _drawable(to: Path | None) -> Path | None:
    """The option's value; that figures cannot be drawn, or no file written, is told before anything is played."""
    if to is not None:
        need("--report", "matplotlib")
        above = next(folder for folder in to.absolute().parents if folder.exists())
        if to.is_dir() or not above.is_dir() or not os.access(above, os.W_OK):
            raise invalid("--report", str(to), "a file that can be written")
    return to


ReportOpt = Annotated[Path | None, typer.Option(help="Also write an HTML report here.", callback=_drawable)]
