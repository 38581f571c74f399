"""Where sonde keeps on this machine what it fetched or made once."""

from __future__ import annotations

import os
from pathlib import Path


def cache_root() -> Path:
    """`$SONDE_CACHE`, else `$XDG_CACHE_HOME/sonde`, else `~/.cache/sonde`. Need not exist yet."""
    if own := os.environ.get("SONDE_CACHE"):
        return Path(own).expanduser().absolute()
    shared = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(shared) if Path(shared).is_absolute() else Path.home() / ".cache") / "sonde"
