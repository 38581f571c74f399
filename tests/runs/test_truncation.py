"""Episodes that the agent cannot go on with: what is recorded, played again, scored and learned from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sonde
from sonde.core import (
    AGENT,
    Action,
    ContentRefused,
    ContextFull,
    Episode,
    Outcome,
    Policy,
    ReplayError,
    Trajectory,
    UserError,
    View,
)
from sonde.evaluation import regret
from sonde.evaluation.evaluate import evaluate
from sonde.runs.rollout import Plan, collect_trajectories, record_plan
from sonde.train.collect import Game
from sonde.train.curriculum import turns_needed
from sonde.train.data import make_samples
from sonde.train.online.groups import PlannedTask, assign_credit
from sonde.train.online.settings import OnlineSettings
from sonde.train.rewards import RewardMix, named_rewards
from sonde.train.selection import PairRule, compute_statistics, select_pairs
from tests.cases import each

from ..train.trajectories import call

GAME = sonde.make("mastermind", length=3, digits=5, max_turns=6)
FULL, FILTERED = Outcome("out_of_turns", truncated="context"), Outcome("error", truncated="filter")


@dataclass(frozen=True, kw_only=True)
class Talks(Policy):
    """Says one code until it cannot go on, after so many turns."""

    turns: int
    refused: bool = False
    calls: list[int] = field(default_factory=list[int], init=False, compare=False)

    async def act(self, view: View) -> Action:
        self.calls.append(view.turn)
        if view.turn >= self.turns:
            raise (ContentRefused if self.refused else ContextFull)("no room")
        return Action("<Answer>000</Answer>", completions=(call([1, 2]),))


def play_turns(turns: int, *, refused: bool = False, k: int = 1) -> list[Trajectory]:
    return collect_trajectories(GAME, {AGENT: Talks(turns=turns, refused=refused)}, GAME.tasks("test")[1:2], Plan(k=k))


@each(
    "turns, refused, outcome, said",
    [
        (3, False, FULL, ""),
        (3, True, FILTERED, ""),
        (0, True, FILTERED, ""),
        (0, False, Outcome("error"), "ContextFull: agent: no room"),
        (6, False, Outcome("out_of_turns", truncated="turns"), ""),
    ],
)
def test_how_such_an_episode_is_recorded(turns: int, refused: bool, outcome: Outcome, said: str) -> None:
    [t] = play_turns(turns, refused=refused)
    assert (t.outcome, t.error, len(t.turns)) == (outcome, said, turns)
    again = Trajectory.from_json(t.to_json())
    assert again.outcome == outcome
    ep = Episode.replay(GAME, again)
    assert ep.to_act is None or said
    assert ep.to_trajectory(policies={}, error=said).id == t.id
    assert len(list(Episode.stages(GAME, t))) == turns + 1
    with pytest.raises(ReplayError, match="recorded outcome"):
        Episode.replay(GAME, replace(t, outcome=Outcome("loss")))


def test_only_the_agents_turn_can_be_cut_short() -> None:
    ep = Episode.begin(GAME, GAME.tasks("test")[0])
    assert ep.cut_short("context").outcome == FULL and ep.outcome is None
    with pytest.raises(UserError, match="cut: nobody is to act"):
        ep.cut_short("context").cut_short("context")
    with pytest.raises(UserError, match="over"):
        ep.cut_short("filter").step("<Answer>000</Answer>")


@pytest.mark.parametrize("refused", [False, True])
def test_it_is_played_once(refused: bool, tmp_path: Path) -> None:
    agent = Talks(turns=2, refused=refused)
    for _ in range(2):
        run = record_plan(GAME, {AGENT: agent}, GAME.tasks("test")[:2], Plan(k=2), tmp_path)
        assert len(run) == 4 and sorted(agent.calls) == [0] * 4 + [1] * 4 + [2] * 4


def test_another_seats_model_is_named_and_is_no_fault_of_the_agents() -> None:
    env = sonde.make("twenty_questions", preset="small")
    asker = sonde.make("agents:llm", model=sonde.make("models:fake", pattern=("Is it alive?",)))
    [t] = collect_trajectories(env, {AGENT: asker, "user": Talks(turns=0)}, env.tasks("test")[:1], Plan())
    assert (t.outcome, t.error) == (Outcome("error"), "ContextFull: user: no room")


def test_what_it_costs_in_an_evaluation() -> None:
    env = sonde.make("maze", preset="lmrl")
    agent = Talks(turns=4)
    found = evaluate(collect_trajectories(env, {AGENT: agent}, env.tasks("test")[:2], Plan(k=2)))
    assert (found.kinds["out_of_turns"], found.kinds["error"]) == (4, 0)
    values = {name: found.metrics[name] for name in ("score", "context_full", "filtered", "success")}
    means = {name: value and value.mean for name, value in values.items()}
    assert means == {"score": -env.spec.max_turns, "context_full": 1.0, "filtered": 0.0, "success": 0.0}
    assert [r.truncated for r in found.rows] == ["context"] * 4


def test_what_is_learned_from_it() -> None:
    """It is compared with the others of its group, and costs what its rewards say."""
    cut, whole = play_turns(2, k=2), play_turns(6, k=4)[2:]
    group = [*cut, *whole]
    mix = RewardMix({"success": 1.0, "out_of_turns": -1.0, "turns": -0.1})
    one = PlannedTask(Game(GAME, GAME.tasks("test"), "mastermind"), group[0].task, 0, "mastermind")
    [got] = assign_credit([one], [group], OnlineSettings(k=4, rewards=mix))
    assert [len(s.rewards) for s in got.samples] == [2, 2, 6, 6]
    assert [sum(s.rewards) for s in got.samples] == pytest.approx([-1.2, -1.2, -1.6, -1.6])
    assert got.sums["context_full"] == (2.0, 4.0) and got.sums["errors"] == (0.0, 4.0)
    assert [s.kind for s in got.samples] == ["out_of_turns"] * 4
    assert [s.cut for s in got.samples] == [False, False, True, True], "what follows is not worth what it might be"

    refused = play_turns(2, refused=True, k=2)
    [got] = assign_credit([one], [[*refused, *whole]], OnlineSettings(k=4, rewards=mix))
    assert len(got.samples) == 2 and got.sums["errors"] == (2.0, 4.0)


def test_offline_data_has_it() -> None:
    group = play_turns(3, k=2)
    made, report = make_samples(group)
    assert (len(made), report.errors) == (2, 0) and named_rewards(group[0])["out_of_turns"].tolist() == [0.0, 0.0, 1.0]
    assert make_samples(play_turns(3, refused=True))[1].errors == 1
    line = compute_statistics(group).total
    assert (line.trajectories, line.failed, line.turns) == (2, 0, 3.0)
    assert turns_needed([*group, *play_turns(3, refused=True)], 6) == [6.0, 6.0]
    ep = Episode.begin(GAME, group[0].task, sample=2).step(Action(GAME.say(str(group[0].task.hidden))))
    won = ep.to_trajectory(policies={AGENT: Talks(turns=1)})
    [pair] = select_pairs([won, *group], PairRule()).pairs
    assert pair.chosen is won and pair.rejected.outcome == FULL


@each("kind", ["expected", "realised"])
def test_regret_counts_what_was_still_to_be_had(kind: Any) -> None:
    bandit = sonde.make("bernoulli_bandit", max_turns=4)
    ep = Episode.begin(bandit, bandit.task({"best": "B"}))
    for arm in "AB":
        ep = ep.step(bandit.say(arm))
    rows = regret.episode_regrets(bandit, ep.cut_short("context").to_trajectory(), kind)
    assert rows[2:] == pytest.approx([0.6, 0.6])
    paid = [turn.rewards[AGENT] for turn in ep.turns]
    assert rows[:2] == pytest.approx([0.2, 0.0] if kind == "expected" else [0.6 - r for r in paid])
    with pytest.raises(UserError, match="did not end by itself"):
        regret.episode_regrets(bandit, ep.cut_short("filter").to_trajectory(), kind)

    river = sonde.make("river_swim", caves=2, horizon=2, sub_episodes=3)
    ep = Episode.begin(river, river.task({"order": ["1", "2"], "up": ["A", "A"]})).step(river.say("B"))
    known = regret.solve_truth(river, ep.cut_short("context").to_trajectory())
    best = known.values_HS[0, known.problem.states.index(known.problem.start)]
    rows = regret.episode_regrets(river, ep.cut_short("context").to_trajectory(), kind)
    first = ep.turns[0].info
    left = known.values_HS[1, known.problem.states.index(first["next"])]
    missed = best - left - first["reward"] if kind == "realised" else best - 0.01
    assert rows == pytest.approx(np.array([missed + left, best, best]))
