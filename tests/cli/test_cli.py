"""The command line as a person meets it: results, and one line for every mistake."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from typer.testing import Result

import sonde
from sonde.core import Env
from sonde.models.remote.verdicts import ConversationWarning
from sonde.runs.limits import BudgetWarning
from sonde.runs.store import Run
from tests.cases import each

from ..models.server import Server, reply
from .invoke import failure, invoke, run, run_json

COLUMNS = 80

FAKE = [
    "--model",
    "fake",
    "-o",
    'seats.agent.model.pattern=["<Answer>{0|1}{2|3}00</Answer>", "<Answer>0123</Answer>", "?"]',
]
SMALL = ["-o", "env.length=3", "-o", "env.digits=5"]


def process(*args: str, **settings: Any) -> subprocess.CompletedProcess[str]:
    """The same with a real process."""
    command = [sys.executable, "-c", "from sonde.cli import main; main()", *args]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60, **settings)


# --- what there is -------------------------------------------------------------------------------------------------


def test_list_names_everything() -> None:
    text = run("list")
    for kind in ("envs", "agents", "models", "objectives"):
        for name in sonde.names(kind):
            assert re.search(rf"^{name} ", text, re.MULTILINE)
    assert set(run_json("list", "agents")["agents"]) == set(sonde.names("agents"))
    assert all(run_json("list")["envs"].values()), "every environment says what it is"


@each("name", sonde.names())
def test_show_tells_the_facts_and_the_opening(name: str) -> None:
    text = " ".join(run("show", name).split())
    env = sonde.make(name)
    found = run_json("show", name)
    assert " ".join(env.spec.summary.split()) in text
    assert found["max_turns"] == env.spec.max_turns
    assert found["tasks"] == {split: len(env.tasks(split)) for split in env.splits}
    assert " ".join(found["opening"].split())[-40:] in text
    assert "{'" not in text and "('" not in text, "facts are words, not Python"


def test_show_takes_a_preset() -> None:
    assert run_json("show", "wordle", "--preset", "lmrl")["preset"] == "lmrl"


# --- eval ----------------------------------------------------------------------------------------------------------


@each(
    "options, label",
    [(["--agent", "random"], "random"), (["--agent", "entropy"], "entropy"), (FAKE, "llm (fake)")],
)
def test_eval(options: list[str], label: str) -> None:
    args = ["eval", "mastermind", "-n", "3", "-k", "2", *SMALL, *options]
    (found,) = run_json(*args)
    assert (found["label"], found["n_tasks"], found["k"]) == (label, 3, 2)
    assert sum(found["kinds"].values()) == 6 and found["kinds"]["missing"] == 0
    assert len(Run.load(found["folder"])) == 6
    text = run(*args)
    assert label in text and "3x2" in text and found["folder"] in text
    assert all(len(line) <= 80 for line in text.splitlines() if not line.startswith("written"))


def test_several_environments_make_one_table_that_fits() -> None:
    text = run("eval", *sonde.names(), "--agent", "random", "-n", "1", "-k", "1", "--no-gains")
    assert all(re.search(rf"^{name}\b", text, re.MULTILINE) for name in sonde.names())
    assert all(len(line) <= 80 for line in text.splitlines() if not line.startswith("written"))
    assert text.count("written: ") == len(sonde.names())


def test_many_samples_show_mean_at_k_and_pass_at_powers_of_two() -> None:
    args = ["eval", "mastermind", "--agent", "random", "-n", "3", "-k", "128", "--no-gains", *SMALL]
    (found,) = run_json(*args)
    passes = [found["metrics"][f"pass@{j}"]["mean"] for j in range(1, 129)]
    assert passes == sorted(passes) and passes[0] < passes[-1] and "pass@129" not in found["metrics"]
    mean = found["mean_at"]
    assert (mean["k"], mean["mean"]) == (128, found["metrics"]["success"]["mean"])
    text = run(*args)
    assert all(len(line) <= 80 for line in text.splitlines() if not line.startswith("written"))
    lines = text.splitlines()
    head = next(i for i, line in enumerate(lines) if "mean@k" in line)
    assert lines[head].split() == ["environment", "agent", "mean@k", "sd", "se", *(f"@{2**i}" for i in range(1, 8))]
    shown = [f"{100 * mean[name]:.1f}" for name in ("mean", "over_samples", "over_tasks")]
    assert lines[head + 2].split()[2:] == [*shown, *(f"{100 * passes[2**i - 1]:.0f}" for i in range(1, 8))]
    few = run("eval", "mastermind", "--agent", "random", "-n", "2", "-k", "7", "--no-gains", *SMALL)
    assert "mean@k" not in few


def test_a_budget_beyond_the_own_limit_gives_success_at_every_budget() -> None:
    args = ["eval", "mastermind", "--agent", "random", "-n", "4", "-k", "4", "--no-gains", *SMALL]
    (long,) = run_json(*args, "--max-turns", "30")
    assert (long["max_turns"], len(long["within"])) == (30, 30)
    assert long["within"][-1] == long["metrics"]["success"]
    assert long["within"][0]["mean"] < long["within"][-1]["mean"]


@dataclass(frozen=True, kw_only=True)
class Endless(Env[None]):
    """An environment whose turns cannot be set."""

    presets: ClassVar[tuple[str, ...]] = ("one",)


def test_an_environment_without_a_turn_limit_of_its_own_says_so() -> None:
    said = failure("eval", f"{__name__}:Endless", "--agent", "random", "--max-turns", "5")
    assert "Endless: unknown name 'max_turns'" in said


def test_another_user_is_named_wherever_runs_are_shown() -> None:
    """Table 2 of ΔBelief-RL: the same agent against several users."""
    ask = [
        "eval", "twenty_questions", "--agent", "twenty_questions", "-n", "2", "-k", "1", "--no-gains", "--max-turns",
        "3",
    ]  # fmt: skip
    (own,) = run_json(*ask)
    swap = ["-o", "seats.user.name=users:llm", "-o", "seats.user.model.name=models:fake"]
    (other,) = run_json(*ask, *swap, "-o", "seats.user.model.script=['no']")
    assert (own["others"], other["others"]) == ({}, {"user": "llm (fake)"})
    assert own["label"] == other["label"] == "twenty_questions"
    said = " ".join(run(*ask, *swap, "-o", "seats.user.model.script=['no']").split())
    assert "twenty_questions, twenty_questions: the user is llm (fake), not the environment's own." in said
    found = run_json("compare", own["folder"], other["folder"])
    assert (found["a"], found["b"]) == ("twenty_questions", "twenty_questions user=llm (fake)")
    run("report", own["folder"], other["folder"], "--out", "page.html")
    page = Path("page.html").read_text("utf-8")
    assert "twenty_questions user=answerer" in page and "twenty_questions user=llm (fake)" in page
    assert page.count("the scale holds for the environment&#39;s own user") == 1


def test_the_same_command_plays_nothing_twice() -> None:
    args = ["eval", "mastermind", "--agent", "random", "-n", "3", "-k", "2"]
    first = invoke(*args)
    assert "mastermind: played 6 of 6 episodes" in first.stderr
    again = invoke(*args)
    assert "mastermind: played 0 of 6 episodes, 6 were there already" in again.stderr
    assert again.stdout == first.stdout


def test_what_the_world_failed_is_said() -> None:
    """A table full of zeros must not look like a bad model where it was a dead endpoint."""

    async def main() -> Result:
        async with Server((reply('{"error": {"code": "context_length_exceeded"}}', 400),)) as server:
            endpoint = ["--model", "http:m", "--base-url", server.url]
            return await asyncio.to_thread(invoke, "eval", "mastermind", "-n", "2", "-k", "1", *endpoint)

    with pytest.warns(ConversationWarning, match="too long for m"):
        result = asyncio.run(main())
    text = " ".join(result.stdout.split())
    assert result.exit_code == 1, "a script must see it too"
    assert "mastermind, llm (m): 2 error of 2 episodes count as failures; the first: ContextFull: agent: 400" in text
    assert result.stderr.startswith("mastermind: the first error: ContextFull: agent: 400 from /v1/chat/completions")


def test_a_budget_is_kept_and_said() -> None:
    args = ["eval", "mastermind", "-n", "3", "-k", "1", "-o", "concurrency=1", *FAKE]
    with pytest.warns(BudgetWarning, match="not all planned episodes were played"):
        assert "2 missing of 3 episodes count as failures" in run(*args, "--budget", "2500")
    assert "missing" not in run(*args)


def test_a_dry_run_plays_nothing(tmp_path: Path) -> None:
    (found,) = run_json("eval", "mastermind", "-n", "3", "-k", "2", "--dry-run", *FAKE)
    assert (found["episodes"], found["calls"], found["completion_tokens"]) == (6, 72, 72 * 1024)
    assert list(tmp_path.iterdir()) == []
    text = run("eval", "mastermind", "battleship", "-n", "3", "-k", "2", "--dry-run", *FAKE)
    assert "72" in text and "120" in text
    more = run_json("eval", "battleship", "-n", "3", "-k", "2", "--dry-run", "--examples", "2", *FAKE)[0]
    fewer = run_json("eval", "battleship", "-n", "3", "-k", "2", "--dry-run", *FAKE)[0]
    assert more["prompt_tokens"] > fewer["prompt_tokens"], "examples are paid for in every call"
    (free,) = run_json("eval", "mastermind", "-n", "3", "--dry-run", "--agent", "random")
    assert (free["calls"], free["prompt_tokens"], free["completion_tokens"]) == (0, 0, 0)


def test_options_reach_the_run() -> None:
    options = ["--max-turns", "2", "--seed", "5", "--split", "train", "--temperature", "0", "--context", "last:1"]
    (found,) = run_json("eval", "battleship", "-n", "2", "-k", "1", *options, "--examples", "1", *FAKE)
    config = Run.load(found["folder"]).config
    assert config["env"]["max_turns"] == found["max_turns"] == 2
    assert (config["seed"], config["split"]) == (5, "train")
    agent = config["seats"]["agent"]
    assert (agent["temperature"], agent["context"], agent["examples"]) == (0.0, "last:1", 1)


def write_config(tmp_path: Path, **changes: Any) -> str:
    model = {"name": "models:fake", "script": ["<Answer>012</Answer>", "<Answer>333</Answer>"]}
    agent = {"name": "agents:llm", "model": model, "temperature": 0.25}
    env = {"name": "mastermind", "length": 3, "digits": 5}
    values = {"env": env, "seats": {"agent": agent}, "k": 3, "n_tasks": 2, "split": "train", "gains": False, **changes}
    (tmp_path / "run.json").write_text(json.dumps(values))
    return str(tmp_path / "run.json")


def test_a_file_is_a_whole_run(tmp_path: Path) -> None:
    (found,) = run_json("eval", "--config", write_config(tmp_path))
    assert (found["k"], found["n_tasks"], found["split"]) == (3, 2, "train")
    assert found["env"]["length"] == 3 and found["agent"]["temperature"] == 0.25
    assert found["metrics"]["bits"] is None


def test_options_override_the_file_one_by_one(tmp_path: Path) -> None:
    file = write_config(tmp_path)
    (found,) = run_json(
        "eval", "mastermind", "--config", file, "-k", "1", "--min-p", "0.1", "--gains", "--max-turns", "3"
    )
    assert (found["k"], found["n_tasks"], found["split"]) == (1, 2, "train")
    assert found["env"] == {
        "name": "mastermind", "preset": "paprika", "length": 3, "digits": 5, "max_turns": 3, "which_answer": "last",
    }  # fmt: skip
    assert (found["agent"]["temperature"], found["agent"]["min_p"]) == (0.25, 0.1)
    assert found["metrics"]["bits"] is not None
    (other,) = run_json("eval", "battleship", "--config", file, "--agent", "random", "-o", "n_tasks=1")
    assert (other["env_name"], other["label"], other["n_tasks"], other["k"]) == ("battleship", "random", 1, 3)


def test_rollout_keeps_its_own_defaults_below_the_file(tmp_path: Path) -> None:
    run("rollout", "mastermind", "plain", "--agent", "random", "-n", "2")
    assert {(t.task.split, t.sample) for t in Run.load("plain")} == {("train", 0)}
    run("rollout", "mastermind", "filed", "--config", write_config(tmp_path, split="test"))
    assert len(Run.load("filed")) == 6
    assert Run.load("filed").config["split"] == "test"


# --- runs ----------------------------------------------------------------------------------------------------------


def evaluated(*options: str) -> tuple[str, Any]:
    (found,) = run_json("eval", "mastermind", "-n", "4", "-k", "2", *SMALL, *options)
    return found["folder"], found


def test_rescore_equals_the_evaluation() -> None:
    folder, first = evaluated("--agent", "random")
    (again,) = run_json("rescore", folder)
    assert {**again, "seconds": 0} == {**first, "seconds": 0}


def test_rescore_leaves_gains_out_when_asked_to() -> None:
    folder, first = evaluated("--agent", "random")
    (without,) = run_json("rescore", folder, "--no-gains")
    assert first["metrics"]["bits"] is not None and without["metrics"]["bits"] is None
    assert without["metrics"]["success"] == first["metrics"]["success"]


def test_rollout_records_and_rescore_evaluates() -> None:
    args = ["rollout", "mastermind", "made", "--split", "test", "-n", "4", "-k", "2", "--agent", "random", *SMALL]
    assert "8 episodes in made" in run(*args)
    assert not Path("made/evaluation.json").exists()
    (found,) = run_json("rescore", "made")
    _, direct = evaluated("--agent", "random")
    assert found["metrics"] == direct["metrics"]


def test_compare_pairs_two_runs() -> None:
    (a, one), (b, other) = evaluated("--agent", "entropy"), evaluated("--agent", "random")
    found = run_json("compare", a, b)
    assert found["n_tasks"] == 4
    gap = one["metrics"]["success"]["mean"] - other["metrics"]["success"]["mean"]
    assert found["success"]["mean"] == pytest.approx(gap)
    text = " ".join(run("compare", a, b).split())
    assert "entropy minus random" in text and f"{gap:+.3f}" in text


def test_report_and_export() -> None:
    folder, _ = evaluated("--agent", "random")
    assert "written: page.html" in run("report", folder, "--out", "page.html")
    assert Path("page.html").read_text("utf-8").startswith("<!doctype html>")
    Path("scale.json").write_text("{}", "utf-8")
    assert "written: both.html" in run("report", "scale.json", folder, "--out", "both.html"), "as runs/* names it"
    assert run("export", folder, "--out", "tables").split() == [
        "written:", "tables/episodes.csv", "written:", "tables/turns.csv",
    ]  # fmt: skip
    assert Path("tables/turns.csv").read_text("utf-8").startswith("env,preset,agent,")
    pytest.importorskip("pyarrow")
    run("export", folder, folder, "--jsonl", "--parquet", "--out", "more")
    assert {p.name for p in Path("more").iterdir()} == {
        "episodes.jsonl", "episodes.parquet", "turns.jsonl", "turns.parquet",
    }  # fmt: skip
    found = run_json("export", folder, "--records", "--out", "whole", "--json")
    assert found["written"][-1] == str(Path("whole/records")) and Path("whole/records/acts.parquet").is_file()
    assert "--records: got '2 runs', allowed: one run" in failure("export", folder, folder, "--records")


def test_a_report_as_figures_and_as_a_table() -> None:
    pytest.importorskip("matplotlib")
    (a, _), (b, _) = evaluated("--agent", "entropy"), evaluated("--agent", "random")
    assert run("report", a, b, "--figures", "figures", "--format", "svg", "--width", "5.5") == "written: figures\n"
    files = {p.name for p in Path("figures").iterdir()}
    assert files >= {"mastermind-paprika-success.svg", "mastermind-paprika-entropy.svg"}
    assert not Path("report.html").exists()
    table = run("report", a, b, "--table", "latex")
    assert table.count(r"\midrule") == 1 and table.index("entropy") < table.index("& random &")
    assert run("report", a, "--table", "markdown").startswith("| environment | agent |")
    assert "--format: got 'pdf', allowed: nothing without --figures" in failure("report", a, "--format", "pdf")
    assert "table: unknown name 'latx' (did you mean 'latex'?)" in failure("report", a, "--table", "latx")
    assert "figures: format" in failure("report", a, "--figures", "f", "--format", "bmp")


def test_a_report_draws_the_trainings_among_the_folders() -> None:
    pytest.importorskip("matplotlib")
    (a, _), training = evaluated("--agent", "random"), Path("trained")
    training.mkdir()
    (training / "history.jsonl").write_text('{"step": 1, "loss": 2.0}\n{"step": 2, "loss": 1.0}\n', "utf-8")
    assert run("report", a, str(training), "--out", "page.html") == "written: page.html\n"
    page = Path("page.html").read_text("utf-8")
    assert 'class="env training' in page and "mastermind" in page
    run("report", str(training), "--figures", "curves", "--format", "svg")
    assert [p.name for p in Path("curves").iterdir()] == ["trained-loss.svg"]
    assert run("report", a, str(training), "--table", "markdown") == run("report", a, "--table", "markdown")
    assert "--table: got 'trained', allowed: at least one run folder" in failure(
        "report", "trained", "--table", "latex"
    )


def test_models_are_listed() -> None:
    text = " ".join(run("models", "list").split())
    assert "SmolLM2-135M" in text and "Weights(" not in text


def test_a_preset_is_named_with_its_environment() -> None:
    assert run("show", "maze:pairs", "--json") == run("show", "maze", "--preset", "pairs", "--json")
    assert "preset: unknown name 'pair' (did you mean 'pairs'?)" in failure("show", "maze:pair")
    assert "You have 20 moves" in " ".join(run("play", "maze:pairs", "--task", "0").split())


@pytest.mark.parametrize(("options", "context"), [((), "render"), (("--context", "full"), "full")])
def test_a_model_of_sonde_sees_games_as_it_was_made_to(options: tuple[str, ...], context: str) -> None:
    run("rollout", "best_arm:small", "run", "--model", "sonde-tiny-habit", "-n", "1", *options)
    (played,) = Run.load("run")
    assert Run.load("run").config["seats"]["agent"]["context"] == context
    assert played.outcome is not None and (played.outcome.truncated == "context") == (context != "render")


def test_models_fetch_shows_its_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    from sonde.models.files import fetch as module

    def fetch(name: str, progress: Any) -> Path:
        progress("find the file", None)
        progress("find the file", 0.5)
        return Path("cache") / name

    monkeypatch.setattr(module, "fetch_model", fetch)
    result = invoke("models", "fetch", "smollm2")
    assert result.stdout == f"{Path('cache/smollm2')}\n"
    assert "find the file" in result.stderr
