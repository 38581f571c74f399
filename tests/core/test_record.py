"""Trajectories through JSON: nothing of what was said, sampled, paid or noted gets lost."""

from __future__ import annotations

import json
from array import array
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sonde
from sonde.core import Action, Completion, Episode, Outcome, ReplayError, Trajectory, Usage, UserError
from sonde.core.record import SCHEMA, check_record

TEXT = st.text(max_size=20)
COMPLETION = st.builds(
    Completion, text=TEXT, ids=st.lists(st.integers(0, 2**31 - 1), max_size=4).map(lambda ids: array("i", ids)),
    logprobs=st.lists(st.floats(-99, 0, width=32), max_size=4).map(lambda values: array("f", values)),
    prompt_ids=st.lists(st.integers(0, 2**31 - 1), max_size=4).map(lambda ids: array("i", ids)),
    shared=st.integers(0, 10**6), finish=st.sampled_from(["stop", "length", "filter"]), reasoning=TEXT, name=TEXT,
    model=TEXT, weights=TEXT, usage=st.builds(Usage, st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)),
)  # fmt: skip
ACTION = st.builds(
    Action,
    text=TEXT | st.sampled_from(["<Answer>0427</Answer>", "<Answer>1234</Answer>"]),
    memory=st.none() | st.dictionaries(TEXT, st.integers(), max_size=2),
    completions=st.lists(COMPLETION, max_size=2).map(tuple),
)


def record_actions(*actions: Action) -> Trajectory:
    env = sonde.make("mastermind")
    ep = Episode.begin(env, env.task("0427"), seed=3, sample=2)
    for action in actions:
        if ep.to_act is not None:
            ep = ep.step(action)
    return ep.to_trajectory(tags={"note": "x"})


def through_json(record: Trajectory) -> Trajectory:
    return Trajectory.from_json(json.loads(json.dumps(record.to_json())))


@pytest.mark.thorough
@given(st.lists(ACTION, min_size=1, max_size=4))
def test_a_record_is_the_same_through_json(actions: list[Action]) -> None:
    record = record_actions(*actions)
    again = through_json(record)
    assert again.to_json() == record.to_json()
    assert again.task == record.task
    assert again.outcome == record.outcome
    for mine, theirs in zip(record.acts, again.acts, strict=True):
        assert [vars_of(c) for c in theirs.action.completions] == [vars_of(c) for c in mine.action.completions]
        assert theirs.action.memory == mine.action.memory
    env = sonde.make("mastermind")
    assert Episode.replay(env, again).to_trajectory(tags={"note": "x"}).to_json() == record.to_json()


def vars_of(completion: Completion) -> dict[str, Any]:
    return {name: getattr(completion, name) for name in completion.__dataclass_fields__}


def test_ids_stay_packed() -> None:
    completion = Completion(text="x", ids=array("i", [1, 2]), logprobs=array("f", [-0.5, -1.5]))
    again = through_json(record_actions(Action("<Answer>1234</Answer>", completions=(completion,))))
    (loaded,) = again.acts[0].action.completions
    assert (type(loaded.ids), loaded.ids.typecode, loaded.ids.tolist()) == (array, "i", [1, 2])
    assert (loaded.logprobs.typecode, loaded.logprobs.tolist()) == ("f", [-0.5, -1.5])


def test_empty_fields_are_left_out() -> None:
    row = record_actions(Action("nothing")).to_json()["turns"][0][0]
    assert set(row) == {"seat", "text", "told", "info"}


def test_a_record_names_everything_needed_to_play_again() -> None:
    row = record_actions(Action("<Answer>0427</Answer>")).to_json()
    assert row["schema"] == SCHEMA
    assert row["env"] == sonde.make("mastermind").config
    assert row["version"] == "2"
    assert (row["seed"], row["sample"]) == (3, 2)
    assert row["task"]["hidden"] == "0427"
    assert row["outcome"] == Outcome("win", 1.0)._asdict()
    assert row["tags"] == {"note": "x"}


def test_every_seed_and_sample_of_an_episode_can_be_recorded() -> None:
    env = sonde.make("mastermind")
    most = {"seed": 2**64 - 1, "sample": 2**63 - 1}
    row = Episode.begin(env, env.task("0427"), **most).step("x").to_trajectory().to_json()
    check_record(row)
    for name, value in most.items():
        for wrong in (-1, value + 1):
            with pytest.raises(UserError, match=f"record: {name}: got {wrong}, allowed: 0 to {value}"):
                check_record({**row, name: wrong})


def test_a_turn_has_an_act() -> None:
    row = record_actions(Action("x")).to_json()
    with pytest.raises(UserError, match=r"record: turns\[1\]: got no acts, allowed: the agent's"):
        check_record({**row, "turns": [*row["turns"], []]})


def test_a_newer_schema_is_refused() -> None:
    row = record_actions(Action("x")).to_json()
    with pytest.raises(ReplayError, match=f"schema {SCHEMA + 1} is newer"):
        Trajectory.from_json({**row, "schema": SCHEMA + 1})


def test_an_unfinished_record_has_no_outcome() -> None:
    record = through_json(record_actions(Action("<Answer>1234</Answer>")))
    assert record.outcome is None
    assert record.error == ""


def test_timings_are_not_part_of_the_canonical_form() -> None:
    completion = Completion(text="x", usage=Usage(5, 6, 7))
    record = record_actions(Action("<Answer>1234</Answer>", completions=(completion,)), Action("<Answer>1233</Answer>"))
    plain = record.without_timings()
    assert plain.acts[0].action.completions[0].usage == Usage()
    assert plain.acts[0].action.text == record.acts[0].action.text
    assert plain.acts[1] is record.acts[1]
    faster = replace(completion, usage=Usage(5, 6, 0))
    other = record_actions(Action("<Answer>1234</Answer>", completions=(faster,)), Action("<Answer>1233</Answer>"))
    assert other.to_json() != record.to_json()
    assert other.without_timings().to_json() == plain.to_json()


def test_a_record_that_was_read_cannot_be_changed() -> None:
    again = through_json(record_actions(Action("<Answer>1234</Answer>")))
    act = again.acts[0]
    for part in (again.env, again.policies, again.tags, act.told, act.rewards, act.info):
        with pytest.raises(TypeError, match="read-only"):
            part["x"] = 1  # type: ignore[index]


def test_a_record_of_another_environment_is_named() -> None:
    played = record_actions(Action("<Answer>0427</Answer>"))
    with pytest.raises(ReplayError, match="recorded on mastermind, this is wordle"):
        Episode.replay(sonde.make("wordle"), played)
