"""What is raised while models are written to a disk that is full or fails, as an error that names the folder.

torch and safetensors have types of their own for it (`RuntimeError`, `SafetensorError`), which nothing tells from
defects but the text, or the disk itself; the system's errors name no file where one that is open cannot be written.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sonde.core.errors import SondeError, StoreError

_DISK = re.compile(r"No space left|StorageFull|File too large|FileTooLarge|PytorchStreamWriter|file write failed")
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_ROOM = 1 << 20
"""Bytes that a disk takes which is not full."""


@contextmanager
def saving(folder: Path) -> Iterator[None]:
    """Around everything that saves models or checkpoints to `folder`."""
    try:
        yield
    except SondeError:
        raise
    except Exception as e:
        if not _is_of_disk(e, folder):
            raise
        raise StoreError(f"{folder}: cannot be written; is the disk full? ({' '.join(str(e).split())[:200]})") from e


def _is_of_disk(e: Exception, folder: Path) -> bool:
    """Whether it says so, or is of a type that writers have and the disk takes nothing more."""
    if isinstance(e, OSError):
        return e.errno in _FULL
    return bool(_DISK.search(str(e))) or (isinstance(e, RuntimeError) and not _has_room(folder))


def _has_room(folder: Path) -> bool:
    file = folder / ".room"
    try:
        file.write_bytes(bytes(_ROOM))
    except OSError as e:
        return e.errno not in _FULL
    finally:
        file.unlink(missing_ok=True)
    return True


# --- progress bars ----------------------------------------------------------------------------------------------------


@contextmanager
def no_bars() -> Iterator[None]:
    """None of them meanwhile."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
