"""What torch and safetensors raise while they write to a disk that is full or fails, as an error that names the folder.

They have types of their own for it (`RuntimeError`, `SafetensorError`), which nothing tells from defects but the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sonde.core.errors import StoreError

_DISK = re.compile(r"No space left|StorageFull|File too large|FileTooLarge|PytorchStreamWriter|file write failed")


@contextmanager
def saving(folder: Path) -> Iterator[None]:
    """Around everything that saves models or checkpoints to `folder`."""
    try:
        yield
    except OSError:
        raise
    except Exception as e:
        if not _DISK.search(str(e)):
            raise
        raise StoreError(f"{folder}: cannot be written; is the disk full? ({' '.join(str(e).split())[:200]})") from e
