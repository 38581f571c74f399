"""`sonde elicit`: beliefs beside a run, and what a terminal shows of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sonde
from sonde.core import AGENT
from sonde.runs.rollout import Plan
from sonde.runs.rollout import record_plan as record_run
from sonde.runs.store import read_annotations

from .invoke import failure, run


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    env = sonde.make("best_arm", preset="small")
    record_run(env, {AGENT: sonde.make("agents:best_arm")}, env.tasks("test")[:8], Plan(k=1), Path("runs"))


def test_the_truth_by_turn_is_shown_beside_the_posterior() -> None:
    pytest.importorskip("torch")
    ask = ("elicit", "runs", "--model", "sonde-tiny-best_arm", "--context", "render", "--template", "answer")
    text = run(*ask, "--candidates", "all")
    for head in (
        "ln b", "won", "lost", "belief", "exact", "KL", "TV", "calibration (ECE)", "updating, all pairs",
    ):  # fmt: skip
        assert head in text
    found = json.loads(run(*ask, "--candidates", "all", "--json"))
    assert found["shown"]["context"] == "render" and found["model"]["model"] == "sonde-tiny-best_arm"
    every = found["beliefs"]["all"]
    assert every["episodes"] == 8 and len(every["target"]) == len(every["divergence"]) == 11
    assert every["exact"][0]["mean"] == pytest.approx(1 / 3) and 0 < every["reliability"]["ece"]["mean"] < 1
    parts = found["beliefs"]["won"]["episodes"] + found["beliefs"]["lost"]["episodes"]
    assert parts == 8
    alone = run(*ask, "--fresh")
    assert "KL" not in alone and "corr. truth gain" in alone


def test_candidates_are_all_or_a_number_or_lines_of_a_file() -> None:
    Path("names.txt").write_text("amber\ncoral\n\n")
    model = ("--model", "sonde-tiny-best_arm", "--context", "render")
    pytest.importorskip("torch")
    for given, n in (("2", 2), ("names.txt", 2)):
        run("elicit", "runs", *model, "--template", "answer", "--candidates", given, "--fresh")
        notes = read_annotations("runs", "elicited")
        sizes = {len(v.value["candidates"]) for (_, turn), v in notes.items() if turn is not None}
        assert sizes <= {n, n + 1}
    assert "allowed: all, a number, or a text file" in failure("elicit", "runs", *model, "--candidates", "no.txt")


def test_mistakes_are_told() -> None:
    model = ("--model", "sonde-tiny-best_arm")
    assert "template: got 'Is it?', allowed: statement" in failure("elicit", "runs", *model, "--template", "Is it?")
    assert "aggregate: got 'most', allowed: sum, mean" in failure("elicit", "runs", *model, "--aggregate", "most")
    assert "not a run folder" in failure("elicit", "nothing", *model)
    assert "got 'none', allowed" in failure("elicit", "runs", "--model", "none")


def test_options_of_the_model_are_set_and_others_are_not() -> None:
    """An endpoint that scores prompts is one by an option (`models:http`)."""
    http = ("elicit", "runs", "--model", "http:m", "--base-url", "http://127.0.0.1:9/v1")
    assert "model 'http' cannot score" in failure(*http)
    said = failure(*http, "-o", "model.prompt_logprobs=true", "-o", "model.api_key_env=''", "-o", "model.retries=0")
    assert "nothing answers at http://127.0.0.1:9/v1" in said
    assert "-o: unknown name 'context'; known: model" in failure(*http, "-o", "context=render")
