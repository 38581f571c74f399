"""A run as one sequence, and parts of it by what the index knows."""

import json
import os
import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from sonde.core import AGENT, Outcome, StoreError, Trajectory, UserError
from sonde.runs.store import Run, RunWriter, StoreWarning, TrajectoryDataset
from sonde.runs.store.codec import encode_trajectory
from sonde.runs.store.frames import read_frames
from sonde.runs.store.index import NAME

from .runs import LOG, write


def lines(trajectories: TrajectoryDataset | Run | list[Trajectory]) -> list[bytes]:
    return [encode_trajectory(t) for t in trajectories]


def flip(file: Path, at: int) -> None:
    """Another bit, and a moment that no clock is too coarse for."""
    data, before = bytearray(file.read_bytes()), file.stat().st_mtime_ns
    data[at] ^= 1
    file.write_bytes(data)
    os.utime(file, ns=(before, before + 10**9))


def rot(file: Path, at: int) -> None:
    """Another bit, and nobody says so."""
    before = file.stat()
    flip(file, at)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_it_is_a_sequence(tmp_path: Path, play) -> None:
    folder = write(tmp_path / "run", [*play(2, error="WorldError: x"), *play(5, first=1)])
    dataset = TrajectoryDataset(folder)
    expected = lines([*play(1, error="WorldError: x"), *play(5, first=1)])
    assert (len(dataset), dataset.superseded_count) == (6, 1)
    assert lines([dataset[i] for i in (5, 0, -1, 2)]) == [expected[i] for i in (5, 0, -1, 2)]
    assert lines(dataset[4:1:-2]) == expected[4:1:-2]
    assert lines(dataset) == expected
    assert [e.episode_key.sample for e in dataset.index_entries()] == [0, 1, 2, 0, 1, 2]
    assert [e.id for e in dataset.index_entries()] == [t.id for t in dataset]
    for i in (6, -7):
        with pytest.raises(IndexError):
            dataset[i]
    assert lines(pickle.loads(pickle.dumps(dataset))) == expected


def test_an_empty_run_is_an_empty_sequence(tmp_path: Path) -> None:
    RunWriter.open(tmp_path, {}).close()
    assert list(TrajectoryDataset(tmp_path)) == []
    assert list(TrajectoryDataset(tmp_path).index_entries()) == []
    assert list(Run.load(tmp_path).canonical_lines()) == []


def test_what_the_index_knows_of_a_trajectory(tmp_path: Path, play, seats) -> None:
    failed = play(1, first=2, error="WorldError: \ud801 lost")
    denied = replace(seats, seed=1, outcome=Outcome("win", 1.0, True, False), tags={"step": "3"})
    dataset = TrajectoryDataset(write(tmp_path, [seats, *play(1), denied, *failed]))
    one, other, third, last = dataset.index_entries()
    seats_return = sum(turn.rewards.get(AGENT, 0.0) for turn in seats.turns)
    assert seats_return not in (0.0, -0.5), "it differs from the outcome's score"
    assert one[:17] == (
        seats.task.id, 2**64 - 1, 4, "a" * 20, "", "mastermind", seats.task.preset, seats.task.split,
        seats.task.index, "loss", False, -0.5, "turns", seats_return, 3, 0, '{"group": "mastermind", "t": "1"}',
    )  # fmt: skip
    mine = play(1)[0]
    sampled = [c.usage for act in mine.acts for c in act.action.completions]
    assert (other.turns, other.tokens) == (3, sum(u.prompt + u.completion for u in sampled)) and other.tokens > 90
    assert (other.kind, other.success, other.score, other.truncated, other.agent_return) == (None,) * 5
    assert (third.kind, third.success, third.score, third.tags) == (
        "win", False, 1.0, '{"group": "mastermind", "step": "3"}',
    )  # fmt: skip
    assert (last.error, last.is_failed, one.is_failed) == ("WorldError: ? lost", True, False)


def test_parts_of_a_run_are_sequences_too(tmp_path: Path, play, seats) -> None:
    given = [*play(6), seats, *play(2, first=6, error="WorldError: x")]
    dataset = TrajectoryDataset(write(tmp_path, given))
    whole = dataset.select_where("error = ''", order="sample DESC, turns, task")
    assert [t.sample for t in whole] == [4, 2, 2, 1, 1, 0, 0] == [e.sample for e in whole.index_entries()]
    part = whole.select_where("sample = ? AND task = ?", 1, given[0].task.id)
    assert lines(part) == lines([given[1]]) and part[-1].id == given[1].id and len(dataset) == 9
    assert [e.seed for e in dataset.select_where("seed > 5", order="seed").index_entries()] == [2**64 - 1]
    assert lines(dataset.select_where("seed = ?", 2**64 - 1)) == lines([seats])
    assert lines(pickle.loads(pickle.dumps(part))) == lines(part)
    with pytest.raises(UserError, match=r"where: no such column: knd; columns: task, seed, .*kind"):
        dataset.select_where("knd = 'win'")
    with pytest.raises(UserError, match="where: "):
        dataset.select_where("turns = ?")


def test_parts_can_be_counted_without_reading_them(tmp_path: Path, play, seats) -> None:
    given = [*play(6), seats]
    dataset = TrajectoryDataset(write(tmp_path, given))
    counts = dict(dataset.select_columns("sample, count(*)", group="sample"))
    assert counts == {n: sum(t.sample == n for t in given) for n in {t.sample for t in given}}
    part = dataset.select_where("sample < ?", 2, order="sample, task")
    assert part.select_columns("sample") == [(t.sample,) for t in part]
    assert part.select_columns("id", limit=2, offset=1) == [(t.id,) for t in part[1:3]]
    assert json.loads(dataset.record_line(6))["id"] == seats.id
    with pytest.raises(UserError, match=r"select: no such column: knd; columns: task, seed"):
        dataset.select_columns("knd")


def test_a_dataset_sees_what_came_later_when_it_is_refreshed(tmp_path: Path, play) -> None:
    first, second = play(2), play(2, first=2)
    dataset = TrajectoryDataset(write(tmp_path, first))
    part = dataset.select_where("sample = 0")
    write(tmp_path, second)
    assert len(dataset) == 2
    dataset.refresh()
    assert lines(dataset) == lines([*first, *second])
    part.refresh()
    assert [t.sample for t in part] == [t.sample for t in (*first, *second) if t.sample == 0]


def test_seeds_are_sorted_as_numbers(tmp_path: Path, seats) -> None:
    seeds = [2**64 - 1, 7, 2**63, 2**63 - 1, 10, 10**19, 9 * 10**18]
    write(tmp_path, [replace(seats, seed=seed) for seed in seeds])
    run = Run.load(tmp_path)
    assert [e.seed for e in run.trajectories.select_where(order="seed").index_entries()] == sorted(seeds)
    assert [json.loads(line)["seed"] for line in run.canonical_lines()] == sorted(seeds)
    with RunWriter.open(tmp_path, {}) as again:
        assert sorted(key.seed for key in again.finished_keys) == sorted(seeds)


def test_the_logs_of_several_writers_are_one_run(tmp_path: Path, play) -> None:
    given = play(6)
    with RunWriter.open(tmp_path, {}) as one, RunWriter.open(tmp_path, {}, writer=2) as two:
        one.append_trajectory(given[0])
        two.append_trajectory(given[3])
        two.append_trajectory(given[1])
        with pytest.raises(StoreError, match=r"another writer is open on this run \(it holds \.lock-2\)"):
            RunWriter.open(tmp_path, {}, writer=2)
        one.append_trajectory(given[1])  # both play it: readers show the last, by the number of the writer
        one.flush()
        two.flush()
        assert lines(Run.load(tmp_path)) == lines([given[0], given[3], given[1]])
    write(tmp_path, given[2:3], writer=1)
    run = Run.load(tmp_path)
    assert lines(run) == lines([given[0], given[2], given[3], given[1]]) and run.trajectories.superseded_count == 1
    (tmp_path / NAME).unlink()
    assert lines(Run.load(tmp_path)) == lines(run)
    with RunWriter.open(tmp_path, {}, writer=7) as late:
        assert len(late.finished_keys) == 4
        with pytest.raises(UserError, match="already holds task"):
            late.append_trajectory(given[3])
    assert sorted(p.name for p in tmp_path.glob("*.zst")) == [
        LOG, "trajectories-1-00000.jsonl.zst", "trajectories-2-00000.jsonl.zst", "trajectories-7-00000.jsonl.zst",
    ]  # fmt: skip
    with pytest.raises(UserError, match=r"writer: got 1000, allowed: 0 to 999"):
        RunWriter.open(tmp_path, {}, writer=1000)
    with pytest.raises(UserError, match=r"started with another configuration: config\.a: got 1"):
        RunWriter.open(tmp_path, {"a": 1}, writer=3)


# --- damage ----------------------------------------------------------------------------------------------------------


def test_a_damaged_frame_costs_what_it_held_and_is_played_again(tmp_path: Path, play) -> None:
    given = play(5)
    log = write(tmp_path, given) / LOG
    flip(log, list(read_frames(log))[2].start + 30)
    left = [*given[:2], *given[3:]]
    for _ in range(2):  # it is told whenever the run is opened
        with pytest.warns(StoreWarning, match=r"00000.jsonl.zst: damaged at byte \d+ .*; 1 record is left out"):
            run = Run.load(tmp_path)
        assert lines(run) == lines(left) == lines([run[i] for i in range(4)])
        assert [e.id for e in run.trajectories.index_entries()] == [t.id for t in left]
        assert len([*run.canonical_lines()]) == 4
    with pytest.warns(StoreWarning), RunWriter.open(tmp_path, {}) as again:
        assert given[2].task.id in {k.task for k in again.finished_keys} and len(again.finished_keys) == 4
        again.append_trajectory(given[2])
    with pytest.warns(StoreWarning):
        assert {t.id for t in Run.load(tmp_path)} == {t.id for t in given}


def test_damage_that_nobody_told_of_is_found_when_it_is_read(tmp_path: Path, play) -> None:
    given = play(5)
    log = write(tmp_path, given) / LOG
    rot(log, list(read_frames(log))[2].start + 30)
    run = Run.load(tmp_path)
    assert len(run) == 5 and encode_trajectory(run[4]) == encode_trajectory(given[4])
    with pytest.raises(StoreError, match=r"00000.jsonl.zst: damaged at byte \d+"):
        run[2]
    with pytest.warns(StoreWarning, match=r"damaged at byte \d+ .*; 1 record is left out"):
        assert lines(run) == lines([*given[:2], *given[3:]])
    with pytest.warns(StoreWarning), RunWriter.open(tmp_path, {}) as again:
        assert len(again.finished_keys) == 4
        again.append_trajectory(given[2])
    with pytest.warns(StoreWarning):
        assert len(Run.load(tmp_path)) == 5


def test_a_line_that_is_no_record_is_damage(tmp_path: Path, play) -> None:
    from sonde.runs.store.log import Log

    given = play(2)
    log = Log(write(tmp_path, given[:1]) / LOG)
    for line in (b'{"half": 1}', b"[]", encode_trajectory(given[1])):
        log.add_line(line)
    log.close()
    with pytest.warns(StoreWarning, match=r"line [01]: .*; 1 record is left out") as told:
        assert lines(Run.load(tmp_path)) == lines(given)
    assert len(told) == 2
