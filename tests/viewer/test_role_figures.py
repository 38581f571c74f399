"""The figures about LLM-PSRL's roles: where they appear, and that they draw what `sonde.evaluation.roles` says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sonde
from sonde.core import AGENT
from sonde.evaluation.run_evaluation import execute_run
from sonde.runs.rollout import collect_trajectories
from sonde.runs.run import RunConfig, prepare_run
from sonde.viewer import write_report
from sonde.viewer.figures.roles import grade_episodes


def test_only_runs_with_roles_are_graded() -> None:
    env = sonde.make("bernoulli_bandit", max_turns=5)
    for name, config in (("random", {}), ("llm_psrl", {"model": sonde.make("models:oracle"), "prior": "worlds"})):
        agent = sonde.make(f"agents:{name}", **config)
        played = list(collect_trajectories(env, {AGENT: agent}, env.tasks("test")[:2]))
        graded = grade_episodes(env, played)
        assert (graded is not None) == (name == "llm_psrl")
    assert grade_episodes(env, []) is None


def test_the_page_shows_them_only_where_there_are_roles(tmp_path: Path) -> None:
    folders: list[Path] = []
    agents: tuple[dict[str, Any], ...] = (
        {"name": "agents:random"},
        {"name": "agents:llm_psrl", "model": {"name": "models:oracle", "forgets": 0.5}},
    )
    for i, agent in enumerate(agents):
        config = RunConfig(env={"name": "combination_lock"}, seats={AGENT: agent}, n_tasks=2, k=1, gains=False)
        folders.append(tmp_path / str(i))
        execute_run(prepare_run(config), folders[-1])
    with_roles = write_report(folders, tmp_path / "both.html").read_text("utf-8")
    without = write_report(folders[:1], tmp_path / "one.html").read_text("utf-8")
    for caption in ("Hellinger distance of the beliefs", "Where sampled worlds lie", "What its actions lose"):
        assert with_roles.count(caption) == 1 and caption not in without
