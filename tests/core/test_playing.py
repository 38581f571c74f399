"""Playing an episode seat by seat, forking it, and replaying what was recorded of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import pytest

import sonde
from sonde.core import (
    AGENT,
    Action,
    Episode,
    EpisodePolicy,
    Frozen,
    Outcome,
    Policy,
    ReplayError,
    SeatedPolicies,
    Spec,
    UserError,
    advance_to_agent,
    default_policies,
    play_act,
)

from .test_episode import ENV, HOST, Host, Names, Parley, begin_episode, contents, play_episode

# --- forks, ids, replay ----------------------------------------------------------------------------------------------


def test_a_fork_shares_world_and_prefix() -> None:
    ep = play_episode(9)
    fork = ep.fork(sample=7)
    assert (fork.sample, ep.sample) == (7, 0)
    assert fork.state is ep.state
    assert fork.turns is ep.turns
    assert fork.id == ep.id
    assert fork.to_trajectory().id != ep.to_trajectory().id
    assert fork.to_trajectory().group == ep.to_trajectory().group
    assert [t.told for t in fork.step("3").turns] == [t.told for t in ep.step("3").turns]


def test_ids_distinguish_worlds_and_texts() -> None:
    eps = [
        play_episode(), play_episode(9), play_episode(8), begin_episode(5), begin_episode(seed=1),
        Episode.begin(replace(ENV, max_turns=9), ENV.task(4)),
    ]  # fmt: skip
    assert len({ep.id for ep in eps}) == len(eps)
    assert play_episode(9).id == play_episode(9).id
    assert play_episode(9) != play_episode(9), "episodes compare by identity"


def test_open_tasks_draw_from_the_world_seed() -> None:
    secrets = [Episode.begin(ENV, ENV.task(None), seed=s).state.secret for s in range(30)]  # type: ignore[attr-defined]
    assert len(set(secrets)) > 5
    assert secrets == [Episode.begin(ENV, ENV.task(None), seed=s).state.secret for s in range(30)]  # type: ignore[attr-defined]


def test_replay_calls_no_policy_and_restores_everything() -> None:
    ep = play_episode(9, 4)
    again = Episode.replay(Parley(), ep.to_trajectory(policies=HOST))
    assert again.id == ep.id
    assert again.state == ep.state
    assert again.outcome == ep.outcome
    assert contents(again) == contents(ep)
    assert again.memory == ep.memory


def test_the_stages_of_a_replay_are_the_episode_after_every_act() -> None:
    ep = play_episode(9, 4)
    stages = list(Episode.stages(Parley(), ep.to_trajectory(policies=HOST)))
    assert [s.n_acts for s in stages] == list(range(ep.n_acts + 1)) and stages[-1].id == ep.id
    assert [s.to_act for s in stages[:-1]] == [act.seat for act in ep.acts] and stages[-1].to_act is None


def test_replay_of_an_unfinished_episode_goes_on() -> None:
    record = play_episode(9).to_trajectory(error="endpoint is gone")
    assert record.outcome == Outcome("error")
    assert Episode.replay(ENV, record).step("4").outcome == Outcome("win", 1.0)


def test_replay_refuses_records_that_differ() -> None:
    record = play_episode(9, 4).to_trajectory()
    with pytest.raises(ReplayError, match="version 1, this is 2"):
        Episode.replay(Parley(version="2"), record)
    with pytest.raises(ReplayError, match="recorded with configuration"):
        Episode.replay(Parley(max_turns=4), record)
    with pytest.raises(ReplayError, match=r"recorded outcome .*loss"):
        Episode.replay(ENV, replace(record, outcome=Outcome("loss")))
    with pytest.raises(ReplayError, match=r"act 1: recorded .*replay told"):
        Episode.replay(ENV, replace(record, task=ENV.task(9)))
    with pytest.raises(ReplayError, match="act 0: recorded seat 'agent', replay expects 'host'"):
        Episode.replay(ENV, replace(record, opening=()))


def test_replay_refuses_other_rewards_and_another_end() -> None:
    record = play_episode(9, 4).to_trajectory()
    host = record.opening[0]._replace(rewards=Frozen(host=9.0))
    with pytest.raises(ReplayError, match=r"act 0: recorded rewards {'host': 9.0}, replay gave {'host': 0.5}"):
        Episode.replay(ENV, replace(record, opening=(host,)))
    for outcome, error in ((Outcome("error"), "gone"), (None, "")):
        with pytest.raises(ReplayError, match=r"replay ended with .*win"):
            Episode.replay(ENV, replace(record, outcome=outcome, error=error))
    cut = play_episode(9).to_trajectory()
    with pytest.raises(ReplayError, match=r"recorded outcome .*error.*, replay ended with None"):
        Episode.replay(ENV, replace(cut, outcome=Outcome("error")))


def test_replay_checks_the_messages_of_every_seat() -> None:
    record = play_episode(9).to_trajectory()
    host = record.turns[0].acts[1]
    forged = record.turns[0]._replace(acts=(record.turns[0].acts[0], host._replace(told={AGENT: "boiling"})))
    with pytest.raises(ReplayError, match=r"act 2: recorded .*boiling"):
        Episode.replay(ENV, replace(record, turns=(forged,)))


def test_privileged_policies_mark_the_record() -> None:
    assert not begin_episode().to_trajectory(policies=HOST).privileged
    record = begin_episode().to_trajectory(policies={**HOST, AGENT: Peek()})
    assert record.privileged
    assert record.policies["host"]["fingerprint"] == Host().fingerprint


# --- playing ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Peek(EpisodePolicy):
    """Reads the secret."""

    async def choose_action(self, ep: Episode, policies: Mapping[str, Policy]) -> Action:
        assert set(policies) == {"host"}
        assert ep.fork(sample=1).step(str(ep.state.secret)).outcome.success  # type: ignore[union-attr, attr-defined]
        return Action(str(ep.state.secret))  # type: ignore[attr-defined]


def test_advance_stops_before_the_agent_and_at_the_end() -> None:
    ep = begin_episode()
    assert asyncio.run(advance_to_agent(ep, {})) is ep
    over = ep.step("4")
    assert asyncio.run(advance_to_agent(over, {})) is over
    assert asyncio.run(play_act(over, {})) is over


def test_play_act_plays_whoever_is_to_act() -> None:
    ep = asyncio.run(play_act(Episode.begin(ENV, ENV.task(4)), HOST))
    assert ep.acts[-1].seat == "host"
    ep = asyncio.run(play_act(ep, {**HOST, AGENT: Names(numbers=(9,))}))
    assert ep.acts[-1].action.text == "9"
    assert asyncio.run(play_act(begin_episode(), {**HOST, AGENT: Peek()})).outcome == Outcome("win", 1.0)


def test_an_empty_seat_is_an_error_that_names_it() -> None:
    with pytest.raises(UserError, match="seat: unknown name 'host'"):
        asyncio.run(advance_to_agent(Episode.begin(ENV, ENV.task(4)), {}))
    with pytest.raises(UserError, match="the agent needs a policy"):
        asyncio.run(play_act(begin_episode(), HOST))


def test_default_policies_come_from_the_spec() -> None:
    assert default_policies(ENV) == {}
    assert default_policies(sonde.make("wordle")) == {}
    assert default_policies(Manned()) == {"host": Host()}


@dataclass(frozen=True, kw_only=True)
class Manned(Parley):
    """Names the host that it is played with."""

    @cached_property
    def spec(self) -> Spec:
        return replace(super().spec, seats=Frozen({AGENT: None, "host": f"{Host.__module__}:Host"}))


def test_seated_is_the_agents_side_of_the_table() -> None:
    seat = SeatedPolicies(Manned())
    with pytest.raises(UserError, match=r"call reset\(\) first"):
        seat.step("9")
    view = seat.reset(Manned().task(4))
    assert view.messages[-1].content == "Name a number.\n\nHello."
    view, reward, done, info = seat.step("9")
    assert (view.messages[-1].content, reward, done, dict(info)) == ("Wait.\n\ncold", 0.0, False, {})
    _, reward, done, info = seat.step("4")
    assert (reward, done, dict(info)) == (1.0, True, {"result": "win"})
    assert seat.episode.outcome == Outcome("win", 1.0)
    assert len(seat.reset(Manned().task(4), seed=2).messages) == 1


def test_seated_works_inside_a_running_loop() -> None:
    async def notebook() -> float:
        seat = SeatedPolicies(ENV, HOST)
        seat.reset(ENV.task(4))
        return seat.step("4")[1]

    assert asyncio.run(notebook()) == 1.0


def test_seated_passes_errors_on_inside_a_running_loop() -> None:
    async def notebook() -> None:
        SeatedPolicies(ENV, {}).reset(ENV.task(4))

    with pytest.raises(UserError, match="seat: unknown name 'host'"):
        asyncio.run(notebook())
