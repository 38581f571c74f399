"""A run as Parquet tables."""

import gc
import math
from array import array
from pathlib import Path

import pytest

import sonde
from sonde._util import extras
from sonde._util.extras import find_spec
from sonde.core import Action, Completion, Episode, StoreError, Trajectory, Usage, UserError
from sonde.runs.store import RunWriter
from sonde.runs.store.export import GROUP, TABLES, _check_table, export_parquet
from sonde.runs.store.parquet import open_parquet_writer
from tests.full_disk import files_of_at_most

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

TASKS = sonde.make("mastermind").tasks("train")


def episode(number: int, turns: int = 2, error: str = "") -> Trajectory:
    ids, logprobs = array("i", [number, 7]), array("f", [-math.inf, -1.25])
    completion = Completion(text="\ud800 ü", ids=ids, logprobs=logprobs, usage=Usage(30, 2, 10), name="main")
    ep = Episode.begin(sonde.make("mastermind"), TASKS[number // 4], seed=2**64 - 1, sample=number % 4)
    for _ in range(turns):
        ep = ep.step(Action("<Answer>1122</Answer> é", memory=[1], completions=(completion,)))
    return ep.to_trajectory(error=error, tags={"note": "a"})


def write(folder: Path, trajectories: list[Trajectory]) -> Path:
    with RunWriter.open(folder, {}) as run:
        for t in trajectories:
            run.append_trajectory(t)
    return folder


@pytest.mark.thorough
@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_full_disk_is_one_error_and_leaves_nothing(tmp_path: Path) -> None:
    """Not even a second one, when the writer is forgotten; and the next export has its way free."""
    run = write(tmp_path / "run", [episode(i, turns=11) for i in range(60)])
    for most in (0, 3000, 8000):
        with files_of_at_most(most), pytest.raises(OSError, match="File too large") as caught:
            export_parquet(run, tmp_path / "tables")
        assert Path(str(caught.value.filename)).suffix == ".parquet"
        del caught
        gc.collect()
        assert [p.name for p in tmp_path.iterdir()] == ["run"]
    export_parquet(run, tmp_path / "tables")


def test_a_training_set_that_cannot_be_written_again_is_still_there(tmp_path: Path) -> None:
    file = tmp_path / "kept.parquet"
    schema = pa.schema([("x", pa.int64())])
    with open_parquet_writer(file, schema) as out:
        out.write_table(pa.table({"x": [1, 2]}, schema=schema))
    with (
        files_of_at_most(4000),
        pytest.raises(OSError, match="File too large"),
        open_parquet_writer(file, schema) as out,
    ):
        out.write_table(pa.table({"x": [hash((0, i)) for i in range(10_000)]}, schema=schema))
    assert pq.read_table(file)["x"].to_pylist() == [1, 2] and [*tmp_path.iterdir()] == [file]


def test_tables_hold_one_row_per_episode_and_per_act(tmp_path: Path) -> None:
    given = [episode(0), episode(1, turns=0, error="WorldError: x"), episode(2, turns=1)]
    target = export_parquet(write(tmp_path / "run", given), tmp_path / "out" / "tables")
    assert target == tmp_path / "out" / "tables"
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["tables"]
    assert sorted(p.name for p in target.iterdir()) == ["acts.parquet", "trajectories.parquet"]
    heads, acts = (pq.read_table(target / f"{table}.parquet").to_pylist() for table in TABLES)
    assert [h["id"] for h in heads] == [t.id for t in given]
    assert [(h["seed"], h["sample"], h["n_turns"], h["n_acts"], h["n_tokens"]) for h in heads] == [
        (2**64 - 1, 0, 2, 2, 64), (2**64 - 1, 1, 0, 0, 0), (2**64 - 1, 2, 1, 1, 32),
    ]  # fmt: skip
    assert [(h["error"], h["kind"], h["success"], h["score"]) for h in heads[:2]] == [
        ("", None, None, None), ("WorldError: x", "error", False, 0.0),
    ]  # fmt: skip
    assert heads[0]["outcome"] is None and heads[1]["outcome"].startswith('{"kind":"error"')
    assert heads[0]["tags"] == '{"note":"a"}' and heads[0]["task_id"] == given[0].task.id
    assert [(a["trajectory"], a["turn"], a["act"], a["seat"]) for a in acts] == [
        (given[0].id, 0, 0, "agent"), (given[0].id, 1, 1, "agent"), (given[2].id, 0, 0, "agent"),
    ]  # fmt: skip
    assert acts[0]["text"] == "<Answer>1122</Answer> é" and acts[0]["memory"] == "[1]"
    (completion,) = acts[0]["completions"]
    assert (completion["ids"], completion["logprobs"], completion["text"]) == ([0, 7], [-math.inf, -1.25], "? ü")
    assert completion["usage"] == [30, 2, 10]


def test_any_parquet_reader_sees_the_documented_types(tmp_path: Path) -> None:
    target = export_parquet(
        write(tmp_path / "run", [episode(n, turns=n % 2) for n in range(GROUP + 1)]), tmp_path / "tables"
    )
    acts = pq.read_table(target / "acts.parquet")
    inner = acts.schema.field("completions").type.value_type
    assert str(inner.field("ids").type.value_type) == "int32"
    assert str(inner.field("logprobs").type.value_type) == "float"
    heads = pq.ParquetFile(target / "trajectories.parquet")
    assert str(heads.schema_arrow.field("seed").type) == "uint64"
    assert [heads.metadata.row_group(g).num_rows for g in range(heads.num_row_groups)] == [GROUP, 1]
    assert pq.ParquetFile(target / "acts.parquet").num_row_groups == 2
    assert heads.metadata.row_group(0).column(0).compression == "ZSTD"


def test_what_reads_back_otherwise_gets_no_name(tmp_path: Path) -> None:
    path = export_parquet(write(tmp_path / "run", [episode(n) for n in range(3)]), tmp_path / "tables") / "acts.parquet"
    _check_table(path, 6)
    with pytest.raises(StoreError, match=r"acts\.parquet: 6 rows read back, 7 were written"):
        _check_table(path, 7)
    data = bytearray(path.read_bytes())
    data[pq.ParquetFile(path).metadata.row_group(0).column(3).dictionary_page_offset + 20] ^= 1
    path.write_bytes(data)
    with pytest.raises(StoreError, match=r"acts\.parquet: not readable as Parquet, or damaged"):
        _check_table(path, 6)


def test_what_cannot_be_exported_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="is not a run folder"):
        export_parquet(tmp_path / "none", tmp_path / "tables")
    with pytest.raises(UserError, match="holds no trajectories yet"):
        export_parquet(write(tmp_path / "empty", []), tmp_path / "tables")
    folder = write(tmp_path / "run", [episode(0)])
    with pytest.raises(UserError, match="already exists; allowed: a new folder"):
        export_parquet(folder, tmp_path / "empty")
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "pyarrow" else find_spec(name))
    with pytest.raises(UserError, match=r"pip install 'sonde-rl\[parquet\]'"):
        export_parquet(folder, tmp_path / "tables")
    assert not (tmp_path / "tables").exists()
