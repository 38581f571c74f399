"""Calls of the Python interface with what cannot be meant: one line that names it, before anything is computed."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sonde
from sonde.core import AGENT, Episode, Outcome, Rng, Sampling, Trajectory, UserError, derive
from sonde.evaluation import metrics
from sonde.evaluation.evaluate import evaluate
from sonde.runs.rollout import Plan, collect_trajectories, record_plan
from sonde.runs.store import Run, RunWriter
from tests.cases import each

ENV = sonde.make("wordle", max_turns=1)
BEGUN = Episode.begin(ENV, ENV.tasks("test")[0], seed=0)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("run") / "r"
    return record_plan(ENV, {AGENT: sonde.make("agents:random")}, ENV.tasks("test")[:1], Plan(), folder)


@each(
    "call, says",
    [
        (lambda: Sampling(stop=("",)), "sampling: stop: got"),
        (lambda: Sampling(stop=("a", "")), "sampling: stop: got"),
        (lambda: Sampling(seed=-1), "sampling: seed: got -1, allowed: 0 to"),
        (lambda: Sampling(seed=2**64), "sampling: seed: got"),
        (lambda: Outcome("nope"), "outcome: kind: got 'nope', allowed: win, loss, unreadable, out_of_turns, error"),
        (lambda: Outcome("win", score="x"), "outcome: score: got 'x', allowed: a finite number"),
        (lambda: Outcome("win", math.nan), "outcome: score: got nan"),
        (lambda: Outcome("loss", truncated="time"), "outcome: truncated: got 'time', allowed: tokens, turns"),
        (lambda: Outcome(["win"]), r"outcome: kind: got \['win'\]"),
        (
            lambda: Outcome("loss", judged="yes"),
            "outcome: claimed, judged: got .*'yes'.*, allowed: true, false or none",
        ),
        (lambda: Outcome("loss", claimed=np.True_), "outcome: claimed, judged: got"),
        (lambda: BEGUN.to_trajectory(tags={1: 2}), r"trajectory: tags: got {1: 2}, allowed: text for text"),
        (lambda: BEGUN.to_trajectory(policies="x"), "trajectory: policies: got 'x', allowed: a policy for every seat"),
        (lambda: BEGUN.to_trajectory(policies={AGENT: "x"}), "trajectory: policies: got"),
        (lambda: Episode.replay(ENV, "x"), "trajectory: got 'x', allowed: a Trajectory"),
        (lambda: metrics.rate([["a"]]), r"metrics: got values that do not add up \(.*\), allowed: numbers"),
        (lambda: metrics.rate([[2.0]]), "metrics: rate: got 2.0, allowed: values from 0 to 1"),
        (lambda: metrics.rate([[1.0], [math.nan]]), r"metrics: values\[1\]: got \[nan\], allowed: finite numbers"),
        (lambda: metrics.mean([[math.inf]]), r"metrics: values\[0\]: got \[inf\]"),
        (lambda: metrics.estimate([[1.0], ["b"]]), "metrics: got values that do not add up"),
        (lambda: metrics.paired_difference([[1.0]], [[math.nan]]), r"metrics: values\[0\]: got \[nan\]"),
        (lambda: ENV.filter(BEGUN.task.public).observe("crane"), "observe: got 'crane', allowed: a Turn"),
        (lambda: sonde.make("agents:random").act_now(None), "Random.act_now: got None, allowed: a View"),
        (lambda: sonde.make("agents:entropy").act_now(BEGUN), "act_now: got <Episode wordle"),
        (lambda: derive(1.5, "a"), "derive: seed: got 1.5, allowed: a whole number"),
        (lambda: derive(0, None), "derive: path: got None, allowed: text and whole numbers"),
        (lambda: derive(0, np.int64(1)), "derive: path: got np.int64"),
        (lambda: Rng(0, 0.5).random(), "derive: path: got 0.5"),
        (lambda: evaluate("runs"), "evaluate: trajectories: got 'r', allowed: trajectories"),
        (lambda: evaluate([BEGUN]), "evaluate: trajectories: got <Episode"),
        (lambda: sonde.make("wordle", max_turns=10**30), "max_turns: got 10*, allowed: 1 or more, up to 1,000,000"),
    ],
)
def test_invalid_calls_are_one_line(call: Callable[[], Any], says: str) -> None:
    with pytest.raises(UserError, match=f"^[^\n]*{says}"):
        call()


def test_runs_check_indices_and_appended_values(run: Run, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="run: index: got 'x', allowed: a number or a slice"):
        run["x"]  # type: ignore[index]
    assert run[np.int64(0)].id == run[0].id and [t.id for t in run.trajectories[:1]] == [run[0].id]
    with RunWriter.open(tmp_path / "w", {}) as writer:
        with pytest.raises(
            UserError, match=r"append: got <Episode .*, allowed: a Trajectory, such as the result of Episode"
        ):
            writer.append_trajectory(BEGUN)  # type: ignore[arg-type]
        writer.append_trajectory(run[0])
    assert len(Run.load(tmp_path / "w")) == 1


def test_outcomes_are_values_as_before() -> None:
    won = Outcome("win", np.float64(1.0), judged=False)
    assert won == ("win", 1.0, None, False, "") and not won.success and Outcome("win").success
    assert pickle.loads(pickle.dumps(won)) == won and type(pickle.loads(pickle.dumps(won))) is Outcome
    assert type(won._replace(truncated="turns")) is Outcome and won._asdict()["judged"] is False
    kind, *rest = won
    assert kind == "win" and len(rest) == 4 and hash(won) == hash(Outcome("win", 1.0, judged=False))


def test_a_trajectory_of_a_bad_outcome_does_not_read(run: Run) -> None:
    (found,) = collect_trajectories(ENV, {AGENT: sonde.make("agents:random")}, ENV.tasks("test")[:1])
    data = found.to_json()
    for wrong in ({"kind": "won"}, {"kind": "win", "score": "1"}):
        with pytest.raises(sonde.core.ReplayError, match="outcome: "):
            Trajectory.from_json({**data, "outcome": wrong})
