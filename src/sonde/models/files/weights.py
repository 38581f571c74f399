"""Fingerprint of a model folder, from the content of its files, independent of path and time.

A model that was retrained at the same path has another fingerprint, and a copy elsewhere has the same. Everything that
`from_pretrained` reads counts: weights, adapter (with the base model that it belongs to), configuration, tokenizer,
chat template. Files of up to `WHOLE` bytes are hashed whole. For larger files the size and samples are hashed: of
safetensors the header and three blocks of every tensor, of other files blocks at even distances. Training changes all
of a tensor, so one block reveals it. A file of 2 GiB with 290 tensors takes 10 ms of CPU, hashing all of it 3.9 s.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from sonde.core import UserError

from .fetch import KNOWN, RECIPE, fetchable_models
from .shipped import SHIPPED

WHOLE = 32 << 20
BLOCK = 4096
BLOCKS = 512
"""Number of blocks hashed of a large file that is not in safetensors."""

_READ = re.compile(
    r".*\.(safetensors|bin|model|tiktoken|jinja|py)|(.*config|.*\.index|.*token.*|vocab|merges|chat_template)\.(json|txt)"
)
_OF_TRAINING = re.compile(r"(training_args|optimizer|scheduler).*")
"""Files of a checkpoint that are not part of its model."""
_ADAPTER = "adapter_config.json"


def model_fingerprint(model: str) -> str | None:
    """Sixteen hexadecimal digits that identify the model of a folder, or one that sonde knows by name; None for a name
    on a hub, where a commit identifies the weights."""
    if model in SHIPPED:
        return folder_fingerprint(SHIPPED[model].folder)
    if model in KNOWN:
        return blake2b(f"{KNOWN[model].sha256} {RECIPE}".encode(), digest_size=8).hexdigest()
    return folder_fingerprint(Path(model)) if Path(model).is_dir() else None


def folder_fingerprint(folder: Path) -> str:
    """Fingerprint of all files of a model folder. Raises `UserError` if one cannot be read."""
    digest = blake2b(digest_size=8)
    try:
        for file in _model_files(folder):
            stat = file.stat()
            digest.update(f"{file.relative_to(folder).as_posix()} {stat.st_size} ".encode())
            digest.update(_file_digest(file.absolute(), stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino))
        digest.update((_base_fingerprint(folder) or "").encode())
    except OSError as e:
        raise UserError(f"model: {folder} cannot be read: {e}") from e
    return digest.hexdigest()


def short_name(model: str, weights: str | None) -> str:
    """The model's name in tables: a hub name without its owner, or the folder of a training with the first digits of
    its fingerprint, since such folders are all called `model`.

    >>> short_name("runs/maze/rpo/model", "1c9f03d2a4b5e6f7"), short_name("Qwen/Qwen3-8B", None)
    ('rpo@1c9f03', 'Qwen3-8B')
    """
    parts = [part for part in Path(model).parts if part not in ("model", "adapter")] or [model]
    return parts[-1] if weights is None or model in fetchable_models() else f"{parts[-1]}@{weights[:6]}"


def _model_files(folder: Path) -> list[Path]:
    inner = (folder, folder / "additional_chat_templates")
    files = (file for place in inner if place.is_dir() for file in place.iterdir() if file.is_file())
    return sorted(f for f in files if _READ.fullmatch(f.name) and not _OF_TRAINING.fullmatch(f.name))


def _base_fingerprint(folder: Path) -> str | None:
    """The fingerprint of the base model of an adapter."""
    try:
        named = json.loads((folder / _ADAPTER).read_text("utf-8"))["base_model_name_or_path"]
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
    same = not isinstance(named, str) or Path(named).absolute() == folder.absolute()
    return None if same else model_fingerprint(named)


@lru_cache(maxsize=256)
def _file_digest(file: Path, size: int, *written: int) -> bytes:
    """Digest of a file in the state `written`; cached while the file does not change."""
    digest = blake2b(digest_size=16)
    with file.open("rb") as data:
        for start, length in _hashed_parts(data, file, size):
            data.seek(start)
            digest.update(data.read(length))
    return digest.digest()


def _hashed_parts(data: BinaryIO, file: Path, size: int) -> Iterator[tuple[int, int]]:
    """Start and length of every part to hash."""
    if size <= WHOLE:
        return iter([(0, size)])
    tensors = _tensor_offsets(data, size) if file.suffix == ".safetensors" else None
    if tensors is None:
        return ((start, BLOCK) for start in range(0, size, max(BLOCK, size // BLOCKS)))
    return _sample_tensors(tensors)


def _sample_tensors(bounds: list[int]) -> Iterator[tuple[int, int]]:
    """The header, and the first, middle and last block of every tensor; `bounds` are the offsets of the tensors."""
    yield 0, bounds[0]
    for begin, end in pairwise(bounds):
        last = max(begin, end - BLOCK)
        for start in sorted({begin, (begin + last) // 2, last}):
            yield start, min(BLOCK, end - start)


def _tensor_offsets(data: BinaryIO, size: int) -> list[int] | None:
    """Where the tensors of a safetensors file begin, and where the last one ends; None if the header is damaged."""
    length = int.from_bytes(data.read(8), "little")
    try:
        header = json.loads(data.read(min(length, size)))
        ends = {offset for name, row in header.items() if name != "__metadata__" for offset in row["data_offsets"]}
        return sorted({8 + length, *(8 + length + int(end) for end in ends)})
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
