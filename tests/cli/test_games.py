"""What is played, said in one way: arguments, tasks, splits and partners, for one environment and for several."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sonde.cli.games import check_tasks_files, env_config, tasks_file_of
from sonde.core import UserError
from sonde.evaluation.leaderboard import read_board
from sonde.evaluation.results import read_result
from sonde.runs.games import GameConfig
from sonde.runs.store import Run
from sonde.runs.task_files import has_splits

from .invoke import failure, run

COLUMNS = 120

QUICK = ["--agent", "random", "-n", "1", "-k", "1", "--no-gains"]


def configs(folder: str = "runs") -> dict[str, dict[str, Any]]:
    """The configurations of the runs in a folder, by environment and preset."""
    found = [Run.load(path).config for path in Path(folder).iterdir()]
    return {f"{c['env']['name']}:{c['env']['preset']}": c for c in found}


def test_a_preset_may_stand_behind_a_colon() -> None:
    run("eval", "wordle:lmrl", "maze:umaze", "wordle", *QUICK)
    assert set(configs()) == {"wordle:lmrl", "maze:umaze", "wordle:paprika"}


def test_each_of_several_environments_takes_what_it_has_a_place_for() -> None:
    run("eval", "wordle", "maze", "twenty_questions", *QUICK, "--max-turns", "3", "-o", "env.rules=code",
        "-o", "env.grid=umaze", "--user", "fake")  # fmt: skip
    found = configs()
    assert [c["env"]["max_turns"] for c in found.values()] == [3, 3, 3]
    assert found["wordle:paprika"]["env"]["rules"] == "code" and found["maze:lmrl"]["env"]["grid"] == "umaze"
    assert found["twenty_questions:paprika"]["seats"]["user"]["name"] == "users:llm"
    assert set(found["maze:lmrl"]["seats"]) == {"agent"}


def test_what_none_of_them_has_is_an_error() -> None:
    both = ["eval", "wordle", "maze", *QUICK]
    assert failure(*both, "-o", "env.grd=x").startswith("-o env: unknown name 'grd' (did you mean 'grid'?)")
    assert failure(*both, "--user", "fake") == "seats: unknown name 'user'; known: agent"
    assert failure(*both, "-o", "seats.oponent.name=agents:random").startswith("-o seats: unknown name 'oponent'")
    assert "wordle has no seat 'user'" in failure("eval", "wordle", *QUICK, "--user", "fake")


def test_a_suite_is_played_with_other_partners_and_ranked_among_such() -> None:
    """The case that was found: no whole suite could be played with a language model as its user."""
    suite = ["eval", "--suite", "delta_belief", *QUICK]
    run(*suite, "--user", "fake", "--submit", "results/with.json")
    run(*suite, "--submit", "results/own.json")
    given, own = read_result(Path("results/with.json")), read_result(Path("results/own.json"))
    assert own.partners == "" and given.partners == "user llm (fake)"
    assert given.headline.played == given.headline.of and given.headline.lacks == "5 of 1,868 tasks, 1 of 8 samples"
    assert given.headline.scored < given.headline.played
    board = read_board(Path("results"))
    assert [result.partners for result in board.suites["delta_belief"]] == ["", given.partners]
    said = run("leaderboard", "results")
    assert "user llm" in said and "ranked among" in said
    run("leaderboard", "results", "--export", "board")
    assert "with user llm (fake)" in Path("board/index.html").read_text()


# --- tasks ---------------------------------------------------------------------------------------------------------


def test_a_file_is_of_one_environment_or_of_all() -> None:
    files, maze = ["all.json", "maze=a.json", "maze:umaze=b.json"], env_config("maze:umaze", None)
    assert tasks_file_of(files, env_config("wordle", None)) == "all.json"
    assert tasks_file_of(files[:2], maze) == "a.json" and tasks_file_of(files[2:], maze) == "b.json"
    assert tasks_file_of(["x=y.json"], maze) == "x=y.json", "a file's name may have that sign too"
    check_tasks_files(files, [maze])
    Path("x=y.json").write_text("[]")
    check_tasks_files(["x=y.json"], [maze])
    for wrong, message in (
        (["wordle=a.json"], "--tasks-file: unknown name 'wordle'"), (["a", "b"], "one FILE"),
        (["mase=a.json"], "--tasks-file: unknown name 'mase' .*did you mean 'maze'"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=message):
            check_tasks_files(wrong, [maze])


def test_tasks_of_files_are_played() -> None:
    both = {"train": [{"agent": "an animal", "env": "starling"}], "eval": [{"agent": "a place", "env": "Eiffel Tower"}]}
    Path("20q.json").write_text(json.dumps(both))
    Path("maze.json").write_text(json.dumps([{"start": [1, 1], "goal": [3, 3]}]))
    files = ["--tasks-file", "twenty_questions=20q.json", "--tasks-file", "maze=maze.json"]
    run("eval", "twenty_questions", "maze:umaze", "wordle", *QUICK, *files)
    found = configs()
    assert found["twenty_questions:paprika"]["tasks_file"] == "20q.json" and "tasks_file" not in found["wordle:paprika"]
    run("rollout", "twenty_questions", "trained", "--agent", "random", "--tasks-file", "20q.json")
    (t,) = Run.load("trained")
    assert t.task.hidden == "starling"
    assert has_splits("20q.json") and not has_splits("maze.json") and not has_splits("none.json")
    listed = ["eval", "maze:umaze", *QUICK, "--split", "test", *files[2:]]
    assert failure(*listed).startswith("--split: got 'test', allowed: no split: all tasks of maze.json are played")
    run("eval", "maze:umaze", "wordle", *QUICK, "--split", "train", *files[2:], "--fresh")


def test_entries_of_lists_say_what_is_played() -> None:
    entry = {"name": "wordle", "preset": "lmrl", "split": "train", "n_tasks": 3}
    game = GameConfig.from_entry(entry, split="test", tasks_file="x")
    assert (game.env, game.split, game.n_tasks, game.tasks_file) == (
        {"name": "wordle", "preset": "lmrl"}, "train", 3, "x",
    )  # fmt: skip
    with pytest.raises(
        UserError, match=r"wordle: unknown name 'task_file' \(did you mean 'tasks_file'\?\); known: max_"
    ):
        GameConfig.from_entry({"name": "wordle", "task_file": "x"})
    few = GameConfig.from_entry({"name": "maze", "preset": "umaze", "n_tasks": 99})
    with pytest.raises(UserError, match="n_tasks: got 99, allowed: 1 to 6"):
        few.select_tasks(few.make_env())
    assert len(few.select_tasks(few.make_env(), at_most=True)) == 6


def test_a_dataset_is_played_on_ones_own_tasks() -> None:
    Path("maze.json").write_text(json.dumps([{"start": [1, 1], "goal": [3, 3]}, {"start": [1, 3], "goal": [3, 3]}]))
    made = ["dataset", "lmrl", "maze", "--n", "4", "--out", "d", "--processes", "1", "--tasks-file", "maze.json"]
    run(*made, "--max-turns", "30", "-o", "env.rules=code", "-o", "seats.agent.name=agents:random")
    stored = Run.load("d/train")
    config = stored.config
    assert (config["env"]["rules"], config["env"]["max_turns"], config["tasks_file"]) == ("code", 30, "maze.json")
    assert config["seats"]["agent"]["name"] == "agents:random" and len({t.task.id for t in stored}) == 2


def test_a_dry_run_of_elicitation_counts_texts() -> None:
    run("rollout", "twenty_questions", "r", "--agent", "random", "-n", "2", "--max-turns", "3")
    said = json.loads(run("elicit", "r", "--model", "fake", "--candidates", "3", "--dry-run", "--json"))
    assert (said["episodes"], said["texts"]) == (2, 2 * 3 * (3 + 1)) and said["tokens"] > 0
    run("elicit", "r", "--model", "fake", "--candidates", "3")
    again = json.loads(run("elicit", "r", "--model", "fake", "--candidates", "3", "--dry-run", "--json"))
    assert again["texts"] == 0, "what is stored is not elicited again"


# --- training ------------------------------------------------------------------------------------------------------

GRPO = ["train", "grpo", "maze:umaze", "--model", "sonde-tiny-maze", "--settings", "tiny_grpo", "--out", "o"]
SMALL = ["-o", "settings.batch_size=8", "-o", "settings.max_steps=1", "-o", "settings.save_steps=1"]


def test_a_training_plays_the_tasks_of_a_file_and_is_tied_to_them() -> None:
    pytest.importorskip("torch")
    Path("maze.json").write_text(json.dumps([{"start": [1, 1], "goal": [3, 3]}]))
    trained = [*GRPO, *SMALL, "--tasks-file", "maze.json", "-o", "online.save_episodes=true"]
    run(*trained, "-o", "env.max_turns=9")
    (game,) = json.loads(Path("o/data.json").read_text())["online"]["games"]
    assert (game["tasks"], game["tasks_file"], game["env"]["max_turns"]) == (1, "maze.json", 9)
    (folder,) = Path("o/episodes").iterdir()
    assert {t.task.hidden["start"] for t in Run.load(folder)} == {(1, 1)}  # type: ignore[index]
    Path("maze.json").write_text(json.dumps([{"start": [1, 3], "goal": [3, 3]}]))
    assert "train: resume: online: games" in failure(*trained, "-o", "env.max_turns=9", "--resume")


def test_a_training_reads_the_same_from_a_file() -> None:
    pytest.importorskip("torch")
    Path("c.yaml").write_text(
        "envs: [{name: maze, preset: umaze, max_turns: 7}]\nn_tasks: 2\nsplit: test\n"
        "settings: {batch_size: 16, max_steps: 4}\nonline: {max_new_tokens: 6}\n"
    )
    said = json.loads(run(*GRPO[:2], *GRPO[3:], "--config", "c.yaml", "--dry-run", "--json"))
    assert [(row["episodes"], row["calls"], row["completion_tokens"]) for row in said] == [(64, 64 * 7, 64 * 7 * 6)]
    more = json.loads(run(*GRPO, "--config", "c.yaml", "-o", "settings.max_steps=2", "--dry-run", "--json"))
    assert more[0]["calls"] == 32 * 100, "the command line's environments replace the file's"
    Path("d.yaml").write_text("sources: [maze]")
    assert "config: unknown name 'sources'" in failure(*GRPO, "--config", "d.yaml")
    assert "learns from its own play" in failure(*GRPO[:2], *GRPO[3:])


def test_a_training_on_data_of_ones_own() -> None:
    pytest.importorskip("torch")
    rows = [{"messages": [{"role": "user", "content": "go"}, {"role": "assistant", "content": "move up"}]}] * 4
    Path("chats.jsonl").write_text("\n".join(map(json.dumps, rows)))
    own = ["train", "sft", "chats.jsonl", "--model", "sonde-tiny-maze", "--settings", "tiny_sft", "--out", "o"]
    counted = json.loads(run(*own, "--dry-run", "--json"))
    assert (counted["items"], counted["selected"], counted["steps"]) == (4, {"records": 4}, 10)
    assert not Path("o").exists()
    run(*own, "-o", "settings.max_steps=1")
    assert json.loads(Path("o/data.json").read_text())["selected"] == {"records": 4}
    Path("chats.jsonl").write_text('{"messages": [{"role": "user"}]}')
    assert failure(*own, "--dry-run").startswith("chats.jsonl: row 1: messages[0]: got {'role': 'user'}")
    assert "allowed: objectives that learn from their own play" in failure(*own, "--tasks-file", "x.json")


def test_a_pipeline_plays_the_tasks_of_files() -> None:
    pytest.importorskip("torch")
    both = {"train": [{"agent": "an animal", "env": t} for t in ("starling", "living room")],
            "eval": [{"agent": "a tool", "env": "Eiffel Tower"}]}  # fmt: skip
    Path("20q.json").write_text(json.dumps(both))
    model = ["--model", "sonde-tiny-twenty_questions", "--settings", "tiny", "--out", "p"]
    args = ["paprika", "twenty_questions", *model]
    rows = json.loads(run(*args, "--tasks-file", "20q.json", "-k", "3", "-o", "env.max_turns=2", "--dry-run", "--json"))
    assert [(row["stage"], row["episodes"]) for row in rows[:2]] == [("play", 6), ("evaluate", 4 * 3)]
    assert rows[0]["calls"] == 6 * 2
