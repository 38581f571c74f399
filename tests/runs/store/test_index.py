"""The index is derived: whatever happens to it, the logs say what is so."""

import os
import random
import resource
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sonde.core import StoreError, Trajectory
from sonde.runs.store import Run, RunWriter, StoreWarning, TrajectoryDataset, index
from sonde.runs.store.codec import encode_trajectory
from sonde.runs.store.frames import make_frame, read_frames
from sonde.runs.store.index import NAME, Index, list_logs, log_path
from sonde.runs.store.log import Log

from .runs import LOG, write


def ids(folder: Path) -> list[str]:
    return [e.id for e in TrajectoryDataset(folder).index_entries()]


def list_ids(trajectories: list[Trajectory]) -> list[str]:
    return [t.id for t in trajectories]


def make_unreadable(log: Path) -> None:
    """Every transcript in it, so that nobody notices who does not read them."""
    data, before = bytearray(log.read_bytes()), log.stat()
    for frame in read_frames(log):
        data[frame.start + 25] ^= 1
    log.write_bytes(data)
    os.utime(log, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_resuming_reads_no_transcript(tmp_path: Path, play) -> None:
    given = play(5)
    make_unreadable(write(tmp_path, given) / LOG)
    with RunWriter.open(tmp_path, {}) as run:
        assert {(k.task, k.sample) for k in run.finished_keys} == {(t.task.id, t.sample) for t in given}
    assert ids(tmp_path) == list_ids(given)
    (tmp_path / NAME).unlink()  # nothing else knew
    with pytest.warns(StoreWarning):
        assert ids(tmp_path) == []


def test_of_a_log_that_has_grown_only_the_rest_is_read(tmp_path: Path, play) -> None:
    given = play(6)
    kept = (write(tmp_path, given[:2]) / NAME).read_bytes()
    last = list(read_frames(tmp_path / LOG))[-1].start
    write(tmp_path, given[2:])
    (tmp_path / NAME).write_bytes(kept)  # as if the second writer had been killed
    data = bytearray((tmp_path / LOG).read_bytes())
    data[25] ^= 1
    (tmp_path / LOG).write_bytes(data)
    assert ids(tmp_path) == list_ids(given)
    data[last + 25] ^= 1  # the last frame that the index knows: it is not of this log
    (tmp_path / LOG).write_bytes(data)
    with pytest.warns(StoreWarning):
        assert ids(tmp_path) == list_ids(given[2:])


def _gone(path: Path) -> None:
    path.unlink()


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _noise(path: Path) -> None:
    path.write_bytes(random.Random(0).randbytes(8192))


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _of_another_form(path: Path) -> None:
    path.unlink()
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE episodes (task TEXT)")
    db.commit()
    db.close()


@pytest.mark.filterwarnings("ignore:.*index.sqlite. not written:sonde.runs.store.StoreWarning")
@pytest.mark.parametrize("spoil", [_gone, _cut, _empty, _noise, _folder, _of_another_form])
def test_a_damaged_index_is_rebuilt(tmp_path: Path, play, spoil: Callable[[Path], None]) -> None:
    given = play(4)
    spoil(write(tmp_path, given[:3]) / NAME)
    assert ids(tmp_path) == list_ids(given[:3])
    with RunWriter.open(tmp_path, {}) as run:
        assert len(run.finished_keys) == 3
        run.append_trajectory(given[3])
    assert ids(tmp_path) == list_ids(given)


def test_one_that_memory_does_not_hold(tmp_path: Path, play, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then most of its pages are in a temporary file, and it says the same."""
    given = play(2)
    copies = [replace(t, seed=seed, id=f"{seed}-{t.sample}") for seed in range(200) for t in given]
    found = list(TrajectoryDataset(write(tmp_path, copies)).index_entries())
    size = (tmp_path / NAME).stat().st_size
    monkeypatch.setattr(index, "CACHE_KB", 16)
    small = TrajectoryDataset(tmp_path)
    assert small._index._db.execute("PRAGMA cache_size").fetchone() == (-16,)
    assert size > 20 * 4096 and list(small.index_entries()) == found
    (tmp_path / NAME).unlink()
    with RunWriter.open(tmp_path, {}) as run:
        assert run.finished_keys == {entry.episode_key for entry in found}
        run.append_trajectory(replace(given[0], seed=200))
    assert len(TrajectoryDataset(tmp_path)) == 401


def test_a_full_folder_for_temporary_files_is_named(tmp_path: Path, play, monkeypatch: pytest.MonkeyPatch) -> None:
    """As SQLite meets it: a file of its own that may not grow."""
    write(tmp_path, [replace(t, seed=seed, id=f"{seed}-{t.sample}") for seed in range(200) for t in play(2)])
    (tmp_path / NAME).unlink()
    monkeypatch.setattr(index, "CACHE_KB", 16)
    monkeypatch.setenv("SQLITE_TMPDIR", str(tmp_path))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, limits[1]))
    try:
        with pytest.raises(StoreError) as told:
            TrajectoryDataset(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert str(told.value).startswith(f"{tmp_path}: no space for the temporary files of an index (")
    assert str(told.value).endswith("or name a folder with more in SQLITE_TMPDIR or TMPDIR")
    assert len(TrajectoryDataset(tmp_path)) == 400


def test_no_flipped_bit_of_it_passes_for_data(tmp_path: Path, play) -> None:
    path, rng = write(tmp_path, play(3)) / NAME, random.Random(0)
    whole, expected = path.read_bytes(), list(TrajectoryDataset(tmp_path).index_entries())
    make_unreadable(tmp_path / LOG)
    assert list(TrajectoryDataset(tmp_path).index_entries()) == expected
    for _ in range(200):
        data = bytearray(whole)
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(data)
        with pytest.warns(StoreWarning, match="left out"):  # so the logs were read
            TrajectoryDataset(tmp_path)


def test_an_index_of_other_logs_is_not_believed(tmp_path: Path, play) -> None:
    one, other = write(tmp_path / "one", play(3)), write(tmp_path / "other", play(4, first=3))
    (other / NAME).write_bytes((one / NAME).read_bytes())
    assert ids(other) == list_ids(play(4, first=3))
    write(one, play(1, first=9), writer=1)
    log_path(one, 1_000_000).unlink()
    assert ids(one) == list_ids(play(3))
    (one / LOG).write_bytes((one / LOG).read_bytes()[: list(read_frames(one / LOG))[1].end])
    assert ids(one) == list_ids(play(2))


def test_any_reader_of_sqlite_reads_it(tmp_path: Path, play) -> None:
    given = [*play(3), *play(2, first=3, error="WorldError: x")]
    db = sqlite3.connect(f"file:{write(tmp_path, given) / NAME}?mode=ro", uri=True)
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    asked = "SELECT env, sum(turns), sum(error <> '') FROM episodes GROUP BY env"
    assert db.execute(asked).fetchall() == [("mastermind", 9, 2)]
    for log, at, length, line, found in db.execute("SELECT log, at, length, line, id FROM episodes"):
        (frame,) = [f for f in read_frames(log_path(tmp_path, log)) if f.start == at]
        assert frame.end == at + length and found.encode() in frame.lines[line]
    db.close()


def test_what_a_full_disk_keeps_out_of_it_is_no_loss(tmp_path: Path, play) -> None:
    given, limits = play(4), resource.getrlimit(resource.RLIMIT_FSIZE)
    run = RunWriter.open(tmp_path, {})
    for t in given:
        run.append_trajectory(t)
    run.flush()
    resource.setrlimit(resource.RLIMIT_FSIZE, ((tmp_path / LOG).stat().st_size, limits[1]))
    try:
        with pytest.warns(
            StoreWarning, match=r"index\.sqlite: not written \(disk I/O error\); nothing is lost"
        ) as told:
            run.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert len(told) == 1 and [p.name for p in tmp_path.iterdir() if NAME in p.name] == []
    assert ids(tmp_path) == list_ids(given)


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that one without rights can come to."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_a_folder_that_cannot_be_written_to_is_read(public: Path, play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "SAVE_BYTES", 1)  # so that a reader would write the index
    folder = write(public / "run", play(3))
    (folder / NAME).unlink()
    folder.chmod(0o555)
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        assert [encode_trajectory(t) for t in Run.load(folder)] == [encode_trajectory(t) for t in play(3)]
        with pytest.raises(StoreError, match=r"run: not writable \(\.lock.*Permission denied"):
            RunWriter.open(folder, {})
    finally:
        os.seteuid(before)
        folder.chmod(0o755)
    assert not (folder / NAME).exists()
    assert len(Run.load(folder)) == 3 and (folder / NAME).exists()


READER = textwrap.dedent("""
    import sys
    from sonde.runs.store import TrajectoryDataset, index
    index.SAVE_BYTES = 1
    n = 0
    while n < int(sys.argv[2]):
        dataset = TrajectoryDataset(sys.argv[1])
        assert len(dataset) >= n, "what was there once stays"
        n = len(dataset)
        assert not n or dataset[n - 1].id
    print(n)
""")


def test_readers_and_writers_never_disturb_each_other(tmp_path: Path, play, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them write the index whenever they have learnt something."""
    monkeypatch.setattr(index, "SAVE_BYTES", 1)
    given = play(60)
    with RunWriter.open(tmp_path, {}) as one, RunWriter.open(tmp_path, {}, writer=1) as two:
        command = [sys.executable, "-c", READER, str(tmp_path), str(len(given))]
        readers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        for i, t in enumerate(given):
            run = (one, two)[i % 2]
            run.append_trajectory(t)
            run.flush()
    assert [reader.communicate(timeout=60)[0] for reader in readers] == ["60\n"] * 2
    assert set(ids(tmp_path)) == set(list_ids(given)) and len(list_logs(tmp_path)) == 2
    assert [p.name for p in tmp_path.iterdir() if NAME in p.name] == [NAME]


STEPS = st.one_of(
    st.tuples(st.just("add"), st.integers(0, 2), st.integers(0, 3), st.booleans()),
    st.tuples(st.just("tear"), st.integers(0, 2), st.integers(1, 60)),
    st.tuples(st.just("spoil"), st.integers(0, 10**4)),
    st.tuples(st.sampled_from(["save", "remember", "restore"])),
)


class Told:
    """A run and what it should say: records by writer, in order."""

    def __init__(self, folder: Path, one: Trajectory) -> None:
        self.folder, self.one, self.n = folder, one, 0
        self.records: dict[int, list[tuple[int, bool, str]]] = {0: [], 1: [], 2: []}
        self.kept = b""
        self.torn: set[int] = set()

    def log(self, writer: int) -> Path:
        return log_path(self.folder, writer * 1_000_000)

    def add(self, writer: int, sample: int, failed: bool) -> None:
        self.n += 1
        record = replace(self.one, sample=sample, id=f"{self.n}", error="WorldError: x" * failed)
        self.torn.discard(writer)
        log = Log(self.log(writer))
        log.add_line(encode_trajectory(record))
        log.close()
        self.records[writer].append((sample, failed, record.id))

    def tear(self, writer: int, size: int) -> None:
        """Once: whoever writes on cuts the torn end first."""
        if writer in self.torn:
            return
        self.torn.add(writer)
        with self.log(writer).open("ab") as file:
            file.write(make_frame([encode_trajectory(self.one)])[:size])

    def save(self) -> None:
        Index(self.folder).save_index()

    def remember(self) -> None:
        self.kept = (self.folder / NAME).read_bytes() if (self.folder / NAME).exists() else self.kept

    def restore(self) -> None:
        (self.folder / NAME).write_bytes(self.kept)

    def spoil(self, at: int) -> None:
        if (self.folder / NAME).exists():
            data = bytearray((self.folder / NAME).read_bytes())
            if data:
                data[at % len(data)] ^= 4
                (self.folder / NAME).write_bytes(data)

    def expected(self) -> list[str]:
        """Of each sample the last record without an error, else the last, in order."""
        flat = [record for writer in self.records for record in self.records[writer]]
        best: dict[int, tuple[int, bool, str]] = {}
        for record in flat:
            if record[0] not in best or best[record[0]][1] or not record[1]:
                best[record[0]] = record
        return [record[2] for record in flat if record in best.values()]


@pytest.mark.filterwarnings("ignore::sonde.runs.store.StoreWarning")
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, max_size=12))
def test_whatever_happens_to_it_the_index_says_what_the_logs_say(seats, steps: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        told = Told(Path(folder), seats)
        for name, *args in steps:
            getattr(told, name)(*args)
            found = Index(told.folder)
            assert [id for (id,) in found.select_columns("id")] == told.expected()
            assert found.superseded_count == told.n - len(told.expected())
