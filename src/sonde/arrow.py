"""Parquet files with a checksum on every page, written and verified here for all of sonde.

Without them a flipped bit in a page reads back as another value. What does not read is a `StoreError` naming the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from sonde.core import StoreError
from sonde.core.extras import need


def pyarrow(module: str = "pyarrow") -> Any:
    """pyarrow, or one of its modules; a `UserError` that names the extra where it is not installed."""
    need("Parquet", "pyarrow")
    return import_module(module)


def writer(path: Path, schema: Any, **options: Any) -> Any:
    """A `ParquetWriter` of a new file."""
    parquet = pyarrow("pyarrow.parquet")
    return parquet.ParquetWriter(str(path), schema, compression="zstd", write_page_checksum=True, **options)


def reader(path: Path, source: Any = None) -> Any:
    """A `ParquetFile` that verifies what it reads; `source` is the file's content where it is mapped already."""
    with reading(path):
        parquet = pyarrow("pyarrow.parquet")
        return parquet.ParquetFile(str(path) if source is None else source, page_checksum_verification=True)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Damage of any sort becomes an error that names the file. Around everything that looks into one."""
    try:
        yield
    except (StoreError, FileNotFoundError):
        raise
    except (OSError, ValueError, LookupError, TypeError, ArithmeticError, MemoryError, pyarrow().ArrowException) as e:
        raise StoreError(f"{path}: not readable as Parquet, or damaged ({' '.join(str(e).split())[:200]})") from e
