"""Evaluations in trackers: which values they get, and that the real clients take them."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde.core import UserError
from sonde.evaluation.evaluate import Evaluation
from sonde.evaluation.run_evaluation import rescore_run
from sonde.evaluation.trackers import TRACKERS, check_trackers, tracked_values
from sonde.runs.run import config_from, play_run, prepare_run

CONFIG: dict[str, Any] = {
    "env": {"name": "best_arm", "preset": "small"}, "seats": {"agent": {"name": "agents:random"}},
    "n_tasks": 5, "k": 2,
}  # fmt: skip


@pytest.fixture(scope="module")
def evaluation(tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    run, folder = prepare_run(config_from(CONFIG)), tmp_path_factory.mktemp("runs") / "run"
    play_run(run, folder)
    return rescore_run(run, folder)


def test_every_turn_is_a_step_and_the_last_has_the_metrics(evaluation: Evaluation) -> None:
    steps = list(tracked_values(evaluation))
    assert len(steps) == 12 and "won_within" not in steps[0]
    assert [step["won_within"] for step in steps[1:]] == [e.mean for e in evaluation.within]
    success = evaluation.metrics["success"]
    assert success is not None and evaluation.entropy is not None
    assert (steps[11]["success"], steps[11]["success_low"], steps[11]["success_high"]) == (
        success.mean, success.low, success.high,
    )  # fmt: skip
    assert sum(value for name, value in steps[11].items() if name.startswith("outcome/")) == pytest.approx(1.0)
    assert [step["entropy"] for step in steps] == list(evaluation.entropy)


def test_trackers_are_named_before_anything_is_played() -> None:
    with pytest.raises(UserError, match="track: unknown name 'mlflow'; known: trackio, wandb"):
        check_trackers(["mlflow"])
    for name in TRACKERS:
        if not find_spec(name):
            with pytest.raises(UserError, match=f"track: {name} needs {name}"):
                check_trackers([name])


@pytest.mark.parametrize("tracker", TRACKERS)
def test_its_client_takes_an_evaluation(tracker: str, tmp_path: Path) -> None:
    """The command, with the client's own storage on this machine; its output stays JSON."""
    pytest.importorskip(tracker, reason="needs the extra: pip install 'sonde-rl[track]'")
    home = {"WANDB_MODE": "offline", "TRACKIO_DIR": str(tmp_path / "trackio"), "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "sonde", "eval", "maze:pairs", "--agent", "random", "-n", "3", "-k", "1", "--json"]
    done = subprocess.run(
        [*command, "--track", tracker, "-o", "env.max_turns=2"], env={**os.environ, **home}, cwd=tmp_path,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (told,) = json.loads(done.stdout)
    if tracker == "wandb":
        (written,) = tmp_path.glob("wandb/offline-run-*/run-*.wandb")
        assert b"won_within" in written.read_bytes() and b"agents:random" in written.read_bytes()
        return
    with sqlite3.connect(tmp_path / "trackio" / f"{sonde.__name__}.db") as db:
        rows = [(step, json.loads(values)) for step, values in db.execute("SELECT step, metrics FROM metrics")]
        ((config,),) = db.execute("SELECT config FROM configs")
    assert [step for step, _ in rows] == [0, 1, 2]
    assert rows[-1][1]["success"] == told["metrics"]["success"]["mean"]
    assert json.loads(config)["agent"] == {"name": "agents:random"} and json.loads(config)["env"]["max_turns"] == 2
