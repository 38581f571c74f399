"""What is raised while models are written to a disk that is full or fails, as an error that names the folder.

torch and safetensors have types of their own for it (`RuntimeError`, `SafetensorError`), which nothing tells from
defects but the text; the system's errors name no file where one that is open cannot be written.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sonde.core.errors import StoreError

_DISK = re.compile(r"No space left|StorageFull|File too large|FileTooLarge|PytorchStreamWriter|file write failed")
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def saving(folder: Path) -> Iterator[None]:
    """Around everything that saves models or checkpoints to `folder`."""
    try:
        yield
    except Exception as e:
        if not (e.errno in _FULL if isinstance(e, OSError) else _DISK.search(str(e))):
            raise
        raise StoreError(f"{folder}: cannot be written; is the disk full? ({' '.join(str(e).split())[:200]})") from e
