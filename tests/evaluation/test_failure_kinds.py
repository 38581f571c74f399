"""The failure kinds of Multi-Turn Puzzles, by hand in small games: what is counted, and what is not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde.core import AGENT, Episode, Trajectory
from sonde.envs.movie_recommendation.env import MovieRecommendation
from sonde.envs.movie_recommendation.user import MovieFan
from sonde.evaluation.failure_kinds import FailureLabels, label_failures, label_run, summarise_failures
from sonde.evaluation.run_evaluation import execute_run
from sonde.runs.rollout import collect_trajectories
from sonde.runs.run import RunConfig, prepare_run
from sonde.viewer import write_report

SMALL = MovieRecommendation(attributes=3, weights=(-0.2, 0.2), seen=5, unseen=6, max_turns=5)
HIDDEN = {"movies": "train-9", "weights": {"action": 0.2, "comedy": 0.0, "romance": 0.0}}


def play(answers: Sequence[str], env: MovieRecommendation = SMALL, hidden: Any = HIDDEN) -> tuple[Episode, Trajectory]:
    """What the agent says; the truthful user answers."""
    ep = Episode.begin(env, env.task(hidden))
    for answer in answers:
        ep = ep.step(env.say(answer))
        if ep.to_act == "user":
            ep = ep.step(MovieFan().act_now(ep.view("user")))
    return ep, ep.to_trajectory()


def labels(answers: Sequence[str]) -> FailureLabels:
    found = label_failures(SMALL, play(answers)[1])
    assert found is not None
    return found


def test_questions_by_hand() -> None:
    """A movie against itself's list: differing attributes are counted from the table; a repeated question is worth
    nothing."""
    table = SMALL.movie_set("train-9").seen.profiles
    found = labels(["compare M1 M2", "compare M1 M2", "rate M3", "rate M3", "pick U1"])
    differ = sum(a != b for a, b in zip(table[0], table[1], strict=True))
    assert [q.varied for q in found.questions] == [differ, differ, None, None]
    assert [q.ineffective for q in found.questions] == [False, True, False, True]
    assert [q.turn for q in found.questions] == [0, 1, 2, 3]


def test_picks_by_hand() -> None:
    """What a pick loses is the difference of expected scores at the posterior before it."""
    questions = ["rate M1", "rate M2", "rate M3", "rate M4"]
    ep, _ = play(questions)
    scores = [float(s) for s in ep.filter().expected_scores()]  # type: ignore[union-attr]
    for i, score in enumerate(scores):
        found = labels([*questions, f"pick U{i + 1}"])
        assert found.regret == pytest.approx(max(scores) - score)
        assert not found.premature  # no turn was left
    assert labels([*questions, "pick U1"]).open_at_end is (not ep.filter().is_decided)  # type: ignore[union-attr]


def test_questions_after_the_answer_is_decided_are_idle() -> None:
    """Decided: one unseen movie is liked best by every user that agrees with the answers, by enumeration."""
    questions = ["compare M1 M2", "rate M3", "rate M4", "rate M5"]
    found = labels([*questions, "pick U1"])
    unseen = SMALL.movie_set("train-9").unseen.profiles
    for n, question in enumerate(found.questions):
        alive = play(questions[:n])[0].filter().belief().hypotheses  # type: ignore[union-attr]
        liked = [
            [round(10 * sum(w * s for w, s in zip(user, movie, strict=True))) for movie in unseen] for user in alive
        ]
        common = set.intersection(*({i for i, x in enumerate(row) if x == max(row)} for row in liked))
        assert question.idle is bool(common)


def test_a_lost_conclusion_with_turns_left_is_premature() -> None:
    """Circuits: tables given at the first turn, with nothing known; a random guess is wrong."""
    env = sonde.make("circuit_decoding")
    before = Episode.begin(env, env.tasks("test")[0])
    ended = before.step(env.say("1: 00000001 ; 2: 00000001 ; 3: 00000001"))
    assert ended.outcome is not None and ended.outcome.kind == "loss"
    found = label_failures(env, ended.to_trajectory())
    assert found == FailureLabels(questions=(), open_at_end=True, premature=True, regret=None)


def test_without_a_filter_nothing_is_labelled() -> None:
    env = sonde.make("word_chaining")
    (t,) = collect_trajectories(env, {AGENT: sonde.make("agents:random")}, env.tasks("test")[:1])
    assert label_failures(env, t) is None and label_run(env, [t]) == []


def test_the_reference_picks_by_its_posterior_and_the_lookalike_does_not() -> None:
    env = sonde.make("movie_recommendation")
    found = {}
    for name in ("movie_recommendation", "movie_recommendation_lookalike"):
        played = collect_trajectories(env, {AGENT: sonde.make(f"agents:{name}")}, env.tasks("test")[:6])
        found[name] = summarise_failures(label_run(env, played))
    best, worse = found.values()
    assert best["poor pick"].mean == 0.0 < worse["poor pick"].mean  # type: ignore[union-attr]
    assert best["open at the end"].mean < worse["open at the end"].mean  # type: ignore[union-attr]
    assert worse["attributes varied"] is None  # it only asks for ratings


def test_the_report_has_a_table_of_them(tmp_path: Path) -> None:
    folders: list[Path] = []
    for env in ("movie_recommendation", "word_guess"):
        config = RunConfig(env={"name": env}, seats={AGENT: {"name": "agents:random"}}, n_tasks=2, k=1, gains=False)
        folders.append(tmp_path / env)
        execute_run(prepare_run(config), folders[-1])
    page = write_report(folders, tmp_path / "report.html").read_text("utf-8")
    assert page.count("Kinds of failure") == 1 and "attributes varied" in page
