"""Playing many episodes: the same records whatever the order, failures kept apart, nothing left running."""

from __future__ import annotations

import asyncio
import cProfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import sonde
from sonde.core import (
    AGENT,
    Action,
    ContractError,
    Env,
    Episode,
    Frozen,
    Outcome,
    Policy,
    ProgramPolicy,
    Rng,
    Spec,
    Step,
    Task,
    TaskList,
    Trajectory,
    UserError,
    View,
)
from sonde.runs.rollout import Plan, collect_trajectories, fill_seats, play_episode, record_plan
from tests.cases import each

HERE = __name__
SMALL = sonde.make("mastermind", length=3, digits=5, max_turns=6)
DIGITS = "{0|1|2|3|4}"
TALKER = (f"<Answer>{DIGITS * 3}</Answer>", f"<Think>hm</Think><Answer>{DIGITS}{DIGITS}0</Answer>", "no answer")


def llm(latency: float = 0.0, pattern: tuple[str, ...] = TALKER) -> Policy:
    return sonde.make("agents:llm", model=sonde.make("models:fake", pattern=pattern, latency=latency))


# --- an environment with two seats that speak, and policies that can go wrong --------------------------------------


class Talk(NamedTuple):
    secret: str
    turn: int = 0
    seat: str = "user"


@dataclass(frozen=True, kw_only=True)
class Duet(Env[Talk]):
    """The user speaks first and knows a digit; the agent wins by saying it within three turns."""

    presets = ("one",)
    preset: str = "one"

    @property
    def spec(self) -> Spec:  # type: ignore[override]
        return Spec(
            name="duet", version="1", summary="", preset="one", max_turns=3, reward_range=(0.0, 1.0), support="",
            source="", seats=Frozen({AGENT: None, "user": f"{HERE}:Teller"}),
        )  # fmt: skip

    def split(self, split: str) -> Sequence[Task]:
        return TaskList(10, lambda i: Task(self.name, "one", split, i, hidden=str(i)))

    def task(self, hidden: Any) -> Task:
        return Task(self.name, "one", "custom", 0, hidden=hidden)

    def reset(self, task: Task, rng: Rng) -> Talk:
        return Talk(str(task.hidden))

    def to_act(self, state: Talk) -> str | None:
        return state.seat or None

    def intro(self, state: Talk, seat: str) -> str:
        return "guess" if seat == AGENT else f"the secret is {state.secret}"

    def hypothesis(self, state: Talk) -> str:
        return state.secret

    def step(self, state: Talk, text: str, rng: Rng) -> Step:
        if state.seat == "user":
            return Step(Talk(state.secret, state.turn, AGENT), Frozen({AGENT: text}))
        turn = state.turn + 1
        if text == state.secret:
            return Step(Talk(state.secret, turn, ""), Frozen({AGENT: "yes"}), outcome=Outcome("win", 1.0))
        if turn == 3:
            return Step(Talk(state.secret, turn, ""), outcome=Outcome("out_of_turns", truncated="turns"))
        return Step(Talk(state.secret, turn, "user"), Frozen(user=f"not {text}"))


@dataclass(frozen=True, kw_only=True)
class Teller(ProgramPolicy):
    """Tells whether the secret is above 4, from what it was told first."""

    def act_now(self, view: View) -> Action:
        return Action("high" if int(view.messages[0].content[-1]) > 4 else "low")


@dataclass(frozen=True, kw_only=True)
class Guesser(ProgramPolicy):
    def act_now(self, view: View) -> Action:
        high = "high" in view.messages[-1].content
        return Action(str(Rng(view.seed).randrange(5) + 5 * high))


@dataclass(frozen=True, kw_only=True)
class Notes(Policy):
    """Plays like `inner`, one coroutine per episode, and notes what happens to it. `fails` maps a task's index to an
    error; indices are looked up by task, which a policy would not know otherwise."""

    inner: ProgramPolicy
    fails: Mapping[str, Exception] = field(default_factory=dict, metadata={"config": False})
    log: list[Any] = field(default_factory=list, compare=False, metadata={"config": False})
    running: list[int] = field(default_factory=lambda: [0, 0], compare=False, metadata={"config": False})

    async def act(self, view: View) -> Action:
        self.running[0] += 1
        self.running[1] = max(self.running)
        try:
            await asyncio.sleep(0.004 * Rng(view.seed, "sleep").random())
            error = self.fails.get(self._secret(view))
            if error is not None and view.turn == 1:
                raise error
            self.log.append("act")
            return self.inner.act_now(view)
        finally:
            self.running[0] -= 1

    def _secret(self, view: View) -> str:
        return str(view._episode.state.code)  # pyright: ignore[reportPrivateUsage]

    async def finish(self, view: View) -> None:
        self.log.append(("finish", view.seat, self._secret(view) if view.seat == AGENT else ""))

    async def close(self) -> None:
        self.log.append("closed while it ran" if self.running[0] else "close")


def list_codes(n: int) -> list[str]:
    return [str(t.hidden) for t in SMALL.tasks("test")[:n]]


def transcripts(trajectories: Sequence[Trajectory]) -> list[Any]:
    return [
        (t.task.id, t.sample, t.outcome, [(a.seat, a.action.text, dict(a.told)) for a in t.acts]) for t in trajectories
    ]


# --- determinism ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", ["random", "entropy", "llm"])
def test_records_are_the_same_bytes_at_any_concurrency(agent: str, tmp_path: Path) -> None:
    policy = llm(latency=0.001) if agent == "llm" else sonde.make(f"agents:{agent}")
    tasks = SMALL.tasks("train")[:20]
    exports = [
        b"".join(
            record_plan(
                SMALL, {AGENT: policy}, tasks, Plan(k=3, concurrency=c), tmp_path / str(c), {}
            ).canonical_lines()
        )
        for c in (1, 7, 500)
    ]
    assert exports[0].count(b"\n") == 60 and exports[0] == exports[1] == exports[2]


def test_lockstep_plays_like_coroutines() -> None:
    tasks, plan = SMALL.tasks("test")[:12], Plan(k=2, concurrency=5)
    together = collect_trajectories(SMALL, {AGENT: sonde.make("agents:random")}, tasks, plan)
    alone = collect_trajectories(SMALL, {AGENT: Notes(inner=sonde.make("agents:random"))}, tasks, plan)
    assert transcripts(together) == transcripts(alone)


def test_a_group_shares_its_world_and_differs_in_what_is_said() -> None:
    bandit = sonde.make("best_arm")
    found = collect_trajectories(
        bandit, {AGENT: sonde.make("agents:random")}, bandit.tasks("test")[:2], Plan(k=4, seed=3)
    )
    for rows in (found[:4], found[4:]):
        assert [t.sample for t in rows] == [0, 1, 2, 3]
        assert len({t.group for t in rows}) == 1
        assert {t.seed for t in rows} == {3}
        truths = {bandit.hypothesis(Episode.replay(bandit, t).state) for t in rows}
        assert len(truths) == 1
        assert len({str(transcripts([t])[0][3]) for t in rows}) == 4
    assert found[0].group != found[4].group


# --- which episodes ------------------------------------------------------------------------------------------------


def test_collect_sorts_by_task_and_sample() -> None:
    tasks = [SMALL.tasks("test")[i] for i in (4, 1, 3)]
    found = collect_trajectories(SMALL, {AGENT: llm(latency=0.002)}, tasks, Plan(k=2, concurrency=3))
    assert [(t.task.index, t.sample) for t in found] == [(4, 0), (4, 1), (1, 0), (1, 1), (3, 0), (3, 1)]


def test_skipped_episodes_are_not_played() -> None:
    tasks = SMALL.tasks("test")[:2]
    jobs = [(j.task.index, j.sample) for j in Plan(k=2).list_jobs(tasks, {(tasks[0].id, 0, 1), (tasks[1].id, 1, 0)})]
    assert jobs == [(0, 0), (1, 0), (1, 1)], "a key of another seed skips nothing"


def test_no_more_episodes_run_than_asked_for() -> None:
    notes = Notes(inner=sonde.make("agents:random"))
    collect_trajectories(SMALL, {AGENT: notes}, SMALL.tasks("test")[:9], Plan(concurrency=4))
    assert notes.running == [0, 4]


def test_every_act_is_reported_as_it_happens(tmp_path: Path) -> None:
    acts: list[tuple[str, int]] = []
    run = record_plan(
        SMALL, {AGENT: Notes(inner=sonde.make("agents:random"))}, SMALL.tasks("test")[:5], Plan(concurrency=3),
        tmp_path / "run", on_act=lambda ep: acts.append((ep.task.id, len(ep.turns))),
    )  # fmt: skip
    assert sorted(acts) == sorted((t.task.id, turn + 1) for t in run for turn in range(len(t.turns)))


@pytest.mark.filterwarnings("ignore::sonde.runs.limits.BudgetWarning")
def test_a_spent_budget_begins_no_further_episode() -> None:
    tasks = SMALL.tasks("test")[:10]
    everything = collect_trajectories(SMALL, {AGENT: llm()}, tasks, Plan(concurrency=1))
    usages = [sum(sum(c.usage[:2]) for a in t.acts for c in a.action.completions) for t in everything]
    for budget, n in ((usages[0] - 1, 1), (usages[0], 1), (usages[0] + 1, 1), (sum(usages[:4]), 4)):
        found = collect_trajectories(SMALL, {AGENT: llm()}, tasks, Plan(concurrency=1, budget=budget))
        assert transcripts(found) == transcripts(everything[:n])


@each("field_, value", [("k", 0), ("concurrency", 0), ("budget", 0), ("seed", -1), ("seed", 2**64)])
def test_an_impossible_plan_is_named(field_: str, value: int) -> None:
    with pytest.raises(UserError, match=f"{field_}: got {value}, allowed"):
        Plan(**{field_: value})


@dataclass(frozen=True, kw_only=True)
class OneByOne(Policy):
    """Answers like a server with one lane, so that no two episodes end in the same moment."""

    lane: asyncio.Lock = field(default_factory=asyncio.Lock, metadata={"config": False})

    async def act(self, view: View) -> Action:
        async with self.lane:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        return Action("no answer at all")


@pytest.mark.parametrize("plan", [Plan(k=2), Plan(span=(0, 5)), Plan(share=(1, 3))])
def test_a_task_that_is_there_twice_is_refused_before_anything_is_played(plan: Plan, tmp_path: Path) -> None:
    env, played = Duet(), list[Trajectory]()
    first, second = env.tasks("test")[:2]
    for play_all in (
        lambda tasks: collect_trajectories(env, {AGENT: Guesser()}, tasks, plan, on_done=played.append),
        lambda tasks: record_plan(env, {AGENT: Guesser()}, tasks, plan, tmp_path / "run", on_done=played.append),
    ):
        with pytest.raises(
            UserError, match=r"tasks: got tests.runs.test_rollout:Duet/test\[0\] at 0 and 2, allowed: each task once"
        ):
            play_all([first, second, first])
        assert not played
    assert len(record_plan(env, {AGENT: Guesser()}, [first, second], plan, tmp_path / "run")) > 0


def test_an_episode_takes_no_more_work_the_more_run_beside_it() -> None:
    def calls(concurrency: int) -> int:
        with cProfile.Profile() as profile:
            found = collect_trajectories(
                SMALL, {AGENT: OneByOne()}, SMALL.tasks("test"), Plan(k=15, concurrency=concurrency)
            )
        assert len(found) == 15 * len(SMALL.tasks("test"))
        return sum(int(entry.callcount) for entry in profile.getstats())

    assert calls(600) < 1.2 * calls(6)


# --- seats ---------------------------------------------------------------------------------------------------------


def test_missing_and_foreign_seats_are_named() -> None:
    with pytest.raises(UserError, match=r"policies: no policy for seat 'agent' of .*:Duet"):
        fill_seats(Duet(), {})
    with pytest.raises(UserError, match=r"policies: .*:Duet has no seat 'judge'; seats: agent, user"):
        collect_trajectories(Duet(), {AGENT: Guesser(), "judge": Teller()}, Duet().tasks("test"))
    with pytest.raises(UserError, match="no policy for seat 'agent'"):
        asyncio.run(play_episode(Duet(), {}, Duet().tasks("test")[0]))


def test_every_seat_has_its_policy_and_the_default_is_the_environments() -> None:
    env = Duet()
    found = collect_trajectories(env, {AGENT: Guesser()}, env.tasks("test"), Plan(k=5))
    given = collect_trajectories(env, {AGENT: Guesser(), "user": Teller()}, env.tasks("test"), Plan(k=5, concurrency=3))
    assert transcripts(found) == transcripts(given)
    assert len(found) == 50
    for t in found:
        assert [a.seat for a in t.opening] == ["user"]
        assert t.acts[0].action.text == ("high" if t.task.index > 4 else "low")
        assert set(t.policies) == {AGENT, "user"}
        assert Episode.replay(env, t).outcome == t.outcome
    one = asyncio.run(play_episode(env, {AGENT: Guesser()}, env.tasks("test")[3], sample=1))
    assert transcripts([one]) == transcripts([found[16]])


def test_finish_is_called_once_per_seat_with_its_own_last_view() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Ends(Policy):
        inner: ProgramPolicy
        seen: list[Any] = field(default_factory=list, metadata={"config": False})

        async def act(self, view: View) -> Action:
            return self.inner.act_now(view)

        async def finish(self, view: View) -> None:
            self.seen.append((view.seat, view.messages[0].content))

    env, agent, user = Duet(), Ends(inner=Guesser()), Ends(inner=Teller())
    collect_trajectories(env, {AGENT: agent, "user": user}, env.tasks("test"), Plan(k=2))
    assert agent.seen == [(AGENT, m) for _, m in agent.seen] and len(agent.seen) == 20
    assert sorted(user.seen) == sorted(("user", f"the secret is {i}") for i in range(10) for _ in range(2))


def test_policies_are_closed_once_the_run_is_over() -> None:
    notes = Notes(inner=sonde.make("agents:random"))
    collect_trajectories(SMALL, {AGENT: notes}, SMALL.tasks("test")[:3])
    assert notes.log.count("close") == 1 and notes.log[-1] == "close"


def test_an_environment_in_which_nobody_begins_is_a_defect() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Mute(Duet):
        def to_act(self, state: Talk) -> str | None:
            return None

    env = Mute()
    task = Task(env.name, "one", "test", 0, hidden="1")
    with pytest.raises(ContractError, match="nobody is to act in the first state"):
        collect_trajectories(env, {AGENT: Guesser(), "user": Teller()}, [task])
