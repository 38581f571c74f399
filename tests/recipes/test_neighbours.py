"""The comparison of ways to learn to ask: what it counts by hand, and a quick run of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

import sonde
from sonde.core import Episode

from .loading import RECIPES, load

SCRIPT = RECIPES / "neighbours" / "compare.py"


def test_bits_and_wasted_turns_by_hand() -> None:
    """A question asked again gains nothing and is wasted, and so is one that everything left would answer alike; the
    bits of a game are those between its first and its last posterior."""
    compare = load("neighbours/compare")
    env = sonde.make("twenty_questions", preset="small")
    task = env.tasks("test")[0]
    known = env.filter(task.public)
    assert known is not None
    question, bits = known.best_question()
    text = env.say(question)
    ep = Episode.begin(env, task, seed=0)
    users = sonde.core.default_policies(env)
    for _ in range(2):
        ep = sonde.core.run_sync(sonde.core.advance_to_agent(ep.step(text), users))
    found = compare._count_turns(env, ep.to_trajectory())
    assert (found["turns"], found["repeated"], found["wasted"]) == (2, 1, 1)
    first, second = ep.gains() or ()
    assert found["bits"] == pytest.approx(first.realised + second.realised) and second.realised == 0.0 < bits


def test_a_line_of_the_table_by_hand() -> None:
    compare = load("neighbours/compare")
    play = {"won": [[1.0, 0.0], [0.0, 0.0]], "games": 4, "turns": 10.0, "bits": 5.0, "repeated": 2.0, "wasted": 3.0}
    row = {"games": 64, "replies": 500, "cpu_seconds": 2.4, "drawn": play, "greedy": play, "met": play}
    line = dict(zip(compare.COLUMNS, compare.tabulate_arm("igpo", [row, {**row, "replies": 700}]), strict=True))
    assert line["held out, T=1"].startswith("0.25 [") and (line["seeds"], line["games"], line["replies"]) == (
        2,
        64,
        600,
    )
    counts = ("bits per turn", "repeated per game", "wasted per game", "turns", "CPU s")
    assert [line[name] for name in counts] == ["0.50", "0.50", "0.75", "2.50", "2"]


@pytest.mark.thorough
def test_a_quick_run_trains_every_kind_of_arm_once(tmp_path: Path) -> None:
    args = ("--quick", "--json", "--out", str(tmp_path), "--only", "igpo", "gain_pairs", "best_of_n")
    for _ in range(2):
        done = subprocess.run([sys.executable, str(SCRIPT), *args], text=True, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        found = {row["method"]: row for row in json.loads(done.stdout)}
        assert list(found) == ["base", "igpo", "gain_pairs", "best_of_n"]
        assert found["igpo"]["games"] == 128 and found["gain_pairs"]["games"] == 16
    assert len((tmp_path / "quick" / "results.jsonl").read_text("utf-8").splitlines()) == 4
