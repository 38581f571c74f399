"""The figures about regret: where they appear, and that their numbers are those of `sonde.evaluation.regret`."""

from __future__ import annotations

from pathlib import Path

import sonde
from sonde.core import AGENT
from sonde.evaluation import regret
from sonde.evaluation.run_evaluation import execute_run
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.runs.run import RunConfig, prepare_run
from sonde.viewer import write_report
from sonde.viewer.figures.regret import compute_regret_curves


def test_curves_are_those_of_the_regret_module() -> None:
    env = sonde.make("bernoulli_bandit", max_turns=20)
    played = collect_trajectories(env, {AGENT: sonde.make("agents:random")}, env.tasks("test")[:6], Plan(k=2))
    found = compute_regret_curves(env, played)
    assert found is not None
    assert found.tokens is None
    assert list(found.regret.mean) == list(regret.cumulative_regret(regret.regret_table(env, played)).mean)
    assert found.suffix_failures is not None and found.least_action is not None
    assert compute_regret_curves(sonde.make("wordle"), []) is None


def test_the_page_shows_them_only_where_there_is_regret(tmp_path: Path) -> None:
    folders: list[Path] = []
    for env in ("bernoulli_bandit", "wordle"):
        config = RunConfig(env={"name": env}, seats={AGENT: {"name": "agents:random"}}, n_tasks=2, k=1, gains=False)
        folders.append(tmp_path / env)
        execute_run(prepare_run(config), folders[-1])
    page = write_report(folders, tmp_path / "report.html").read_text("utf-8")
    assert page.count("Cumulative regret") == 1
    assert page.count("Suffix failures") == 1
    assert "Regret by tokens" not in page
