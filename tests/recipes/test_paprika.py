"""The recipes of recipes/paprika: their statistics by hand, their data, and two of them run small."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from array import array
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

from sonde import UserError
from sonde.core import AGENT, make
from sonde.evaluation.evaluate import evaluate
from sonde.evaluation.metrics import Estimate
from sonde.models.files.shipped import get_shipped_model
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.train.types import Row

from ..train.tiny import tiny_model

FOLDER = Path(__file__).parents[2] / "recipes" / "paprika"
NAMES = (
    "common",
    "objectives",
    "groups",
    "rounds",
    "sizes",
    "retention",
    "smollm2",
    "smollm2_games",
    "paper",
    "solvers",
)


@pytest.fixture(scope="module")
def recipe() -> Iterator[SimpleNamespace]:
    """The modules of the folder, which are no package."""
    before = {name: sys.modules.pop(name) for name in NAMES if name in sys.modules}
    sys.path.insert(0, str(FOLDER))
    try:
        yield SimpleNamespace(**{name: import_module(name) for name in NAMES})
    finally:
        sys.path.remove(str(FOLDER))
        for name in NAMES:
            sys.modules.pop(name, None)
        sys.modules.update(before)


def of_wins(table: Sequence[Sequence[int]], legal: Sequence[Sequence[int]] = ()) -> Any:
    """Wins by task and sample, as an evaluation would have them; rows out of order, as they may come."""
    rows = [
        SimpleNamespace(
            index=0, task=f"t{i}", sample=j, win=bool(win), kind="win" if win else "loss",
            called={} if not legal or legal[i][j] else {"invalid": (0,)},
        )
        for i, wins in enumerate(table)
        for j, win in enumerate(wins)
    ]  # fmt: skip
    return SimpleNamespace(rows=rows[::-1], k=len(table[0]))


# --- the paper's own experiments --------------------------------------------------------------------------------------


TABLE_1 = {
    "twenty_questions": (1499, 367, 20), "guess_my_city": (500, 185, 20), "wordle": (1515, 800, 6),
    "cellular_automata": (1000, 500, 6), "customer_service": (628, 200, 20), "murder_mystery": (203, 50, 20),
    "mastermind": (1000, 500, 12), "battleship": (1000, 200, 20), "minesweeper": (1000, 200, 20),
    "best_arm": (81, 100, 21),
}  # fmt: skip
"""Tasks to train on and to test, and turns. The paper's one test task of the last group is 100 worlds here."""


def test_the_groups_are_those_of_table_1(recipe: SimpleNamespace) -> None:
    for name, config in recipe.paper.PUBLISHED.groups.items():
        env = recipe.paper.make_env(config)
        assert (len(env.tasks("train")), len(env.tasks("test")), env.spec.max_turns) == TABLE_1[name]
    assert list(recipe.paper.PUBLISHED.groups) == list(recipe.paper.TABLE_4) and len(TABLE_1) == 10
    assert [sum(row[i] for row in recipe.paper.TABLE_4.values()) for i in (0, 1)] == [17_181, 5_260]


def test_every_experiment_resolves_at_the_papers_scale(recipe: SimpleNamespace) -> None:
    paper, experiments = recipe.paper, recipe.paper.list_experiments(recipe.paper.PUBLISHED)
    config = experiments["main"].pipelines[0].config
    assert (config.stages, config.temperature, config.min_p, config.k, config.n_tasks) == (
        ("sft", "rpo"),
        1.5,
        0.3,
        None,
        None,
    )
    left = {p.config.held_out[0]["name"]: p.config for p in experiments["leave_one_out"].pipelines}
    assert set(left) == set(TABLE_1) and all(len(c.envs) == 9 and c.tested == "held_out" for c in left.values())
    rounds = [p.config for p in experiments["curriculum"].pipelines]
    assert [(c.curriculum, c.seed) for c in rounds] == [(by, i) for by in ("ucb", "uniform") for i in range(3)]
    assert {(c.rounds, c.n_tasks, c.at_once, c.by) for c in rounds} == {(3, 250, 1, "difficulty")}
    assert {(t.env["arms"], t.k) for t in experiments["bandit"].tests} == {(arms, 1) for arms in paper.ARMS}


def test_games_that_experiments_share_are_counted_once(recipe: SimpleNamespace) -> None:
    """Of each of the ten groups: 20 samples of every task, mastermind 100; then two stages, or three models."""
    paper = recipe.paper
    experiments, seen = paper.list_experiments(paper.PUBLISHED), set[str]()
    play = sum(train * (100 if name == "mastermind" else 20) for name, (train, _, _) in TABLE_1.items())
    tests = sum(test for _, test, _ in TABLE_1.values()) * 4
    assert paper.estimate_experiment(experiments["main"], seen).games == play + 3 * tests + 2 * 3 * tests
    left = paper.estimate_experiment(experiments["leave_one_out"], seen)
    assert left.games == 2 * tests and left.training > 9 * 6 * 8.03e9 * 17_181 * 12_000
    assert paper.estimate_experiment(experiments["single"], seen).games == 2 * tests


# --- statistics ------------------------------------------------------------------------------------------------------


def test_success_and_gain_over_seeds(recipe: SimpleNamespace) -> None:
    common = recipe.common
    first, second, base = of_wins([[1, 1], [0, 1]]), of_wins([[1, 0], [0, 0]]), of_wins([[1, 0], [0, 0]])
    found = common.estimate_success([first, second])
    assert found.mean == pytest.approx((0.75 + 0.25) / 2)
    assert found.low < found.mean < found.high and found.n == 2
    gained = common.estimate_gain([first, second], [base, base])
    assert gained.mean == pytest.approx((0.5 + 0.0) / 2)
    same = common.estimate_gain([base], [base])
    assert same.mean == 0.0 and same.low == -same.high < 0.0 and same.n == 2, "two equal tasks do not prove equality"


def test_success_among_legal_episodes(recipe: SimpleNamespace) -> None:
    e = of_wins([[1, 0], [0, 1]], [[1, 0], [1, 1]])
    assert recipe.common.success_if_legal(e) == pytest.approx(2 / 3)
    assert recipe.common.share_legal(e) == 0.75
    assert math.isnan(recipe.common.success_if_legal(of_wins([[1]], [[0]])))


def test_groups_on_which_a_training_is_better(recipe: SimpleNamespace) -> None:
    base, up, sure = (
        Estimate(m, low, high, 9) for m, low, high in ((0.2, 0.1, 0.3), (0.1, -0.1, 0.3), (0.3, 0.2, 0.4))
    )
    kinds = recipe.groups.KINDS
    labels = (*kinds, recipe.groups.SFT)
    one = recipe.groups.Row("a", dict.fromkeys(("base", *labels), base), dict.fromkeys(labels, up))
    better = {**dict.fromkeys(("base", *labels), base), "full": Estimate(0.5, 0.4, 0.6, 9)}
    two = recipe.groups.Row("b", better, dict.fromkeys(labels, sure))
    found = recipe.groups.count_better([one, two])
    assert found["better_than_base"] == dict.fromkeys(kinds, 2) and found["interval_above_0"] == dict.fromkeys(kinds, 1)
    assert found["interval_below_0"] == dict.fromkeys(kinds, 0)
    assert found["full_above_single"] == 1 and found["leave_one_out_matches_single"] == 2


def test_picks_are_averaged_over_seeds(recipe: SimpleNamespace) -> None:
    seeds = [recipe.rounds.Rounds({}, [picks], [0.5]) for picks in ({"comb": 3}, {"comb": 1, "rooms": 2})]
    assert recipe.rounds.average_picks(seeds) == [{"comb": 2.0, "rooms": 1.0}]


# --- data ------------------------------------------------------------------------------------------------------------


def test_what_lies_beyond_was_never_trained_or_tested(recipe: SimpleNamespace) -> None:
    game = make("maze", preset="pairs", max_turns=36)
    far = recipe.sizes.list_pairs(game, 15, 20)
    assert {int(t.tags["distance"]) for t in far} == set(range(15, 21)) and len({t.id for t in far}) == len(far) == 290
    known = {(t.hidden["map"], t.hidden["start"], t.hidden["goal"]) for s in ("train", "test") for t in game.tasks(s)}
    assert not known & {(t.hidden["map"], t.hidden["start"], t.hidden["goal"]) for t in far}


def test_conditions_differ_in_moves_alone(recipe: SimpleNamespace) -> None:
    found = {c.name: c for c in recipe.sizes.list_conditions(recipe.common.MAZE, 5)}
    assert len(found) == 10 and found["15-20 steps, 36 moves"].env.spec.max_turns == 36
    few, many = found["2-5 steps, 12 moves"], found["2-5 steps, 36 moves"]
    assert [t.id for t in few.tasks] == [t.id for t in many.tasks] and len(few.tasks) == 5
    assert few.env.spec.max_turns == 12


def test_models_that_are_missing_are_named(recipe: SimpleNamespace, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"seed-1/pipeline/round-1/sft/model is missing; run objectives.py maze first"):
        recipe.sizes.find_models(tmp_path, recipe.common.MAZE, 1)
    done = subprocess.run(
        [sys.executable, str(FOLDER / "sizes.py"), "--quick", "--out", str(tmp_path)],
        text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and "run objectives.py maze first" in done.stderr


# --- retention -------------------------------------------------------------------------------------------------------


def test_what_the_environment_said_after_the_agent_first_spoke(recipe: SimpleNamespace) -> None:
    row = Row(ids=array("i", range(8)), agent=b"\0\0\1\1\0\0\1\0", turns=array("i", [-1, -1, 0, 0, -1, -1, 1, -1]))
    assert recipe.retention.mark_environment(row).agent == b"\0\0\0\0\1\1\0\1"


def test_nats_of_a_model_that_knows_nothing(recipe: SimpleNamespace) -> None:
    model = tiny_model()
    with torch.no_grad():
        for weights in model.parameters():
            weights.zero_()
    given = [recipe.retention.mark_text([5, 6, 7, 8], 1), recipe.retention.mark_text([9], 1)]
    found = recipe.retention.measure_nats(model, 1, given)
    assert [len(row.agent) for row in given] == [5, 2]
    assert found == [[pytest.approx(math.log(model.config.vocab_size))]] * 2


def test_change_over_seeds(recipe: SimpleNamespace) -> None:
    found = recipe.retention.compare_nats("x", [[1.0], [2.0]], [[[1.1], [2.1]], [[1.3], [2.3]]])
    assert (found.texts, found.before, found.after) == (2, 1.5, pytest.approx(1.7))
    assert found.change.mean == pytest.approx(0.2) and found.change.low == pytest.approx(0.1)


def test_walkers_take_the_shortest_way_or_any(recipe: SimpleNamespace) -> None:
    game = make("maze", preset="pairs")
    tasks = game.tasks("test")[:6]
    straight = collect_trajectories(game, {AGENT: recipe.retention.Walker(slip=0.0)}, tasks, Plan())
    assert [len(t.turns) for t in straight] == [int(t.tags["distance"]) for t in tasks]
    astray = collect_trajectories(game, {AGENT: recipe.retention.Walker(slip=1.0)}, tasks, Plan())
    assert any(turn.info["result"] == "blocked" for t in astray for turn in t.turns)


# --- format, plots ---------------------------------------------------------------------------------------------------


def test_replies_that_could_be_read(recipe: SimpleNamespace) -> None:
    game = make("best_arm", preset="small")
    tasks = game.tasks("test")[:5]

    def found(reply: str) -> Any:
        agent = make("agents:llm", model=make("models:fake", pattern=[reply]))
        return recipe.smollm2.summarise(collect_trajectories(game, {AGENT: agent}, tasks, Plan()), reply)

    chatty, wrong, right = map(found, ("Hello!", "<Answer>ruby</Answer>", "<Answer>amber</Answer>"))
    assert chatty.turns_read == wrong.turns_read == chatty.fine.mean == wrong.fine.mean == 0.0
    assert right.turns_read == right.fine.mean == 1.0
    assert right.named == {"amber": 1.0} and chatty.named == {}
    assert chatty.evaluation.kinds["unreadable"] == 5 and right.evaluation.turns_played["mean"] == 11


def test_turns_that_could_be_read_of_an_evaluation(recipe: SimpleNamespace) -> None:
    """An unreadable reply ends the game and is its last turn; an illegal one is marked."""
    shown = [("unreadable", 1, {}), ("win", 5, {"invalid": (1, 2)}), ("loss", 4, {})]
    e = SimpleNamespace(rows=[SimpleNamespace(kind=kind, turns=n, called=called) for kind, n, called in shown])
    assert recipe.smollm2_games.share_readable(e) == pytest.approx(1 - 3 / 10)


def test_costs_of_a_kind_are_added(recipe: SimpleNamespace) -> None:
    parts = [
        {"part": "teacher, maze/pairs", "cpu_seconds": 1.0, "peak_mib": 5},
        {"part": "teacher, best_arm/small", "cpu_seconds": 2.0, "peak_mib": 6},
        {"part": "test, SFT", "tests": 20, "tokens": 100, "cpu_seconds": 2.0, "peak_mib": 10},
        {"part": "test, SFT", "tests": 50, "tokens": 50, "cpu_seconds": 3.0, "peak_mib": 20},
        {"part": "SFT", "tokens": 800, "cpu_seconds": 4.0, "peak_mib": 30},
    ]
    assert recipe.smollm2_games.tabulate_costs(parts).rows == [
        ["teacher", None, 3.0, None, 6],
        ["test, SFT", 150, 5.0, 30, 20],
        ["SFT", 800, 4.0, 200, 30],
    ]


def test_the_games_are_of_several_papers_and_one_is_held_out(recipe: SimpleNamespace) -> None:
    games = recipe.smollm2_games
    assert games.HELD_OUT.name not in {game.name for game in games.LEARNED}
    for game in (*games.LEARNED, games.HELD_OUT):
        assert len(game.make_env().tasks("test")) >= games.SIZES["laptop"].tests
        assert len(game.make_env().tasks("train")) >= game.taught
    sft, rpo = games.configure_sft(Path("a")), games.configure_rpo(Path("b"))
    assert (sft.objective, sft.learning.encode, rpo.objective, rpo.learning.encode) == ("sft", True, "rpo", False)


@pytest.mark.slow
def test_smollm2_learns_from_teachers_and_goes_on(recipe: SimpleNamespace, tmp_path: Path) -> None:
    """The second call finds everything done, at the cost of the first."""
    games, size = recipe.smollm2_games, recipe.smollm2_games.QUICK._replace(tests=1)
    players = [name for name in games.PLAYERS if name != games.RPO]
    first, again = (games.run_experiment(size, tmp_path, players) for _ in range(2))
    assert first["parts"] == again["parts"] and first["nats"] == again["nats"]
    tables = games.tabulate_tests(again["tests"])
    assert [row[0] for row in tables[0].rows] == [title for _, title in games.list_names()]
    assert tables[0].heads == ["", "random", "as it was", "with examples", "SFT", "teacher"]
    assert all(row[-1].startswith("1.000") for row in tables[0].rows if row[0].startswith("maze"))
    assert len(games.tabulate_english(again["nats"]).rows) == 1


def test_report_of_objectives(recipe: SimpleNamespace) -> None:
    """Two games were trained on, of which one was tested only by the reference, and one game was not."""
    objectives, env = recipe.objectives, recipe.common.MAZE.make_env()
    tasks = env.tasks("test")[:12]

    def play(agent: str, k: int) -> Any:
        return evaluate(
            collect_trajectories(env, {AGENT: make(agent)}, tasks, Plan(k=k)), tasks=[t.id for t in tasks], k=k
        )

    worse, better = ({k: play(agent, k) for k in (1, 2)} for agent in ("agents:random", "agents:maze"))
    result = {
        at: {
            "learned": {"base": worse[k], **dict.fromkeys(objectives.METHODS, better[k])},
            "known": dict.fromkeys(("base", *objectives.METHODS), better[k]),
            "other": {"base": better[k], **dict.fromkeys(objectives.METHODS, worse[k])},
        }
        for at, k in (("temperature 1", 2), ("temperature 0", 1))
    }
    maze = recipe.common.MAZE
    trial = objectives.Trial(maze, {"learned": maze, "known": maze}, {"other": maze}, objectives.QUICK, "two")
    bounds = {"random": worse[2], "reference": better[2]}
    tables = objectives.report(trial, objectives.QUICK, [result], {"learned": bounds, "known": bounds})
    assert list(tables) == ["two", "two_gains", "two_untrained", "two_untrained_greedy"]
    rows = {name: row for name, *row in tables["two"].rows}
    assert len(rows) == 2 * (2 + 1 + len(objectives.METHODS))
    assert rows["learned: SFT"][0] == rows["learned: SFT"][4] == 1.0
    assert rows["learned: random"] == rows["learned: base"] != rows["known: base"] == rows["known: reference"]
    start = rows["learned: base"][0]
    gains = {name: row for name, *row in tables["two_gains"].rows}
    assert len(gains) == 2 * len(objectives.METHODS)
    assert [gain.mean for gain in gains["learned: GRPO"]] == [
        pytest.approx(1.0 - start), pytest.approx(1.0 - worse[1].metrics["success"].mean)
    ]  # fmt: skip
    assert [gain.mean for gain in gains["known: GRPO"]] == [0.0, 0.0]
    ((name, base, *lost),) = tables["two_untrained"].rows
    assert (name, base) == ("other", 1.0) and [x.mean for x in lost] == [pytest.approx(start - 1.0)] * 4


# --- run small -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_rounds_train_play_and_count(recipe: SimpleNamespace, tmp_path: Path) -> None:
    rounds, size = recipe.rounds, recipe.common.Budget(tasks=3, k=6, tests=4, test_k=1, seeds=1)
    result = rounds.run_seed(0, rounds.CHOICES["maps"], size, tmp_path, 1)
    for found in result.values():
        assert sum(found.picks[0].values()) == 3 and 0.0 < found.won[0] < 1.0
        assert {at: len(tests) for at, tests in found.tests.items()} == {"temperature 1": 2, "temperature 0": 2}
    weights = [path.read_bytes() for path in tmp_path.glob("**/rpo/model/model.safetensors")]
    start = (get_shipped_model(recipe.common.MAZE.model).folder / "model.safetensors").read_bytes()
    assert len({*weights, start}) == 3
    table = rounds.report_success("temperature 1", [result])
    assert [row[0] for row in table.rows] == ["curriculum", "uniform", "curriculum minus uniform"]


@pytest.mark.slow
def test_groups_train_on_their_maps_and_are_tested_on_each(recipe: SimpleNamespace, tmp_path: Path) -> None:
    groups, size = recipe.groups, recipe.common.Budget(tasks=2, k=6, tests=3, test_k=1, seeds=1)
    maps = {name: recipe.groups.DIVISIONS["maps"].groups[name] for name in ("comb", "ladder")}
    tests = groups.run_seed(0, recipe.common.MAZE, size, tmp_path, maps)
    for at in ("temperature 1", "temperature 0"):
        for name in maps:
            found = tests[at][name]
            assert found.keys() == {"base", *groups.KINDS, groups.SFT}
            assert {row.task for e in found.values() for row in e.rows} == {row.task for row in found["base"].rows}
            assert groups.make_row(name, at, [tests]).gains.keys() == {*groups.KINDS, groups.SFT}
    config = json.loads((tmp_path / "seed-0/without-comb/paprika.json").read_text())
    assert [env["grid"] for env in config["envs"]] == ["ladder"]
    assert [env["grid"] for env in config["held_out"]] == ["comb"]
    learned = {
        name: json.loads((tmp_path / f"seed-0/{name}/round-1/selection.json").read_text())["total"]["tasks"]
        for name in ("full", "without-comb", "only-comb")
    }
    assert learned == {"full": 4, "without-comb": 2, "only-comb": 2}
    assert len(list((tmp_path / "seed-0/base/play").iterdir())) == 2, "the base model plays each map once for all"


@pytest.mark.thorough
def test_a_pipeline_and_a_teacher_run_and_resume(recipe: SimpleNamespace, tmp_path: Path) -> None:
    """Fine-tuning alone, on the model's own wins and on the teacher's; the second call finds both done."""
    size = recipe.common.Budget(tasks=8, k=3, tests=4, test_k=1, seeds=1)
    methods = ("SFT", "SFT on the teacher")
    trial = recipe.objectives.TRIALS["maze"]
    first, again = (recipe.objectives.run_seed(0, trial, size, tmp_path, methods) for _ in range(2))
    assert list(first["temperature 1"]["maze"]) == list(first["temperature 0"]["maze"]) == ["base", *methods]
    for at, tests in first.items():
        assert [e.rows for e in tests["maze"].values()] == [e.rows for e in again[at]["maze"].values()]


def test_quick_runs_have_a_folder_of_their_own(recipe: SimpleNamespace, tmp_path: Path) -> None:
    parser = recipe.common.Parser("doc")
    assert parser.parse_args(["--out", str(tmp_path)]).out == tmp_path
    assert parser.parse_args(["--out", str(tmp_path), "--quick"]).out == tmp_path / "quick"


def test_programs_bound_what_models_can_reach(recipe: SimpleNamespace) -> None:
    size = recipe.solvers.QUICK._replace(tests=4)
    rows = {row[0]: row[1:] for row in recipe.solvers.measure_games(size).rows}
    assert rows["guess my city, LMRL-Gym, test"][0] == 4 and rows["wordle, modified"][2] == 1.0
    regret = {row[0]: [e.mean for e in row[1:]] for row in recipe.solvers.measure_bandits(size).rows}
    assert regret["thompson"][0] < regret["random"][0] and all(
        0 <= value <= 20 for row in regret.values() for value in row
    )


@pytest.mark.slow
def test_the_papers_experiments_run_small(recipe: SimpleNamespace, tmp_path: Path) -> None:
    """Leave-one-out after the main training finds its games, and a test of other mazes its models."""
    paper, players = recipe.paper, recipe.paper.Players()
    experiments = paper.list_experiments(paper.QUICK)
    for name in ("main", "leave_one_out", "modified"):
        table = paper.run_experiment(name, experiments[name], paper.QUICK, players, tmp_path)
        assert table.rows and all(0.0 <= row[2] <= 1.0 for row in table.rows)
    assert len(list(tmp_path.glob("shared-*"))) == 1 and not list(tmp_path.glob("leave_one_out/*/round-1/play"))
    assert [row[0] for row in table.rows] == ["main, base", "main, round-1-sft", "main, round-1-rpo"]
