"""Save and load model files: errors of a full disk that name the folder, and loading without progress bars.

torch and safetensors have error types of their own for a full disk (`RuntimeError`, `SafetensorError`), which only the
message, or a look at the disk, separates from defects. The system's errors name no file if an open file cannot be
written.
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
"""Bytes that a disk still accepts unless it is full."""


@contextmanager
def report_full_disk(folder: Path) -> Iterator[None]:
    """Wrap code that saves models or checkpoints to `folder`; a full disk raises `StoreError`."""
    try:
        yield
    except SondeError:
        raise
    except Exception as e:
        if not _is_disk_error(e, folder):
            raise
        raise StoreError(f"{folder}: cannot be written; is the disk full? ({' '.join(str(e).split())[:200]})") from e


def _is_disk_error(e: Exception, folder: Path) -> bool:
    """Whether the error says that the disk is full, or has a type that writers use while the disk accepts nothing
    more."""
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


# --- where a model comes from -----------------------------------------------------------------------------------------

COMMAND = "command.txt"
"""The file beside a trained model that holds the command lines which made it."""


def read_command(model: str) -> str:
    """The commands that made the model of a folder, joined by `&&`; empty if none are recorded in it or its parent."""
    folder = Path(model)
    files = (place / COMMAND for place in (folder, folder.parent)) if folder.is_dir() else ()
    return next((file.read_text("utf-8").strip() for file in files if file.is_file()), "")


# --- progress bars ----------------------------------------------------------------------------------------------------


@contextmanager
def hide_progress_bars() -> Iterator[None]:
    """Hide transformers' progress bars, which would interfere with the caller's output."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
