"""`sonde view` as a command: mistakes are one line, and the address is printed for programs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from sonde.evaluation.run_evaluation import execute_run
from sonde.runs.run import config_from, prepare_run

from .invoke import failure, run


@pytest.mark.parametrize(("options", "why"), [
    (["nowhere"], "view: got nowhere, allowed: an existing folder"),
    (["."], "with no run folder and no training"),
    ([".", "--port", "99999"], "--port: got 99999, allowed: 0 to 65535"),
    ([".", "--episodes", "3"], "--episodes: got 3, allowed: nothing without --export"),
    ([".", "--export", ".", "--episodes", "0"], "--episodes: got 0, allowed: 1 or more"),
    ([".", "--export", ".", "--comparisons", "-1"], "--comparisons: got -1, allowed: 0 or more"),
    ([".", "--no-best"], "--best: got False, allowed: nothing without --export"),
    ([".", "--export", "full"], "got full, which is not empty"),
])  # fmt: skip
def test_mistakes_are_one_line(options: list[str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full" / "x").mkdir(parents=True)
    said = failure("view", *options)
    assert why in said and said.count("\n") <= 1


@pytest.mark.thorough
def test_the_address_is_printed_and_answers_until_it_is_interrupted(tmp_path: Path) -> None:
    config = {"env": {"name": "minesweeper"}, "seats": {"agent": {"name": "agents:random"}}, "n_tasks": 1, "k": 1}
    execute_run(prepare_run(config_from(config)), tmp_path / "one")
    command = [sys.executable, "-m", "sonde", "view", str(tmp_path), "--no-open", "--json", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None and server.stderr is not None
        address = json.loads(server.stdout.readline())["address"]
        with urlopen(address) as page:
            assert "minesweeper" in page.read().decode()
        os.kill(server.pid, signal.SIGINT)
        assert server.wait(20) == 130
        assert "Traceback" not in server.stderr.read()


@pytest.mark.thorough
def test_pages_are_written_and_their_place_is_told(tmp_path: Path) -> None:
    config = {"env": {"name": "minesweeper"}, "seats": {"agent": {"name": "agents:random"}}, "n_tasks": 1, "k": 1}
    execute_run(prepare_run(config_from(config)), tmp_path / "one")
    said = json.loads(run("view", str(tmp_path), "--export", str(tmp_path / "site"), "--json"))
    assert Path(said["written"]).is_file()
