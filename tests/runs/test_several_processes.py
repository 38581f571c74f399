"""Runs that several processes play: the same episodes as one process plays, whatever becomes of the processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonde.core import AGENT, Rng, UserError
from sonde.evaluation.run_evaluation import load_evaluation
from sonde.runs.run import config_from, play_run, prepare_run
from sonde.runs.store import Run
from tests.cases import each

MASTERMIND = {"name": "mastermind", "length": 3, "digits": 5, "max_turns": 8}
DIGIT = "{0|1|2|3|4}"
FAKE = {"name": "models:fake", "pattern": [f"<Answer>{DIGIT * 3}</Answer>"], "latency": 0.05}
RANDOM = {"name": "agents:random"}


def config(agent: Any = RANDOM, **changes: Any) -> dict[str, Any]:
    values = {"env": MASTERMIND, "seats": {AGENT: agent}, "split": "train", "n_tasks": 10, "k": 3, "gains": False}
    return {**values, **changes}


def export_lines(folder: Path) -> bytes:
    return b"".join(Run.load(folder).canonical_lines())


def sonde(*args: str | Path, **more: Any) -> subprocess.Popen[str]:
    code = "from sonde.cli import main; main()"
    command = [sys.executable, "-c", code, *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def find_children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def count_held(folder: Path) -> int:
    return len(Run.load(folder)) if (folder / "config.json").exists() else 0


def wait_for(folder: Path, episodes: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while count_held(folder) < episodes and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert process.poll() is None, "it ended before it could be killed"


# --- how the work is divided -----------------------------------------------------------------------------------------


@given(
    st.integers(1, 6), st.integers(0, 5), st.integers(1, 6), st.integers(1, 9), st.integers(1, 5), st.integers(1, 400)
)
def test_parts_are_the_share_divided(of: int, mine: int, n: int, tasks: int, k: int, concurrency: int) -> None:
    whole = config_from(config(n_tasks=tasks, k=k, share=(mine % of, of), concurrency=concurrency))
    listed = prepare_run(whole).tasks
    jobs = [job.key for part in whole.split_over(n) for job in part.make_plan().list_jobs(listed)]
    assert sorted(jobs) == sorted(job.key for job in whole.make_plan().list_jobs(listed))
    assert len({part.share[0] for part in whole.split_over(n)}) == n, "each is a writer of its own"
    assert concurrency <= sum(part.concurrency for part in whole.split_over(n)) < concurrency + n


@given(st.integers(1, 1000), st.integers(1, 9))
def test_a_budget_is_divided_too(budget: int, n: int) -> None:
    parts = config_from(config(budget=budget)).split_over(n)
    budgets = [part.budget or 0 for part in parts]
    assert sum(budgets) == max(budget, sum(b == 1 for b in budgets) if budget < n else budget)
    assert max(budgets) - min(budgets) <= 1 and min(budgets) >= 1


@each("n", [0, -1, 1001])
def test_as_many_processes_as_there_can_be(n: int) -> None:
    with pytest.raises(UserError, match=f"processes: got {n}, allowed: 1 to 1000"):
        config_from(config(processes=n))


# --- what comes of it ------------------------------------------------------------------------------------------------


def test_several_processes_record_what_one_does(tmp_path: Path) -> None:
    seen: list[str] = []
    for n, name in ((1, "one"), (2, "two")):
        play_run(prepare_run(config_from(config(processes=n))), tmp_path / name, on_done=lambda t: seen.append(t.id))
    assert export_lines(tmp_path / "one") == export_lines(tmp_path / "two")
    assert sorted(seen[:30]) == sorted(seen[30:]), "all of them were told of"
    assert len(list((tmp_path / "two").glob("trajectories-*"))) == 2
    again: list[Any] = []
    play_run(prepare_run(config_from(config(processes=3, n_tasks=11))), tmp_path / "two", on_done=again.append)
    assert len(again) == 3, "any number of processes goes on with the run of any other"


def test_errors_in_a_worker_are_reported(tmp_path: Path) -> None:
    play_run(prepare_run(config_from(config(n_tasks=1))), tmp_path / "run")
    with pytest.raises(UserError, match=r"started with another configuration: config\.seats\.agent"):
        play_run(prepare_run(config_from(config({"name": "agents:entropy"}, processes=2))), tmp_path / "run")


@pytest.mark.thorough
def test_shares_that_come_to_their_end_together_are_scored_together(tmp_path: Path) -> None:
    """Whoever comes second waits, and the last evaluation is of all episodes."""
    options = ("--agent", "random", "-n", "60", "-k", "2", "--runs", tmp_path)
    shares = [sonde("eval", "mastermind", *options, "-o", f"share=[{i},3]") for i in range(3)]
    for process in shares:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    (folder,) = tmp_path.iterdir()
    found = load_evaluation(folder)
    assert len(found.rows) == 120 and found.kinds["missing"] == 0
    assert all(row.gains is not None for row in found.rows)


# --- what becomes of those that are killed ---------------------------------------------------------------------------

SLOW = {"name": "agents:llm", "model": FAKE}


@pytest.mark.thorough
def test_a_worker_that_is_killed_is_begun_again(tmp_path: Path) -> None:
    folder, file = tmp_path / "run", tmp_path / "run.json"
    file.write_text(json.dumps(config(SLOW, concurrency=6)))
    process = sonde("rollout", "mastermind", folder, "--config", file, "--processes", "2")
    wait_for(folder, 4, process)
    before = {t.id for t in Run.load(folder)}
    os.kill(find_children(process.pid)[0], signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0 and "30 episodes in" in out, err
    assert "died (status -9); restarted" in err
    stored = Run.load(folder)
    assert len(stored) == 30 and stored.trajectories.superseded_count == 0, "nothing was played twice"
    assert before <= {t.id for t in stored}
    play_run(prepare_run(config_from(config(SLOW))), tmp_path / "whole")
    assert export_lines(folder) == export_lines(tmp_path / "whole")


@pytest.mark.thorough
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_workers_do_not_outlive_their_parent(how: signal.Signals, tmp_path: Path) -> None:
    folder, file = tmp_path / "run", tmp_path / "run.json"
    file.write_text(json.dumps(config(SLOW, concurrency=6)))
    command = ("rollout", "mastermind", folder, "--config", file, "--processes", "2")
    process = sonde(*command)
    wait_for(folder, 2, process)
    workers, begun = find_children(process.pid), count_held(folder)
    process.send_signal(how)
    _, err = process.communicate(timeout=60)
    if how == signal.SIGINT:
        assert process.returncode == 130 and "interrupted; what was finished is kept" in err
        assert "Traceback" not in err
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{pid}").exists() for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    assert begun <= count_held(folder) < 30
    out, err = sonde(*command).communicate(timeout=120)
    assert "30 episodes in" in out and Run.load(folder).trajectories.superseded_count == 0, err


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sonde.runs.store.StoreWarning")
def test_kills_at_random_moments_of_whatever_process(tmp_path: Path) -> None:
    folder, file, rng = tmp_path / "run", tmp_path / "run.json", Rng(0, "test", "kill")
    file.write_text(json.dumps(config(SLOW, n_tasks=20, k=4, concurrency=8)))
    for _ in range(8):
        process = sonde("rollout", "mastermind", folder, "--config", file, "--processes", "3")
        for _ in range(2):
            time.sleep(0.4 + 1.2 * rng.random())
            if process.poll() is None and (alive := find_children(process.pid)):
                os.kill(alive[rng.randrange(len(alive))], signal.SIGKILL)
        process.kill()
        process.communicate(timeout=60)
    while True:
        process = sonde("rollout", "mastermind", folder, "--config", file, "--processes", "3")
        _, err = process.communicate(timeout=300)
        if process.returncode == 0:
            break
        assert "another writer is open" in err, err  # one that was not told yet that nobody wants it
    stored = Run.load(folder)
    assert (len(stored), stored.trajectories.superseded_count) == (80, 0)
    play_run(prepare_run(config_from(config(SLOW, n_tasks=20, k=4))), tmp_path / "whole")
    assert export_lines(folder) == export_lines(tmp_path / "whole")
