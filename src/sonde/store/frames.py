"""Append-only files of checksummed zstd frames, and what a kill may do to their end.

One flush appends one *frame*: a header and a zstd frame holding JSON lines. The header is a skippable frame of the
zstd format (RFC 8878, section 3.1.2), so `zstd -dc FILE` prints the plain JSON lines, while this reader learns from
headers alone which records a file holds and where.

    header = magic, 12 + len(index), frame size, crc32(index), crc32(the 16 bytes before)     5 x uint32, little-endian
    index  = JSON, one entry per line of the frame

A file that ends inside a frame is *torn*: everything before it is whole, and the writer cuts it off. Anything else that
does not read is damage: readers say file, offset and what it cost, and go on behind it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import zstandard

from sonde.core import StoreError

from .codec import dumps, loads

Buffer = bytes | memoryview

_MAGIC = 0x184D2A5D
_HEADER = struct.Struct("<5I")
_LEVEL = 3


class Key(NamedTuple):
    """What identifies an episode of a run: task id, world seed, sample."""

    task: str
    seed: int
    sample: int


class Entry(NamedTuple):
    """What a header says about one trajectory; `failed` when it carries an error of the outside world."""

    id: str
    task: str
    seed: int
    sample: int
    failed: bool

    @property
    def key(self) -> Key:
        return Key(self.task, self.seed, self.sample)


class Frame(NamedTuple):
    """Where a frame lies: `start` of its header, `at` and `size` of the zstd frame (bytes), and what its index says."""

    start: int
    at: int
    size: int
    entries: list[Any]

    @property
    def end(self) -> int:
        return self.at + self.size


def make_frame(lines: Sequence[bytes], index: Sequence[Any]) -> bytes:
    """Header and frame of some lines, to be written in one piece."""
    compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
    body = compressor.compress(b"".join(line + b"\n" for line in lines))
    entries = dumps(list(index))
    head = struct.pack("<4I", _MAGIC, 12 + len(entries), len(body), crc32(entries))
    return head + struct.pack("<I", crc32(head)) + entries + body


def read_lines(data: Buffer, at: int, size: int, path: Path) -> list[bytes]:
    """The lines of the frame at `at`; its checksum is verified."""
    try:
        return zstandard.ZstdDecompressor().decompress(memoryview(data)[at : at + size]).split(b"\n")[:-1]
    except zstandard.ZstdError as e:
        raise StoreError(f"{path}: damaged at byte {at} ({e})") from e


class Contents(NamedTuple):
    """What a file holds: its whole frames, what each damaged place has cost, and where the next frame belongs."""

    frames: list[Frame]
    damage: list[str]
    end: int


def contents(data: Buffer, path: Path, *, last: bool = True) -> Contents:
    """The frames of a file, each verified. A damaged one costs what it held, no more. Only the `last` file of a series
    may be torn."""
    frames: list[Frame] = []
    damage: list[str] = []
    offset = 0
    while offset < len(data):
        frame: Frame | None = None
        try:
            frame = _next(data, offset, path, last)
            if frame is None:
                break
            _verify(data, frame, path)
        except StoreError as e:
            if last and frame and not bytes(data[frame.end :]).strip(b"\0"):
                break  # of the last flush not all reached the medium
            damage.append(f"{e}; {left_out(len(frame.entries)) if frame else 'what it held is left out'}")
            offset = frame.end if frame else _after(data, offset, path)
        else:
            frames.append(frame)
            offset = frame.end
    return Contents(frames, damage, offset)


def left_out(n: int) -> str:
    """What damage has cost."""
    return "1 record is left out" if n == 1 else f"{n} records are left out"


def read_index(data: Buffer, start: int) -> list[Any]:
    """The entries of the frame that begins at `start`, known to be whole."""
    _, content, *_ = _HEADER.unpack(bytes(data[start : start + _HEADER.size]))
    return loads(bytes(data[start + _HEADER.size : start + 8 + content]))


def _verify(data: Buffer, frame: Frame, path: Path) -> None:
    lines = read_lines(data, frame.at, frame.size, path)
    if len(lines) != len(frame.entries):
        raise StoreError(f"{path}: damaged at byte {frame.at} ({len(lines)} lines, its index has {len(frame.entries)})")


def _after(data: Buffer, offset: int, path: Path) -> int:
    """Where the next frame begins behind a damaged one; the file's end if none does."""
    rest, magic, at = bytes(data[offset:]), struct.pack("<I", _MAGIC), 0
    while (at := rest.find(magic, at + 1)) > 0:
        try:
            if _next(data, offset + at, path, True) is not None:
                return offset + at
        except StoreError:
            continue
    return len(data)


def _next(data: Buffer, offset: int, path: Path, last: bool) -> Frame | None:
    """The frame at `offset`, or None where the file ends before the frame does, as only the `last` one may."""
    frame = _frame(data, offset, path)
    if frame is None and not last:
        raise StoreError(f"{path}: damaged at byte {offset} (ends inside a frame, though later files follow)")
    return frame


def _frame(data: Buffer, offset: int, path: Path) -> Frame | None:
    head = bytes(data[offset : offset + _HEADER.size])
    if len(head) < _HEADER.size:
        return None
    magic, content, size, index_sum, head_sum = _HEADER.unpack(head)
    if magic != _MAGIC or head_sum != crc32(head[:16]):
        if not bytes(data[offset:]).strip(b"\0"):
            return None  # a lost power supply leaves zeros where a write was announced but never arrived
        raise StoreError(f"{path}: damaged at byte {offset} (no frame begins here)")
    at = offset + 8 + content
    if at + size > len(data):
        return None
    index = bytes(data[offset + _HEADER.size : at])
    if crc32(index) != index_sum:
        raise StoreError(f"{path}: damaged at byte {offset} (the index does not match its checksum)")
    return Frame(offset, at, size, loads(index))
