"""What a person sees while a run goes on."""

from __future__ import annotations

import re
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

import sonde
import sonde.cli.progress as progress_module
from sonde.core import Action, Episode, Outcome
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.runs.run import config_from, play_run, prepare_run


def test_progress_fits_a_terminal_of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    env = sonde.make("mastermind", length=2, digits=2)
    played = collect_trajectories(env, {"agent": sonde.make("agents:random")}, env.tasks("test"), Plan(k=8))
    screen = StringIO()
    monkeypatch.setattr(progress_module, "stderr", Console(file=screen, force_terminal=True, width=80))
    with progress_module.episode_progress("cellular_automata", 2000, 1000) as done:
        for t in played:
            done(replace(t, outcome=Outcome("error")) if t.sample == 0 else t)
    lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue()).replace("\r", "\n").splitlines()
    last = [line for line in lines if line.startswith("cellular_automata")][-1]
    assert "…" not in last, "no column is cut"
    assert f"{1000 + len(played)}/2000" in last and "won " in last
    assert f"{len(env.tasks('test'))} errors" in last


@pytest.mark.parametrize("terminal", [True, False])
def test_scoring_shows_how_far_it_is(terminal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = {"env": {"name": "mastermind", "length": 2, "digits": 2}, "seats": {"agent": {"name": "agents:random"}}}
    run = prepare_run(config_from({**config, "k": 8}))
    stored = play_run(run, tmp_path / "run")
    screen = StringIO()
    monkeypatch.setattr(progress_module, "stderr", Console(file=screen, force_terminal=terminal, width=80))
    monkeypatch.setattr(progress_module, "WORTH_A_LINE", 0.0)
    found = progress_module.rescore_with_progress(run, tmp_path / "run", len(stored))
    n = len(stored)
    assert len(found.rows) == n
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())
    assert (f"{n}/{n}" if terminal else f"mastermind: scored {n} episodes in ") in shown
    assert "mastermind: scor" in shown


@pytest.mark.parametrize("terminal", [True, False])
def test_a_bar_counts_what_was_there_before(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = StringIO()
    monkeypatch.setattr(progress_module, "stderr", Console(file=screen, force_terminal=terminal, width=80))
    with progress_module.step_progress("best_arm: eliciting", 8, 3) as done:
        for _ in range(5):
            done()
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())
    assert ("8/8" if terminal else "best_arm: eliciting: 5 of 8, 3 were there already, ") in shown


def test_a_log_file_shows_that_long_work_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line a minute at most, and no more than twenty; none about what is over at once."""
    clock, screen = [0.0], StringIO()
    monkeypatch.setattr(progress_module, "stderr", Console(file=screen, force_terminal=False, width=80))
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: clock[0])

    def work(seconds: float) -> list[str]:
        screen.truncate(screen.seek(0))
        with progress_module.step_progress("best_arm: eliciting", 110, 10) as done:
            for _ in range(100):
                clock[0] += seconds
                done()
        return screen.getvalue().splitlines()

    assert work(0.5) == ["best_arm: eliciting: 100 of 110, 10 were there already, 50 s"]
    slow = work(36.0)
    assert slow[0] == "best_arm: eliciting: 16 of 110 in 3 min 36 s, 56 min 24 s left"
    assert slow[-2] == "best_arm: eliciting: 106 of 110 in 57 min 36 s, 2 min 24 s left"
    assert len(slow) == 17
    assert len(work(3.0)) == 5, "one a minute, and the last"


@pytest.mark.parametrize("terminal", [True, False])
def test_turns_show_that_long_episodes_go_on(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, screen = [0.0], StringIO()
    monkeypatch.setattr(progress_module, "stderr", Console(file=screen, force_terminal=terminal, width=80))
    if not terminal:  # the bar's own thread reads the clock too
        monkeypatch.setattr(progress_module.time, "monotonic", lambda: clock[0])
    env = sonde.make("mastermind", length=2, digits=2)
    running = Episode.begin(env, env.tasks("test")[0], seed=0, sample=0)
    running = running.step(Action("11"))
    with progress_module.episode_progress("mastermind", 50) as progress:
        for _ in range(100):
            clock[0] += 10.0
            progress.show_act(running)
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())
    if terminal:
        assert "100 turns" in shown
        return
    assert shown.splitlines() == [
        "mastermind: 0 of 50 in 1 min 0 s, 6 turns",
        "mastermind: 0 of 50 in 3 min 0 s, 18 turns",
        "mastermind: 0 of 50 in 7 min 0 s, 42 turns",
        "mastermind: 0 of 50 in 15 min 0 s, 90 turns",
        "mastermind: played 0 of 50 episodes",
    ]
