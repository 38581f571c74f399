"""`sonde.rollout`, in memory and on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde.core import AGENT, UserError
from sonde.evaluation.run_evaluation import reopen_run, rescore_run
from sonde.runs.rollout import Plan, collect_trajectories

LOCK: Any = sonde.make("combination_lock")


def ids(played: Any) -> list[str]:
    return sorted(t.id for t in played)


def test_it_plays_what_a_plan_plays() -> None:
    by_plan = collect_trajectories(
        LOCK, {AGENT: sonde.make("agents:random")}, LOCK.tasks("train")[:3], Plan(k=2, seed=7)
    )
    for env in (LOCK, "combination_lock"):
        for agent in ("random", "agents:random", sonde.make("agents:random"), {AGENT: "random"}):
            found = sonde.rollout(env, agent, tasks=3, split="train", k=2, seed=7)
            assert [t.id for t in found] == [t.id for t in by_plan]
    assert ids(sonde.rollout(LOCK, "random", LOCK.tasks("test")[4:6])) == ids(
        sonde.rollout(LOCK, "random", tasks=6)[4:]
    )


def test_other_seats_are_named_too() -> None:
    env = sonde.make("twenty_questions", preset="small")
    mine = sonde.rollout(env, {AGENT: "random", "user": "users:answerer"}, tasks=1)
    assert ids(mine) == ids(sonde.rollout(env, "random", tasks=1))


def test_a_folder_continues_and_can_be_rescored(tmp_path: Path) -> None:
    done: list[Any] = []
    run = sonde.rollout(LOCK, "random", tasks=2, split="train", folder=tmp_path / "run", on_done=done.append)
    assert isinstance(run, sonde.Run) and len(run) == len(done) == 2
    run = sonde.rollout(LOCK, "random", tasks=4, split="train", folder=tmp_path / "run", on_done=done.append)
    assert len(run) == len(done) == 4
    assert ids(run) == ids(sonde.rollout(LOCK, "random", tasks=4, split="train"))
    found = rescore_run(reopen_run(run), run.folder)
    assert (found.n_tasks, found.split) == (4, "train") and not found.kinds["missing"]
    assert found.metrics == sonde.evaluate(run).metrics


def test_mistakes_are_named(tmp_path: Path) -> None:
    n = len(LOCK.tasks("test"))
    for tasks in (0, n + 1):
        with pytest.raises(UserError, match=f"rollout: tasks: got {tasks}, allowed: 1 to {n}, as many as"):
            sonde.rollout(LOCK, "random", tasks=tasks)
    with pytest.raises(UserError, match="tasks: got '2 tasks', allowed: a number or None, where there is a folder"):
        sonde.rollout(LOCK, "random", LOCK.tasks("test")[:2], folder=tmp_path / "run")  # pyright: ignore
    with pytest.raises(UserError, match="randm"):
        sonde.rollout(LOCK, "randm", tasks=1)
    with pytest.raises(UserError, match="has no seat 'usr'"):
        sonde.rollout(LOCK, {AGENT: "random", "usr": "users:answerer"}, tasks=1)
    assert not (tmp_path / "run").exists()
