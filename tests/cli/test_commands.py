"""Commands as dataclasses: their fields are the options, and an object gives the command line that it came from."""

from __future__ import annotations

import shlex
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

from sonde.cli.app import COMMANDS, DATASET_COMMANDS, HUB_COMMANDS, MODELS_COMMANDS, load_command
from sonde.cli.commands import Command, command_line
from sonde.cli.evaluate import EvalCommand, PlayOptions, RolloutCommand
from sonde.cli.train import TrainCommand
from tests.cases import each

from .invoke import invoke

ENTRIES = {entry.name: entry for entry in COMMANDS}


def options(command: str) -> dict[str, Any]:
    return {str(p.name): p for p in load_command(ENTRIES[command]).params if p.name != "help"}


def test_the_help_of_all_commands_says_what_their_own_help_says() -> None:
    for entry in (*COMMANDS, *DATASET_COMMANDS, *HUB_COMMANDS, *MODELS_COMMANDS):
        told = (load_command(entry).help or "").split("\n\n")[0]
        assert " ".join(told.split()) == entry.summary, entry.name


def test_help_loads_no_command() -> None:
    """What only a command needs is not imported before it runs."""
    code = "import sys, sonde.cli.app as a; sys.argv[1:] = ['--help']; a.app(standalone_mode=False); "
    code += "print(*(m for m in ('torch', 'aiohttp', 'numpy', 'sonde.viewer', 'sonde.train') if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""


@each("name, command", [("eval", EvalCommand), ("rollout", RolloutCommand), ("train", TrainCommand)])
def test_the_options_of_a_command_are_the_fields_of_its_class(name: str, command: type[Command]) -> None:
    assert options(name).keys() == {f.name for f in fields(command)}  # type: ignore[arg-type]


def test_eval_and_rollout_share_their_options() -> None:
    shared = {f.name for f in fields(PlayOptions)}
    a, b = options("eval"), options("rollout")
    assert b.keys() - shared == {"env", "folder"} and shared <= a.keys()
    for name in shared - {"split", "k"}:
        assert (a[name].opts, a[name].default, a[name].help) == (b[name].opts, b[name].default, b[name].help)
    assert [(p["split"].show_default, p["k"].show_default) for p in (a, b)] == [("test", "4"), ("train", "1")]


@each(
    "name, command, line",
    [
        ("eval", EvalCommand(), "sonde eval"),
        ("eval", EvalCommand(envs=["a", "b"], k=2, gains=False), "sonde eval a b -k 2 --no-gains"),
        ("eval", EvalCommand(overrides=["label=a b", "k=1"]), "sonde eval --set 'label=a b' --set k=1"),
        ("eval", EvalCommand(runs=Path("r"), gains=True, strict=True), "sonde eval --strict --gains"),
        (
            "train",
            TrainCommand(objective="sft", sources=["r"], model="m", folder=Path("o"), encode=True),
            "sonde train sft r --model m --out o --encode",
        ),
    ],
)
def test_a_command_gives_the_line_that_asks_for_it(name: str, command: Command, line: str) -> None:
    assert command_line(name, command, without=("runs",)) == line
    arguments = shlex.split(line)[2:]
    assert load_command(ENTRIES[name]).make_context(name, arguments)


def test_mistakes_in_words_that_are_no_options_are_found() -> None:
    assert invoke("eval", "--modle", "x").exit_code == 2
