"""One line for every mistake on the command line, and the help that keeps from making it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde import cli
from sonde.cli import app as app_module
from sonde.runs.store import Run
from tests.cases import each

from .invoke import failure, invoke, run
from .test_cli import process, write_config

COLUMNS = 80

COMMANDS = [
    "list", "show", "play", "eval", "rollout", "rescore", "compare", "audit", "read", "report", "view", "export",
    "elicit", "train", "paprika", "leaderboard",
]  # fmt: skip


# --- mistakes ------------------------------------------------------------------------------------------------------

FAKE = ["eval", "mastermind", "--model", "fake", "-n", "1"]
RANDOM = ["eval", "mastermind", "--agent", "random", "-n", "1"]


@each(
    "args, says",
    [
        (["show", "masterminf"], "unknown name 'masterminf' (did you mean 'mastermind'?)"),
        (["eval", "masterminf", "--agent", "random"], "did you mean 'mastermind'"),
        (["eval", "mastermind", "--agent", "randm"], "agent: unknown name 'randm' (did you mean 'random'?)"),
        (["eval", "maze", "--agent", "sonde-tiny-maze"], "--agent: got 'sonde-tiny-maze', a model: say --model sonde"),
        (["eval", "maze", "--agent", "http:x"], "--agent: got 'http:x', a model: say --model http:x; allowed: "),
        (["eval", "mastermind"], "--model: agent 'llm' needs one, for example --model smollm2"),
        (["eval", "--agent", "random"], "env: missing; name one, as in `sonde eval wordle`"),
        (["eval"], "env: missing"),
        (["eval", "maze", "-o", "seats.agent.name=random"], "seats.agent.name: got 'random', allowed: the kind"),
        ([*RANDOM, "-o", "seats.user.name=answerer"], "such as users:answerer"),
        (["eval", "mastermind", "--model", "nope"], "--model: got 'nope', allowed: "),
        (["eval", "mastermind", "--model", "http:x"], "needs --base-url"),
        (["eval", "mastermind", "--model", "fake", "-o", "seats.agent.model.latency=-1"], "latency: got -1"),
        ([*RANDOM, "--model", "fake"], "--model: agent 'random' takes no model"),
        ([*RANDOM, "--base-url", "http://x/v1"], "--base-url: allowed: only with --model http:NAME"),
        ([*RANDOM, "--temperature", "1"], "agents:random: unknown name 'temperature'"),
        ([*RANDOM, "--preset", "x"], "mastermind: preset: unknown name 'x'; known: paprika"),
        ([*RANDOM, "-k", "x"], "'-k'"),
        (["prompts", "mastermindd"], "environment or agent: unknown name 'mastermindd' (did you mean 'mastermind'?)"),
        ([*RANDOM, "-n", "501"], "n_tasks: got 501, allowed: 1 to 500 for mastermind, split test"),
        ([*RANDOM, "--bogus"], "--bogus"),
        ([*RANDOM, "-o", "env.lenght=4"], "unknown name 'lenght' (did you mean 'length'?)"),
        ([*RANDOM, "-o", "n_task=4"], "-o: unknown name 'n_task' (did you mean 'n_tasks'?)"),
        ([*FAKE, "-o", "answer_only=1"], "-o: unknown name 'answer_only' (did you mean 'seats.agent.answer_only'?)"),
        ([*RANDOM, "-o", "preset=lmrl"], "-o: unknown name 'preset' (did you mean 'env.preset'?)"),
        ([*RANDOM, "--config", "gone.yaml"], "config: no file gone.yaml"),
        (["list", "env"], "kind: unknown name 'env' (did you mean 'envs'?)"),
        (["list", "wordle"], "kind: got 'wordle', an environment; `sonde show wordle` describes it"),
        (["compare", "a", "b"], "a: no such run folder"), (["report", "a"], "a: no such run folder"),
        (["report", "."], ".: no evaluation.json"), (["report"], "folders"),
        (["export", "a", "b"], "a is not a run folder (it does not exist)"),
        (["rescore", "a"], "a is not a run folder"),
        (["train", "sft", "runs/a", "--model", "smollm2"], "sources: got 'runs/a', allowed: an existing file"),
        (["train", "grpo", "wordel", "--model", "smollm2"], "unknown name 'wordel' (did you mean 'wordle'?)"),
        (["rollout", "mastermind"], "folder"), (["play", "masterminf"], "did you mean 'mastermind'"),
        (["play", "mastermind", "--task", "500"], "--task: got 500, allowed: 0 to 499"),
        (["models", "fetch", "gpt"], "weights: unknown name 'gpt'; known: smollm2"), (["evil"], "evil"),
    ],
)  # fmt: skip
def test_a_mistake_is_named(args: list[str], says: str) -> None:
    assert says in " ".join(re.sub(r"[│╭╮╰╯─]", " ", failure(*args)).split())
    assert not Path("runs").exists(), "nothing is written before everything is known to be right"


def test_a_config_that_names_a_policy_without_its_kind_is_told_so() -> None:
    Path("run.yaml").write_text("env: {name: mastermind}\nseats: {agent: {name: entropy}}\n", "utf-8")
    assert "seats.agent.name: got 'entropy', allowed: " in (said := failure("eval", "--config", "run.yaml"))
    assert said.endswith("such as agents:entropy")


@each("given", ["seats.agent.name=agents:entropy", "seats.agent=agents:entropy", "seats.agent={name: agents:entropy}"])
def test_an_assignment_can_name_the_agent(given: str) -> None:
    assert "entropy" in run("eval", "mastermind", "-n", "1", "-k", "1", "--gains", "-o", given).splitlines()[2]


def test_an_environment_given_twice_is_played_and_shown_once() -> None:
    shown = run("eval", "mastermind", "mastermind", "--agent", "random", "-n", "1", "-k", "1", "--no-gains")
    assert [line.split()[0] for line in shown.splitlines()].count("mastermind") == 1


@each(
    "args, says",
    [
        (["eval", "mastermind", "-n", "five"], "sonde: Invalid value for '--tasks' / '-n': "),
        (["play", "mastermind", "--task", "five"], "sonde: Invalid value for '--task': "),
    ],
)
def test_a_value_of_another_type_is_shown(
    args: list[str], says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["sonde", *args])
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    said = capsys.readouterr().err
    assert ended.value.code == 2 and said.startswith(says) and "'five'" in said


@each(
    "command, says",
    [
        ("view", "sonde: interrupted\n"),
        ("eval", "sonde: interrupted; what was finished is kept, the same command continues\n"),
        ("train", "sonde: interrupted; what was finished is kept, the same command with --resume continues\n"),
    ],
)
def test_an_interrupt_promises_only_what_is_kept(
    command: str, says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "argv", ["sonde", command])
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setattr(app_module, "app", interrupt)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert (ended.value.code, capsys.readouterr().err) == (130, says)


@pytest.mark.thorough
@each(
    "args, says",
    [
        (["show", "masterminf"], "environment: unknown name 'masterminf' (did you mean 'mastermind'?)"),
        (["eval", "mastermind", "--bogus"], "No such option: --bogus"),
        (["models", "brew"], "No such command 'brew'. Allowed: "),
        ([*RANDOM, "--runs", "taken"], "taken/"),
    ],
)
def test_a_mistake_is_one_line_without_a_traceback(args: list[str], says: str) -> None:
    Path("taken").write_text("a file where a folder should go")
    result = process(*args)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("sonde: ") and says in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.thorough
def test_alone_it_shows_its_help_and_nothing_else() -> None:
    result = process()
    assert result.returncode == 2
    assert "Usage" in result.stdout + result.stderr
    assert "sonde: " not in result.stdout + result.stderr


@pytest.mark.thorough
@each(
    "typed, offered",
    [
        ("sonde ev", {"eval"}),
        ("sonde eval wo", {"word_chaining", "word_guess", "wordle"}),
        ("sonde eval --agent ent", {"entropy"}),
        ("sonde play mur", {"murder_mystery"}),
    ],
)
def test_a_shell_completes_commands_and_names(typed: str, offered: set[str]) -> None:
    asked = {"_SONDE_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
    sonde = Path(sys.executable).with_name("sonde")
    done = subprocess.run([sonde], env={**os.environ, **asked}, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == offered


def test_version() -> None:
    result = process("--version")
    assert (result.returncode, result.stdout) == (0, f"sonde {sonde.__version__}\n")


@pytest.mark.thorough
def test_an_interrupt_keeps_what_was_finished(tmp_path: Path) -> None:
    config = write_config(tmp_path, n_tasks=50, concurrency=2)
    slow = ["eval", "--config", config, "-o", "seats.agent.model.latency=0.05"]
    command = [sys.executable, "-m", "sonde", *slow]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        deadline = time.monotonic() + 60
        while not any(p.stat().st_size for p in Path().glob("runs/*/*.zst")) and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(child.pid, signal.SIGINT)
        out, err = child.communicate(timeout=30)
    assert (child.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "sonde: interrupted; what was finished is kept, the same command continues"
    assert "Traceback" not in err
    (folder,) = Path("runs").iterdir()
    assert 0 < len(Run.load(folder)) < 150


# --- help ----------------------------------------------------------------------------------------------------------


@each("command", COMMANDS)
def test_help_explains_every_option(command: str) -> None:
    text = invoke(command, "--help", columns=200).output
    found = sonde_command(command)
    assert found.help and " ".join(found.help.split())[:60].replace("`", "") in " ".join(text.split()).replace("`", "")
    for parameter in found.params:
        explained = getattr(parameter, "help", None)
        assert explained and len(explained) > 8, f"{command}: {parameter.name} is not explained"
        if parameter.param_type_name == "option":
            assert max(parameter.opts, key=len) in text
    assert f"Example: sonde {command}" in text


def test_help_groups_the_commands() -> None:
    text = invoke("--help").output
    groups = ["Play and evaluate", "Look at runs", "Beliefs", "Train", "Environments", "Data and models"]
    assert [line.strip("╭╮─ ") for line in text.splitlines() if line.startswith("╭")] == ["Options", *groups]


def sonde_command(name: str) -> Any:
    from sonde.cli.app import COMMANDS, load_command

    return next(load_command(entry) for entry in COMMANDS if entry.name == name)


def test_help_tells_defaults_that_depend_on_the_command() -> None:
    texts = {c: " ".join(invoke(c, "--help", columns=200).output.split()) for c in COMMANDS}
    assert "Samples per task. [default: (4)]" in texts["eval"]
    assert "Samples per task. [default: (1)]" in texts["rollout"]
    assert "train, test, or another split of the preset. [default: (train)]" in texts["rollout"]
