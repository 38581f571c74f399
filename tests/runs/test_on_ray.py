"""Runs on a local Ray: what one process records, whichever actors are killed. Needs the extra ray (240 MB)."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from sonde._util.extras import list_extras
from sonde.core import AGENT, Halted, Rng
from sonde.runs.run import config_from, play_run, prepare_run
from sonde.runs.store import Run

FAKE = {"name": "models:fake", "pattern": ["<Answer>{0|1|2|3|4}{0|1|2|3|4}{0|1|2|3|4}</Answer>"], "latency": 0.1}
CONFIG: dict[str, Any] = {
    "env": {"name": "mastermind", "length": 3, "digits": 5, "max_turns": 8},
    "seats": {AGENT: {"name": "agents:llm", "model": FAKE}},
    "split": "train", "n_tasks": 20, "k": 4, "gains": False, "concurrency": 6,
}  # fmt: skip
SLOW = {**CONFIG, "seats": {AGENT: {"name": "agents:llm", "model": {**FAKE, "latency": 0.3}}}, "concurrency": 2, "k": 2}
"""No part ends while the other is begun again."""
MARK = "SONDE_TEST_MARK"

pytestmark = pytest.mark.skipif(not find_spec("ray"), reason="needs the extra: pip install 'sonde-rl[ray]'")


def sonde(mark: str, *args: str | Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from sonde.cli import main; main()", *map(str, args)]
    env = {**os.environ, MARK: mark}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)


def find_actors(mark: str) -> list[int]:
    """The processes of our actors: those that have inherited the mark."""
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            ours = f"{MARK}={mark}".encode() in (folder / "environ").read_bytes()
            if ours and b"ray::_Actor" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


@pytest.mark.thorough
def test_actors_that_are_killed_lose_nothing_and_repeat_nothing(tmp_path: Path) -> None:
    folder, file, mark, rng = tmp_path / "run", tmp_path / "run.json", uuid4().hex, Rng(0, "test", "ray")
    file.write_text(json.dumps(SLOW))
    process = sonde(mark, "rollout", "mastermind", folder, "--config", file, "--on", "ray", "--processes", "2")
    killed, begun = 0, list[int]()
    while killed < 4 and process.poll() is None:
        time.sleep(0.3 + 0.7 * rng.random())
        playing = (folder / "config.json").exists() and len(Run.load(folder)) > 6 * killed
        alive = find_actors(mark)
        begun += [pid for pid in alive if pid not in begun]
        # Of two, the one that began first: each part dies twice, and three times without a result would end the run.
        if playing and len(alive) == 2:
            os.kill(min(alive, key=begun.index), signal.SIGKILL)
            killed += 1
    out, err = process.communicate(timeout=900)
    assert process.returncode == 0 and "40 episodes in" in out, err
    assert killed == 4 == err.count("; restarted"), err
    assert not find_actors(mark)
    stored = Run.load(folder)
    assert (len(stored), stored.trajectories.superseded_count) == (40, 0)
    play_run(prepare_run(config_from({**SLOW, "concurrency": 40})), tmp_path / "whole")
    ours, whole = (b"".join(Run.load(tmp_path / name).canonical_lines()) for name in ("run", "whole"))
    assert ours == whole


def test_a_cluster_without_a_processor_ends_the_wait_and_a_busy_one_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked at while nobody says anything: a node that comes back in time, or other nodes, are waited for."""
    from sonde.runs import on_ray

    waits, cpus = list[float](), iter([4.0, 0.0, 0.0, 4.0, *[0.0] * 100])

    def wait(who: list[str], *, num_returns: int, timeout: float) -> tuple[list[str], list[str]]:
        waits.append(timeout)
        return (who[:1], who[1:]) if len(waits) in ready else ([], who)

    monkeypatch.setattr(on_ray.ray, "wait", wait)
    monkeypatch.setattr(on_ray.ray, "cluster_resources", lambda: {"CPU": next(cpus)})
    workers = object.__new__(on_ray.OnRay)
    workers._said, ready = {"a": 0, "b": 1}, {3}
    assert workers._first_ready() == "a"
    ready.clear()
    with pytest.raises(
        Halted, match=r"on: Ray has had no CPU for 10 seconds, its nodes are gone; finished episodes are"
    ):
        workers._first_ready()
    assert sum(waits) < 60 and {*waits} == {on_ray.LOOK}


@pytest.mark.thorough
def test_a_node_that_is_lost_ends_the_run_with_its_reason_and_the_same_command_goes_on(tmp_path: Path) -> None:
    folder, file, mark = tmp_path / "run", tmp_path / "run.json", uuid4().hex
    slow = {AGENT: {"name": "agents:llm", "model": {**FAKE, "latency": 0.5}}}
    file.write_text(json.dumps({**CONFIG, "seats": slow, "k": 1, "concurrency": 2}))
    command = ("rollout", "mastermind", folder, "--config", file, "--on", "ray", "--processes", "2")
    process = sonde(mark, *command)
    while process.poll() is None and not ((folder / "config.json").exists() and len(Run.load(folder)) > 1):
        time.sleep(0.3)
    (raylet,) = (int(p.name) for p in find_children(process.pid) if b"raylet/raylet" in (p / "cmdline").read_bytes())
    os.kill(raylet, signal.SIGKILL)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1 and "its nodes are gone; finished episodes are kept" in err, err
    assert "Traceback" not in err
    again = sonde(mark, *command)
    out, err = again.communicate(timeout=300)
    assert again.returncode == 0 and "20 episodes in" in out, err


def find_children(pid: int) -> list[Path]:
    """The processes that this one has begun."""
    found = [Path(f"/proc/{child}") for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [folder for folder in found if folder.exists()]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("on", "processes", "says"),
    [
        ("ray", "1000", r"processes: got 1000, allowed: 1 to \d+, the CPUs of this Ray"),
        ("ray:127.0.0.1:1", "1", r"on: Ray cannot be reached at '127\.0\.0\.1:1'"),
    ],
)
def test_what_cannot_run_is_refused(on: str, processes: str, says: str, tmp_path: Path) -> None:
    options = ("--agent", "random", "--on", on, "--processes", processes)
    process = sonde("none", "rollout", "mastermind", tmp_path / "run", *options)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 2
    assert re.search(says, err), err


def test_the_extra_brings_it() -> None:
    assert list_extras()["ray"] == "ray"
