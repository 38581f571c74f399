"""The recipes of recipes/paprika: their statistics by hand, their data, and two of them run small."""

from __future__ import annotations

import math
import subprocess
import sys
from array import array
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

from sonde import UserError
from sonde.core import AGENT, make
from sonde.evaluation.metrics import Estimate
from sonde.models.files.shipped import shipped
from sonde.runs.rollout import Plan, collect
from sonde.train.types import Row

from .train.tiny import tiny_model

FOLDER = Path(__file__).parents[1] / "recipes" / "paprika"
NAMES = ("common", "charts", "objectives", "groups", "rounds", "sizes", "retention", "smollm2")


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


def of_wins(common: ModuleType, table: Sequence[Sequence[int]], legal: Sequence[Sequence[float]] = ()) -> Any:
    """Wins by task and sample, as a test would have them; rows out of order, as they may come."""
    rows = [
        SimpleNamespace(index=0, task=f"t{i}", sample=j, win=bool(win))
        for i, wins in enumerate(table)
        for j, win in enumerate(wins)
    ]
    return common.Tested(SimpleNamespace(rows=rows[::-1], k=len(table[0])), [list(row) for row in legal])


# --- statistics ------------------------------------------------------------------------------------------------------


def test_success_and_gain_over_seeds(recipe: SimpleNamespace) -> None:
    common = recipe.common
    first, second = of_wins(common, [[1, 1], [0, 1]]), of_wins(common, [[1, 0], [0, 0]])
    base = of_wins(common, [[1, 0], [0, 0]])
    found = common.success_over_seeds([first, second])
    assert found.mean == pytest.approx((0.75 + 0.25) / 2)
    assert found.low < found.mean < found.high and found.n == 2
    gained = common.gain([first, second], [base, base])
    assert gained.mean == pytest.approx((0.5 + 0.0) / 2)
    same = common.gain([base], [base])
    assert same.mean == 0.0 and same.low == -same.high < 0.0 and same.n == 2, "two equal tasks do not prove equality"


def test_success_among_legal_episodes(recipe: SimpleNamespace) -> None:
    t = of_wins(recipe.common, [[1, 0], [0, 1]], [[1.0, 0.0], [1.0, 1.0]])
    assert recipe.common.among_legal(t) == pytest.approx(2 / 3)
    assert recipe.common.share_legal(t) == 0.75
    assert math.isnan(recipe.common.among_legal(of_wins(recipe.common, [[1]], [[0.0]])))


def test_verdict_of_groups(recipe: SimpleNamespace) -> None:
    base, up, sure = (
        Estimate(m, low, high, 9) for m, low, high in ((0.2, 0.1, 0.3), (0.1, -0.1, 0.3), (0.3, 0.2, 0.4))
    )
    kinds = recipe.groups.KINDS
    one = recipe.groups.Row("a", dict.fromkeys(("base", *kinds), base), dict.fromkeys(kinds, up))
    better = {**dict.fromkeys(("base", *kinds), base), "full": Estimate(0.5, 0.4, 0.6, 9)}
    two = recipe.groups.Row("b", better, dict.fromkeys(kinds, sure))
    found = recipe.groups.verdict([one, two])
    assert found["better_than_base"] == dict.fromkeys(kinds, 2) and found["interval_above_0"] == dict.fromkeys(kinds, 1)
    assert found["full_above_single"] == 1 and found["leave_one_out_matches_single"] == 2


def test_picks_are_counted_and_averaged(recipe: SimpleNamespace) -> None:
    rounds = recipe.rounds
    game = make("maze", preset="pairs")
    tasks = [t for t in game.tasks("train")[:40] if t.tags["group"] in ("comb", "rooms")][:3]
    played = collect(game, {AGENT: make("agents:random")}, tasks, Plan(k=2))
    names = [t.tags["group"] for t in tasks]
    assert rounds.picked(played, 2) == {name: names.count(name) for name in set(names)}
    results = [
        {p: [rounds.Round(None, picks, 0.5)] for p in rounds.PICKERS}
        for picks in ({"comb": 3}, {"comb": 1, "rooms": 2})
    ]
    assert rounds.mean_picks(results, "uniform") == [{"comb": 2.0, "rooms": 1.0}]


def test_uniform_picks_among_tasks_and_ucb_among_maps(recipe: SimpleNamespace) -> None:
    game = make("maze", preset="pairs")
    games = [SimpleNamespace(env=game, tasks=game.tasks("train"), name="maze")]
    uniform, ucb = (recipe.rounds.picks_of(p, games, recipe.rounds.FULL, 0) for p in ("uniform", "curriculum"))
    assert dict(uniform.curriculum.groups) == {"pairs": len(game.tasks("train"))}
    assert len(ucb.curriculum.groups) == 8 and sum(ucb.curriculum.groups.values()) == len(game.tasks("train"))
    assert ucb.n == uniform.n == recipe.rounds.FULL.tasks


# --- data ------------------------------------------------------------------------------------------------------------


def test_what_lies_beyond_was_never_trained_or_tested(recipe: SimpleNamespace) -> None:
    game = make("maze", preset="pairs", max_turns=36)
    far = recipe.sizes.apart(game, 15, 20)
    assert {int(t.tags["distance"]) for t in far} == set(range(15, 21)) and len({t.id for t in far}) == len(far) == 290
    known = {(t.hidden["map"], t.hidden["start"], t.hidden["goal"]) for s in ("train", "test") for t in game.tasks(s)}
    assert not known & {(t.hidden["map"], t.hidden["start"], t.hidden["goal"]) for t in far}


def test_conditions_differ_in_moves_alone(recipe: SimpleNamespace) -> None:
    found = {c.name: c for c in recipe.sizes.conditions(recipe.common.MAZE, 5)}
    assert len(found) == 10 and found["15-20 steps, 36 moves"].subject.game.spec.max_turns == 36
    few, many = found["2-5 steps, 12 moves"], found["2-5 steps, 36 moves"]
    assert [t.id for t in few.tasks] == [t.id for t in many.tasks] and len(few.tasks) == 5
    assert few.subject.game.spec.max_turns == 12


def test_models_that_are_missing_are_named(recipe: SimpleNamespace, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"seed-1/sft/model is missing; run objectives.py maze first"):
        recipe.common.trained_models(tmp_path, recipe.common.MAZE, 1)
    done = subprocess.run(
        [sys.executable, str(FOLDER / "sizes.py"), "--quick", "--out", str(tmp_path)],
        text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and "run objectives.py maze first" in done.stderr


# --- retention -------------------------------------------------------------------------------------------------------


def test_what_the_environment_said_after_the_agent_first_spoke(recipe: SimpleNamespace) -> None:
    row = Row(ids=array("i", range(8)), agent=b"\0\0\1\1\0\0\1\0", turns=array("i", [-1, -1, 0, 0, -1, -1, 1, -1]))
    assert recipe.retention.told(row).agent == b"\0\0\0\0\1\1\0\1"


def test_nats_of_a_model_that_knows_nothing(recipe: SimpleNamespace) -> None:
    model = tiny_model()
    with torch.no_grad():
        for weights in model.parameters():
            weights.zero_()
    given = [recipe.retention.passage([5, 6, 7, 8], 1), recipe.retention.passage([9], 1)]
    found = recipe.retention.nats(model, 1, given)
    assert [len(row.agent) for row in given] == [5, 2]
    assert found == [[pytest.approx(math.log(model.config.vocab_size))]] * 2


def test_change_over_seeds(recipe: SimpleNamespace) -> None:
    found = recipe.retention.kept("x", [[1.0], [2.0]], [[[1.1], [2.1]], [[1.3], [2.3]]])
    assert (found.texts, found.before, found.after) == (2, 1.5, pytest.approx(1.7))
    assert found.change.mean == pytest.approx(0.2) and found.change.low == pytest.approx(0.1)
    grown = recipe.retention.perplexity(Estimate(math.log(1.5), 0.0, math.log(2), 2))
    assert (grown.mean, grown.low, grown.high) == (pytest.approx(0.5), 0.0, pytest.approx(1.0))


def test_walkers_take_the_shortest_way_or_any(recipe: SimpleNamespace) -> None:
    game = make("maze", preset="pairs")
    tasks = game.tasks("test")[:6]
    straight = collect(game, {AGENT: recipe.retention.Walker(slip=0.0)}, tasks, Plan())
    assert [len(t.turns) for t in straight] == [int(t.tags["distance"]) for t in tasks]
    astray = collect(game, {AGENT: recipe.retention.Walker(slip=1.0)}, tasks, Plan())
    assert any(turn.info["result"] == "blocked" for t in astray for turn in t.turns)


# --- format, plots ---------------------------------------------------------------------------------------------------


def test_replies_that_could_be_read(recipe: SimpleNamespace) -> None:
    game = make("best_arm", preset="small")
    tasks = game.tasks("test")[:5]

    def found(reply: str) -> Any:
        agent = make("agents:llm", model=make("models:fake", pattern=[reply]))
        return recipe.smollm2.shown(collect(game, {AGENT: agent}, tasks, Plan()), reply)

    chatty, wrong, right = map(found, ("Hello!", "<Answer>ruby</Answer>", "<Answer>amber</Answer>"))
    assert chatty.turns_read == wrong.turns_read == chatty.fine.mean == wrong.fine.mean == 0.0
    assert right.turns_read == right.fine.mean == 1.0
    assert right.named == {"amber": 1.0} and chatty.named == {}
    assert chatty.evaluation.kinds["format"] == 5 and right.evaluation.turns_played["mean"] == 11


@pytest.mark.thorough
def test_plots_are_pictures(recipe: SimpleNamespace, tmp_path: Path) -> None:
    e = Estimate(0.5, 0.4, 0.7, 10)
    drawn = [
        recipe.charts.bars(tmp_path / "a" / "bars.png", ["x", "y"], {"base": [e, e], "random": [e, e]}),
        recipe.charts.curves(
            tmp_path / "curves.png", [0, 1], [recipe.charts.Curve("base", [0.2, 0.4], [0.1, 0.3], [0.3, 0.5])],
            xlabel="round",
        ),
    ]  # fmt: skip
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in drawn)


def test_report_of_objectives(recipe: SimpleNamespace, tmp_path: Path) -> None:
    common, objectives = recipe.common, recipe.objectives
    tasks = common.test_tasks(common.MAZE, 12)

    def by(agent: str, k: int = 2) -> Any:
        return common.judged(collect(common.MAZE.game, {AGENT: make(agent)}, tasks, Plan(k=k)), tasks, k, agent)

    worse, better = by("agents:random"), by("agents:maze")
    best, base = by("agents:maze", 1), by("agents:random", 1)
    learned = dict.fromkeys(objectives.METHODS, better) | {objectives.greedy(name): best for name in objectives.METHODS}
    result = objectives.Result({"base": worse, objectives.greedy("base"): base, **learned}, {"play": 1.5})
    known = {"random": worse, "reference": better}
    parts, found = objectives.report(common.MAZE, [result], known)
    rows = {row["condition"]: row for row in found["table"]}
    assert (
        rows["SFT"]["success"] == rows["SFT"]["success if legal"] == 1.0
        and rows["random"] | {"condition": "base"} == (rows["base"])
    )
    for of in (str, objectives.greedy):
        assert found["gains"][of("GRPO")].mean == pytest.approx(1.0 - rows[of("base")]["success"])
    assert len(parts) == 3
    assert common.pass_over_seeds([worse]).mean == pytest.approx(worse.evaluation.metrics["pass@2"].mean)
    assert objectives.draw([result], known, tmp_path / "maze.png").stat().st_size > 1000


# --- run small -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_rounds_train_play_and_count(recipe: SimpleNamespace, tmp_path: Path) -> None:
    rounds, size = recipe.rounds, recipe.common.Budget(tasks=3, k=6, tests=4, test_k=1, seeds=1)
    result = rounds.one_seed(0, recipe.common.MAZE, size, tmp_path, 1)
    assert {p: len(found) for p, found in result.items()} == {"curriculum": 1, "uniform": 1}
    for found in result.values():
        assert sum(found[0].picked.values()) == 3 and 0.0 < found[0].won < 1.0
    weights = [path.read_bytes() for path in tmp_path.glob("**/rpo/model/model.safetensors")]
    start = (shipped(recipe.common.MAZE.model).folder / "model.safetensors").read_bytes()
    assert len({*weights, start}) == 3
    base = result["uniform"][0].test
    rows = {at: [rounds.row(p, at, [result], base[at]) for p in rounds.PICKERS] for at in base}
    table = rounds.report([result], rows, {p: rounds.mean_picks([result], p) for p in rounds.PICKERS})
    assert [part.rows[0][0] for part in table] == ["curriculum"] * 3


def test_a_training_is_reused_only_if_it_was_made_from_the_same(recipe: SimpleNamespace, tmp_path: Path) -> None:
    made: list[str] = []

    def train() -> SimpleNamespace:
        made.append("again")
        return SimpleNamespace(model=tmp_path / "model")

    for origin in ({"settings": {"lr": 1.0, "folder": "a"}}, {"settings": {"lr": 1.0, "folder": "b"}}):
        assert recipe.common.once(tmp_path, origin, train) == str(tmp_path / "model")
    assert len(made) == 1, "where it lies says nothing about what it is"
    recipe.common.once(tmp_path, {"settings": {"lr": 2.0}}, train)
    assert len(made) == 2


def test_quick_runs_have_a_folder_of_their_own(recipe: SimpleNamespace, tmp_path: Path) -> None:
    parser = recipe.common.arguments("doc")
    assert parser.parse_args(["--out", str(tmp_path)]).out == tmp_path
    assert parser.parse_args(["--out", str(tmp_path), "--quick"]).out == tmp_path / "quick"
