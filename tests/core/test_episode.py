"""Episodes as values, on a game of two seats small enough to follow by hand."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import pytest

import sonde
from sonde.core import (
    AGENT,
    Action,
    Belief,
    Completion,
    ContractError,
    Env,
    Episode,
    EpisodePolicy,
    Filter,
    Frozen,
    Outcome,
    Policy,
    ProgramPolicy,
    ReplayError,
    Rng,
    Seated,
    Spec,
    Step,
    Task,
    TaskList,
    Trajectory,
    Turn,
    UserError,
    View,
    advance,
    default_policies,
    play_act,
)
from sonde.scoring import information


class State(NamedTuple):
    secret: int
    turn: int = 0
    speaker: str | None = "host"


@dataclass(frozen=True, kw_only=True)
class Parley(Env[State]):
    """A host greets, then the agent names a number and the host says warm or cold, until the number is right."""

    presets: ClassVar[tuple[str, ...]] = ("small",)
    preset: str = "small"
    max_turns: int = 3
    version: str = "1"

    @cached_property
    def spec(self) -> Spec:
        return Spec(
            name=self.name, version=self.version, summary="name a number", preset=self.preset, max_turns=self.max_turns,
            reward_range=(0.0, 1.0), support="0 to 9", source="this file", seats=Frozen({AGENT: None, "host": None}),
        )  # fmt: skip

    def split(self, split: str) -> Sequence[Task]:
        return TaskList(5, lambda i: Task(self.name, self.preset, split, i, Frozen(n=10), 2 * i + (split == "test")))

    def task(self, hidden: Any) -> Task:
        return Task(self.name, self.preset, "custom", 0, Frozen(n=10), hidden)

    def reset(self, task: Task, rng: Rng) -> State:
        return State(rng.randrange(10) if task.hidden is None else task.hidden)

    def to_act(self, state: State) -> str | None:
        return state.speaker

    def intro(self, state: State, seat: str) -> str:
        return "Name a number." if seat == AGENT else f"The number is {state.secret}."

    def private(self, state: State, seat: str) -> Mapping[str, Any]:
        return Frozen(secret=state.secret) if seat == "host" else Frozen()

    def hypothesis(self, state: State) -> int:
        return state.secret

    def step(self, state: State, text: str, rng: Rng) -> Step:
        if state.speaker == "host":
            after = State(state.secret, state.turn, AGENT)
            done = state.turn == self.max_turns
            return Step(after, {AGENT: text}, {"host": 0.5}, outcome=Outcome("timeout") if done else None)
        if text == "tell nobody":
            return Step(State(state.secret, state.turn, None), {AGENT: "Silence."})
        if not text.isdecimal():
            return Step(State(state.secret, state.turn, None), {AGENT: "No number."}, outcome=Outcome("format"))
        if int(text) == state.secret:
            info, outcome = {"result": "win"}, Outcome("win", 1.0)
            return Step(State(state.secret, state.turn, None), {AGENT: "Yes!"}, {AGENT: 1.0}, info, outcome)
        return Step(State(state.secret, state.turn + 1, "host"), {"host": f"Said: {text}", AGENT: "Wait."})


@dataclass(frozen=True, kw_only=True)
class Host(ProgramPolicy):
    """Says warm within one of the secret, else cold."""

    greeting: str = "Hello."

    def act_now(self, view: View) -> Action:
        said = view.messages[-1].content.rpartition(" ")[2]
        if view.turn == 0:
            return Action(self.greeting, memory={"greeted": True})
        assert view.memory["greeted"], "memory travels from act to act"
        return Action("warm" if abs(int(said) - view.private["secret"]) <= 1 else "cold", memory=view.memory)


@dataclass(frozen=True, kw_only=True)
class Names(ProgramPolicy):
    """Names one number after another."""

    numbers: tuple[int, ...]

    def act_now(self, view: View) -> Action:
        return Action(str(self.numbers[view.turn]))


ENV = Parley()
HOST: Mapping[str, Any] = {"host": Host()}


def begin(secret: Any = 4, **seeds: int) -> Episode:
    return asyncio.run(advance(Episode.begin(ENV, ENV.task(secret), **seeds), HOST))


def play(*numbers: int) -> Episode:
    ep = begin()
    for number in numbers:
        ep = asyncio.run(advance(ep.step(str(number)), HOST))
    return ep


def contents(ep: Episode, seat: str = AGENT) -> list[tuple[str, str]]:
    return [(m.role, m.content) for m in ep.messages[seat]]


# --- steps -----------------------------------------------------------------------------------------------------------


def test_acts_before_the_agents_first_are_the_opening() -> None:
    ep = Episode.begin(ENV, ENV.task(4))
    assert ep.to_act == "host"
    ep = ep.step("Hello.")
    assert ep.to_act == AGENT
    assert [a.action.text for a in ep.opening] == ["Hello."]
    assert ep.turns == ()


def test_a_turn_is_an_agent_act_and_everything_until_the_agent_may_act_again() -> None:
    ep = play(9, 3)
    assert [[a.seat for a in turn.acts] for turn in ep.turns] == [["agent", "host"], ["agent", "host"]]
    assert [(t.index, t.text, t.told) for t in ep.turns] == [(0, "9", "Wait.\n\ncold"), (1, "3", "Wait.\n\nwarm")]
    assert [a.action.text for a in ep.acts] == ["Hello.", "9", "cold", "3", "warm"]
    assert ep.n_acts == 5


def test_every_seat_hears_what_it_is_told_in_alternating_messages() -> None:
    ep = play(9, 3)
    assert contents(ep) == [
        ("user", "Name a number.\n\nHello."),
        ("assistant", "9"),
        ("user", "Wait.\n\ncold"),
        ("assistant", "3"),
        ("user", "Wait.\n\nwarm"),
    ]
    assert contents(ep, "host") == [
        ("user", "The number is 4."),
        ("assistant", "Hello."),
        ("user", "Said: 9"),
        ("assistant", "cold"),
        ("user", "Said: 3"),
        ("assistant", "warm"),
    ]


def test_a_win_ends_the_episode() -> None:
    ep = play(9, 4)
    assert ep.outcome == Outcome("win", 1.0)
    assert ep.to_act is None
    assert ep.turns[-1].info == {"result": "win"}
    assert ep.turns[-1].rewards == {AGENT: 1.0}
    assert ep.turns[0].rewards == {"host": 0.5}
    with pytest.raises(UserError, match="the episode is over"):
        ep.step("4")


def test_another_seat_may_end_the_episode() -> None:
    ep = play(9, 9, 9)
    assert ep.outcome == Outcome("timeout")
    assert len(ep.turns) == 3
    assert ep.turns[-1].acts[-1].seat == "host"


def test_an_end_without_an_outcome_is_a_defect() -> None:
    with pytest.raises(ContractError, match="nobody is to act, but the last step had no outcome"):
        begin().step("tell nobody")


def test_a_format_failure_cut_by_the_token_limit_is_flagged() -> None:
    cut = Completion(text="I think that", finish="length")
    stopped = Completion(text="I think that", finish="stop")
    assert begin().step(Action("I think that", completions=(cut,))).outcome == Outcome("format", truncated="tokens")
    assert begin().step(Action("I think that", completions=(stopped,))).outcome == Outcome("format")
    assert begin().step(Action("I think that", completions=(cut, stopped))).outcome == Outcome("format")
    assert begin().step(Action("4", completions=(cut,))).outcome == Outcome("win", 1.0)


def test_messages_keep_the_completion_behind_them() -> None:
    first, last = Completion(text="a"), Completion(text="9")
    ep = begin().step(Action("9", completions=(first, last)))
    assert ep.messages[AGENT][1].completion is last
    assert ep.turns[0].acts[0].action.completions == (first, last)


def test_a_step_leaves_the_episode_as_it_was() -> None:
    ep = begin()
    before = (ep.state, ep.turns, dict(ep.messages), dict(ep.memory), ep.id)
    one, other = ep.step("4"), ep.step("9")
    assert (ep.state, ep.turns, dict(ep.messages), dict(ep.memory), ep.id) == before
    assert one.outcome is not None
    assert other.outcome is None


def test_told_rewards_and_info_cannot_be_changed() -> None:
    act = begin().step("4").turns[0].acts[0]
    for mapping in (act.told, act.rewards, act.info):
        with pytest.raises(TypeError, match="read-only"):
            mapping["x"] = 1  # type: ignore[index]


def test_a_task_of_another_environment_is_refused() -> None:
    with pytest.raises(UserError, match=r"task\.env: got 'wordle', allowed: .*Parley"):
        Episode.begin(ENV, sonde.make("wordle").task("toast"))


def test_a_task_of_another_preset_is_refused() -> None:
    """Its rules are others: four letters to find in six turns, say."""
    with pytest.raises(UserError, match=r"task\.preset: got 'modified', allowed: 'paprika'"):
        Episode.begin(sonde.make("wordle"), sonde.make("wordle", preset="modified").tasks("test")[0])


def test_told_surrogates_are_what_was_played() -> None:
    ep = begin().step("\ud800")
    assert ep.turns[0].text == "\ufffd"
    assert ep.messages[AGENT][1].content == "\ufffd"


# --- memory ----------------------------------------------------------------------------------------------------------


def test_memory_belongs_to_a_seat_and_lasts_one_act() -> None:
    ep = begin()
    assert dict(ep.memory) == {"host": {"greeted": True}}
    ep = ep.step(Action("9", memory=["plan"]))
    assert ep.view(AGENT).memory == ("plan",)
    assert ep.view("host").memory == {"greeted": True}
    ep = asyncio.run(advance(ep, HOST)).step("9")
    assert ep.view(AGENT).memory is None


def test_memory_is_limited() -> None:
    with pytest.raises(UserError, match=r"action\.memory: got 70002 bytes"):
        begin().step(Action("9", memory="x" * 70_000))


# --- views -----------------------------------------------------------------------------------------------------------


def test_a_view_shows_its_seat_and_no_more() -> None:
    ep = play(9)
    agent, host = ep.view(AGENT), ep.view("host")
    assert (agent.seat, agent.turn, agent.public) == (AGENT, 1, {"n": 10})
    assert agent.private == {}
    assert host.private == {"secret": 4}
    assert agent.legal is None
    assert agent.filter is None
    assert agent.rendered is None
    assert agent.say("4") == "4"
    assert "The number is" not in str(agent.messages)
    with pytest.raises(UserError, match=r"seat: unknown name 'hosts' .did you mean 'host'"):
        ep.view("hosts")


def test_transitions_are_the_finished_turns() -> None:
    rows = play(9, 4).view().transitions
    assert rows[0] == ("Name a number.\n\nHello.", "9", 0.0, "Wait.\n\ncold", 0)
    assert rows[1] == ("Wait.\n\ncold", "4", 1.0, "Yes!", 0)


def test_transitions_are_the_agents_alone() -> None:
    ep = play(9).step("4")
    assert len(ep.view().transitions) == 2
    assert ep.view("host").transitions == (), "it would read what only the agent was told"


def test_seeds_of_views_depend_on_world_sample_seat_and_act() -> None:
    ep = begin()
    views = [
        ep.view(AGENT), ep.view("host"), ep.fork(sample=1).view(AGENT), begin(seed=1).view(AGENT),
        begin(5).view(AGENT), play(9).view(AGENT),
    ]  # fmt: skip
    assert len({v.seed for v in views}) == len(views)
    assert begin().view(AGENT).seed == ep.view(AGENT).seed


# --- forks, ids, replay ----------------------------------------------------------------------------------------------


def test_a_fork_shares_world_and_prefix() -> None:
    ep = play(9)
    fork = ep.fork(sample=7)
    assert (fork.sample, ep.sample) == (7, 0)
    assert fork.state is ep.state
    assert fork.turns is ep.turns
    assert fork.id == ep.id
    assert fork.trajectory().id != ep.trajectory().id
    assert fork.trajectory().group == ep.trajectory().group
    assert [t.told for t in fork.step("3").turns] == [t.told for t in ep.step("3").turns]


def test_ids_tell_apart_worlds_and_words() -> None:
    eps = [play(), play(9), play(8), begin(5), begin(seed=1), Episode.begin(replace(ENV, max_turns=9), ENV.task(4))]
    assert len({ep.id for ep in eps}) == len(eps)
    assert play(9).id == play(9).id
    assert play(9) != play(9), "episodes compare by identity"


def test_open_tasks_draw_from_the_world_seed() -> None:
    secrets = [Episode.begin(ENV, ENV.task(None), seed=s).state.secret for s in range(30)]  # type: ignore[attr-defined]
    assert len(set(secrets)) > 5
    assert secrets == [Episode.begin(ENV, ENV.task(None), seed=s).state.secret for s in range(30)]  # type: ignore[attr-defined]


def test_replay_calls_no_policy_and_restores_everything() -> None:
    ep = play(9, 4)
    again = Episode.replay(Parley(), ep.trajectory(policies=HOST))
    assert again.id == ep.id
    assert again.state == ep.state
    assert again.outcome == ep.outcome
    assert contents(again) == contents(ep)
    assert again.memory == ep.memory


def test_the_stages_of_a_replay_are_the_episode_after_every_act() -> None:
    ep = play(9, 4)
    stages = list(Episode.stages(Parley(), ep.trajectory(policies=HOST)))
    assert [s.n_acts for s in stages] == list(range(ep.n_acts + 1)) and stages[-1].id == ep.id
    assert [s.to_act for s in stages[:-1]] == [act.seat for act in ep.acts] and stages[-1].to_act is None


def test_replay_of_an_unfinished_episode_goes_on() -> None:
    record = play(9).trajectory(error="endpoint is gone")
    assert record.outcome == Outcome("error")
    assert Episode.replay(ENV, record).step("4").outcome == Outcome("win", 1.0)


def test_replay_refuses_what_it_cannot_vouch_for() -> None:
    record = play(9, 4).trajectory()
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
    record = play(9, 4).trajectory()
    host = replace(record.opening[0], rewards=Frozen(host=9.0))
    with pytest.raises(ReplayError, match=r"act 0: recorded rewards {'host': 9.0}, replay gave {'host': 0.5}"):
        Episode.replay(ENV, replace(record, opening=(host,)))
    for outcome, error in ((Outcome("error"), "gone"), (None, "")):
        with pytest.raises(ReplayError, match=r"replay ended with .*win"):
            Episode.replay(ENV, replace(record, outcome=outcome, error=error))
    cut = play(9).trajectory()
    with pytest.raises(ReplayError, match=r"recorded outcome .*error.*, replay ended with None"):
        Episode.replay(ENV, replace(cut, outcome=Outcome("error")))


def test_replay_checks_what_was_told_by_every_seat() -> None:
    record = play(9).trajectory()
    host = record.turns[0].acts[1]
    forged = replace(record.turns[0], acts=(record.turns[0].acts[0], replace(host, told={AGENT: "boiling"})))
    with pytest.raises(ReplayError, match=r"act 2: recorded .*boiling"):
        Episode.replay(ENV, replace(record, turns=(forged,)))


def test_privileged_policies_mark_the_record() -> None:
    assert not begin().trajectory(policies=HOST).privileged
    record = begin().trajectory(policies={**HOST, AGENT: Peek()})
    assert record.privileged
    assert record.policies["host"]["fingerprint"] == Host().fingerprint


# --- playing ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Peek(EpisodePolicy):
    """Reads the secret."""

    async def choose(self, ep: Episode, policies: Mapping[str, Policy]) -> Action:
        assert set(policies) == {"host"}
        assert ep.fork(sample=1).step(str(ep.state.secret)).outcome.success  # type: ignore[union-attr, attr-defined]
        return Action(str(ep.state.secret))  # type: ignore[attr-defined]


def test_advance_stops_before_the_agent_and_at_the_end() -> None:
    ep = begin()
    assert asyncio.run(advance(ep, {})) is ep
    over = ep.step("4")
    assert asyncio.run(advance(over, {})) is over
    assert asyncio.run(play_act(over, {})) is over


def test_play_act_plays_whoever_is_to_act() -> None:
    ep = asyncio.run(play_act(Episode.begin(ENV, ENV.task(4)), HOST))
    assert ep.acts[-1].seat == "host"
    ep = asyncio.run(play_act(ep, {**HOST, AGENT: Names(numbers=(9,))}))
    assert ep.acts[-1].action.text == "9"
    assert asyncio.run(play_act(begin(), {**HOST, AGENT: Peek()})).outcome == Outcome("win", 1.0)


def test_an_empty_seat_is_an_error_that_names_it() -> None:
    with pytest.raises(UserError, match="seat: unknown name 'host'"):
        asyncio.run(advance(Episode.begin(ENV, ENV.task(4)), {}))
    with pytest.raises(UserError, match="the agent needs a policy"):
        asyncio.run(play_act(begin(), HOST))


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
    seat = Seated(Manned())
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
        seat = Seated(ENV, HOST)
        seat.reset(ENV.task(4))
        return seat.step("4")[1]

    assert asyncio.run(notebook()) == 1.0


def test_seated_passes_errors_on_inside_a_running_loop() -> None:
    async def notebook() -> None:
        Seated(ENV, {}).reset(ENV.task(4))

    with pytest.raises(UserError, match="seat: unknown name 'host'"):
        asyncio.run(notebook())


# --- what could be known ---------------------------------------------------------------------------------------------


def test_without_a_filter_gains_are_not_available_rather_than_zero() -> None:
    ep = play(9)
    assert ep.posterior() is None
    assert ep.gains() is None
    assert ep.information_gain() is None


def test_episodes_can_be_sent_to_another_process() -> None:
    record = play(9, 4).trajectory()
    again = pickle.loads(pickle.dumps(record))
    assert isinstance(again, Trajectory)
    assert again.to_json() == record.to_json()
    assert repr(play(9)).endswith("custom[0] seed 0: 3 acts, agent to act>")
    assert repr(play(4)).endswith("win>")


def test_what_is_printed_of_a_view_or_an_episode_holds_nothing_hidden() -> None:
    env = sonde.make("mastermind")
    ep = Episode.begin(env, env.task("7316"))
    assert "secret code" in repr(ep.view())
    assert "7316" not in repr(ep.view()) + repr(ep)


@dataclass(frozen=True)
class Heard(Filter):
    """Uniform over what is left of ten numbers; reads the host's answer, which ends a turn."""

    left: int = 10

    def observe(self, turn: Turn) -> Heard:
        return Heard(self.left // 2 if turn.acts[-1].seat == "host" else 1)

    def belief(self) -> Belief:
        return Belief(tuple(range(self.left)), (1 / self.left,) * self.left)

    def expected_gain(self, action: str) -> float:
        return 0.0

    def best_question(self) -> tuple[str, float]:
        return "0", 0.0


@dataclass(frozen=True, kw_only=True)
class Known(Parley):
    """The same game with a filter."""

    def filter(self, public: Mapping[str, Any]) -> Filter:
        return Heard()


def test_a_turn_that_is_not_over_has_no_gain_yet() -> None:
    env = Known()
    ep = Episode.begin(env, env.task(0)).step("Hello.").step("9")
    assert (ep.to_act, len(ep.turns), ep.gains(), ep.information_gain()) == ("host", 1, (), ())
    assert ep.filter() == Heard()
    assert [g.realised for g in ep.step("cold").gains() or ()] == pytest.approx([1.0])
    broken = ep.trajectory(error="the host is gone")
    known = information(env, broken)
    assert (len(broken.turns), known.gains, len(known.entropy or ())) == (1, (), 1)
