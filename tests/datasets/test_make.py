"""Datasets that are played: their size to the episode, their going on, and what their card says."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from sonde.core import Outcome, Trajectory, UserError
from sonde.datasets import (
    PARTS,
    TASKS,
    Part,
    compute_statistics,
    count_held,
    fill_part,
    find_dataset,
    make_card,
    make_parts,
    save_card,
    table_rows,
)
from sonde.runs.rollout import Plan
from sonde.runs.store import Run, RunWriter


def make_runs(name: str, folder: Path, n: int, *, seed: int = 0, processes: int = 1) -> dict[str, Run]:
    found = make_parts(find_dataset(name), n=n, seed=seed)
    return {part.name: fill_part(part, folder / part.name, processes=processes) for part in found}


def in_chunks(n: int) -> Part:
    """Wordle in pieces of 50."""
    return make_parts(replace(find_dataset("wordle"), cost=40.0), n=n)[0]


def export_lines(run: Run) -> list[bytes]:
    return list(run.canonical_lines())


@pytest.mark.thorough
@pytest.mark.parametrize("name", list(TASKS))
def test_every_dataset_has_the_size_that_is_asked_for(name: str, tmp_path: Path) -> None:
    runs = make_runs(name, tmp_path, 12)
    assert [len(runs[part]) for part in PARTS] == [12, 1]
    assert all(not t.error and t.outcome is not None for run in runs.values() for t in run)
    train = {(t.task.id, t.seed, t.sample) for t in runs["train"]}
    assert not train & {(t.task.id, t.seed, t.sample) for t in runs["eval"]}
    splits = {name: {t.task.split for t in run} for name, run in runs.items()}
    assert splits == {part: {split} for part, split in find_dataset(name).splits.items()}


def test_by_default_the_sizes_are_the_papers() -> None:
    assert all(each.size == each.paper.size for name, each in TASKS.items() if name != "chess")
    assert [part.episodes for part in make_parts(find_dataset("wordle"))] == [1_000_000, 100_000]


def test_episodes_are_spread_evenly_over_the_tasks() -> None:
    part = make_parts(find_dataset("maze"), n=60)[0]
    counts = Counter(job.task.index for job in part.plan.list_jobs(part.run.tasks))
    assert [counts[i] for i in range(25)] == [3] * 10 + [2] * 15


def test_what_is_played_depends_on_no_number_of_processes(tmp_path: Path) -> None:
    part = in_chunks(150)
    assert len(part.make_chunks(frozenset())) == 3
    alone, together = (fill_part(part, tmp_path / str(n), processes=n) for n in (1, 2))
    assert export_lines(alone) == export_lines(together)


def test_an_interrupted_dataset_goes_on_and_a_larger_one_continues_it(tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    def stop(_: Trajectory) -> None:
        left.pop()
        if not left:
            raise Stop

    part, left = in_chunks(180), [0] * 130
    with pytest.raises(Stop):
        fill_part(part, tmp_path / "cut", processes=1, on_done=stop)
    assert count_held(part, tmp_path / "cut") == 130
    played: list[Trajectory] = []
    cut = fill_part(part, tmp_path / "cut", processes=1, on_done=played.append)
    assert len(played) == 50
    fill_part(in_chunks(70), tmp_path / "grown", processes=1)
    grown = fill_part(part, tmp_path / "grown", processes=1)
    whole = fill_part(part, tmp_path / "whole", processes=1)
    assert export_lines(cut) == export_lines(grown) == export_lines(whole)


def test_a_span_is_numbered_sample_by_sample() -> None:
    run = make_parts(find_dataset("maze"), n=1)[0].run
    jobs = [(job.task.index, job.sample) for job in Plan(span=(23, 28)).list_jobs(run.tasks)]
    assert jobs == [(23, 0), (24, 0), (0, 1), (1, 1), (2, 1)]
    with pytest.raises(UserError, match="span: got"):
        Plan(span=(3, 2))


def test_another_seed_is_another_dataset(tmp_path: Path) -> None:
    make_runs("maze", tmp_path, 5)
    with pytest.raises(UserError, match="started with another configuration"):
        make_runs("maze", tmp_path, 5, seed=1)
    assert export_lines(make_runs("maze", tmp_path / "1", 5, seed=1)["train"]) != export_lines(
        Run.load(tmp_path / "train")
    )


def test_statistics_by_hand(tmp_path: Path) -> None:
    run = make_runs("maze", tmp_path, 25)["train"]
    won = next(t for t in run if t.outcome and t.outcome.success)
    lost = next(t for t in run if t.outcome and not t.outcome.success)
    failed = replace(lost, error="EndpointError: gone", outcome=Outcome("error"))
    n = len(won.turns)
    found = compute_statistics([won, lost, failed])
    assert (found.size, found.success) == (2, 0.5)
    # All moves cost 1, save the last one of who gets there; two values lie half their difference from their mean.
    assert found.mean_length == (n + 100) / 2 and math.isclose(found.std_length, (100 - n) / 2)
    assert found.mean_return == -(n - 1 + 100) / 2 and math.isclose(found.std_return, (100 - (n - 1)) / 2)
    nothing = compute_statistics(islice(run, 0))
    assert (nothing.size, nothing.mean_length, nothing.std_return) == (0, 0.0, 0.0)


def test_the_card(tmp_path: Path) -> None:
    runs = make_runs("text_nav", tmp_path, 30)
    found = make_card("text_nav", find_dataset("text_nav"), runs)
    save_card(found, tmp_path)
    assert json.loads((tmp_path / "card.json").read_text()) == found
    assert found["paper"]["success"] == 0.26 and found["parts"]["train"]["size"] == 30
    assert found["parts"]["eval"]["seats"]["agent"]["name"] == "agents:text_nav_walker"
    page = (tmp_path / "README.md").read_text()
    assert "| episodes | 30 | 3 | 2,500 |" in page and "agents:text_nav_walker" in page
    assert table_rows(found)[0] == ("episodes", "30", "3", "2,500")


def test_the_statistics_are_near_those_of_the_paper(tmp_path: Path) -> None:
    """Five standard errors around what 20,000 episodes had; wordle's are the paper's within 0.1."""
    found = compute_statistics(make_runs("wordle", tmp_path, 600)["train"])
    assert abs(found.success - 0.72) < 5 * (0.72 * 0.28 / 600) ** 0.5
    assert abs(found.mean_return - -4.03) < 5 * 1.58 / 600**0.5
    paper = find_dataset("wordle").paper
    assert abs(paper.success - 0.72) < 0.03 and abs(paper.mean_return - -4.03) < 0.1


def test_errors(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"task: unknown name 'wordl'.*known: "):
        find_dataset("wordl")
    with pytest.raises(UserError, match="n: got 0, allowed: 1 or more"):
        make_parts(find_dataset("maze"), n=0)
    with pytest.raises(UserError, match="seed: got -1"):
        make_parts(find_dataset("maze"), seed=-1)
    with pytest.raises(UserError, match="no seat 'user'"):
        make_parts(find_dataset("maze"), seats={"user": {"name": "users:answerer"}})
    part: Part = make_parts(find_dataset("maze"), n=5)[0]
    with RunWriter.open(tmp_path / "other", {"env": "another"}):
        pass
    with pytest.raises(UserError, match="started with another configuration"):
        fill_part(part, tmp_path / "other")


def test_a_language_model_may_play(tmp_path: Path) -> None:
    agent = {"name": "agents:llm", "model": {"name": "models:fake", "script": ["c r a n e"]}}
    part = make_parts(find_dataset("wordle"), n=7, seats={"agent": agent}, concurrency=3)[0]
    assert part.has_model and not make_parts(find_dataset("wordle"), n=7)[0].has_model
    run = fill_part(part, tmp_path)
    assert len(run) == 7 and all(t.turns[0].acts[0].action.completions for t in run)
    assert len(fill_part(part, tmp_path)) == 7
