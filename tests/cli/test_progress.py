"""What a person sees while a run goes on."""

from __future__ import annotations

import re
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

import sonde
import sonde.cli.progress as progress_module
from sonde.core import Outcome
from sonde.rollout import Plan, collect


def test_progress_fits_a_terminal_of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    env = sonde.make("mastermind", length=2, digits=2)
    played = collect(env, {"agent": sonde.make("agents:random")}, env.tasks("test"), Plan(k=8))
    screen = StringIO()
    monkeypatch.setattr(progress_module, "stderr", Console(file=screen, force_terminal=True, width=80))
    with progress_module.progress("cellular_automata", 2000, 1000) as done:
        for t in played:
            done(replace(t, outcome=Outcome("error")) if t.sample == 0 else t)
    lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue()).replace("\r", "\n").splitlines()
    last = [line for line in lines if line.startswith("cellular_automata")][-1]
    assert "…" not in last, "no column is cut"
    assert f"{1000 + len(played)}/2000" in last and "won " in last
    assert f"{len(env.tasks('test'))} errors" in last
