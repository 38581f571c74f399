"""Parquet files with page checksums: writing and verified reading for all of sonde.

Without checksums, a flipped bit in a page reads back as another value. An unreadable file is a `StoreError` naming the
file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from sonde._util.extras import require_extra
from sonde.core import StoreError


def import_pyarrow(module: str = "pyarrow") -> Any:
    """Import pyarrow or one of its modules; a `UserError` names the extra if it is not installed."""
    require_extra("Parquet", "pyarrow")
    return import_module(module)


@contextmanager
def open_parquet_writer(path: Path, schema: Any, **options: Any) -> Iterator[Any]:
    """A `ParquetWriter` for a file that appears complete or not at all. Operating-system errors name the file."""
    parquet = import_pyarrow("pyarrow.parquet")
    part = path.with_name(f".{path.name}.tmp")
    file: Any = None
    try:
        file = parquet.ParquetWriter(str(part), schema, compression="zstd", write_page_checksum=True, **options)
        yield file
        file.close()
        part.replace(path)
    except BaseException as e:
        if file is not None:
            with suppress(Exception):
                file.close()
            file.is_open = False  # otherwise it closes itself again when it is garbage-collected
        part.unlink(missing_ok=True)
        if isinstance(e, OSError) and e.errno is not None:  # pyarrow puts the system's message in brackets
            raise OSError(e.errno, os.strerror(e.errno), str(path)) from e
        raise


def open_parquet_file(path: Path) -> Any:
    """A `ParquetFile` that verifies what it reads."""
    with parquet_errors(path):
        parquet = import_pyarrow("pyarrow.parquet")
        return parquet.ParquetFile(str(path), page_checksum_verification=True)


@contextmanager
def parquet_errors(path: Path) -> Iterator[None]:
    """Context manager for all access to a Parquet file: turns any damage into an error that names the file."""
    try:
        yield
    except (StoreError, FileNotFoundError):
        raise
    except (
        OSError,
        ValueError,
        LookupError,
        TypeError,
        ArithmeticError,
        MemoryError,
        import_pyarrow().ArrowException,
    ) as e:
        raise StoreError(f"{path}: not readable as Parquet, or damaged ({' '.join(str(e).split())[:200]})") from e
