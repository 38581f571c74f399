"""Every shipped playthrough plays again, line by line; every environment ships some for every preset."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any, cast

import pytest

import sonde
from sonde.core import Env
from sonde.core.playthrough import read_playthrough, write_playthrough
from tests.cases import Checks

GOLDEN = {
    path.name: path.read_text("utf-8")
    for path in sorted(Path(str(files("sonde.envs"))).glob("*/golden/*.txt"), key=lambda p: p.name)
}
LIBRARIES = {"chess": "chess"}
"""What the rules of an environment come from, where that is an optional package."""


@pytest.mark.parametrize("env", sonde.names())
def test_shipped_playthroughs_play_again_and_every_preset_has_three(env: str) -> None:
    if env in LIBRARIES:
        pytest.importorskip(LIBRARIES[env])
    checks, cls = Checks(), cast("type[Env[Any]]", sonde.core.find(env))
    for preset in cls.presets:
        found = [name for name in GOLDEN if name.startswith(f"{env}.{preset}.")]
        assert len(found) >= 3, f"{env} preset {preset}: {len(found)} playthroughs, at least 3 are due"
        for name in found:
            checks.run(name, lambda name=name: check_playthrough(name))
    checks.report()


def check_playthrough(name: str) -> None:
    """It plays again line by line, to the end. Playthroughs become few-shot examples, so none may show a test task, and
    the first two are short wins."""
    env, preset, number, _ = name.split(".")
    ep = read_playthrough(GOLDEN[name]).replay_episode()
    assert write_playthrough(ep).splitlines() == GOLDEN[name].splitlines()
    assert write_playthrough(ep) == GOLDEN[name]
    assert (ep.env.name, ep.env.spec.preset) == (env, preset)
    assert ep.outcome is not None, "a playthrough goes to the end"
    assert ep.task.split == "train" and ep.task == ep.env.tasks("train")[ep.task.index]
    if int(number) < 2:
        assert ep.outcome.kind == "win" and len(ep.turns) <= 12


def test_every_playthrough_is_of_a_preset() -> None:
    known = {(env, preset) for env in sonde.names() for preset in cast("type[Env[Any]]", sonde.core.find(env)).presets}
    assert {tuple(name.split(".")[:2]) for name in GOLDEN} == known
