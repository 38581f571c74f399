"""Append-only files of checksummed zstd frames that survive a killed writer.

One flush appends one *frame*: a header and a zstd frame holding JSON lines. The header is a skippable frame of the zstd
format (RFC 8878, section 3.1.2), so `zstd -dc FILE` prints the plain JSON lines, while this reader learns from it where
the next frame begins and how many lines a damaged frame held.

    header = magic, 12, size of the zstd frame, number of lines, crc32(the 16 bytes before)   5 x uint32, little-endian

A file that ends inside a frame is *torn*: everything before that frame is intact, and the writer cuts it off. Anything
else that cannot be read is damage: readers report the file, the offset and what was lost, and continue behind it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import zstandard

from sonde.core import StoreError

_MAGIC = 0x184D2A5D
_HEADER = struct.Struct("<5I")
_LEVEL = 3
LARGEST = 64 * 1024 * 1024
"""Maximum size in bytes of a frame's lines. A flush holds little more than one record; a larger declared size would be
a decompression bomb, where a hundred kilobytes can fill the memory."""


class Frame(NamedTuple):
    """A frame's position, header included, and its lines; a damaged frame has a description of the loss instead of
    lines."""

    start: int
    end: int
    lines: Sequence[bytes]
    damage: str = ""


def make_frame(lines: Sequence[bytes]) -> bytes:
    """Header and frame of some lines, to be written in one piece. Raises `StoreError` if they exceed what a reader
    accepts."""
    compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
    text = b"".join(line + b"\n" for line in lines)
    if len(text) > LARGEST:
        raise StoreError(f"records: got {len(text):,} bytes at once, allowed: {LARGEST:,}")
    body = compressor.compress(text)
    head = struct.pack("<4I", _MAGIC, 12, len(body), len(lines))
    return head + struct.pack("<I", crc32(head)) + body


def read_lines(path: Path, start: int, end: int) -> list[bytes]:
    """The lines of the frame at this position, verified."""
    with path.open("rb") as file:
        file.seek(start)
        data = file.read(end - start)
    size, count = _header_sizes(data) or (-1, 0)
    if size != end - start - _HEADER.size:
        raise StoreError(f"{path}: damaged at byte {start} (no frame begins here)")
    try:
        return _frame_lines(data[_HEADER.size :], count)
    except ValueError as e:
        raise StoreError(f"{path}: damaged at byte {start} ({e})") from e


def read_frames(path: Path, start: int = 0, *, last: bool = True) -> Iterator[Frame]:
    """The frames from `start` on, each verified. Only the `last` file of a series may end in a torn frame, which is
    skipped silently."""
    with path.open("rb") as file:
        file.seek(start)
        rest = memoryview(file.read())
    while rest and (found := _first_frame(rest, last)) is not None:
        size, lines, wrong = found
        yield Frame(start, start + size, lines, wrong and f"damaged at byte {start} {wrong}")
        start, rest = start + size, rest[size:]


def describe_loss(n: int) -> str:
    """Describe what was lost to damage."""
    return "1 record is left out" if n == 1 else f"{n} records are left out"


def _header_sizes(data: bytes | memoryview) -> tuple[int, int] | None:
    """Size of the zstd frame behind a header, and its number of lines; None if there is no header."""
    if len(data) < _HEADER.size:
        return None
    magic, _, size, count, head_sum = _HEADER.unpack_from(data)
    return (size, count) if magic == _MAGIC and head_sum == crc32(data[:16]) else None


def _frame_lines(body: bytes | memoryview, count: int) -> list[bytes]:
    """The lines of a zstd frame, with its checksum verified. Raises `ValueError` with the reason. The declared size is
    checked before unpacking; a frame that declares none was not written by sonde."""
    try:
        declared = zstandard.get_frame_parameters(body).content_size
        if declared > LARGEST:
            size = f"{declared:,} bytes" if declared < zstandard.CONTENTSIZE_ERROR else "no size"
            raise ValueError(f"it declares {size}, allowed: {LARGEST:,} bytes")
        lines = zstandard.ZstdDecompressor().decompress(body).split(b"\n")[:-1]
    except (zstandard.ZstdError, MemoryError) as e:
        raise ValueError(str(e)) from e
    if len(lines) != count:
        raise ValueError(f"{len(lines)} lines, its header has {count}")
    return lines


def _first_frame(rest: memoryview, last: bool) -> tuple[int, Sequence[bytes], str] | None:
    """The length of the frame at the start of these bytes, its lines, and any error; None for an incomplete flush,
    which only the `last` file may have."""
    head = _header_sizes(rest)
    end = _HEADER.size + head[0] if head else 0
    if head and end <= len(rest):
        try:
            return end, _frame_lines(rest[_HEADER.size : end], head[1]), ""
        except ValueError as e:  # the last flush may have reached the disk only in part
            return None if last and _is_zero(rest[end:]) else (end, [], f"({e}); {describe_loss(head[1])}")
    # A power loss leaves zeros where a write was allocated but never arrived.
    torn = bool(head) or len(rest) < _HEADER.size or _is_zero(rest)
    if torn and last:
        return None
    why = "ends inside a frame, though later files follow" if torn else "no frame begins here"
    return _next_frame(rest), [], f"({why}); what it held is left out"


def _is_zero(rest: memoryview) -> bool:
    return not bytes(rest).strip(b"\0")


def _next_frame(rest: memoryview) -> int:
    """The position of the next frame behind a damaged one; the end if there is none."""
    data, magic, at = bytes(rest), struct.pack("<I", _MAGIC), 0
    while (at := data.find(magic, at + 1)) > 0:
        found = _header_sizes(rest[at:])
        if found and at + _HEADER.size + found[0] <= len(rest):
            return at
    return len(rest)
