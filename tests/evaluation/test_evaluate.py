"""An evaluation by hand: two digits of two, three tasks, two samples each, of which one is missing."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np
import pytest

import sonde
from sonde._util.sync import run_sync
from sonde.core import (
    AGENT,
    Action,
    Completion,
    Env,
    Episode,
    Filter,
    Task,
    Trajectory,
    Usage,
    UserError,
    advance_to_agent,
    default_policies,
)
from sonde.envs.mastermind.env import Mastermind
from sonde.evaluation.evaluate import (
    METRICS,
    Evaluation,
    compare,
    evaluate,
    make_evaluation,
    mean_over_environments,
    summarise_trajectory,
)
from sonde.evaluation.metrics import Estimate, MeanAt, max_unseen_share, rate
from sonde.evaluation.per_turn import CALLED, marked_turns
from sonde.train.rewards import named_rewards
from tests.cases import each

HERE = __name__
ENV = sonde.make("mastermind", length=2, digits=2, max_turns=3)
AGENT_CONFIG = {AGENT: sonde.make("agents:random")}


def play_answers(env: Env[Any], task: Task, sample: int, *answers: str, error: str = "", seed: int = 0) -> Trajectory:
    ep = Episode.begin(env, task, sample=sample, seed=seed)
    for answer in answers:
        text = env.say(answer) if answer.isalnum() else answer
        ep = ep.step(Action(text, completions=(Completion(text=text, usage=Usage(10, 5)),)))
    return ep.to_trajectory(policies=AGENT_CONFIG, error=error)


def make_tasks(env: Env[Any], *codes: str) -> list[Task]:
    return [replace(env.task(code), index=i) for i, code in enumerate(codes)]


def by_hand(env: Env[Any] = ENV) -> Evaluation:
    a, b, c = make_tasks(env, "01", "11", "10")
    found = [
        play_answers(env, a, 0, "00", "01"),
        play_answers(env, a, 1, "00", "00", "00"),
        play_answers(env, b, 0, "no answer here"),
        play_answers(env, c, 0, "10"),
        play_answers(env, c, 1, "00", error="WorldError: line cut"),
    ]
    return evaluate(found, tasks=[a.id, b.id, c.id], k=2, label="me")


def metric_value(e: Evaluation, name: str) -> float:
    found = e.metrics[name]
    assert found is not None, f"{name} is n/a"
    return found.mean


def test_success_and_pass_at_k() -> None:
    e = by_hand()
    assert e.kinds == {"win": 2, "loss": 0, "unreadable": 1, "out_of_turns": 1, "error": 1, "missing": 1}
    assert (e.n_tasks, e.k, len(e.rows)) == (3, 2, 5)
    assert metric_value(e, "success") == pytest.approx(1 / 3)
    assert metric_value(e, "pass@1") == pytest.approx(1 / 3)
    assert metric_value(e, "pass@2") == pytest.approx(2 / 3)
    assert "pass@3" not in e.metrics
    assert metric_value(e, "unreadable") == pytest.approx(1 / 6), "what is missing is a failure, but not one of format"
    success = e.metrics["success"]
    assert success is not None
    assert (success.low, success.high) == pytest.approx((0.0968, 0.7000), abs=5e-5)
    assert e.metrics["pass@1"] == success


def test_mean_at_k_with_both_deviations() -> None:
    """Columns: (1, 0, 1) and (0, 0, missing); the tasks' means are 1/2, 0 and 1/2."""
    found = by_hand().mean_at
    assert found is not None and astuple(found) == pytest.approx((2, 1 / 3, 1 / 3, 1 / 6))
    a = make_tasks(ENV, "01")[0]
    assert evaluate([play_answers(ENV, a, 0, "01")]).mean_at is None, "one sample is no mean"
    surplus = evaluate([play_answers(ENV, a, i, *(["01"] if i < 2 else ["00"] * 3)) for i in range(3)], k=2).mean_at
    assert surplus == MeanAt(2, 1.0, 0.0, None), "the first two"


def test_turns() -> None:
    e = by_hand()
    assert metric_value(e, "turns") == pytest.approx((2.5 + 3 + 2) / 3), "what was not won counts with all turns"
    assert metric_value(e, "turns_to_win") == 1.5
    assert [point.mean for point in e.within] == pytest.approx((1 / 6, 2 / 6, 2 / 6))
    assert [(r.index, r.sample, r.kind, r.turns, r.score) for r in e.rows] == [
        (0, 0, "win", 2, 1.0), (0, 1, "out_of_turns", 3, 0.0), (1, 0, "unreadable", 1, 0.0), (2, 0, "win", 1, 1.0),
        (2, 1, "error", 1, 0.0),
    ]  # fmt: skip
    assert e.rows[1].truncated == "turns"
    assert e.rows[4].error == "WorldError: line cut"


def test_information() -> None:
    """Four codes are 2 bits. `00` leaves two of them and could be worth 1.5; `10` is right at once."""
    e = by_hand()
    first = e.rows[0].gains
    assert first is not None
    assert (first[0].realised, first[0].truth, first[0].expected, first[0].best) == pytest.approx((1, 1, 1.5, 1.5))
    assert (first[1].realised, first[1].truth, first[1].expected, first[1].best) == pytest.approx((1, 1, 1, 1))
    assert e.rows[0].entropy == pytest.approx((2, 1, 0))
    assert e.rows[1].entropy == pytest.approx((2, 1, 1, 1))
    assert metric_value(e, "bits") == pytest.approx((1.5 + 0 + 1.5) / 3)
    assert metric_value(e, "bits_per_turn") == pytest.approx((2 / 3 + 0 + 1.5) / 3)
    assert metric_value(e, "efficiency") == pytest.approx((2 / 3 + 0 + 1) / 3), "asking 00 again is worth nothing"
    assert e.entropy == pytest.approx((2, 5 / 5, 4 / 5, 4 / 5)), "episodes that ended keep their last entropy"


# --- turn by turn ----------------------------------------------------------------------------------------------------


def ask_questions(sample: int, *questions: str, index: int = 0) -> Trajectory:
    """A game of twenty questions against its own user, which then breaks off."""
    env = sonde.make("twenty_questions", preset="delta_belief", max_turns=5)
    ep = Episode.begin(env, env.tasks("test")[index], sample=sample)
    users = default_policies(env)
    for question in questions:
        ep = run_sync(advance_to_agent(ep.step(question), users))
    return ep.to_trajectory(policies={AGENT: sonde.make("agents:random")}, error="WorldError: cut")


def test_invalid_and_repeated_questions_are_counted_by_turn() -> None:
    """Two tasks; the second sample of the first one breaks off after two turns, so later turns have one task each."""
    alive, large = "Is it alive?", "Is it larger than a car?"
    e = evaluate(
        [
            ask_questions(0, alive, "Tell me more.", alive),
            ask_questions(1, "Hello.", large),
            ask_questions(0, alive, large, large, index=1),
            ask_questions(1, index=1),
        ],
        gains=False,
    )
    assert [dict(r.called) for r in e.rows] == [
        {"invalid": (1,), "repeated": (2,)}, {"invalid": (0,)}, {"repeated": (2,)}, {},
    ]  # fmt: skip
    assert [point.mean for point in e.wasted["invalid"]] == [0.25, 0.25, 0.0]
    assert [point.mean for point in e.wasted["repeated"]] == [0.0, 0.0, 1.0]
    assert [point.n for point in e.wasted["repeated"]] == [2, 2, 2]
    assert e.wasted["invalid"][0] == rate([[0.0, 1.0], [0.0]]), "an episode without turns came to none"
    assert metric_value(e, "invalid") == pytest.approx(((1 / 3 + 1 / 2) / 2 + 0) / 2)
    assert metric_value(e, "repeated") == pytest.approx((1 / 3 / 2 + 1 / 3) / 2)
    plain = by_hand()
    assert {name: [point.mean for point in found] for name, found in plain.wasted.items()} == dict.fromkeys(
        CALLED, [0.0] * 3
    )
    assert metric_value(plain, "invalid") == 0.0, "an answer that cannot be read is not called so: it ends the game"
    assert Evaluation.from_json(json.loads(json.dumps(e.to_json()))) == e


def test_the_training_rewards_read_the_same_turns() -> None:
    t = ask_questions(0, "Is it alive?", "Tell me more.", "Is it alive?")
    rewards = named_rewards(t)
    assert {name: tuple(np.flatnonzero(rewards[name])) for name in CALLED} == marked_turns(t)


def test_one_set_of_long_games_is_read_at_every_budget() -> None:
    e = by_hand()
    assert e.within[-1] == e.metrics["success"]
    short = evaluate([play_answers(sonde.make("mastermind", length=2, digits=2, max_turns=1), t, 0, a) for t, a in zip(
        make_tasks(ENV, "01", "11", "10"), ("00", "00", "10"), strict=True)])  # fmt: skip
    assert short.within == (short.metrics["success"],)


def test_tokens_are_counted_per_episode() -> None:
    assert metric_value(by_hand(), "tokens") == pytest.approx((15 * 2.5 + 15 + 15) / 3)


def test_scores() -> None:
    e = by_hand()
    assert metric_value(e, "score") == pytest.approx(1 / 3)
    assert e.metrics["reference_score"] is None, "this configuration has no measured scale"


def test_breaking_off_never_beats_playing_where_every_turn_costs() -> None:
    env = sonde.make("wordle", preset="lmrl")
    task = env.tasks("test")[0]
    lost = play_answers(env, task, 1, *["t r i e d"] * 6)
    assert lost.outcome is not None and lost.outcome.kind == "out_of_turns"
    cut = play_answers(env, task, 1, error="WorldError: gone")
    found = [evaluate([play_answers(env, task, 0, " ".join(str(task.hidden))), t], gains=False) for t in (lost, cut)]
    # A win at once costs nothing, a loss 6; so does an error, and a record that is not there.
    missing = evaluate([play_answers(env, task, 0, " ".join(str(task.hidden)))], k=2, gains=False)
    assert [metric_value(e, "score") for e in (*found, missing)] == [-3.0, -3.0, -3.0]
    assert found[1].rows[1].score == 0.0, "the row keeps the raw return"


def test_missing_samples_are_counted_task_by_task() -> None:
    a, b = make_tasks(ENV, "01", "11")
    surplus = [play_answers(ENV, a, i, "01") for i in range(3)] + [play_answers(ENV, b, 0, "11")]
    e = evaluate(surplus, k=2)
    assert e.kinds["missing"] == 1
    assert metric_value(e, "success") == pytest.approx((1 + 0.5) / 2)
    assert e.within[0] == e.metrics["success"], "task by task, as all shares are"


def test_a_task_that_was_never_played_is_a_failure() -> None:
    a, b = make_tasks(ENV, "01", "11")
    e = evaluate([play_answers(ENV, a, 0, "01")], tasks=[a.id, b.id])
    assert (e.n_tasks, e.kinds["missing"], metric_value(e, "success")) == (2, 1, 0.5)


def test_gains_can_be_left_out() -> None:
    task = ENV.task("01")
    e = evaluate([play_answers(ENV, task, 0, "01")], gains=False)
    assert e.entropy is None and e.rows[0].gains is None
    assert [e.metrics[m] for m in ("bits", "bits_per_turn", "efficiency")] == [None] * 3


@dataclass(frozen=True, kw_only=True)
class Blind(Mastermind):
    """A game that nobody can compute posteriors for."""

    def filter(self, public: Any) -> Filter | None:  # type: ignore[override]
        return None

    def _task(self, code: str, split: str, index: int) -> Task:
        return replace(super()._task(code, split, index), env=self.name)


def test_without_a_filter_information_is_not_available_never_0() -> None:
    e = by_hand(Blind(length=2, digits=2, max_turns=3))
    assert e.entropy is None
    assert all(r.gains is None and r.entropy is None for r in e.rows)
    assert [e.metrics[m] for m in ("bits", "bits_per_turn", "efficiency", "reference_score")] == [None] * 4
    assert metric_value(e, "success") == pytest.approx(1 / 3)


def test_turns_played_count_every_episode() -> None:
    assert by_hand().turns_played == {"mean": 8 / 5, "median": 1, "p90": 3}, "2, 3, 1, 1, 1"


def test_a_mean_over_environments_weighs_them_alike() -> None:
    larger = sonde.make("mastermind", length=2, digits=3)
    a, b = by_hand(), evaluate([play_answers(larger, larger.task("01"), 0, "01")])
    success, n = mean_over_environments([a, b], "success")
    assert success is not None and n == 2
    assert (success.mean, success.n) == (pytest.approx((1 / 3 + 1) / 2), 4)
    assert mean_over_environments([a, b], "reference_score") == (None, 0), "neither has a scale"
    scored = replace(b, metrics={**b.metrics, "reference_score": Estimate(40.0, 30.0, 50.0, 1)})
    score, n = mean_over_environments([a, scored], "reference_score")
    assert score is not None and (score.mean, n) == (40.0, 1), "only those with a scale count"


def test_json_holds_everything() -> None:
    for e in (by_hand(), by_hand(Blind(length=2, digits=2, max_turns=3))):
        again = Evaluation.from_json(json.loads(json.dumps(e.to_json(), allow_nan=False)))
        assert again == e
        assert e.summary_json() == {**e.to_json(), "rows": ()}


@each("schema", [1, 99])
def test_another_schema_is_refused(schema: int) -> None:
    with pytest.raises(UserError, match=f"evaluation: got schema {schema}, allowed: 3; `sonde rescore` after removing"):
        Evaluation.from_json({**by_hand().to_json(), "schema": schema})


def test_a_claimed_win_that_was_judged_wrong_is_a_loss() -> None:
    t = play_answers(ENV, ENV.task("01"), 0, "01")
    assert t.outcome is not None
    assert summarise_trajectory(replace(t, outcome=t.outcome._replace(judged=False))).kind == "loss"
    assert summarise_trajectory(replace(t, outcome=t.outcome._replace(judged=True))).kind == "win"


def _unfinished() -> Sequence[Trajectory]:
    return [play_answers(ENV, ENV.task("01"), 0, "00")]


def _two_agents() -> Sequence[Trajectory]:
    t = play_answers(ENV, ENV.task("01"), 0, "01")
    return [t, replace(t, policies={AGENT: {"name": "agents:entropy"}})]


def _two_envs() -> Sequence[Trajectory]:
    other = sonde.make("mastermind", length=2, digits=3)
    return [play_answers(ENV, ENV.task("01"), 0, "01"), play_answers(other, other.task("01"), 0, "01")]


def _two_opponents() -> Sequence[Trajectory]:
    t = play_answers(ENV, ENV.task("01"), 0, "01")
    return [t, replace(t, sample=1, policies={**t.policies, "host": {"name": "agents:random"}})]


def _two_versions() -> Sequence[Trajectory]:
    t = play_answers(ENV, ENV.task("01"), 0, "01")
    return [t, replace(t, sample=1, version="0")]


def _two_splits() -> Sequence[Trajectory]:
    t = play_answers(ENV, ENV.task("01"), 0, "01")
    return [t, replace(t, task=replace(t.task, split="train"))]


def _the_same_twice() -> Sequence[Trajectory]:
    return [play_answers(ENV, ENV.task("01"), 3, "01")] * 2


def _two_seeds() -> Sequence[Trajectory]:
    return [play_answers(ENV, ENV.task("01"), 0, "01", seed=s) for s in (1, 2)]


@each(
    "found, says",
    [
        (list, "got no trajectories"), (_unfinished, "is unfinished"), (_two_agents, "several environments or agents"),
        (_two_envs, "several environments or agents"), (_two_versions, "several environments or agents"),
        (_two_opponents, "several environments or agents"), (_two_splits, "got splits custom and train"),
        (_the_same_twice, "got sample 3 of task .* more than once"), (_two_seeds, "got seeds 1 and 2"),
    ],
)  # fmt: skip
def test_what_cannot_be_evaluated_together_is_an_error(found: Any, says: str) -> None:
    with pytest.raises(UserError, match=says):
        evaluate(found())


# --- comparisons ---------------------------------------------------------------------------------------------------


def test_a_comparison_pairs_tasks_and_counts_what_is_missing() -> None:
    a, b, _ = make_tasks(ENV, "01", "11", "10")
    other = evaluate([play_answers(ENV, t, i, str(t.hidden)) for t in (a, b) for i in range(2)], label="other")
    found = compare(by_hand(), other)
    assert (found.a, found.b, found.n_tasks) == ("me", "other", 2)
    # Task 01: 1/2 against 1; task 11: 0 (one unreadable, one missing) against 1.
    assert found.success.mean == found.score.mean == -0.75
    # Resampled means reach from -1 to -0.5; stretched 9.168 times about the mean they pass what is possible.
    assert (found.success.low, found.success.high) == (-1.0, 1.0)
    assert found.turns.mean == pytest.approx(((2.5 - 1) + (3 - 1)) / 2)
    back = compare(other, by_hand())
    assert (back.success.mean, back.turns.mean) == (0.75, -found.turns.mean)


def test_success_by_tag_counts_tasks_that_were_never_played() -> None:
    """Three sizes of word, one of which nobody played; the other tag has one value, and divides nothing."""
    env = sonde.make("wordle", preset="modified")
    tasks = [next(t for t in env.tasks("test") if t.tags["length"] == length) for length in ("4", "6", "10")]

    def lose(task: Task) -> Trajectory:
        return play_answers(env, task, 0, error="gone")

    def win(task: Task) -> Trajectory:
        return play_answers(env, task, 0, f"<Answer>{task.hidden}</Answer>")

    played = [win(tasks[0]), lose(tasks[1])]
    found = make_evaluation(
        env, [summarise_trajectory(t) for t in played], agent={}, label="", split="test", seed=0, k=1,
        tasks=[t.id for t in tasks], tags={t.id: t.tags for t in tasks},
    )  # fmt: skip
    assert found.by_tag == {}, "each task has its own length"
    more = [*tasks, next(t for t in env.tasks("test") if t.tags["length"] == "4" and t.id != tasks[0].id)]
    found = make_evaluation(
        env, [summarise_trajectory(t) for t in played], agent={}, label="", split="test", seed=0, k=1,
        tasks=[t.id for t in more], tags={t.id: t.tags for t in more},
    )  # fmt: skip
    assert list(found.by_tag) == ["length"] and list(found.by_tag["length"]) == ["4", "6", "10"]
    four, six, ten = found.by_tag["length"].values()
    assert (four.n_tasks, four.success.mean, four.pass_k.mean, four.turns.mean) == (2, 0.5, 0.5, (1 + 10) / 2)
    assert (six.success.mean, ten.success.mean, ten.success.n) == (0.0, 0.0, 1)
    assert Evaluation.from_json(json.loads(json.dumps(found.to_json(), default=dict))) == found


def test_a_comparison_by_tag_pairs_the_tasks_of_each_value() -> None:
    env = sonde.make("wordle", preset="modified")
    found = [[t for t in env.tasks("test") if t.tags["length"] == length][:2] for length in ("4", "6")]
    tasks = [task for pair in found for task in pair]

    def play(*won: int) -> Evaluation:
        rows = [
            play_answers(env, task, 0, f"<Answer>{task.hidden}</Answer>") if i in won
            else play_answers(env, task, 0, error="gone")
            for i, task in enumerate(tasks)
        ]  # fmt: skip
        return evaluate(rows, gains=False)

    by = compare(play(0, 1, 2), play(0)).by_tag["length"]
    assert {value: (e.mean, e.n) for value, e in by.items()} == {"4": (0.5, 2), "6": (0.5, 2)}


def test_equal_runs_differ_by_nothing() -> None:
    found = compare(by_hand(), by_hand())
    assert found.n_tasks == 3
    assert all(math.isclose(e.mean, 0.0) and e.low == -e.high for e in (found.success, found.score, found.turns))
    # Three equal tasks leave 0.6316 of all tasks unseen; turns may differ by as many as a game has.
    assert found.success.high == pytest.approx(max_unseen_share(3)) == pytest.approx(0.6316, abs=5e-5)
    assert found.turns.high == pytest.approx(ENV.spec.max_turns * max_unseen_share(3))


def test_twenty_tasks_won_by_one_and_lost_by_the_other_are_no_certainty() -> None:
    """What `sonde compare` printed as -1.000 [-1.000, -1.000]."""
    env = sonde.make("mastermind", max_turns=3)
    codes = make_tasks(env, *(f"00{i:02}" for i in range(20)))
    lost = evaluate([play_answers(env, t, 0, *["9999"] * 3) for t in codes])
    won = evaluate([play_answers(env, t, 0, str(t.hidden)) for t in codes])
    assert str(compare(lost, won).success) == "-1.000 [-1.000, -0.722]"
    for e in (lost, won):
        for name in ("turns", "success", "score"):
            found = e.metrics[name]
            assert found is not None and found.high - found.low > 0.1, name


def test_runs_that_have_nothing_in_common_cannot_be_compared() -> None:
    other = evaluate([play_answers(ENV, ENV.task("00"), 0, "00")])
    with pytest.raises(UserError, match="share no task"):
        compare(by_hand(), other)
    wider = sonde.make("mastermind", length=2, digits=3)
    with pytest.raises(UserError, match=r"env: got digits 2, .* and digits 3, .*: the same environment"):
        compare(by_hand(), evaluate([play_answers(wider, wider.task("00"), 0, "00")]))


def test_every_evaluation_has_the_metrics_that_a_file_must_have() -> None:
    found = by_hand()
    assert set(found.metrics) == {*METRICS, *(f"pass@{n}" for n in range(1, found.k + 1))}
