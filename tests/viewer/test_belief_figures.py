"""The section of the page on what a model believed: there where beliefs are kept, and nowhere else."""

from __future__ import annotations

import asyncio
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde.beliefs import records as believed
from sonde.beliefs.calibration import split_by_outcome
from sonde.beliefs.elicitation import ANSWER, Elicitation, Elicited
from sonde.evaluation.run_evaluation import execute_run
from sonde.runs.run import config_from, prepare_run
from sonde.runs.store import Run
from sonde.runs.store.folder import describe_run
from sonde.viewer import write_report
from sonde.viewer.figures.beliefs import belief_change

HEADING = "Beliefs of the model"
FAKE = sonde.make("models:fake", script=("<Answer>coral</Answer>",))


def played(folder: Path, agent: str = "best_arm") -> Path:
    env = {"name": "best_arm", "preset": "small", "max_turns": 4}
    run = prepare_run(config_from({"env": env, "seats": {"agent": {"name": f"agents:{agent}"}}, "n_tasks": 6, "k": 2}))
    execute_run(run, folder / agent)
    return folder / agent


def elicited(folder: Path, **how: Any) -> None:
    run = Run.load(folder)

    async def work() -> None:
        found = believed.elicit_run(folder, sonde.build(run[0].env), run, FAKE, Elicitation(**how), shown={})
        async for _ in found:
            pass

    asyncio.run(work())


def page(folder: Path, *others: Path) -> str:
    return write_report([folder, *others], folder.parent / "report.html").read_text("utf-8")


def test_without_notes_there_is_no_section(tmp_path: Path) -> None:
    assert HEADING not in page(played(tmp_path))


def test_beliefs_of_all_candidates_are_shown_against_the_posterior(tmp_path: Path) -> None:
    folder = played(tmp_path)
    elicited(folder, template=ANSWER, candidates="all")
    text = page(folder, played(tmp_path, "random"))
    assert text.count(f'<h3 id="env-0-beliefs">{HEADING}') == 1
    assert "fake, template answer, all hypotheses, sum over tokens" in text
    for title in (
        "Belief in the truth",
        "Believed and exact",
        "Divergence from the posterior",
        "Calibration",
        "Updating factor",
    ):
        assert f"<figcaption><b>{title}" in text
    run = Run.load(folder)
    found = split_by_outcome(
        believed.belief_courses(sonde.build(run[0].env), run, believed.load_beliefs(folder).beliefs)
    )["all"]
    assert found.reliability is not None
    assert f"<td>{found.reliability.ece.mean:.2f} [{found.reliability.ece.low:.2f}" in text
    assert page(folder, tmp_path / "random") == text  # the same for the same runs


def test_a_turn_of_an_episode_shows_the_change_of_belief(tmp_path: Path) -> None:
    folder = played(tmp_path)
    elicited(folder)
    text = page(folder)
    assert "Calibration" not in text and f">{HEADING}" in text
    shown = re.findall(r"<dd>(-[\d.]+) → (-[\d.]+)</dd>", text)
    kept = {
        (f"{before.target:.2f}", f"{after.target:.2f}")
        for row in believed.load_beliefs(folder).beliefs.values()
        for before, after in pairwise(row)
    }
    assert len(shown) == 6 * 4 and set(shown) <= kept


def test_beliefs_of_one_agent_are_told_apart_by_how_they_were_elicited(tmp_path: Path) -> None:
    folders = [played(tmp_path / name) for name in ("first", "second")]
    for folder, template in zip(folders, (ANSWER, "question"), strict=True):
        elicited(folder, template=template, candidates="all")
    text = page(*folders)
    assert "<bdi>answer</bdi>: fake, template answer, all hypotheses" in text
    assert "<bdi>question</bdi>: fake, template question, all hypotheses" in text
    elicited(played(tmp_path / "third"), template=ANSWER, candidates="all")
    assert "<bdi>best_arm</bdi>: fake, template answer" in page(folders[0], tmp_path / "third" / "best_arm")


def test_a_run_on_an_older_environment_has_no_section(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = played(tmp_path)
    elicited(folder)
    saved = json.loads((folder / "config.json").read_text())
    config = {**saved["config"], "version": "0"}
    (folder / "config.json").write_text(json.dumps(describe_run(config)))
    assert HEADING not in page(folder)


def test_a_change_needs_a_belief_on_both_sides() -> None:
    row = [Elicited(-2.0), Elicited(-1.0)]
    assert belief_change(row, 0) == (-2.0, -1.0) and belief_change(row, 1) is None and belief_change(None, 0) is None
