"""Episodes as values, on a game of two seats small enough to follow by hand."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    Filter,
    Frozen,
    Outcome,
    ProgramPolicy,
    Rng,
    Spec,
    Step,
    Task,
    TaskList,
    Trajectory,
    Turn,
    UserError,
    View,
    advance_to_agent,
)
from sonde.evaluation.information_gain import compute_information
from tests.cases import each


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
            return Step(after, {AGENT: text}, {"host": 0.5}, outcome=Outcome("out_of_turns") if done else None)
        if text == "tell nobody":
            return Step(State(state.secret, state.turn, None), {AGENT: "Silence."})
        if not text.isdecimal():
            return Step(State(state.secret, state.turn, None), {AGENT: "No number."}, outcome=Outcome("unreadable"))
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


def begin_episode(secret: Any = 4, **seeds: int) -> Episode:
    return asyncio.run(advance_to_agent(Episode.begin(ENV, ENV.task(secret), **seeds), HOST))


def play_episode(*numbers: int) -> Episode:
    ep = begin_episode()
    for number in numbers:
        ep = asyncio.run(advance_to_agent(ep.step(str(number)), HOST))
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
    ep = play_episode(9, 3)
    assert [[a.seat for a in turn.acts] for turn in ep.turns] == [["agent", "host"], ["agent", "host"]]
    assert [(t.index, t.text, t.told) for t in ep.turns] == [(0, "9", "Wait.\n\ncold"), (1, "3", "Wait.\n\nwarm")]
    assert [a.action.text for a in ep.acts] == ["Hello.", "9", "cold", "3", "warm"]
    assert ep.n_acts == 5


def test_every_seat_hears_what_it_is_told_in_alternating_messages() -> None:
    ep = play_episode(9, 3)
    assert contents(ep) == [
        ("user", "Name a number.\n\nHello."), ("assistant", "9"), ("user", "Wait.\n\ncold"), ("assistant", "3"),
        ("user", "Wait.\n\nwarm"),
    ]  # fmt: skip
    assert contents(ep, "host") == [
        ("user", "The number is 4."), ("assistant", "Hello."), ("user", "Said: 9"), ("assistant", "cold"),
        ("user", "Said: 3"), ("assistant", "warm"),
    ]  # fmt: skip


def test_a_win_ends_the_episode() -> None:
    ep = play_episode(9, 4)
    assert ep.outcome == Outcome("win", 1.0)
    assert ep.to_act is None
    assert ep.turns[-1].info == {"result": "win"}
    assert ep.turns[-1].rewards == {AGENT: 1.0}
    assert ep.turns[0].rewards == {"host": 0.5}
    with pytest.raises(UserError, match="the episode is over"):
        ep.step("4")


def test_another_seat_may_end_the_episode() -> None:
    ep = play_episode(9, 9, 9)
    assert ep.outcome == Outcome("out_of_turns")
    assert len(ep.turns) == 3
    assert ep.turns[-1].acts[-1].seat == "host"


def test_an_end_without_an_outcome_is_a_defect() -> None:
    with pytest.raises(ContractError, match="nobody is to act, but the last step had no outcome"):
        begin_episode().step("tell nobody")


@each(
    "stepped, says",
    [
        (None, "step: got None, allowed: a Step"),
        (Step(State(4, 1, AGENT), "Yes!"), "step.told: got 'Yes!', allowed: a mapping"),  # type: ignore[arg-type]
        (Step(State(4, 1, AGENT), rewards=1.0), "step.rewards: got 1.0, allowed: a mapping"),  # type: ignore[arg-type]
        (Step(State(4, 1, "guest")), "to_act: got 'guest', allowed: a seat of the spec .agent, host."),
    ],
)
def test_a_step_of_another_form_is_a_defect(stepped: Any, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ep = begin_episode()
    with monkeypatch.context() as patched, pytest.raises(ContractError, match=says):
        patched.setattr(Parley, "step", lambda *_: stepped)
        ep.step("4")


def test_the_first_seat_is_one_of_the_spec(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Parley, "to_act", lambda *_: "player")
    with pytest.raises(ContractError, match=r"to_act: got 'player', allowed: a seat of the spec .agent, host."):
        Episode.begin(ENV, ENV.task(4))


def test_an_unreadable_answer_cut_by_the_token_limit_is_flagged() -> None:
    cut = Completion(text="I think that", finish="length")
    stopped = Completion(text="I think that", finish="stop")
    assert begin_episode().step(Action("I think that", completions=(cut,))).outcome == Outcome(
        "unreadable", truncated="tokens"
    )
    assert begin_episode().step(Action("I think that", completions=(stopped,))).outcome == Outcome("unreadable")
    assert begin_episode().step(Action("I think that", completions=(cut, stopped))).outcome == Outcome("unreadable")
    assert begin_episode().step(Action("4", completions=(cut,))).outcome == Outcome("win", 1.0)


def test_messages_keep_the_completion_behind_them() -> None:
    first, last = Completion(text="a"), Completion(text="9")
    ep = begin_episode().step(Action("9", completions=(first, last)))
    assert ep.messages[AGENT][1].completion is last
    assert ep.turns[0].acts[0].action.completions == (first, last)


def test_a_step_leaves_the_episode_as_it_was() -> None:
    ep = begin_episode()
    before = (ep.state, ep.turns, dict(ep.messages), dict(ep.memory), ep.id)
    one, other = ep.step("4"), ep.step("9")
    assert (ep.state, ep.turns, dict(ep.messages), dict(ep.memory), ep.id) == before
    assert one.outcome is not None
    assert other.outcome is None


def test_told_rewards_and_info_cannot_be_changed() -> None:
    act = begin_episode().step("4").turns[0].acts[0]
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


def test_surrogates_are_replaced_before_play() -> None:
    ep = begin_episode().step("\ud800")
    assert ep.turns[0].text == "\ufffd"
    assert ep.messages[AGENT][1].content == "\ufffd"


# --- memory ----------------------------------------------------------------------------------------------------------


def test_memory_belongs_to_a_seat_and_lasts_one_act() -> None:
    ep = begin_episode()
    assert dict(ep.memory) == {"host": {"greeted": True}}
    ep = ep.step(Action("9", memory=["plan"]))
    assert ep.view(AGENT).memory == ("plan",)
    assert ep.view("host").memory == {"greeted": True}
    ep = asyncio.run(advance_to_agent(ep, HOST)).step("9")
    assert ep.view(AGENT).memory is None


def test_memory_is_limited() -> None:
    with pytest.raises(UserError, match=r"action\.memory: got 70002 bytes"):
        begin_episode().step(Action("9", memory="x" * 70_000))


# --- views -----------------------------------------------------------------------------------------------------------


def test_a_view_shows_its_seat_and_no_more() -> None:
    ep = play_episode(9)
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
    rows = play_episode(9, 4).view().transitions
    assert rows[0] == ("Name a number.\n\nHello.", "9", 0.0, "Wait.\n\ncold", 0)
    assert rows[1] == ("Wait.\n\ncold", "4", 1.0, "Yes!", 0)


def test_transitions_are_the_agents_alone() -> None:
    ep = play_episode(9).step("4")
    assert len(ep.view().transitions) == 2
    assert ep.view("host").transitions == (), "it would read what only the agent was told"


def test_seeds_of_views_depend_on_world_sample_seat_and_act() -> None:
    ep = begin_episode()
    views = [
        ep.view(AGENT), ep.view("host"), ep.fork(sample=1).view(AGENT), begin_episode(seed=1).view(AGENT),
        begin_episode(5).view(AGENT), play_episode(9).view(AGENT),
    ]  # fmt: skip
    assert len({v.seed for v in views}) == len(views)
    assert begin_episode().view(AGENT).seed == ep.view(AGENT).seed


# --- what could be known ---------------------------------------------------------------------------------------------


def test_without_a_filter_gains_are_not_available_rather_than_zero() -> None:
    ep = play_episode(9)
    assert ep.posterior() is None
    assert ep.gains() is None
    assert ep.information_gain() is None


def test_episodes_can_be_sent_to_another_process() -> None:
    record = play_episode(9, 4).to_trajectory()
    again = pickle.loads(pickle.dumps(record))
    assert isinstance(again, Trajectory)
    assert again.to_json() == record.to_json()
    assert repr(play_episode(9)).endswith("custom[0] seed 0: 3 acts, agent to act>")
    assert repr(play_episode(4)).endswith("win>")


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
    broken = ep.to_trajectory(error="the host is gone")
    known = compute_information(env, broken)
    assert (len(broken.turns), known.gains, len(known.entropy or ())) == (1, (), 1)
