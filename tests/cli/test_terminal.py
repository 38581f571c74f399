"""What the terminal gets: text as it is, no markup, and nothing that drives it."""

from __future__ import annotations

import io
import unicodedata
from pathlib import Path

import pytest

import sonde
from sonde.cli import main
from sonde.cli.terminal import Terminal
from sonde.core import AGENT
from sonde.evaluation.run_evaluation import execute_run
from sonde.runs.rollout import Plan, record_plan
from sonde.runs.run import RunConfig, prepare_run
from tests.cases import each

from .invoke import failure, invoke

HOSTILE = "\x1b]52;c;ZXZpbA==\x07\x1b[2J\x9b31m\x00\u202eevil\u2066 [/foo] [bold]m[fp8] :smile:"
DRIVING = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def run(*args: str) -> str:
    """What a command that succeeds prints, to both streams."""
    result = invoke(*args, columns=200)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def driving(text: str) -> set[str]:
    """The characters in `text` that are not to be seen, line breaks aside."""
    return {char for char in text if char != "\n" and unicodedata.category(char) in DRIVING}


def evaluated(label: str, said: str = HOSTILE) -> Path:
    """A run in which a model has said something, under a label."""
    model = {"name": "models:fake", "script": [said]}
    seats = {AGENT: {"name": "agents:llm", "model": model}}
    env = {"name": "mastermind", "max_turns": 2}
    config = RunConfig(env=env, seats=seats, n_tasks=1, k=1, label=label)
    prepared = prepare_run(config)
    execute_run(prepared, Path("run"))
    return Path("run")


def test_what_a_model_said_is_shown_and_does_nothing() -> None:
    text = run("read", str(evaluated("x")))
    assert driving(text) == set()
    whole = "".join(map(str.strip, text.splitlines()))  # a long word goes on in the next line
    assert "<U+001B>]52;c;ZXZpbA==<U+0007><U+001B>[2J<U+009B>31m<U+0000><U+202E>evil<U+2066>" in whole
    assert "[/foo] [bold]m[fp8] :smile:" in text


@each("command", ["read", "rescore", "compare"])
def test_labels_are_never_markup(command: str) -> None:
    folder = str(evaluated("m[fp8] [/foo] :smile:"))
    text = run(command, folder, *([folder] if command == "compare" else []))
    assert driving(text) == set()
    assert ("m[fp8]" in text and "[/foo]" in text and ":smile:" in text) or command == "read"


def test_paths_are_never_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = "out [/foo] m[fp8]"
    text = run("rollout", "mastermind", folder, "--agent", "random", "-n", "1")
    assert f"episodes in {folder}" in text and len(sonde.runs.store.Run.load(folder)) == 1
    played = ["eval", "mastermind", "--agent", "random", "-n", "1", "-k", "1", "--runs", folder]
    text = run(*played, "--report", "[/r].html")
    assert f"written: {folder}/mastermind" in text and "written: [/r].html" in text


def test_a_terminal_gets_no_sequence_of_others() -> None:
    kept = io.StringIO()
    Terminal(file=kept, force_terminal=True, width=300).print(f"[bold]{HOSTILE}", style="red", highlight=False)
    assert kept.getvalue().count("\x1b") == 2, "its own colour, on and off"
    assert driving(kept.getvalue()) == {"\x1b"} and "[bold]" in kept.getvalue() and ":smile:" in kept.getvalue()


def test_errors_drive_no_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["sonde", "show", f"x{HOSTILE}"])
    with pytest.raises(SystemExit):
        main()
    assert driving(capsys.readouterr().err) == set()


def test_a_person_at_play_is_shown_what_others_say(monkeypatch: pytest.MonkeyPatch) -> None:
    env = sonde.make("twenty_questions", max_turns=1)
    user = sonde.make("users:llm", model=sonde.make("models:fake", script=(HOSTILE,)))
    kept = io.StringIO()
    human = sonde.make("agents:human", console=Terminal(file=kept, width=300), stream=io.StringIO("Is it alive?\n"))
    record_plan(env, {AGENT: human, "user": user}, env.tasks("test")[:1], Plan(), Path("talk"))
    assert driving(kept.getvalue()) == set()


@each(
    "args, says",
    [
        (["play", "wordle", "--task", "-1"], "--task: got -1, allowed: 0 to "),
        (["play", "wordle", "--seed", "-3"], "seed: got -3, allowed: a whole number from 0"),
        (["eval", "wordle", "--model", "hf:"], "--model: got 'hf:', allowed: hf:NAME"),
        (["eval", "wordle", "--agent", "random", "--user", "hf:"], "got 'hf:', allowed: hf:NAME"),
        (["show", "agents:random"], "'agents:random' is not an environment"),
        (["play", "agents:random"], "'agents:random' is not an environment"),
        (["eval", "wordle", "--agent", "random", "--report", "."], "--report: got '.', allowed: a file"),
        (["eval", "wordle", "--agent", "random", "--report", "/proc/r.html"], "--report: got '/proc/r.html', allowed"),
        (["eval", "--suite", "mtp", "--agent", "random", "--submit", "/proc/r.json"], "--submit: got '/proc/r.json'"),
        (["report", "runs", "--out", "/proc/r.html"], "--out: got '/proc/r.html', allowed: a file that can be written"),
        (["eval", "wordle", "--agent", "random", "--report", "file/r.html"], "--report: got 'file/r.html', allowed"),
        (["eval", "--config", "keys.yaml"], "config: keys.yaml: env: key: got 1, allowed: text"),
        (["eval", "--config", "deep.json"], "config: deep.json: "),
        (["eval", "wordle", "--agent", "random", "-o", "env={1: 2}"], "-o env: key: got 1, allowed: text"),
        (
            ["eval", "wordle", "--model", "fake", "-o", "seats.agent.stop=[1]", "-o", "seats.agent.model.script=[a]"],
            "agents:llm: stop[0]: got 1, allowed: text",
        ),
        (
            ["eval", "twenty_questions", "--agent", "twenty_questions", "--tasks-file", "latin.txt"],
            "tasks_file: latin.txt: not UTF-8",
        ),
        (
            ["eval", "twenty_questions", "--agent", "twenty_questions", "--tasks-file", "deep.json"],
            "tasks_file: deep.json: ",
        ),
    ],
)
def test_a_mistake_is_told_before_anything_is_played(args: list[str], says: str) -> None:
    Path("file").write_text("x")
    Path("keys.yaml").write_text("env: {name: wordle, 1: 2}\n")
    Path("deep.json").write_text("[" * 100_000)
    Path("latin.txt").write_bytes("café\n".encode("latin-1"))
    assert says in failure(*args)
    assert not Path("runs").exists()
