"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sonde.core.extras import need


def _drawable(to: Path | None) -> Path | None:
    """The option's value; that figures cannot be drawn is told before anything is played."""
    if to is not None:
        need("--report", "matplotlib")
    return to


ReportOpt = Annotated[Path | None, typer.Option(help="Also write an HTML report here.", callback=_drawable)]
