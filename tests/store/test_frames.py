"""Files of frames: what any cut or flipped byte does to them."""

import re
import resource
from pathlib import Path

import pytest
import zstandard

from sonde.core import StoreError, UserError
from sonde.store.frames import contents, left_out, read_lines
from sonde.store.log import FLUSH_BYTES, Log, StoreWarning

FLUSHES = [[b'{"a": 1}', b'{"b": "two"}'], [b"[3]"], [b'"four"', b"5", b"null"]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of three frames."""
    path = tmp_path / "log.zst"
    log = Log(path)
    for flush in FLUSHES:
        for n, line in enumerate(flush):
            log.add(line, [n])
        log.flush()
    log.close()
    return path


def lines(path: Path, *, last: bool = True) -> list[list[bytes]]:
    data = path.read_bytes()
    return [read_lines(data, f.at, f.size, path) for f in contents(data, path, last=last).frames]


def test_frames_hold_the_lines_of_each_flush_and_their_entries(path: Path) -> None:
    assert lines(path) == FLUSHES
    assert [f.entries for f in contents(path.read_bytes(), path).frames] == [[[0], [1]], [[0]], [[0], [1], [2]]]


def test_any_zstd_reader_gets_the_plain_lines(path: Path) -> None:
    with path.open("rb") as f:
        text = zstandard.ZstdDecompressor().stream_reader(f, read_across_frames=True).read()
    assert text.splitlines() == [line for flush in FLUSHES for line in flush]


def test_a_file_cut_at_any_byte_keeps_every_whole_frame(path: Path) -> None:
    data = path.read_bytes()
    ends = [f.end for f in contents(data, path).frames]
    assert ends[-1] == len(data)
    for cut in range(len(data)):
        whole = [f for f, end in zip(FLUSHES, ends, strict=True) if end <= cut]
        path.write_bytes(data[:cut])
        assert lines(path) == whole, cut


def test_reopening_cuts_a_torn_end_at_any_byte_of_the_last_frame_and_goes_on(path: Path) -> None:
    data = path.read_bytes()
    start = contents(data, path).frames[-1].start
    for cut in range(start + 1, len(data)):
        path.write_bytes(data[:cut])
        with pytest.warns(StoreWarning, match=f"log.zst: cut {cut - start} bytes at byte {start}"):
            log = Log(path)
        assert path.stat().st_size == start
        log.add(b"6", None)
        log.close()
        assert lines(path) == [*FLUSHES[:2], [b"6"]], cut
    path.write_bytes(data[:start])
    Log(path).close()  # a cut between frames leaves nothing to warn about
    assert lines(path) == FLUSHES[:2]


def test_a_flipped_byte_costs_its_frame_and_is_told_with_file_and_offset(path: Path) -> None:
    data = path.read_bytes()
    frames = contents(data, path).frames
    for at in range(frames[-1].start):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
        hit = next(i for i, f in enumerate(frames) if at < f.end)
        found = contents(path.read_bytes(), path)
        assert found.frames == frames[:hit] + frames[hit + 1 :] and found.end == len(data)
        (told,) = found.damage
        assert re.search(rf"log\.zst: damaged at byte ({frames[hit].start}|{frames[hit].at}) .*left out", told), told
        assert at < frames[hit].at or f"; {left_out(len(FLUSHES[hit]))}" in told


def test_a_flipped_byte_in_the_last_frame_never_passes_for_data(path: Path) -> None:
    data = path.read_bytes()
    last = contents(data, path).frames[-1]
    for at in range(last.start, len(data)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
        found = contents(path.read_bytes(), path)
        assert len(found.frames) == 2
        if at < last.at:
            assert found.damage[0].startswith(f"{path}: damaged at byte {last.start} ") and found.end == len(data)
        else:  # a flush of which not all blocks reached the medium
            assert (found.damage, found.end) == ([], last.start)


def test_what_is_written_behind_damage_is_read(path: Path) -> None:
    data = path.read_bytes()
    frames = contents(data, path).frames
    for at in (frames[1].start, frames[1].at + 3, frames[2].start):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
        log = Log(path)
        log.add(b"6", None)
        log.close()
        left = [flush for flush, f in zip(FLUSHES, frames, strict=True) if not f.start <= at < f.end]
        assert lines(path) == [*left, [b"6"]]


def test_a_file_that_others_follow_must_not_be_torn(path: Path) -> None:
    data = path.read_bytes()
    last = contents(data, path).frames[-1]
    path.write_bytes(data[:-1])
    found = contents(path.read_bytes(), path, last=False)
    assert len(found.frames) == 2
    assert f"damaged at byte {last.start} (ends inside a frame, though later files follow)" in found.damage[0]


@pytest.mark.parametrize("zeros", [1, 19, 20, 5000])
def test_zeros_at_the_end_are_a_torn_end(path: Path, zeros: int) -> None:
    path.write_bytes(path.read_bytes() + bytes(zeros))
    assert lines(path) == FLUSHES
    with pytest.warns(StoreWarning, match=f"cut {zeros} bytes"):
        Log(path).close()


def test_what_is_added_is_written_when_64_kb_wait(path: Path) -> None:
    log = Log(path)
    before = path.stat().st_size
    log.add(b"x" * (FLUSH_BYTES - 1), None)
    assert path.stat().st_size == before
    log.add(b"y", None)
    assert [len(flush) for flush in lines(path)[3:]] == [2]
    log.close()


def test_a_full_disk_leaves_the_file_whole_and_the_records_waiting(path: Path) -> None:
    log = Log(path)
    log.add(b'"waits"', None)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (log.size + 30, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            log.flush()
        assert path.stat().st_size == log.size + 30  # a part was written ...
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert lines(path) == FLUSHES  # ... which no reader takes for data,
    log.flush()
    assert lines(path) == [*FLUSHES, [b'"waits"']]  # and the next flush replaces
    log.close()


def test_one_writer_at_a_time(path: Path) -> None:
    log = Log(path)
    with pytest.raises(StoreError, match=r"another writer .*log\.zst"):
        Log(path)
    log.close()
    log.close()
    with pytest.raises(UserError, match="closed for writing"):
        log.add(b"1", None)
    Log(path).close()
