"""Files: what ships with sonde, where it keeps what it fetched or made once, writing one whole or not at all."""

from __future__ import annotations

import os
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path


def data_file(*name: str) -> Traversable:
    """A file of `sonde/data`: what environments, solvers and simulated users know. `NOTICE` says whose it is."""
    return files("sonde").joinpath("data", *name)


def cache_root() -> Path:
    """`$SONDE_CACHE`, else `$XDG_CACHE_HOME/sonde`, else `~/.cache/sonde`. Need not exist yet."""
    if own := os.environ.get("SONDE_CACHE"):
        return Path(own).expanduser().absolute()
    shared = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(shared) if Path(shared).is_absolute() else Path.home() / ".cache") / "sonde"


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all."""
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("w", encoding="utf-8") as f:
        f.write(text)
        f.flush()
        os.fsync(f.fileno())
    temporary.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable, on systems where folders can be."""
    if os.name == "nt":
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
