"""Every shipped playthrough plays again, line by line; every environment ships some for every preset."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

import sonde
from sonde.core import Episode
from sonde.core.playthrough import read, write

GOLDEN = {
    path.name: path.read_text("utf-8")
    for path in sorted(Path(str(files("sonde.envs"))).glob("*/golden/*.txt"), key=lambda p: p.name)
}
LIBRARIES = {"chess": "chess"}
"""What the rules of an environment come from, where that is an optional package."""


def played(name: str) -> Episode:
    """The playthrough, played again; skipped where it needs a package that is not installed."""
    if library := LIBRARIES.get(name.partition(".")[0]):
        pytest.importorskip(library)
    return read(GOLDEN[name]).play()


@pytest.mark.parametrize("name", GOLDEN)
def test_plays_again_line_by_line(name: str) -> None:
    ep = played(name)
    assert write(ep).splitlines() == GOLDEN[name].splitlines()
    assert write(ep) == GOLDEN[name]
    env, preset, number, _ = name.split(".")
    assert (ep.env.name, ep.env.spec.preset) == (env, preset)
    assert number.isdecimal()
    assert ep.outcome is not None, "a playthrough goes to the end"


@pytest.mark.parametrize("name", GOLDEN)
def test_shows_a_task_to_train_on(name: str) -> None:
    """Playthroughs become few-shot examples, so none may show a test task."""
    ep = played(name)
    assert ep.task.split == "train"
    assert ep.task == ep.env.tasks("train")[ep.task.index]


@pytest.mark.parametrize("name", [n for n in GOLDEN if n.split(".")[2] in ("0", "1")])
def test_examples_are_short_wins(name: str) -> None:
    ep = played(name)
    assert ep.outcome is not None
    assert ep.outcome.kind == "win"
    assert len(ep.turns) <= 12


@pytest.mark.parametrize("name", sonde.names())
def test_every_preset_ships_three(name: str) -> None:
    presets = sonde.find(name).presets
    for preset in presets:
        found = [n for n in GOLDEN if n.startswith(f"{name}.{preset}.")]
        assert len(found) >= 3, f"{name} preset {preset}: {len(found)} playthroughs, at least 3 are due"
