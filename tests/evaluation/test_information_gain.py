"""Information of recorded episodes: the same in one process and in many, computed once, kept beside the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde.core import AGENT, Episode, Trajectory
from sonde.evaluation import information_gain as scoring
from sonde.evaluation.evaluate import evaluate, summarise_trajectories
from sonde.evaluation.information_gain import (
    NAME,
    NOTHING,
    PRODUCER,
    Information,
    compute_information,
    score_trajectories,
)
from sonde.evaluation.run_evaluation import execute_run, reopen_run, rescore_run
from sonde.runs.rollout import Plan, collect_trajectories, record_plan
from sonde.runs.run import config_from, prepare_run
from sonde.runs.store import Annotator, Run, read_annotations

ENV = sonde.make("mastermind", length=3, digits=5, max_turns=6)
RANDOM = {AGENT: sonde.make("agents:random")}


def record_run(folder: Path, n: int = 6, env: Any = ENV) -> Run:
    return record_plan(env, RANDOM, env.tasks("test")[:n], Plan(k=2), folder)


def measure_each(env: Any, trajectories: Any) -> dict[str, Information]:
    return {t.id: compute_information(env, t) for t in trajectories}


def test_the_information_of_an_episode_is_that_of_its_replay() -> None:
    (t,) = collect_trajectories(ENV, RANDOM, ENV.tasks("test")[:1])
    known = compute_information(ENV, t)
    assert known.gains == Episode.replay(ENV, t).gains(expected=True)
    assert known.entropy is not None and len(known.entropy) == len(t.turns) + 1


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_any_number_of_processes_finds_the_same(processes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "PATIENCE", 0.0)
    played = collect_trajectories(ENV, RANDOM, ENV.tasks("test")[:40], Plan(k=2))
    found = list(score_trajectories(ENV, played, processes=processes))
    assert [t.id for t, _ in found] == [t.id for t in played]
    assert {t.id: known for t, known in found} == measure_each(ENV, played)


def test_an_episode_that_does_not_replay_is_an_error_from_any_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "PATIENCE", 0.0)
    played = collect_trajectories(ENV, RANDOM, ENV.tasks("test")[:40], Plan(k=2))
    object.__setattr__(played[-1], "seed", 5)
    object.__setattr__(played[-1], "version", "0")
    with pytest.raises(sonde.core.ReplayError, match="recorded on mastermind version 0"):
        list(score_trajectories(ENV, played, processes=2))


def test_an_iterator_of_episodes_loses_none_of_which_some_are_known(tmp_path: Path) -> None:
    list(score_trajectories(ENV, record_run(tmp_path, 1), folder=tmp_path))
    run = record_run(tmp_path, 3)
    found = {t.id: known for t, known in score_trajectories(ENV, iter(run), folder=tmp_path)}
    assert len(found) == len(run) == 6 and found == measure_each(ENV, run)


def test_information_is_kept_beside_the_run_and_read_again(tmp_path: Path) -> None:
    run = record_run(tmp_path / "run")
    first = {t.id: known for t, known in score_trajectories(ENV, run, folder=run.folder)}
    assert first == measure_each(ENV, run)
    notes = read_annotations(run.folder, NAME)
    assert len(notes) == sum(len(t.turns) + 1 for t in run)
    marked = run[0].id  # a number that no computation gives shows that it was read
    version = notes[marked, 0].version
    with Annotator.open_annotations(run.folder, NAME, producer=PRODUCER, version=version) as changed:
        changed.add_note(marked, {**notes[marked, 0].value, "realised": 77.0}, turn=0)
    size = (run.folder / f"annotations-{NAME}.jsonl.zst").stat().st_size
    again = {t.id: known for t, known in score_trajectories(ENV, run, folder=run.folder)}
    read = again[marked].gains
    assert read is not None and read[0].realised == 77.0
    assert {k: v for k, v in again.items() if k != marked} == {k: v for k, v in first.items() if k != marked}
    assert (run.folder / f"annotations-{NAME}.jsonl.zst").stat().st_size == size


def test_annotations_of_another_version_are_recomputed(tmp_path: Path) -> None:
    run = record_run(tmp_path / "run", 2)
    with Annotator.open_annotations(run.folder, NAME, producer=PRODUCER, version="0.0.0, mastermind 0") as stale:
        for t in run:
            stale.add_note(t.id, None)
    assert {t.id: known for t, known in score_trajectories(ENV, run, folder=run.folder)} == measure_each(ENV, run)
    assert {note.version for note in read_annotations(run.folder, NAME).values()} != {"0.0.0, mastermind 0"}
    assert {t.id: known for t, known in score_trajectories(ENV, run, folder=run.folder)} == measure_each(ENV, run)


def test_lost_and_later_episodes_are_computed(tmp_path: Path) -> None:
    run = record_run(tmp_path / "run", 2)
    list(score_trajectories(ENV, run, folder=run.folder))
    version = read_annotations(run.folder, NAME)[run[0].id, None].version
    with Annotator.open_annotations(run.folder, NAME, producer=PRODUCER, version=version) as notes:
        notes.add_note(run[0].id, {"prior": 1.0, "turns": 99})
    longer = record_run(tmp_path / "run", 4)
    assert {t.id: known for t, known in score_trajectories(ENV, longer, folder=run.folder)} == measure_each(ENV, longer)


def test_an_interrupted_scoring_goes_on(tmp_path: Path) -> None:
    run = record_run(tmp_path / "run")
    begun = score_trajectories(ENV, run, folder=run.folder)
    done = [next(begun)[0].id for _ in range(5)]
    begun.close()
    assert {t for t, turn in read_annotations(run.folder, NAME) if turn is None} == set(done)
    assert {t.id: known for t, known in score_trajectories(ENV, run, folder=run.folder)} == measure_each(ENV, run)


def test_no_filter_is_kept_as_such(tmp_path: Path) -> None:
    env = sonde.make("maze")
    run = record_plan(env, RANDOM, env.tasks("test")[:2], Plan(), tmp_path / "run")
    for _ in range(2):
        assert [known for _, known in score_trajectories(env, run, folder=run.folder)] == [NOTHING] * 2
    assert [note.value for note in read_annotations(run.folder, NAME).values()] == [None, None]


def test_a_run_is_evaluated_like_its_trajectories_and_its_gains_are_optional(tmp_path: Path) -> None:
    config = {"env": {"name": "mastermind", "length": 3, "digits": 5}, "seats": {"agent": {"name": "agents:random"}}}
    run = prepare_run(config_from({**config, "n_tasks": 4, "k": 2}))
    done = execute_run(run, tmp_path / "run")
    stored = Run.load(tmp_path / "run")
    assert done.rows == evaluate(list(stored)).rows
    seen: list[Trajectory] = []
    without = rescore_run(reopen_run(stored, gains=False), stored.folder, on_done=seen.append)
    assert without.metrics["bits"] is None and len(seen) == 8
    assert rescore_run(reopen_run(stored), stored.folder).rows == done.rows


def test_rows_of_without_gains_replays_nothing() -> None:
    played = collect_trajectories(ENV, RANDOM, ENV.tasks("test")[:3])
    object.__setattr__(played[0], "version", "0")
    assert [r.gains for r in summarise_trajectories(ENV, played, gains=False)] == [None] * 3
