"""Files: what ships with sonde, where it keeps what it fetched or made once, writing one whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path


def data_file(env: str, *name: str) -> Traversable:
    """A file in the folder `data` of an environment: what it, its solver and its simulated user know. `NOTICE` names
    the sources."""
    return files("sonde").joinpath("envs", env, "data", *name)


def cache_root() -> Path:
    """`$SONDE_CACHE`, else `$XDG_CACHE_HOME/sonde`, else `~/.cache/sonde`. Need not exist yet."""
    if own := os.environ.get("SONDE_CACHE"):
        return Path(own).expanduser().absolute()
    shared = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(shared) if Path(shared).is_absolute() else Path.home() / ".cache") / "sonde"


@contextmanager
def writing(path: Path) -> Generator[None]:
    """Around everything that writes to a file: an error of the system (a full disk) names it, which the system itself
    does not do for a file that is open."""
    try:
        yield
    except OSError as e:
        if e.errno is None or e.filename is not None:
            raise
        raise OSError(e.errno, e.strerror, str(path)) from e


def write_atomically(path: Path, content: str | bytes, *, durable: bool = True) -> None:
    """Write a file so that it is there whole or not at all: what was there before stays until then. `durable`: a loss
    of power does not undo it, which takes some milliseconds."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with writing(path), temporary.open("wb") as f:
            f.write(content.encode() if isinstance(content, str) else content)
            if durable:
                f.flush()
                os.fsync(f.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if durable:
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
