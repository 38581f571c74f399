"""What a person sees of a training while it runs."""

from __future__ import annotations

import re
from io import StringIO

import pytest
from rich.console import Console

import sonde
from sonde.cli.training_display import (
    CURVE_HEIGHT,
    TrainingDisplay,
    draw_curve,
    draw_success,
    format_seconds,
    training_display,
)
from sonde.core import Trajectory
from sonde.runs.rollout import Plan, collect_trajectories


def episodes(n: int) -> list[Trajectory]:
    env = sonde.make("mastermind", length=2, digits=2)
    return list(collect_trajectories(env, {"agent": sonde.make("agents:random")}, env.tasks("test")[:1], Plan(k=n)))


def history(step: int, success: float, **more: float) -> dict[str, float]:
    return {"step": step, "success": success, "flat_groups": 0.0, "loss": 0.1, "nll": 0.2, "turns": 3.0, **more}


def test_lines_begin_with_the_first_episodes_and_warn_once() -> None:
    screen = StringIO()
    with training_display("grpo", Console(file=screen, width=80)) as display:
        for trajectory in episodes(8):
            display.show_episode("play", 8, trajectory)
        for step in range(1, 101):
            display.show_step(step, 100, history(step, 0.0, flat_groups=1.0))
    lines = screen.getvalue().splitlines()
    won = sum(t.outcome is not None and t.outcome.success for t in episodes(8))
    assert lines[0].startswith("grpo: play: 2 of 8 episodes, ")
    assert lines[3].startswith(f"grpo: play: 8 of 8 episodes, {won} won")
    assert lines[4].startswith("grpo: step 1 of 100  won % 0") and lines[5].startswith("the first step took ")
    assert sum(line.startswith("warning, step 3: ") for line in lines) == 1
    assert sum(line.startswith("grpo: step ") for line in lines) == 41, "the first, and every fortieth part"


def test_time_counts_from_the_first_step_and_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not from the loading of model and data; of a resumed training, steps from before take no time."""
    clock = iter([0.0, 100.0, 108.0, 110.0])
    monkeypatch.setattr("sonde.cli.training_display.time.monotonic", lambda: next(clock))
    screen = StringIO()
    display = TrainingDisplay("sft", Console(file=screen, width=80))
    display.show_start(10, 30)
    assert screen.getvalue() == "sft: continues after step 10 of 30\n"
    display.show_step(14, 30, {"loss": 0.5, "nll": 0.5})
    assert "the first step took 2.0 s; 20 take about 40 s" in screen.getvalue()
    display.show_step(15, 30, {"loss": 0.4, "nll": 0.4})
    assert "sft, step 16 of 30; 2.0 s a step, 30 s left" in str(display.__rich__().renderables[-1])  # type: ignore[attr-defined]


def test_the_time_of_evaluations_is_told() -> None:
    screen = StringIO()
    display = TrainingDisplay("grpo", Console(file=screen, width=80))
    display.show_start(0, 20)
    display.show_step(1, 20, {"loss": 0.5, "seconds_playing": 2.0, "seconds_training": 1.0, "seconds_held_out": 4.0})
    told = "the first step took 3.0 s; 20 take about 1 min 0 s, and every evaluation on held-out tasks 4.0 s"
    assert told in screen.getvalue()


def test_a_terminal_shows_table_curve_and_what_is_played() -> None:
    screen = StringIO()
    console = Console(file=screen, force_terminal=True, width=80, height=40)
    with training_display("grpo", console) as display:
        display.show_step(1, 4, history(1, 0.25, held_out_start=0.5, held_out=0.25))
        display.show_step(2, 4, history(2, 0.75))
        display.show_episode("play", 8, episodes(1)[0])
    last = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue()).replace("\r", "")
    assert re.search(r"step +won % +held out % +turns", last) and "100 % │" in last
    assert "· own episodes won   ● held-out tasks won, by step" in last
    assert re.search(r"grpo, step 3 of 4; play: 1 of 8 episodes, [01] won; \d\.\d s a step, ", last)
    assert all(len(line) <= 80 for line in last.splitlines())


def test_a_curve_has_its_points_where_they_belong() -> None:
    rows = draw_curve({"a": [(0, 0.0), (10, 1.0)], "b": [(5, 0.4), (5, 0.6)]}, 10)
    assert rows[0] == f"100 % │{'':60}a" and rows[CURVE_HEIGHT] == "  0 % │a" and rows[CURVE_HEIGHT // 2].endswith("b")
    assert draw_success([{"step": 1, "loss": 1.0}], 3) == [], "nothing is played"


def test_times_are_short() -> None:
    assert [format_seconds(s) for s in (0.04, 59.7, 61, 3600, 7261)] == [
        "0.0 s", "60 s", "1 min 1 s", "1 h 0 min", "2 h 1 min",
    ]  # fmt: skip
