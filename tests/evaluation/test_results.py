"""Results of suites: what a file holds, what is said of several, and what is told of one that does not hold."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import sonde
from sonde.cli.app import app
from sonde.core import UserError
from sonde.evaluation import results
from sonde.evaluation.leaderboard import Board
from sonde.evaluation.leaderboard import read_board as board_of
from sonde.evaluation.metrics import Estimate
from sonde.evaluation.results import PlayedEnvironment, SuiteResult
from sonde.evaluation.rows import Row
from sonde.evaluation.run_evaluation import load_evaluation
from tests.cases import each

ENV = {"name": "word_guess", "preset": "mtp"}
GUESS = sonde.make("word_guess", preset="mtp")
FORMS = ("circuit_decoding", "movie_recommendation", "twenty_questions_answerer", "word_chaining", "word_guess")


def make_row(task: str, **values: Any) -> Row:
    return Row(
        **{"task": task, "index": 0, "sample": 0, "trajectory": task, "kind": "win", "score": 1.0, "turns": 4} | values
    )


def make_played(
    name: str = "word_guess", *, score: float | None = 50.0, asks: float | None = None, **values: Any
) -> PlayedEnvironment:
    env = sonde.make(name, preset="mtp")
    found = dict.fromkeys(results.METRICS)
    found |= {"reference_score": score and Estimate(score, score - 3, score + 4, 10)}
    found |= {"efficiency": asks and Estimate(asks, asks, asks, 10)}
    plain = {
        "env": env.config,
        "version": env.spec.version,
        "scale": results._scale_fingerprint(env),
        "others": {},
        "split": "test",
        "seats": {"agent": {"name": "agents:random"}},
        "seed": 0,
        "k": 2,
        "tasks": 10,
        "of": 400,
        "privileged": False,
        "kinds": {"win": 20},
        "metrics": found,
        "tokens": 7,
        "seconds": 1.5,
        "episodes": "0" * 20,
    }
    return PlayedEnvironment(**(plain | values))


def make_result(*environments: PlayedEnvironment, agent: str = "one", suite: str = "mtp") -> SuiteResult:
    plain = {"command": "sonde eval", "sonde": "0.1.0", "commit": None, "machine": "a box"}
    return SuiteResult(suite=suite, agent=agent, environments=environments or (make_played(),), **plain)


def make_whole(agent: str, score: float) -> SuiteResult:
    return make_result(*(make_played(name, score=score) for name in FORMS), agent=agent)


def test_the_headline_of_a_suite_is_the_mean_over_its_environments() -> None:
    scores = (10.0, 20.0, 30.0, 40.0, 60.0)
    found = make_result(*(make_played(name, score=score) for name, score in zip(FORMS, scores, strict=True))).headline
    assert found.score is not None and found.whole and (found.played, found.of) == (5, 5)
    assert found.score.mean == pytest.approx(32.0)
    assert found.score.low == pytest.approx(32 - 3 * 5**0.5 / 5)  # roots of sums of squares, over their number
    assert found.score.high == pytest.approx(32 + 4 * 5**0.5 / 5)


def test_a_part_of_a_suite_has_no_place_among_whole_ones() -> None:
    few = make_result(make_played(score=99.0), agent="few")
    assert not few.headline.whole and few.headline.played == 1
    unscaled = make_result(
        *(make_played(name, score=None if name == "word_guess" else 90.0) for name in FORMS), agent="unscaled"
    )
    assert not unscaled.headline.whole
    board = Board([few, unscaled, make_whole("low", 1.0), make_whole("high", 80.0)], [])
    assert [one.agent for one in board.suites["mtp"]] == ["high", "low", "few", "unscaled"]


def test_a_profile_is_of_all_that_an_agent_played() -> None:
    both = (
        make_result(make_played(asks=0.2)),
        make_result(make_played("circuit_decoding", asks=0.6), make_played("word_chaining")),
    )
    found = results.agent_profile(both)
    asks, n = found["asks"]
    assert asks is not None and (asks.mean, n) == (pytest.approx(0.4), 2)
    assert found["decides"] == (None, 0)


def test_deciding_is_winning_where_enough_was_known() -> None:
    rows = [
        make_row("a", entropy=(3.0, 1.0, 0.0)),  # one bit left before its second turn, won
        make_row("b", entropy=(3.0, 1.1, 0.0)),  # knew it with the answer only
        make_row("c", entropy=(3.0, 0.5, 0.5), kind="timeout"),
        make_row("c", entropy=(3.0, 0.0, 0.0), sample=1),
        make_row("d", entropy=None),
    ]
    found = results.decision_rate(rows)
    assert found is not None and (found.mean, found.n) == (0.75, 2)  # task a 1, task c 1/2
    assert results.decision_rate(rows[1:2]) is None


def test_following_is_saying_what_can_be_read_and_is_allowed() -> None:
    rows = [
        make_row("a", called={"invalid": (0, 2), "repeated": (1,)}),
        make_row("b", kind="format", turns=2),
        make_row("c", turns=0),
    ]
    found = results.follow_rate(rows)
    assert found is not None and (found.mean, found.n) == (0.5, 2)
    assert results.follow_rate(rows[2:]) is None


def test_a_file_says_the_same_again(tmp_path: Path) -> None:
    made = make_whole("one", 12.5)
    results.write_result(made, tmp_path / "deep" / "one.json")
    assert results.read_result(tmp_path / "deep" / "one.json") == made
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["one.json"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": 7}, "schema: got 7, allowed: 1"),
        ({"suite": "mpt"}, "unknown name 'mpt' (did you mean 'mtp'?)"),
        ({"suite": "psrl"}, "got 'word_guess mtp', allowed: those of psrl"),
        ({"environments": []}, "environments: got [], allowed: one or more"),
        ({"score": 100}, "unknown name 'score'"),
        ({"agent": 5}, "agent: got 5, allowed: text"),
        ({"environments": [{"metrics": {}}]}, "metrics: got '', allowed: success, "),
        ({"environments": [{"metrics": {"success": {"mean": 1}}}]}, "missing"),
        ({"environments": [{"tasks": 500}]}, "tasks: got 500, allowed: 1 to 400"),
        ({"environments": [{"kinds": {"win": 3}}]}, "allowed: 20 episodes in all"),
    ],
)
def test_an_invalid_result_file_is_named_with_its_field(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    path = tmp_path / "one.json"
    results.write_result(make_result(), path)
    data = json.loads(path.read_text("utf-8"))
    if inner := change.get("environments"):
        change = {"environments": [{**data["environments"][0], **inner[0]}]}
    path.write_text(json.dumps({**data, **change}))
    with pytest.raises(UserError) as e:
        results.read_result(path)
    assert str(path) in str(e.value) and said in str(e.value)


def test_files_that_are_not_json_are_named(tmp_path: Path) -> None:
    for text in ("{", "[]", "5", '{"schema": 1, "environments": 3}', '{"schema": 1, "environments": [3]}'):
        (tmp_path / "a.json").write_text(text)
        with pytest.raises(UserError, match=r"a\.json: not a result"):
            results.read_result(tmp_path / "a.json")


def test_a_result_of_other_rules_or_another_scale_is_out_of_date(tmp_path: Path) -> None:
    assert results.stale_reasons(make_result()) == []
    (why,) = results.stale_reasons(make_result(make_played(version="0")))
    assert why == f"word_guess mtp: played on version 0, installed is {GUESS.spec.version}"
    (why,) = results.stale_reasons(make_result(make_played(scale="other")))
    assert "its floor or reference has changed since" in why
    (why,) = results.stale_reasons(make_result(make_played(env={**GUESS.config, "attempts": 3})))
    assert "attempts" in why
    results.write_result(make_result(make_played(version="0")), tmp_path / "old.json")
    results.write_result(make_whole("new", 5.0), tmp_path / "new.json")
    board = board_of(tmp_path)
    assert [one.agent for one in board.results] == ["new"] and board.stale[0][0].agent == "one"
    assert board.to_json()["stale"][0]["why"][0].startswith("word_guess mtp: played on version 0")


def test_the_training_command_is_read_from_the_model_folder(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "command.txt").write_text("sonde train grpo maze\n")
    model = {"name": "models:hf", "model": str(tmp_path / "model")}
    for one in (model, {"name": "models:cached", "model": model, "path": "c"}):
        assert results._training_commands({"name": "agents:llm", "model": one}) == "sonde train grpo maze"
    (tmp_path / "model" / "command.txt").write_text("python train.py\n")
    assert results._training_commands({"name": "agents:llm", "model": model}) == "python train.py", (
        "its own, if it has one"
    )
    for none in ({"name": "agents:random"}, {"model": {"name": "models:hf", "model": "smollm2"}}):
        assert results._training_commands(none) == ""


def test_an_agent_is_once_in_a_suite(tmp_path: Path) -> None:
    for name in ("a", "b"):
        results.write_result(make_result(), tmp_path / f"{name}.json")
    with pytest.raises(UserError, match=r"got a.json and b.json, both of one in mtp, allowed: one"):
        board_of(tmp_path)
    for folder in (tmp_path / "nothing", tmp_path.parent):
        with pytest.raises(UserError, match="a folder with files"):
            board_of(folder)


def test_results_that_are_kept_are_read() -> None:
    kept = Path(__file__).parents[2] / "results"
    assert {results.read_result(path).suite for path in kept.glob("*.json")} == {
        "mtp", "paprika", "lmrl", "psrl", "delta_belief",
    }  # fmt: skip


# --- the command line -----------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run_command(*args: str) -> str:
    found = CliRunner().invoke(app, [*args], env={"COLUMNS": "80"})
    assert found.exception is None, found.exception
    return found.stdout


PLAY = ("eval", "--suite", "mtp", "word_guess", "circuit_decoding", "--agent", "floor", "-n", "3", "-k", "2")


def test_the_command_in_a_file_measures_the_same_again(tmp_path: Path) -> None:
    run_command(*PLAY, "-o", "label=a b", "--submit", "results/one.json", "--runs", "elsewhere")
    first = results.read_result(tmp_path / "results" / "one.json")
    assert first.command == (
        "sonde eval word_guess circuit_decoding --tasks 3 --set 'label=a b' --agent floor -k 2 --suite mtp "
        "--submit results/one.json"
    )
    assert first.agent == "a b" and [p.env_and_preset[0] for p in first.environments] == [
        "circuit_decoding",
        "word_guess",
    ]
    one = first.environments[1]
    assert (one.k, one.tasks, one.of, one.split, sum(one.kinds.values())) == (2, 3, 400, "test", 6)
    assert one.seats["agent"]["name"] == "agents:random" and one.seconds is not None
    (tmp_path / "results" / "one.json").unlink()
    run_command(*shlex.split(first.command)[1:])
    again = results.read_result(tmp_path / "results" / "one.json")
    plain = [
        replace(found, environments=tuple(replace(p, seconds=None) for p in found.environments))
        for found in (first, again)
    ]
    assert plain[0] == plain[1]


def drop_seconds(found: SuiteResult) -> SuiteResult:
    return replace(found, environments=tuple(replace(one, seconds=None) for one in found.environments))


def seconds(tmp_path: Path) -> list[float | None]:
    return [p.seconds for p in results.read_result(tmp_path / "results" / "one.json").environments]


def test_seconds_are_those_of_all_that_was_played(tmp_path: Path) -> None:
    """Those before count where they are known, and a command that plays nothing more adds none."""
    run_command(*PLAY[:-2], "-k", "1")
    first = [load_evaluation(folder).seconds for folder in sorted((tmp_path / "runs").iterdir())]
    run_command(*PLAY, "--submit", "results/one.json")
    then = seconds(tmp_path)
    assert all(t is not None and t >= round(f, 1) and f > 0 for f, t in zip(first, then, strict=True))
    run_command(*PLAY, "--submit", "results/one.json")
    assert seconds(tmp_path) == then
    for folder in (tmp_path / "runs").iterdir():
        (folder / "evaluation.json").unlink()
    run_command(*PLAY, "--submit", "results/one.json")
    assert seconds(tmp_path) == [None, None]


def test_the_leaderboard_of_a_folder() -> None:
    run_command(*PLAY, "--submit", "results/one.json")
    table = run_command("leaderboard")
    assert "floor" in table and "2/5" in table and "all suites" in table
    found = json.loads(run_command("leaderboard", "--json"))
    (line,) = found["suites"]["mtp"]
    assert line["agent"] == "floor" and not line["whole"] and line["score"]["environments"] == 2
    assert found["agents"]["floor"]["follows"]["environments"] == 2 and found["stale"] == []


def test_outdated_results_are_listed_with_their_command(tmp_path: Path) -> None:
    results.write_result(make_result(make_played(version="0")), tmp_path / "results" / "old.json")
    results.write_result(make_whole("new", 5.0), tmp_path / "results" / "new.json")
    found = CliRunner().invoke(app, ["leaderboard"])
    assert "out of date: one in mtp: word_guess mtp: played on version 0" in found.stderr
    assert "again: sonde eval" in found.stderr


@each(
    "args, said",
    [
        (["wordle", "--agent", "random", "--submit", "a.json"], "--submit: allowed: only with --suite"),
        (["--suite", "mtp", "--config", "x.yaml", "--submit", "a.json"], "--submit: allowed: without --config"),
        (["--suite", "mtp", "--agent", "floor", "--submit", "."], "--submit: got '.', allowed: a file"),
        (["--suite", "mtp", "wordle", "--agent", "random"], "environment of suite mtp: unknown name 'wordle'"),
        (
            ["--suite", "paprika", "best_arm", "--model", "sonde-tiny-best_arm"],
            "got sonde-tiny-best_arm in best_arm, preset paprika, whose answers are not in its vocabulary, "
            "allowed: best_arm, preset small",
        ),
    ],
)
def test_mistakes_are_told_before_anything_is_played(args: list[str], said: str) -> None:
    error = CliRunner().invoke(app, ["eval", *args]).exception
    assert isinstance(error, UserError) and said in str(error)
    assert not Path("runs").exists()
