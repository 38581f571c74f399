"""The options that `sonde eval` and `sonde rollout` share."""

from __future__ import annotations

import inspect
from dataclasses import fields

from typer.utils import get_params_from_function

from sonde.cli.playing import Playing, Recording
from sonde.cli.runs import evaluate, rollout


def test_both_commands_have_every_option_of_one_object() -> None:
    shared = {f.name for f in fields(Playing)}
    assert shared == {f.name for f in fields(Recording)}
    taken = {command: get_params_from_function(command) for command in (evaluate, rollout)}
    assert taken[rollout].keys() - shared == {"env", "folder"}
    assert taken[evaluate].keys() - shared == {
        "typed", "envs", "suite", "max_turns", "runs", "gains", "report", "submit", "dry_run", "as_json",
    }  # fmt: skip
    for name in shared - {"split", "k"}:
        a, b = (vars(taken[command][name].default) for command in (evaluate, rollout))
        assert a == b, name


def test_what_a_command_does_by_default_is_shown() -> None:
    for command, split, k in ((evaluate, "test", "4"), (rollout, "train", "1")):
        taken = get_params_from_function(command)
        assert [taken[name].default.show_default for name in ("split", "k")] == [split, k]


def test_no_two_commands_share_a_list_that_one_could_change() -> None:
    assert Playing().overrides is not Playing().overrides
    assert list(inspect.signature(rollout).parameters)[:3] == ["env", "folder", "preset"]
