"""Files of frames: what any cut or flipped byte does to them."""

import re
import resource
import struct
from pathlib import Path
from zlib import crc32

import pytest
import zstandard

from sonde.core import StoreError, UserError
from sonde.runs.store.frames import Frame, describe_loss, make_frame, read_frames, read_lines
from sonde.runs.store.log import FLUSH_BYTES, Log, StoreWarning

FLUSHES = [[b'{"a": 1}', b'{"b": "two"}'], [b"[3]"], [b'"four"', b"5", b"null"]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of three frames."""
    path = tmp_path / "log.zst"
    log = Log(path)
    for flush in FLUSHES:
        for line in flush:
            log.add_line(line)
        log.flush()
    log.close()
    return path


def lines(path: Path) -> list[list[bytes]]:
    return [list(f.lines) for f in read_frames(path) if not f.damage]


def flip_byte(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


def test_frames_hold_the_lines_of_each_flush_and_any_of_them_is_read_from_its_place(path: Path) -> None:
    assert lines(path) == FLUSHES
    found = list(read_frames(path))
    assert [f.start for f in found] == [0, *(f.end for f in found[:-1])] and found[-1].end == path.stat().st_size
    assert [read_lines(path, f.start, f.end) for f in found] == FLUSHES
    assert list(read_frames(path, found[1].start)) == found[1:]
    for start, end in ((1, found[0].end), (0, found[0].end - 1), (found[1].start, found[2].end), (found[2].end, 10**6)):
        with pytest.raises(StoreError, match=rf"log\.zst: damaged at byte {start} \(no frame begins here\)"):
            read_lines(path, start, end)


def test_a_frame_that_holds_other_lines_than_its_header_says_is_damage(path: Path) -> None:
    frame = make_frame([b"1", b"2"])
    head = struct.pack("<4I", *struct.unpack("<3I", frame[:12]), 3)
    wrong = head + struct.pack("<I", crc32(head)) + frame[20:]
    path.write_bytes(path.read_bytes() + wrong + frame)
    assert lines(path) == [*FLUSHES, [b"1", b"2"]]
    (told,) = [f for f in read_frames(path) if f.damage]
    assert told.damage == f"damaged at byte {told.start} (2 lines, its header has 3); 3 records are left out"
    with pytest.raises(StoreError, match=r"2 lines, its header has 3"):
        read_lines(path, told.start, told.end)


def test_any_zstd_reader_gets_the_plain_lines(path: Path) -> None:
    with path.open("rb") as f:
        text = zstandard.ZstdDecompressor().stream_reader(f, read_across_frames=True).read()
    assert text.splitlines() == [line for flush in FLUSHES for line in flush]


def test_a_file_cut_at_any_byte_keeps_every_whole_frame(path: Path) -> None:
    data = path.read_bytes()
    ends = [f.end for f in read_frames(path)]
    assert ends[-1] == len(data)
    for cut in range(len(data)):
        whole = [f for f, end in zip(FLUSHES, ends, strict=True) if end <= cut]
        path.write_bytes(data[:cut])
        assert lines(path) == whole, cut


def test_reopening_cuts_a_torn_end_at_any_byte_of_the_last_frame_and_goes_on(path: Path) -> None:
    data = path.read_bytes()
    start = list(read_frames(path))[-1].start
    for cut in range(start + 1, len(data)):
        path.write_bytes(data[:cut])
        with pytest.warns(StoreWarning, match=f"log.zst: cut {cut - start} bytes at byte {start}"):
            log = Log(path)
        assert path.stat().st_size == start
        log.add_line(b"6")
        log.close()
        assert lines(path) == [*FLUSHES[:2], [b"6"]], cut
    path.write_bytes(data[:start])
    Log(path).close()  # a cut between frames leaves nothing to warn about
    assert lines(path) == FLUSHES[:2]


def test_a_flipped_byte_costs_its_frame_and_is_told_with_its_offset(path: Path) -> None:
    data, whole = path.read_bytes(), list(read_frames(path))
    for at in range(whole[-1].start):
        path.write_bytes(flip_byte(data, at))
        hit = next(i for i, f in enumerate(whole) if at < f.end)
        found = list(read_frames(path))
        assert [f for f in found if not f.damage] == whole[:hit] + whole[hit + 1 :] and found[-1].end == len(data)
        (told,) = [f.damage for f in found if f.damage]
        assert re.fullmatch(rf"damaged at byte {whole[hit].start} \(.*\); .* left out", told, re.DOTALL), told
        assert at < whole[hit].start + 20 or told.endswith(f"; {describe_loss(len(FLUSHES[hit]))}")


def test_a_flipped_byte_in_the_last_frame_never_passes_for_data(path: Path) -> None:
    data, last = path.read_bytes(), list(read_frames(path))[-1]
    for at in range(last.start, len(data)):
        path.write_bytes(flip_byte(data, at))
        found = list(read_frames(path))
        assert [list(f.lines) for f in found[:2]] == FLUSHES[:2]
        if at < last.start + 20:
            (told,) = found[2:]
            assert told.damage.startswith(f"damaged at byte {last.start} ") and told.end == len(data)
        else:  # a flush of which not all blocks reached the medium
            assert len(found) == 2


def test_what_is_written_behind_damage_is_read(path: Path) -> None:
    data, whole = path.read_bytes(), list(read_frames(path))
    for at in (whole[1].start, whole[1].start + 23, whole[2].start):
        path.write_bytes(flip_byte(data, at))
        log = Log(path)
        log.add_line(b"6")
        log.close()
        left = [flush for flush, f in zip(FLUSHES, whole, strict=True) if not f.start <= at < f.end]
        assert lines(path) == [*left, [b"6"]]


def test_a_file_that_others_follow_must_not_be_torn(path: Path) -> None:
    last: Frame = list(read_frames(path))[-1]
    path.write_bytes(path.read_bytes()[:-1])
    *whole, told = read_frames(path, last=False)
    assert len(whole) == 2
    assert f"damaged at byte {last.start} (ends inside a frame, though later files follow)" in told.damage


@pytest.mark.parametrize("zeros", [1, 19, 20, 5000])
def test_zeros_at_the_end_are_a_torn_end(path: Path, zeros: int) -> None:
    path.write_bytes(path.read_bytes() + bytes(zeros))
    assert lines(path) == FLUSHES
    with pytest.warns(StoreWarning, match=f"cut {zeros} bytes"):
        Log(path).close()


def test_what_is_added_is_written_when_64_kb_wait(path: Path) -> None:
    log = Log(path)
    before = path.stat().st_size
    log.add_line(b"x" * (FLUSH_BYTES - 1))
    assert path.stat().st_size == before
    log.add_line(b"y")
    assert [len(flush) for flush in lines(path)[3:]] == [2]
    log.close()


def test_a_full_disk_leaves_the_file_whole_and_the_records_waiting(path: Path) -> None:
    log = Log(path)
    log.add_line(b'"waits"')
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (log.size + 30, limits[1]))
    try:
        with pytest.raises(OSError, match=r"File too large: .*log\.zst"):
            log.flush()
        assert path.stat().st_size == log.size + 30  # a part was written ...
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert lines(path) == FLUSHES  # ... which no reader takes for data,
    log.flush()
    assert lines(path) == [*FLUSHES, [b'"waits"']]  # and the next flush replaces
    log.close()


def test_a_closed_log_takes_nothing(path: Path) -> None:
    log = Log(path)
    log.close()
    log.close()
    with pytest.raises(UserError, match="closed for writing"):
        log.add_line(b"1")
    Log(path).close()
