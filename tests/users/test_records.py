"""What a record says of the other seats is true of its task, in every environment and preset that has other seats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

import sonde
from sonde.core import AGENT, Episode, default_policies
from tests.cases import each


def cases() -> Iterator[Any]:
    for name in sonde.names():
        for preset in sonde.core.find(name).presets:
            env = sonde.make(name, preset=preset)
            if any(policy for seat, policy in env.spec.seats.items() if seat != AGENT):
                yield pytest.param(env, id=f"{name}-{preset}")


def facts(value: object) -> Iterator[tuple[str, object]]:
    """Every named value in a JSON value."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield str(name), inner
            yield from facts(inner)


@each("split", ["train", "test"])
@each("env", [*cases()])
def test_a_policy_on_record_contradicts_no_fact_of_the_task(env: sonde.Env[Any], split: str) -> None:
    """A setting of a policy that has the name of something in the task has its value: a user says nothing of a preset,
    split or case that is not the one it played."""
    policies = default_policies(env)
    task = env.tasks(split)[-1]
    record = Episode.begin(env, task).to_trajectory(policies=policies).to_json()
    known = dict(facts(record["task"]))
    for seat, policy in record["policies"].items():
        shared = (policy.keys() & known.keys()) - {"name", "fingerprint"}
        assert {k: policy[k] for k in shared} == {k: known[k] for k in shared}, seat


@each("name", ["answerer", "buyer", "customer", "narrator", "persona", "resident"])
def test_rule_users_take_what_they_know_from_their_view(name: str) -> None:
    """So that one of them plays every task, and its configuration cannot go stale."""
    assert sonde.make(f"users:{name}").config == {"name": f"users:{name}"}
