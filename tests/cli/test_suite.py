"""`sonde eval --suite_environments`: every environment of a benchmark, its table, its mean and its report."""

from __future__ import annotations

from pathlib import Path

import pytest

import sonde
from sonde.evaluation.suites import suite_environments
from tests.cases import each

from .invoke import failure, run, run_json

COLUMNS = 80

MTP = ("circuit_decoding", "movie_recommendation", "twenty_questions_answerer", "word_chaining", "word_guess")
DELTA_BELIEF = ("customer_service", "guess_my_city", "murder_mystery", "twenty_questions", "user_personalization")
"""The games of the paper's table 4 and the one it trains on."""
SHORT = ["-n", "2", "-k", "2", "--no-gains"]


def test_a_suite_is_every_environment_with_that_preset() -> None:
    assert suite_environments("mtp") == tuple((name, "mtp") for name in MTP)
    assert ("river_swim", "length3") in suite_environments("psrl") and len(suite_environments("psrl")) == 5
    assert suite_environments("delta_belief") == tuple((name, "delta_belief") for name in DELTA_BELIEF)
    assert tuple(n for n in sonde.names() if "delta_belief" in sonde.core.find(n).presets) == DELTA_BELIEF
    assert {env for env, _ in suite_environments("paprika")} | set(MTP) <= set(sonde.names())
    assert not {env for env, _ in suite_environments("paprika")} & set(MTP)


def test_the_suite_of_lmrl_gym_has_its_eight_tasks_three_of_them_in_two_forms() -> None:
    forms: dict[str, list[str]] = {}
    for env, preset in suite_environments("lmrl"):
        forms.setdefault(env, []).append(preset)
    assert {env: known for env, known in forms.items() if known != ["lmrl"]} == {
        "chess": ["full", "endgames"], "maze": ["lmrl", "lmrl_partial"], "text_nav": ["fo", "po"],
    }  # fmt: skip
    assert set(forms) == {"car_dealer", "chess", "guess_my_city", "maze", "text_nav", "twenty_questions", "wordle"}


def test_the_table_has_every_environment_and_their_mean_and_fits() -> None:
    """And the report shows the distributions of turns of games of several seats."""
    lines = run("eval", "--suite", "mtp", "--agent", "floor", *SHORT, "--report", "page.html").splitlines()
    first_words = [line.split()[0] for line in lines if line.strip()]
    assert first_words[:2] == ["mtp,", "environment"]
    assert first_words[3:9] == [*MTP, "mean"]
    assert all(len(line) <= 80 for line in lines if not line.startswith("written"))
    assert first_words.count("written:") == len(MTP) + 1
    page = Path("page.html").read_text("utf-8")
    assert all(name in page for name in MTP)
    assert page.count("turns played") >= len(MTP)


def test_the_suite_of_delta_belief_plays() -> None:
    found = run_json("eval", "--suite", "delta_belief", "--agent", "reference", "-n", "1", "-k", "1", "--no-gains")
    assert [(e["env_name"], e["preset"]) for e in found["environments"]] == [
        (name, "delta_belief") for name in DELTA_BELIEF
    ]
    assert found["mean"]["success"]["mean"] > 0.5


SAYS = ["-o", "seats.agent.model.script=['Is it alive?']"]


def test_the_suite_of_delta_belief_samples_as_its_paper_does() -> None:
    args = ["--suite", "delta_belief", "--model", "fake", "-n", "1", "--no-gains", "--dry-run"]
    assert {row["episodes"] for row in run_json("eval", *args, *SAYS)} == {8}
    found = run_json("eval", *args[:-1], *SAYS, "-k", "2", "--max-turns", "1")["environments"]
    assert {(e["agent"]["temperature"], e["agent"]["top_p"], e["agent"]["min_p"]) for e in found} == {(0.7, 0.8, 0.0)}
    assert {e["k"] for e in found} == {2}, "what is given comes first"
    Path("mine.yaml").write_text("k: 1\nseats: {agent: {name: 'agents:llm', top_p: 0.9}}\n")
    (first, *_) = run_json("eval", *args[:-1], *SAYS, "--config", "mine.yaml", "--max-turns", "1", "--min-p", "0.1")[
        "environments"
    ]
    assert (first["k"], first["agent"]["top_p"], first["agent"]["min_p"]) == (1, 0.9, 0.1), "so does a file"


def test_the_suite_of_lmrl_gym_is_played_and_scaled_as_its_paper_does() -> None:
    """Appendix F: 32 rollouts from each of 25 places, 4,096 games of Wordle (29 x 143), 1,000 of chess, 645 ends."""
    planned = run_json("eval", "--suite", "lmrl", "--model", "fake", "--no-gains", "--dry-run", *SAYS)
    episodes = [(row["environment"], row["episodes"]) for row in planned]
    assert [n for name, n in episodes if name == "maze"] == [25 * 32, 25 * 32], "fully and partially observed"
    assert [n for name, n in episodes if name == "chess"] == [1000, 645], "whole games and endgames"
    assert dict(episodes)["wordle"] == 29 * 143 >= 4096
    whole = ("--suite", "lmrl", "--agent", "random", *SHORT)
    found = run_json("eval", *whole)["environments"]
    scaled = {(e["env_name"], e["preset"]): (e["metrics"]["score"]["mean"], e["paper_score"]) for e in found}
    assert scaled["car_dealer", "lmrl"][1] is None, "the paper prints no scale for it"
    ours = [("maze", "lmrl_partial"), ("chess", "full"), ("chess", "endgames"), ("twenty_questions", "lmrl")]
    assert [scaled[form][1] for form in ours] == [None] * 4, "other games than the paper's"
    returned, scale = scaled["maze", "lmrl"]
    below, above = 50 * (returned + 101) / (101 - 83), 50 + 50 * (returned + 83) / (83 - 6.84)
    assert scale == pytest.approx(below if returned < -83 else above)
    scores = [score for _, score in scaled.values() if score is not None]
    assert len(scores) == 4
    table = run("eval", *whole)
    ours, paper = table.split("on the paper's own scale")
    (mean,) = [line.split() for line in paper.splitlines() if line.startswith("mean")]
    assert mean == ["mean", f"{sum(scores) / 4:.0f}"], "the mean of the paper's scores, and none of returns"
    assert "return" not in ours.splitlines()[1] and "paper" not in ours, "one scale per table"
    short = run_json("eval", *whole, "--max-turns", "2")
    assert short["mean"]["paper_score"] is None, "games that are cut short are not the paper's"
    assert all(len(line) <= 80 for line in table.splitlines() if not line.startswith("written"))


def test_a_suite_takes_at_most_the_tasks_that_there_are() -> None:
    """Cities of LMRL-Gym have 12 test tasks, so 13 of each environment are 12 of them."""
    args = ("--suite", "lmrl", "guess_my_city", "wordle", "--agent", "floor", "-n", "13", "-k", "1", "--no-gains")
    found = run_json("eval", *args)
    assert [e["n_tasks"] for e in found["environments"]] == [12, 13]
    assert "All tasks that there are, fewer than 13: guess_my_city (lmrl) 12." in " ".join(run("eval", *args).split())
    said = failure("eval", "guess_my_city", "--preset", "lmrl", *args[4:])
    assert said.startswith("n_tasks: got 13, allowed: 1 to 12")


def test_other_suites_keep_the_defaults() -> None:
    found = run_json(
        "eval", "--suite", "mtp", "--model", "fake", "-n", "1", "-k", "1", "--no-gains", "--max-turns", "2", *SAYS
    )
    assert {(e["agent"]["top_p"], e["agent"]["min_p"]) for e in found["environments"]} == {(1.0, 0.3)}


def test_json_gives_the_mean_of_the_environments() -> None:
    found = run_json("eval", "--suite", "mtp", "--agent", "random", *SHORT)
    assert found["suite"] == "mtp"
    assert [(e["env_name"], e["preset"], e["n_tasks"]) for e in found["environments"]] == [(e, "mtp", 2) for e in MTP]
    assert set(found["mean"]) == {"success", "reference_score", "paper_score"}, "returns have no mean"
    for name in ("success", "reference_score"):
        means = [e["metrics"][name]["mean"] for e in found["environments"]]
        assert found["mean"][name]["environments"] == len(MTP)
        assert found["mean"][name]["mean"] == pytest.approx(sum(means) / len(means))
        assert found["mean"][name]["low"] < found["mean"][name]["mean"] < found["mean"][name]["high"]
    played = {e["env_name"]: e["turns_played"] for e in found["environments"]}
    assert played["circuit_decoding"] == {"mean": 19.0, "median": 19, "p90": 19}, "no random player concludes early"
    assert 1 <= played["word_guess"]["median"] <= played["word_guess"]["p90"] <= 40


def test_each_environment_gets_the_player_that_has_the_role_there() -> None:
    for role, word in (("reference", "word_chaining"), ("floor", "careless")):
        found = run_json("eval", "--suite", "mtp", "--agent", role, "-n", "1", "-k", "1", "--no-gains")["environments"]
        agents = {e["env_name"]: e["agent"]["name"] for e in found}
        assert agents["word_chaining"] == f"agents:{word}"
        assert agents == {name: f"agents:{getattr(sonde.make(name).spec, role)}" for name in MTP}
        assert {e["label"] for e in found} == {role}


@each(
    "args, says",
    [
        (["--suite", "mpt"], "suite: unknown name 'mpt' (did you mean 'mtp'?); known: "),
        (["--suite", "mtp", "--preset", "mtp"], "--suite: allowed: without --preset"),
        (["wordle", "--suite", "mtp"], "environment of suite mtp: unknown name 'wordle'"),
        (["--agent", "floor"], "env: missing; name one"),
        (["--agent", "floor", "-o", "env.name=maze"], "--agent: got 'floor', allowed: only where"),
    ],
)
def test_a_mistake_is_named_and_plays_nothing(args: list[str], says: str) -> None:
    assert says in failure("eval", "--agent", "random", *args)
    assert not Path("runs").exists()


def test_success_is_shown_by_a_tag_of_the_tasks() -> None:
    play = ("twenty_questions", "--agent", "random", "-n", "12", "-k", "1", "--no-gains")
    shown = run("eval", *play, "--by", "difficulty")
    assert "by difficulty" in shown and "medium" in shown
    (found,) = run_json("eval", *play)
    groups = found["by_tag"]["difficulty"]
    assert set(groups) <= {"easy", "medium", "hard"} and sum(g["n_tasks"] for g in groups.values()) == 12
    assert failure("eval", *play, "--by", "length") == "--by: unknown name 'length'; known: category, difficulty"
