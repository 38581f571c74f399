"""One sequence over shards and Parquet, and the way from the one to the other."""

import json
import math
import pickle
import random
from array import array
from dataclasses import replace
from pathlib import Path

import pytest

from sonde.core import Act, Action, Completion, Frozen, StoreError, Trajectory, Turn, UnknownName, UserError, extras
from sonde.store import Run, RunWriter, StoreWarning, TrajectoryDataset, compact, compaction, parquet
from sonde.store.codec import encode
from sonde.store.frames import contents
from sonde.store.tables import TABLES

pq = pytest.importorskip("pyarrow.parquet")


def write(folder: Path, trajectories: list[Trajectory]) -> Path:
    with RunWriter.open(folder, {}) as run:
        for t in trajectories:
            run.append(t)
            run.flush()
    return folder


def lines(folder: Path) -> list[bytes]:
    return [encode(t) for t in TrajectoryDataset(folder)]


def shards(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.glob("trajectories-*"))


@pytest.fixture
def odd(seats: Trajectory) -> Trajectory:
    """What neither orjson nor a Parquet column can hold."""
    completion = Completion(text="\ud800", ids=array("i", [1, 2]), logprobs=array("f", [-math.inf, -1.2]))
    action, told = Action("\udfff", completions=(completion,)), Frozen(agent="\ud83d")
    act = Act("agent", action, told, Frozen(agent=1), Frozen(a=2**80))
    return replace(seats, sample=99, turns=(Turn(0, (act,)),), error="lost \ud801")


@pytest.mark.parametrize("delete", [False, True])
def test_parquet_gives_back_every_trajectory_exactly(tmp_path: Path, play, seats, odd, delete: bool) -> None:
    given = [*play(5), *play(3, first=5, error="WorldError: x"), seats, odd]
    folder = write(tmp_path / "run", given)
    before = list(Run.load(folder).canonical())
    target = compact(folder, delete=delete)
    assert target == folder / "parquet-00001"
    assert shards(folder) == ([] if delete else ["trajectories-00000.jsonl.zst"])
    assert lines(folder) == [encode(t) for t in given]
    assert list(Run.load(folder).canonical()) == before
    part = parquet.ParquetPart(target)
    assert [encode(Trajectory.from_json(d)) for d in part.records()] == [encode(t) for t in given]
    assert [part.record(i)["id"] for i in range(len(part))] == [t.id for t in given]


def test_scanning_gives_equal_rows_from_both_forms(tmp_path: Path, play, seats, odd) -> None:
    folder = write(tmp_path / "run", [*play(5), seats, odd, *play(1, first=5, error="WorldError: x")])
    views = [(table, None) for table in TABLES]
    views += [("trajectories", ["kind", "n_turns", "task"]), ("acts", ["completions.ids", "text", "completions.name"])]
    plain = [list(TrajectoryDataset(folder).scan(*view)) for view in views]
    compact(folder)
    assert [list(TrajectoryDataset(folder).scan(*view)) for view in views] == plain
    compact(folder, delete=True)
    assert [list(TrajectoryDataset(folder).scan(*view)) for view in views] == plain


def test_the_rows_of_a_trajectory(tmp_path: Path, seats) -> None:
    compact(write(tmp_path / "run", [seats]))
    dataset = TrajectoryDataset(tmp_path / "run")
    columns = ["seed", "sample", "kind", "score", "truncated", "n_opening", "n_turns", "n_acts", "task_id", "env_name"]
    (row,) = dataset.scan("trajectories", columns)
    expected = [2**64 - 1, 4, "loss", -0.5, "turns", 1, 3, 7, seats.task.id, "mastermind"]
    assert list(row.values()) == expected
    acts = list(dataset.scan("acts", ["turn", "act", "seat", "reward"]))
    assert [r["turn"] for r in acts] == [None, 0, 0, 1, 2, 2, 2]
    assert [r["act"] for r in acts] == list(range(7))
    assert [r["seat"] for r in acts] == ["user", "agent", "judge", "agent", "agent", "judge", "judge"]
    assert [r["reward"] for r in acts] == [0.0, 0.0, 0.25, 0.0, 0.0, 0.25, 0.25]


def test_any_parquet_reader_sees_the_documented_types(tmp_path: Path, play) -> None:
    from pyarrow import parquet as pq

    target = compact(write(tmp_path / "run", play(2)))
    acts = pq.read_table(target / "acts.parquet")
    inner = acts.schema.field("completions").type.value_type
    assert str(inner.field("ids").type.value_type) == "int32"
    assert str(inner.field("logprobs").type.value_type) == "float"
    assert str(pq.read_table(target / "trajectories.parquet").schema.field("seed").type) == "uint64"
    assert pq.ParquetFile(target / "acts.parquet").metadata.row_group(0).column(0).compression == "ZSTD"
    meta = json.loads(pq.read_metadata(target / "acts.parquet").metadata[b"sonde"])
    assert (meta["records"], meta["shards"]) == (2, 1)


def test_a_compacted_run_is_continued_and_compacted_again(tmp_path: Path, play) -> None:
    folder = write(tmp_path / "run", play(3))
    (folder / ".parquet-00001.tmp").mkdir()  # a compaction that was killed
    (folder / ".parquet-00001.tmp" / "acts.parquet").write_text("half")
    compact(folder, delete=True)
    with RunWriter.open(folder, {}) as run:
        assert len(run.finished) == 3
        for t in play(2, first=3):
            run.append(t)
    assert shards(folder) == ["trajectories-00001.jsonl.zst"]
    assert lines(folder) == [encode(t) for t in play(5)]
    assert [r["n_turns"] for r in TrajectoryDataset(folder).scan("trajectories", ["n_turns"])] == [3] * 5
    assert compact(folder) == folder / "parquet-00002"
    assert [p.name for p in folder.glob("parquet-*")] == ["parquet-00002"]
    assert compact(folder, delete=True) == folder / "parquet-00002"
    assert shards(folder) == []
    assert lines(folder) == [encode(t) for t in play(5)]


def test_a_torn_shard_is_cut_before_it_is_compacted(tmp_path: Path, play) -> None:
    folder = write(tmp_path / "run", play(3))
    shard = folder / "trajectories-00000.jsonl.zst"
    shard.write_bytes(shard.read_bytes()[:-1])
    with pytest.warns(StoreWarning, match="cut"):
        compact(folder)
    with RunWriter.open(folder, {}) as run:
        run.append(play(1, first=2)[0])
    assert lines(folder) == [encode(t) for t in play(3)]


def test_row_groups_stay_aligned_when_some_have_no_acts(tmp_path: Path, play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "GROUP_RECORDS", 2)
    given = [*play(1), *play(4, first=1, error="WorldError: x"), *play(2, first=5)]
    compact(write(tmp_path / "run", given), delete=True)
    assert lines(tmp_path / "run") == [encode(t) for t in given]
    dataset = TrajectoryDataset(tmp_path / "run")
    assert [encode(dataset[i]) for i in (6, 0, 5, 1)] == [encode(given[i]) for i in (6, 0, 5, 1)]
    assert [r["trajectory"] for r in dataset.scan("acts", ["trajectory"])] == [t.id for t in given for _ in t.acts]


def test_nothing_is_deleted_when_parquet_reads_back_differently(
    tmp_path: Path, play, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "run", play(3))
    real = parquet.restore
    monkeypatch.setattr(parquet, "restore", lambda row, acts: {**real(row, acts), "sample": 0})
    with pytest.raises(StoreError, match="reads back differently"):
        compact(folder, delete=True)
    assert [*folder.glob("parquet-*")] == []
    assert shards(folder) == ["trajectories-00000.jsonl.zst"]
    monkeypatch.undo()
    assert compact(folder).is_dir()


def test_damaged_parquet_is_an_error(tmp_path: Path, play) -> None:
    folder, other = write(tmp_path / "run", play(3)), write(tmp_path / "other", play(2))
    target = compact(folder, delete=True)
    whole = (target / "acts.parquet").read_bytes()
    (target / "acts.parquet").write_bytes((compact(other) / "acts.parquet").read_bytes())
    with pytest.raises(StoreError, match="do not belong together"):
        TrajectoryDataset(folder)
    (target / "acts.parquet").write_bytes(whole[:-10])
    with pytest.raises(StoreError, match="not readable as Parquet"):
        TrajectoryDataset(folder)


def flip(file: Path, at: int) -> None:
    data = bytearray(file.read_bytes())
    data[at] ^= 1
    file.write_bytes(data)


def test_a_damaged_frame_costs_what_it_held_and_is_played_again(tmp_path: Path, play) -> None:
    given = play(5)
    folder = write(tmp_path / "run", given)
    frames = contents((folder / "trajectories-00000.jsonl.zst").read_bytes(), folder).frames
    flip(folder / "trajectories-00000.jsonl.zst", frames[2].at + 20)
    with pytest.warns(StoreWarning, match=r"00000.jsonl.zst: damaged at byte \d+ .*; 1 record is left out"):
        run = Run.load(folder)
    left = [*given[:2], *given[3:]]
    assert [encode(t) for t in run] == [encode(t) for t in left]
    assert [e.id for e in run.trajectories.entries()] == [t.id for t in left]
    assert [encode(run[i]) for i in range(4)] == [encode(t) for t in left]
    assert len([*run.canonical()]) == 4
    with pytest.warns(StoreWarning), RunWriter.open(folder, {}) as again:
        assert given[2].task.id in {k.task for k in again.finished} and len(again.finished) == 4
        again.append(given[2])
    with pytest.warns(StoreWarning):
        assert {t.id for t in Run.load(folder)} == {t.id for t in given}
    with pytest.warns(StoreWarning), pytest.raises(StoreError, match="shards are deleted only where all of them read"):
        compact(folder, delete=True)


def test_damage_in_one_form_costs_nothing_where_the_other_is_whole(tmp_path: Path, play) -> None:
    given = play(5)
    folder = write(tmp_path / "run", given)
    target = compact(folder)
    everything = [encode(t) for t in given]
    shard, acts = folder / "trajectories-00000.jsonl.zst", target / "acts.parquet"
    scanned = list(TrajectoryDataset(folder).scan("acts"))
    flip(acts, 40)
    assert lines(folder) == everything and list(TrajectoryDataset(folder).scan("acts")) == scanned
    flip(acts, 40)
    flip(shard, contents(shard.read_bytes(), shard).frames[1].at + 20)
    assert lines(folder) == everything and list(TrajectoryDataset(folder).scan("acts")) == scanned
    flip(acts, 40)
    with pytest.warns(StoreWarning, match="1 record is left out"):
        assert lines(folder) == [everything[0], *everything[2:]]


def test_a_damaged_row_group_costs_what_it_held(tmp_path: Path, play, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "GROUP_RECORDS", 2)
    given = play(6)
    folder = write(tmp_path / "run", given)
    acts = compact(folder, delete=True) / "acts.parquet"
    column = pq.ParquetFile(acts).metadata.row_group(1).column(3)
    flip(acts, column.dictionary_page_offset + column.total_compressed_size - 3)
    with pytest.warns(StoreWarning, match=r"acts.parquet: .*damaged .*; 2 records are left out"):
        dataset = TrajectoryDataset(folder)
    left = [encode(t) for t in (*given[:2], *given[4:])]
    assert [encode(t) for t in dataset] == left == [encode(dataset[i]) for i in range(4)]
    with pytest.warns(StoreWarning):
        assert len(list(dataset.scan("acts", ["text"]))) == 12
    with pytest.warns(StoreWarning), RunWriter.open(folder, {}) as again:
        assert len(again.finished) == 4


@pytest.mark.filterwarnings("ignore::sonde.store.StoreWarning")
def test_no_flipped_bit_of_parquet_passes_for_data(tmp_path: Path, play) -> None:
    folder = write(tmp_path / "run", play(12))
    files = [compact(folder, delete=True) / f"{table}.parquet" for table in TABLES]
    whole, rng, noticed = lines(folder), random.Random(0), 0
    for _ in range(300):
        file = rng.choice(files)
        data = file.read_bytes()
        flipped = bytearray(data)
        flipped[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        file.write_bytes(flipped)
        try:
            dataset = TrajectoryDataset(folder)
            if any(part.damage for part in dataset._parts):
                raise StoreError(dataset._parts[0].damage[0])
            assert lines(folder) == whole
        except StoreError as e:
            assert str(file) in str(e) or f"{file.parent}: its files do not belong together" in str(e)
            noticed += 1
        file.write_bytes(data)
    assert noticed > 150
    assert lines(folder) == whole


def test_compacting_needs_records_and_no_writer(tmp_path: Path, play) -> None:
    with pytest.raises(UserError, match="not a run folder"):
        compact(tmp_path)
    with RunWriter.open(tmp_path, {}) as run:
        with pytest.raises(StoreError, match="another writer"):
            compact(tmp_path)
        assert run.finished == frozenset()
    with pytest.raises(UserError, match="no trajectories yet"):
        compact(tmp_path)


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, play, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path / "run", play(3))

    with monkeypatch.context() as patch:
        patch.setattr(extras, "find_spec", lambda name: None)
        with pytest.raises(UserError, match=r"pip install 'sonde-rl\[parquet\]'"):
            compact(folder)
    compact(folder)
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    monkeypatch.setattr(parquet, "find_spec", lambda name: None)
    assert lines(folder) == [encode(t) for t in play(3)]  # the shards are still there
    assert len(list(TrajectoryDataset(folder).scan("acts", ["text"]))) == 9


@pytest.mark.parametrize("compacted", [False, True])
def test_it_is_a_sequence(tmp_path: Path, play, compacted: bool) -> None:
    folder = write(tmp_path / "run", [*play(2, error="WorldError: x"), *play(5, first=1)])
    if compacted:
        compact(folder, delete=True)
    dataset = TrajectoryDataset(folder)
    expected = [encode(t) for t in [*play(1, error="WorldError: x"), *play(5, first=1)]]
    assert (len(dataset), dataset.superseded) == (6, 1)
    assert [encode(dataset[i]) for i in (5, 0, -1, 2)] == [expected[i] for i in (5, 0, -1, 2)]
    assert [encode(t) for t in dataset[4:1:-2]] == expected[4:1:-2]
    assert [encode(t) for t in dataset] == expected
    assert [e.key.sample for e in dataset.entries()] == [0, 1, 2, 0, 1, 2]
    assert [e.id for e in dataset.entries()] == [t.id for t in dataset]
    assert [r["sample"] for r in dataset.scan("trajectories", ["sample"])] == [0, 1, 2, 0, 1, 2]
    with pytest.raises(IndexError):
        dataset[6]
    again = pickle.loads(pickle.dumps(dataset))
    assert [encode(t) for t in again] == expected


def test_unknown_tables_and_columns_are_named(tmp_path: Path, play) -> None:
    dataset = TrajectoryDataset(write(tmp_path / "run", play(1)))
    with pytest.raises(UnknownName, match=r"table: unknown name 'act' \(did you mean 'acts'"):
        dataset.scan("act")
    with pytest.raises(UnknownName, match=r"column of acts: unknown name 'completions\.id'"):
        dataset.scan("acts", ["completions.id"])


def test_an_empty_run_is_an_empty_sequence(tmp_path: Path) -> None:
    RunWriter.open(tmp_path, {}).close()
    assert list(TrajectoryDataset(tmp_path)) == []
    assert list(TrajectoryDataset(tmp_path).scan("acts")) == []
    assert list(Run.load(tmp_path).canonical()) == []
