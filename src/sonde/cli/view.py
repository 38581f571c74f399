"""`sonde view`: the application and the folder of pages, as commands."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from sonde.core import invalid
from sonde.viewer.site.export import Extent, export
from sonde.viewer.site.server import serve

from .terminal import stderr


def serve_site(places: Sequence[Path], port: int | None, browser: bool, out: Console, as_json: bool) -> None:
    """Answer until interrupted; the address goes to standard output."""
    if port is not None and not 0 <= port < 2**16:
        raise invalid("--port", port, "0 to 65535")

    def started(address: str) -> None:
        if as_json:
            print(json.dumps({"address": address}), flush=True)
        else:
            out.print(f"{address}\nCtrl-C ends it.", highlight=False, soft_wrap=True)

    serve(places, port=port, browser=browser, on_start=started)


def export_site(places: Sequence[Path], to: Path, extent: Extent, out: Console, as_json: bool) -> None:
    """Write the pages as files."""
    for option, given, least in (("--episodes", extent.episodes, 1), ("--comparisons", extent.comparisons, 0)):
        if given < least:
            raise invalid(option, given, f"{least} or more")
    first = export(places, to, extent, on_progress=lambda line: stderr.print(line, highlight=False, markup=False))
    if as_json:
        print(json.dumps({"written": str(first)}))
    else:
        out.print(f"written: {first}", highlight=False, soft_wrap=True)
