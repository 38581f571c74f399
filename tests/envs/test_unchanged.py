"""Behaviour that a refactoring must keep: fingerprints of environments, and the play of floor and reference policies.

`python tests/envs/test_unchanged.py` writes `tests/envs/unchanged.json` anew; a change to it is a change of behaviour
and says so in its commit.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde.core import AGENT, Env, content_hash
from sonde.runs.rollout import Plan, collect_trajectories

PATH = Path(__file__).with_name("unchanged.json")
TASKS = 2
EXTRAS = {"chess": "chess"}
"""Environments whose rules come from an optional package."""


def list_environments() -> Iterator[tuple[str, Env[Any]]]:
    for name in sonde.names():
        for preset in sonde.core.find(name).presets:
            yield f"{name}.{preset}", sonde.make(name, preset=preset)


def play_role(env: Env[Any], agent: str) -> str:
    """A hash of everything that is said, paid and decided when this agent plays the first test tasks."""
    played = collect_trajectories(
        env, {AGENT: sonde.make(f"agents:{agent}")}, env.tasks("test")[:TASKS], Plan(k=1, seed=0)
    )
    episodes = sorted(played, key=lambda t: t.task.id)
    return content_hash(
        [
            [
                [[act.seat, act.action.text] for act in t.acts],
                [[dict(turn.rewards), turn.told] for turn in t.turns],
                t.outcome and [t.outcome.kind, t.outcome.score],
            ]
            for t in episodes
        ]
    )


def describe(env: Env[Any]) -> dict[str, str]:
    spec = env.spec
    roles = {"floor": spec.floor, "reference": spec.reference}
    return {"config": env.fingerprint, **{role: play_role(env, name) for role, name in roles.items() if name}}


@pytest.mark.thorough
@pytest.mark.parametrize("name", sonde.names())
def test_environments_play_as_recorded(name: str) -> None:
    if name in EXTRAS:
        pytest.importorskip(EXTRAS[name])
    recorded = {key: value for key, value in json.loads(PATH.read_text("ascii")).items() if key.split(".")[0] == name}
    assert {key: describe(env) for key, env in list_environments() if key.split(".")[0] == name} == recorded


if __name__ == "__main__":
    rows = {key: describe(env) for key, env in list_environments()}
    PATH.write_text(json.dumps(rows, indent=1) + "\n", "ascii")
    sys.stdout.write(f"{len(rows)} configurations\n")
