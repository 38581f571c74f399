"""Every environment, under every preset, keeps every rule of the public contract; and ten thousand hostile replies."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from itertools import pairwise
from typing import Any

import pytest

import sonde
from sonde.core import Env, Rng
from sonde.testing import EnvProbe, check_env, hostile_reply

NAMES = sonde.names()
EPISODES, MORE, LONG = 4, 8, 1000
TURNS = 320
FUZZED, LONG_FUZZED = 300, 10_000
THOROUGH, SLOW = pytest.mark.thorough, pytest.mark.slow


def list_presets(name: str) -> list[Env[Any]]:
    """Every preset of an environment, and the default one by the rules of its paper's code where they differ."""
    cls: Any = sonde.core.find(name)
    assert cls.presets and sonde.make(name).spec.preset == cls.presets[0]
    envs = [sonde.make(name, preset=preset) for preset in cls.presets]
    if any(f.name == "rules" for f in dataclasses.fields(cls)):
        envs.append(sonde.make(name, rules="code"))
    if name == "twenty_questions":
        envs += [sonde.make(name, preset="delta_belief", rules=rules) for rules in ("code", "strict")]
    return envs


def count_episodes(env: Env[Any], most: int) -> int:
    """Where episodes are long, fewer of them are played, at least 3."""
    return max(3, min(most, TURNS * most // EPISODES // env.spec.max_turns))


@pytest.mark.parametrize("most", [EPISODES, pytest.param(MORE, marks=THOROUGH), pytest.param(LONG, marks=SLOW)])
@pytest.mark.parametrize("name", NAMES)
def test_contract(name: str, most: int) -> None:
    for env in list_presets(name):
        check_env(env, episodes=count_episodes(env, most))


@pytest.mark.parametrize("most", [pytest.param(FUZZED, marks=THOROUGH), pytest.param(LONG_FUZZED, marks=SLOW)])
@pytest.mark.parametrize("name", NAMES)
def test_hostile_replies_do_no_harm(name: str, most: int) -> None:
    """In more replies than `check_env` tries in a few episodes."""
    for env in list_presets(name):
        fuzz(env, most)


def fuzz(env: Env[Any], most: int) -> None:
    p = EnvProbe(env=env, episodes=count_episodes(env, LONG))
    low, high = env.spec.reward_range
    replies, i, rng = 0, 0, Rng(1, "fuzz", env.name)
    while replies < most:
        for before, after in pairwise(p.walk_episode(i % p.episodes, lambda view, _: hostile_reply(view, rng), "fuzz")):
            turn = after.turns[-1]
            assert low <= turn.rewards.get("agent", 0.0) <= high
            assert before.outcome is None and (after.outcome is None) == (after.to_act is not None)
            replies += 1
        i += 1


DIGESTS = """
import sonde
from sonde.testing import digest_env
for name in sonde.names():
    for preset in sonde.core.find(name).presets:
        env = sonde.make(name, preset=preset)
        print(name, preset, digest_env(env, episodes=max(2, min(12, 500 // env.spec.max_turns))))
"""


@pytest.mark.thorough
def test_play_is_the_same_in_every_process() -> None:
    """Nothing hangs on the order of sets, which changes with the seed of Python's hashes."""
    runs = [
        subprocess.run(
            [sys.executable, "-c", DIGESTS], env={**os.environ, "PYTHONHASHSEED": seed}, text=True, capture_output=True,
            check=False,
        )
        for seed in ("1", "2")
    ]  # fmt: skip
    assert all(run.returncode == 0 for run in runs), runs[0].stderr
    assert runs[0].stdout == runs[1].stdout
    assert len(runs[0].stdout.splitlines()) >= len(sonde.names())
