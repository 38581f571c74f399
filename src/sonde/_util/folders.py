"""Files: data that ships with sonde, the cache, and atomic writes."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path


def data_file(env: str, *name: str) -> Traversable:
    """The path of a file in an environment's folder `data`: the knowledge of its solver and its simulated user.
    `NOTICE` lists licences."""
    return files("sonde").joinpath("envs", env, "data", *name)


def cache_root() -> Path:
    """`$SONDE_CACHE`, else `$XDG_CACHE_HOME/sonde`, else `~/.cache/sonde`. It need not exist yet."""
    if own := os.environ.get("SONDE_CACHE"):
        return Path(own).expanduser().absolute()
    shared = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(shared) if Path(shared).is_absolute() else Path.home() / ".cache") / "sonde"


@contextmanager
def write_errors(path: Path) -> Generator[None]:
    """Add the file name to operating-system errors while writing (a full disk); errors on open files lack it."""
    try:
        yield
    except OSError as e:
        if e.errno is None or e.filename is not None:
            raise
        raise OSError(e.errno, e.strerror, str(path)) from e


def write_atomically(path: Path, content: str | bytes, *, durable: bool = True) -> None:
    """Write a file atomically: until it is complete, the previous content stays. `durable` also survives a power loss
    and costs some milliseconds."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with write_errors(path), temporary.open("wb") as f:
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
    """Flush a folder's entries to disk, on systems that support it."""
    if os.name == "nt":
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
