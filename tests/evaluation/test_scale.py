"""The shipped floors and references are those of the environments as they are now."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

import sonde
from sonde.core import Env
from sonde.evaluation import scale as reference
from sonde.evaluation.metrics import Estimate
from sonde.evaluation.scale import (
    COMMAND,
    PREFIX,
    SAMPLES,
    load_entries,
    measured_bounds,
    reference_score,
    scale_fingerprint,
)
from tests.cases import each

ENVIRONMENTS: list[Any] = [pytest.param(e, id=f"{e.name}-{e.spec.preset}") for e in reference.all_environments()]
TURNS = 300
"""Whose episodes have more is left to the slow tests; another preset of the same environment has fewer."""
PLAYED: list[Any] = [
    pytest.param(e, id=f"{e.name}-{e.spec.preset}", marks=[pytest.mark.slow] if e.spec.max_turns > TURNS else [])
    for e in reference.all_environments()
]
STALE = f"run `{COMMAND}` and commit sonde/evaluation/scale.json"


def test_every_entry_belongs_to_an_environment_as_it_is() -> None:
    known = {scale_fingerprint(env): env for env in reference.all_environments()}
    for key, entry in load_entries().items():
        assert key in known, f"{entry['env']} was measured in another state: {STALE}"
        assert known[key].config == entry["env"], STALE
        assert entry["command"] == COMMAND


@each("env", ENVIRONMENTS)
def test_every_preset_has_a_scale(env: Env[Any]) -> None:
    assert env.spec.reference, f"{env.name} names no reference"
    found = measured_bounds(env)
    assert found is not None, f"{env.name}, preset {env.spec.preset}, was not measured: {STALE}"
    floor, top = found
    assert floor.n == top.n == len(env.tasks("test"))
    assert floor.low <= floor.mean <= floor.high < top.low <= top.mean <= top.high
    least, most = env.spec.reward_range
    assert min(0.0, least) * env.spec.max_turns <= floor.mean and top.mean <= max(0.0, most) * env.spec.max_turns


@pytest.mark.thorough
@pytest.mark.parametrize("env", PLAYED)
def test_the_first_tasks_play_as_they_were_measured(env: Env[Any]) -> None:
    entry = load_entries().get(scale_fingerprint(env))
    assert entry is not None, f"{env.name}, preset {env.spec.preset}, was not measured: {STALE}"
    for role, samples in (("floor", SAMPLES["floor"]), ("reference", SAMPLES["reference"])):
        stored = entry[role]
        found = reference.play_returns(env, stored["agent"], stored["k"], PREFIX, entry["seed"])
        assert stored["k"] == (samples if env.spec.max_turns <= reference.LONG else samples // 4)
        assert found == stored["prefix"], f"{env.name}: {stored['agent']} plays otherwise than measured: {STALE}"


def test_other_configurations_and_splits_have_no_scale() -> None:
    env = sonde.make("mastermind")
    assert measured_bounds(env) is not None
    assert measured_bounds(env, "train") is None
    assert measured_bounds(sonde.make("mastermind", max_turns=11)) is None
    assert reference_score(sonde.make("mastermind", length=3), "test", Estimate(0.5, 0.4, 0.6, 9)) is None


def test_a_fingerprint_follows_version_configuration_and_policies() -> None:
    env = sonde.make("mastermind")
    before = scale_fingerprint(env)
    assert before == scale_fingerprint(sonde.make("mastermind"))
    found = {before, scale_fingerprint(sonde.make("mastermind", max_turns=11))}
    for change in ({"version": "another"}, {"reference": "random"}, {"floor": "entropy"}):
        changed = sonde.make("mastermind")
        changed.__dict__["spec"] = replace(env.spec, **change)
        found.add(scale_fingerprint(changed))
    assert len(found) == 5


def scale(monkeypatch: pytest.MonkeyPatch, floor: tuple[float, float, float], top: tuple[float, float, float]) -> Any:
    monkeypatch.setattr(reference, "measured_bounds", lambda env, split: (Estimate(*floor, 9), Estimate(*top, 9)))
    return lambda mean, low, high: reference_score(sonde.make("mastermind"), "test", Estimate(mean, low, high, 7))


def test_0_is_the_floor_and_100_the_reference_and_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    on = scale(monkeypatch, (-5.0, -5.5, -4.5), (-3.0, -3.2, -2.8))
    assert on(-5.0, -5.0, -5.0).mean == 0.0
    assert on(-3.0, -3.0, -3.0).mean == 100.0
    assert on(-4.5, -6.0, -1.0) == Estimate(25.0, -50.0, 200.0, 7)


@pytest.mark.parametrize(
    ("floor", "top"),
    [
        ((0.1, 0.0, 0.3), (0.4, 0.3, 0.5)),  # they touch
        ((0.1, 0.0, 0.4), (0.3, 0.2, 0.5)),  # they overlap
        ((0.5, 0.4, 0.6), (0.1, 0.0, 0.2)),  # the reference is worse than random play
    ],
)
def test_where_floor_and_reference_are_not_apart_there_is_no_scale(
    floor: tuple[float, float, float], top: tuple[float, float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert scale(monkeypatch, floor, top)(0.2, 0.1, 0.3) is None


def test_a_measurement_holds_what_the_scale_needs() -> None:
    env = sonde.make("mastermind", length=1, digits=3, max_turns=2)
    found = reference.measure_environment(env)
    tasks = env.tasks("test")
    assert found["env"] == env.config and found["version"] == env.spec.version
    assert found["floor"]["agent"] == "random" and found["reference"]["agent"] == "entropy"
    assert found["floor"]["k"] == SAMPLES["floor"] and len(found["floor"]["prefix"]) == min(PREFIX, len(tasks))
    score = Estimate(**found["reference"]["score"])
    assert score.n == len(tasks)

    async def again() -> list[list[float]]:
        return reference.play_returns(env, "entropy", SAMPLES["reference"])

    assert asyncio.run(again()) == found["reference"]["prefix"], "also inside a running loop"


def test_the_scale_holds_against_the_policies_it_was_measured_with() -> None:
    env = sonde.make("word_chaining")
    score = Estimate(0.5, 0.4, 0.6, 9)
    default = sonde.make("users:chainer").fingerprint
    on = reference_score(env, "test", score)
    assert on is not None
    assert reference_score(env, "test", score, {"opponent": default}) == on
    assert reference_score(env, "test", score, {"opponent": sonde.make("agents:random").fingerprint}) is None
