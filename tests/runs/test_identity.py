"""A run belongs to the model that plays it, not to a path: what is refused, what begins anew, what is never deleted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")


from sonde.core import SondeError, StoreError, UserError
from sonde.evaluation.run_evaluation import remove_run
from sonde.runs.store import Run, RunWriter, discard_run

from ..cli.invoke import invoke as run_command
from ..train.asking import WORDS, Asking
from ..train.tiny import knowing

GAME = f"{Asking.__module__}:{Asking.__qualname__}"
SAMPLED = ["-o", "seats.agent.temperature=1.0", "-o", "seats.agent.max_new_tokens=2", "-n", "2"]


def write(seed: int, folder: str = "rpo/model") -> None:
    """Another model, at the same path."""
    knowing(WORDS, Path(folder), seed)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(0)


def invoke(*args: str) -> Any:
    return run_command(*args, *SAMPLED, columns=120)


def evaluate_model(*args: str) -> dict[str, Any]:
    result = invoke("eval", GAME, "--model", "rpo/model", "-k", "2", "--json", *args)
    assert result.exit_code == 0, (result.output, result.exception)
    return json.loads(result.stdout)[0]


def rolled_out(*args: str) -> Any:
    return invoke("rollout", GAME, "played", "--model", "rpo/model", *args)


def weights(folder: str) -> set[str]:
    episodes = Run.load(folder)
    spoke = {c.weights for t in episodes for act in t.acts for c in act.action.completions}
    assert spoke == {t.policies["agent"]["model"]["weights"] for t in episodes}
    return spoke


def test_a_model_that_was_trained_again_is_evaluated_again() -> None:
    before = evaluate_model()
    assert evaluate_model()["folder"] == before["folder"]
    write(1)
    after = evaluate_model()
    assert after["folder"] != before["folder"] and after["label"] != before["label"]
    assert weights(before["folder"]) != weights(after["folder"])
    assert before["label"] == f"llm (rpo@{weights(before['folder']).pop()[:6]})"


def test_another_model_does_not_continue_a_run_and_the_refusal_says_what_does() -> None:
    assert rolled_out().exit_code == 0
    write(1)
    refused = rolled_out("-k", "2").exception
    assert isinstance(refused, UserError)
    for part in ("agent.model.weights", "the model was trained or replaced since", "another folder", "--fresh"):
        assert part in str(refused)
    assert len(Run.load("played")) == 2, "nothing was lost"
    first = weights("played")
    assert rolled_out("-k", "2", "--fresh").exit_code == 0
    assert len(Run.load("played")) == 4 and weights("played").isdisjoint(first)


def test_fresh_evaluates_again() -> None:
    folder = Path(evaluate_model()["folder"])
    stored = (folder / "trajectories-00000.jsonl.zst").stat().st_mtime_ns
    evaluate_model()
    assert (folder / "trajectories-00000.jsonl.zst").stat().st_mtime_ns == stored
    evaluate_model("--fresh")
    assert (folder / "trajectories-00000.jsonl.zst").stat().st_mtime_ns != stored
    assert [p.name for p in folder.parent.iterdir()] == [folder.name], "nothing is left beside it"


def test_fresh_removes_runs_only() -> None:
    Path("played").mkdir()
    Path("played/thesis.txt").write_text("mine")
    refused = rolled_out("--fresh").exception
    assert isinstance(refused, SondeError) and "played is not a run folder" in str(refused)
    assert Path("played/thesis.txt").read_text() == "mine"


def test_a_run_with_other_files_in_it_or_a_writer_on_it_stays() -> None:
    remove_run(Path("run"))  # nothing there: nothing to do
    with RunWriter.open("run", {"a": 1}), pytest.raises(StoreError, match="another writer"):
        discard_run("run")
    Path("run/notes.md").write_text("mine")
    with pytest.raises(UserError, match=r"run holds notes\.md, which does not belong to a run"):
        remove_run(Path("run"))
    Path("run/notes.md").unlink()
    Path("run/evaluation.json").write_text("{}")
    with pytest.raises(UserError, match=r"run holds evaluation\.json"):
        discard_run("run")
    remove_run(Path("run"))
    assert not Path("run").exists()
    with RunWriter.open("run", {"a": 2}):  # another configuration may take its place
        pass
