"""Every environment, under every preset, keeps every rule of the public contract; and ten thousand hostile replies."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

import sonde
from sonde.core import Env, Rng
from sonde.testing import RULES, Probe, hostile

EPISODES, LONG = 16, 1000
TURNS = 1280
"""Where episodes are long, fewer of them are played, at least 8."""
FUZZED, LONG_FUZZED = 500, 10_000


def cases() -> list[Any]:
    """Environment and configuration: every preset, and the default one as published where that differs. Files that
    cannot be used are left to `test_every_environment_can_be_checked`."""
    found: list[Any] = []
    for name in sonde.names():
        try:
            cls: Any = sonde.find(name)
            configs: list[dict[str, Any]] = [{"preset": preset} for preset in cls.presets]
        except Exception:
            continue
        if any(f.name == "as_published" for f in dataclasses.fields(cls)):
            configs.append({"preset": cls.presets[0], "as_published": True})
        found += [
            pytest.param(name, c, id="-".join([name, *(k if v is True else v for k, v in c.items())])) for c in configs
        ]
    return found


@pytest.mark.parametrize("name", sonde.names())
def test_every_environment_can_be_checked(name: str) -> None:
    presets = sonde.find(name).presets
    assert presets
    assert sonde.make(name).spec.preset == presets[0]


@cache
def _probe(name: str, config: tuple[tuple[str, Any], ...], episodes: int) -> Probe:
    env: Env[Any] = sonde.make(name, **dict(config))
    return Probe(env=env, episodes=max(8, min(episodes, TURNS * episodes // EPISODES // env.spec.max_turns)))


def probe(name: str, config: dict[str, Any], episodes: int) -> Probe:
    return _probe(name, tuple(config.items()), episodes)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("name", "config"), cases())
def test_contract(name: str, config: dict[str, Any], rule: str) -> None:
    RULES[rule](probe(name, config, EPISODES))


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("name", "config"), cases())
def test_contract_at_length(name: str, config: dict[str, Any], rule: str) -> None:
    RULES[rule](probe(name, config, LONG))


@pytest.mark.parametrize(("name", "config"), cases())
def test_hostile_replies_do_no_harm(name: str, config: dict[str, Any]) -> None:
    fuzz(name, config, FUZZED)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "config"), cases())
def test_ten_thousand_hostile_replies_do_no_harm(name: str, config: dict[str, Any]) -> None:
    fuzz(name, config, LONG_FUZZED)


def fuzz(name: str, config: dict[str, Any], most: int) -> None:
    p = probe(name, config, LONG)
    low, high = p.env.spec.reward_range
    replies, i, rng = 0, 0, Rng(1, "fuzz", name)
    while replies < most:
        for before, after in pairwise(p.walk(i % p.episodes, lambda view, _: hostile(view, rng), "fuzz")):
            turn = after.turns[-1]
            assert low <= turn.rewards.get("agent", 0.0) <= high
            assert before.outcome is None and (after.outcome is None) == (after.to_act is not None)
            replies += 1
        i += 1


DIGESTS = """
import sonde
from sonde.testing import digest
for name in sonde.names():
    for preset in sonde.find(name).presets:
        env = sonde.make(name, preset=preset)
        print(name, preset, digest(env, episodes=max(2, min(12, 500 // env.spec.max_turns))))
"""


@pytest.mark.thorough
def test_play_is_the_same_in_every_process() -> None:
    """Nothing hangs on the order of sets, which changes with the seed of Python's hashes."""
    runs = [
        subprocess.run(
            [sys.executable, "-c", DIGESTS],
            env={**os.environ, "PYTHONHASHSEED": seed},
            text=True,
            capture_output=True,
            check=False,
        )
        for seed in ("1", "2")
    ]
    assert all(run.returncode == 0 for run in runs), runs[0].stderr
    assert runs[0].stdout == runs[1].stdout
    assert len(runs[0].stdout.splitlines()) >= len(sonde.names())
