"""The recipe of an evaluation: its numbers are those of `sonde.evaluation.evaluate`."""

from __future__ import annotations

import asyncio
import sys

import numpy as np
import pytest

import sonde
from sonde.evaluation.evaluate import evaluate
from sonde.runs.rollout import Plan, collect_trajectories
from tests.cases import each

from .loading import count_lines, load

recipe = load("evaluate_loop")


@each("name", ["random", "entropy"])
def test_its_numbers_are_those_of_the_library(name: str) -> None:
    env, agent = sonde.make("mastermind", preset="paprika"), sonde.make(f"agents:{name}")
    tasks = env.tasks("test")[:6]
    rows = asyncio.run(recipe.play_all(env, agent, tasks, k=2, concurrency=5))
    played = collect_trajectories(env, {sonde.AGENT: agent}, tasks, Plan(k=2, seed=0))
    flat = [result for row in rows for result in row]
    assert [(r.success, r.turns) for r in flat] == [
        (float(t.outcome.success), len(t.turns)) for t in played if t.outcome
    ]
    found = evaluate(played)
    bits = np.array([[sum(result.bits) / result.turns for result in row] for row in rows])
    mean, low, high = recipe.estimate(bits)
    ours = found.metrics["bits_per_turn"]
    assert ours is not None and mean == pytest.approx(ours.mean, abs=0.02)
    assert low <= mean <= high and (low, high) == pytest.approx((ours.low, ours.high), abs=0.1)
    assert count_lines("evaluate_loop") <= 120


def test_the_interval_is_by_task() -> None:
    """Two samples of a task that are alike are one observation: the interval is that of the tasks' means."""
    table = np.repeat(np.array([[0.0], [1.0], [1.0], [0.0], [1.0]]), 8, axis=1)
    mean, low, high = recipe.estimate(table)
    assert mean == 0.6 and low == pytest.approx(0.2) and high == pytest.approx(1.0)


def test_it_runs_as_a_script(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["evaluate_loop.py", "--tasks", "3", "-k", "2"])
    recipe.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6 and lines[3].split()[:3] == ["entropy", "success", "1.00"]
    bits = [float(line.split()[4]) for line in lines if "bits per turn" in line]
    assert bits[1] > bits[0] > 0
