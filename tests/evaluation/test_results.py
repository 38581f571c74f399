"""Results of suites: what a file holds, what is said of several, and what is told of one that does not hold."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde.core import UserError
from sonde.evaluation import results
from sonde.evaluation.leaderboard import Board, describe_agent
from sonde.evaluation.leaderboard import read_board as board_of
from sonde.evaluation.metrics import Estimate
from sonde.evaluation.published import published_tables
from sonde.evaluation.redaction import hide_places, publish_players
from sonde.evaluation.results import PlayedEnvironment, SuiteResult
from sonde.evaluation.rows import Row
from sonde.evaluation.run_evaluation import load_evaluation
from sonde.evaluation.scale import scale_fingerprint
from sonde.evaluation.suites import suite_environments
from sonde.models.remote.providers import load_providers
from tests.cases import each

from ..cli.invoke import failure, invoke, run, run_json

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
        "env": env.config, "version": env.spec.version, "scale": scale_fingerprint(env), "others": {}, "split": "test",
        "seats": {"agent": {"name": "agents:random"}}, "seed": 0, "k": 4, "tasks": 5, "of": 5, "privileged": False,
        "kinds": {"win": 20}, "metrics": found, "tokens": 7, "seconds": 1.5, "episodes": "0" * 20,
    }  # fmt: skip
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
    """Whether environments, tasks or samples are lacking. Parts are sorted by how much was played, never by score."""
    few = make_result(make_played(score=99.0), agent="few")
    assert not few.headline.whole and few.headline.played == 1
    assert few.headline.lacks == "1 of 5 environments" and few.headline.share == pytest.approx(1 / 5)
    tasks = make_result(*(make_played(name, tasks=2, kinds={"win": 8}, score=95.0) for name in FORMS), agent="tasks")
    assert tasks.headline.lacks == "10 of 25 tasks" and tasks.headline.share == pytest.approx(2 / 5)
    samples = make_result(*(make_played(name, k=3, kinds={"win": 15}, score=97.0) for name in FORMS), agent="samples")
    assert samples.headline.lacks == "3 of 4 samples" and samples.headline.share == pytest.approx(3 / 4)
    both = make_result(make_played(tasks=1, k=1, kinds={"win": 1}), agent="both")
    assert both.headline.lacks == "1 of 5 environments, 1 of 5 tasks, 1 of 4 samples"
    assert both.headline.share == pytest.approx(1 / 5 * 1 / 4 / 5)
    unscaled = make_result(
        *(make_played(name, score=None if name == "word_guess" else 90.0) for name in FORMS), agent="unscaled"
    )
    assert unscaled.headline.lacks == "4 of 5 environments"
    found = [few, both, unscaled, tasks, samples, make_whole("low", 1.0), make_whole("high", 80.0)]
    board = Board(found, [])
    names = [one.agent for one in board.suites["mtp"]]
    assert names == ["high", "low", "unscaled", "samples", "tasks", "few", "both"]


def test_more_samples_than_the_suite_takes_are_no_lack() -> None:
    more = make_result(*(make_played(name, k=8, kinds={"win": 40}) for name in FORMS))
    assert more.headline.whole and more.headline.share == 1.0


def test_an_environment_in_other_settings_does_not_count_as_the_suites() -> None:
    """Even where `sonde scale` gave it a score of its own."""
    easy = sonde.make("word_guess", preset="mtp", max_turns=100)
    other = make_played(score=100.0, env=easy.config, scale=scale_fingerprint(easy))
    found = make_result(*(make_played(name, score=10.0) for name in FORMS[:4]), other).headline
    assert found.score is not None and (found.score.mean, found.scored) == (pytest.approx(10.0), 4)
    assert found.lacks == "4 of 5 environments"


def test_results_under_own_prompts_have_a_score_and_no_place_in_a_suite() -> None:
    told = sonde.make("word_guess", preset="mtp", prompts={"word_guess": {"win": "Yes, it is {guess}."}})
    own = make_played(score=100.0, env=told.config, scale=scale_fingerprint(told))
    assert own.scale == scale_fingerprint(GUESS)
    found = make_result(*(make_played(name, score=10.0) for name in FORMS[:-1]), own).headline
    assert found.score is not None and found.score.mean == 10.0 and found.lacks == "4 of 5 environments"
    alone, usual = make_result(own, suite=""), make_result(suite="")
    assert alone.headline.scored == 1 and alone.table_key != usual.table_key


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
        make_row("c", entropy=(3.0, 0.5, 0.5), kind="out_of_turns"),
        make_row("c", entropy=(3.0, 0.0, 0.0), sample=1),
        make_row("d", entropy=None),
    ]
    found = results.decision_rate(rows)
    assert found is not None and (found.mean, found.n) == (0.75, 2)  # task a 1, task c 1/2
    assert results.decision_rate(rows[1:2]) is None


def test_following_is_saying_what_can_be_read_and_is_allowed() -> None:
    rows = [
        make_row("a", called={"invalid": (0, 2), "repeated": (1,)}),
        make_row("b", kind="unreadable", turns=2),
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
        ({"environments": [{"tasks": 500}]}, "tasks: got 500, allowed: 1 to 5"),
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


# --- single environments -------------------------------------------------------------------------------------------


def test_results_of_one_environment_stand_together_where_their_scale_is_the_same() -> None:
    """Settings, version and scale: what differs in one of them is another table. They need not be installed."""
    mine = {"name": "my_game:MyGame", "preset": "easy"}
    ends = {"floor": Estimate(0.0, 0.0, 0.1, 5), "reference": Estimate(1.0, 0.9, 1.0, 5)}

    def result(agent: str, score: float, **values: Any) -> SuiteResult:
        played = make_played(score=score, **{"env": mine, "version": "1", "scale": "a", **ends, **values})
        return make_result(played, suite="", agent=agent)

    good, better, part = result("good", 40.0), result("better", 60.0), result("part", 99.0, k=1, kinds={"win": 5})
    assert results.stale_reasons(good) == [] and good.headline.whole and good.headline.score is not None
    assert part.headline.lacks == "1 of 4 samples"
    whole = make_whole("suite", 5.0)
    board = Board([part, good, better, whole], [])
    assert {name: [r.agent for r in of] for name, of in board.suites.items()} == {
        "mtp": ["suite"], "my_game:MyGame easy": ["better", "good", "part"],
    }  # fmt: skip
    newer, harder = result("newer", 1.0, version="2"), result("harder", 2.0, env={**mine, "size": 9}, scale="b")
    again = result("again", 3.0, reference=Estimate(0.5, 0.4, 0.6, 5))
    tables = Board([good, newer, harder, again], []).suites
    assert [len(of) for of in tables.values()] == [1] * 4 and all(name.startswith("my_game") for name in tables)
    with pytest.raises(UserError, match="environments: got 2, allowed: one, since it names no suite"):
        make_result(make_played("word_guess"), make_played("word_chaining"), suite="")


# --- what agents are, what papers print, what files keep to themselves -----------------------------------------------


def test_agents_are_named_for_what_they_are() -> None:
    def about(agent: str, config: dict[str, Any], **values: Any) -> str:
        return describe_agent(replace(make_result(make_played(seats={"agent": config}), agent=agent), **values))

    model = {"name": "models:http", "model": "Qwen/Qwen3-8B", "provider": "openrouter"}
    assert about("floor", {"name": "agents:random"}) == "Programs. Random legal play, the 0 of every environment."
    assert about("x", {"name": "agents:ucb1"}).startswith("Program. UCB1: the action with the highest")
    assert about("x", {"name": "mine:Player"}) == "Program mine:Player."
    cached = {"name": "models:cached", "model": model, "path": "c"}
    for one in (model, cached):
        assert about("floor", {"name": "agents:llm", "model": one, "examples": 2}) == (
            "Language model: Qwen/Qwen3-8B at openrouter, shown 2 example games."
        )
    assert about("x", {"name": "agents:reflexion", "model": model}, training="sonde train") == (
        "Language model trained with sonde: Qwen/Qwen3-8B at openrouter, as reflexion."
    )


def test_the_papers_numbers_name_environments_of_their_suites() -> None:
    found = {suite: published_tables(suite) for suite in ("delta_belief", "lmrl", "mtp", "paprika", "psrl")}
    assert all(found.values()) and published_tables("my_game:MyGame easy") == ()
    for suite, tables in found.items():
        known = {name for form in suite_environments(suite) for name in (form[0], " ".join(form))}
        for table in tables:
            assert set(table.environments) <= known and table.source and table.metric and table.differs
            assert {len(values) for _, values in table.rows} == {len(table.environments)}
    lmrl = dict(found["lmrl"][0].rows)
    assert lmrl["ILQL"][3] == 99.9 and lmrl["MC"][4] is None and lmrl["GPT-4"][0] == 95.7


@each(
    "text, shown",
    [
        ("--model http:Qwen/Qwen3-8B --base-url http://10.0.0.3:8000/v1", "--model http:Qwen/Qwen3-8B --base-url URL"),
        ("-o seats.agent.model.api_key_env=MY_KEY", "-o seats.agent.model.api_key_env=..."),
        ("-o seats.agent.model.headers.x-team=SECRET_VAR", "-o seats.agent.model.headers.x-team=..."),
        ("--model hf:/home/me/models/llama", "--model hf:llama"),
        ("--submit ~/work/results/a.json", "--submit a.json"),
        ("--model runs/tiny/maze-0 'a b'", "--model runs/tiny/maze-0 'a b'"),
        ("Say yes/no in <Answer> ... </Answer>, 3/4", "Say yes/no in <Answer> ... </Answer>, 3/4"),
    ],
)  # fmt: skip
def test_files_hold_no_address_no_key_and_no_folder_of_their_author(text: str, shown: str) -> None:
    assert hide_places(text) == shown


# --- the command line -----------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tests.cli.invoke.COLUMNS", 80)


PLAY = ("eval", "--suite", "mtp", "word_guess", "circuit_decoding", "--agent", "floor", "-n", "3", "-k", "2")


def test_the_command_in_a_file_measures_the_same_again(tmp_path: Path) -> None:
    run(*PLAY, "-o", "label=a b", "--submit", "results/one.json", "--runs", "elsewhere")
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
    run(*shlex.split(first.command)[1:])
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
    run(*PLAY[:-2], "-k", "1")
    first = [load_evaluation(folder).seconds for folder in sorted((tmp_path / "runs").iterdir())]
    run(*PLAY, "--submit", "results/one.json")
    then = seconds(tmp_path)
    assert all(t is not None and t >= round(f, 1) and f > 0 for f, t in zip(first, then, strict=True))
    run(*PLAY, "--submit", "results/one.json")
    assert seconds(tmp_path) == then
    for folder in (tmp_path / "runs").iterdir():
        (folder / "evaluation.json").unlink()
    run(*PLAY, "--submit", "results/one.json")
    assert seconds(tmp_path) == [None, None]


def test_the_leaderboard_of_a_folder() -> None:
    run(*PLAY, "--submit", "results/one.json")
    table = run("leaderboard")
    assert "floor" in table and "<1 %" in table and "all agents" in table
    assert "published, other tasks and users: score in %" in table and "Gemini 2.5 Pro" in table
    found = run_json("leaderboard")
    (line,) = found["suites"]["mtp"]
    assert line["lacks"] == "2 of 5 environments, 6 of 700 tasks, 2 of 4 samples" and line["about"].startswith(
        "Programs."
    )
    assert {table["metric"] for table in found["published"]["mtp"]} == {
        "score in %",
        "mean turns of a game, won or not",
    }
    assert line["agent"] == "floor" and not line["whole"] and line["score"]["environments"] == 2
    assert found["agents"]["floor"]["follows"]["environments"] == 2 and found["stale"] == []


def test_outdated_results_are_listed_with_their_command(tmp_path: Path) -> None:
    results.write_result(make_result(make_played(version="0")), tmp_path / "results" / "old.json")
    results.write_result(make_whole("new", 5.0), tmp_path / "results" / "new.json")
    found = invoke("leaderboard")
    assert "out of date: one in mtp: word_guess mtp: played on version 0" in found.stderr
    assert "again: sonde eval" in found.stderr and found.stderr.count("out of date") == 1


def test_a_model_behind_an_address_is_published_without_it(tmp_path: Path) -> None:
    """The configuration names the model and what changes its replies; where a known provider answers, it names that."""
    address, provider = "http://10.1.2.3:8000/v1", load_providers()["openai"]
    for url, host in ((address, None), (provider.base_url, "openai")):
        http = sonde.make("models:http", model="some-model", base_url=url, api_key_env="MY_SECRET")
        agent = sonde.make("agents:llm", model=sonde.make("models:cached", model=http, path=str(tmp_path)))
        (seat,) = publish_players({"agent": agent.config}).values()
        model = seat["model"]["model"]
        assert (model["model"], model.get("provider"), model["max_tokens_field"]) == ("some-model", host, "max_tokens")
        text = json.dumps(seat)
        assert not any(private in text for private in (url, "MY_SECRET", "api_key_env", str(tmp_path), "concurrency"))


def test_a_submission_is_checked_and_its_steps_are_printed(tmp_path: Path) -> None:
    steps = run("submit")
    assert "1. Choose a suite" in steps and "Open a pull request" in steps
    results.write_result(make_whole("one two", 5.0), tmp_path / "results" / "one.json")
    ready = run("submit", "results/one.json")
    assert "one two in mtp: score 5; complete, so it is ranked" in ready and "git switch -c result-mtp-one-two" in ready
    part = replace(make_result(), command="sonde eval --base-url http://host/v1", commit="abc-dirty")
    results.write_result(part, tmp_path / "two.json")
    found = invoke("submit", "two.json")
    assert found.exit_code == 1 and "partial (1 of 5 environments), so it is listed but not ranked" in found.stdout
    assert (
        "contains an address" in found.stdout
        and "uncommitted changes" in found.stdout
        and "git switch" not in found.stdout
    )
    results.write_result(make_result(make_played(version="0")), tmp_path / "old.json")
    assert "out of date: word_guess mtp" in invoke("submit", "old.json").stdout


def test_one_environment_is_submitted_with_its_scale(tmp_path: Path) -> None:
    """Mastermind with two places is in no suite and no shipped scale; the file carries the one that was measured."""
    settings = ("-o", "env.length=2", "-o", "env.digits=4")
    run("scale", "mastermind", *settings)
    play = ("eval", "mastermind", "--agent", "entropy", "-k", "4", *settings)
    run(*play, "--submit", "results/small.json")
    found = results.read_result(tmp_path / "results" / "small.json")
    (one,) = found.environments
    assert found.suite == "" and found.title == "mastermind paprika" and found.headline.whole
    assert one.floor is not None and one.reference is not None and one.floor.mean < one.reference.mean
    assert found.headline.score is not None and found.headline.score.mean == pytest.approx(100.0, abs=1e-6)
    assert "mastermind paprika" in run("leaderboard") and results.stale_reasons(found) == []


@each(
    "args, said",
    [
        (
            ["wordle", "mastermind", "--agent", "random", "--submit", "a.json"],
            "--submit: got '2 environments', allowed: --suite",
        ),
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
    assert said in failure("eval", *args)
    assert not Path("runs").exists()
