"""The recipes of recipes/delta_belief run from the command line, and the settings of the paper's scale resolve."""

from __future__ import annotations

import json
import math
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "recipes" / "delta_belief"


def run_recipe(recipe: str, *args: str) -> Any:
    done = subprocess.run([sys.executable, str(FOLDER / recipe), *args], text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.thorough
def test_calibration_of_the_tiny_model(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    out = ("--only", "tiny", "tiny-decide", "--quick", "--json", "--out", str(tmp_path))
    found = {row["case"]: row for row in run_recipe("calibration.py", *out)}
    for row in found.values():
        every = row["beliefs"]["all"]
        assert every["episodes"] == 4 and len(every["divergence"]) == 11 and row["outside"] < 0.01
        assert every["exact"][0]["mean"] == pytest.approx(1 / 3) and every["divergence"][0]["mean"] < 0.05
    # At the last turn both are asked the same; before it one is asked for a pull.
    last, first = ([row["beliefs"]["all"]["target"][t]["mean"] for row in found.values()] for t in (10, 5))
    assert last[0] == pytest.approx(last[1], abs=1e-5) and first[0] != pytest.approx(first[1], abs=1e-3)


@pytest.mark.thorough
def test_both_games_are_trained_on_and_tested_in(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    rows = {row["trained, tested"]: row for row in run_recipe("cities.py", "--quick", "--json", "--out", str(tmp_path))}
    assert len(rows) == 10 and {"base, things", "delta_belief on things, cities"} <= set(rows)
    assert all(0.0 <= row["pass@2"] <= 1.0 for row in rows.values())
    assert rows["base, cities"]["more than base"] == "" != rows["starpo on cities, cities"]["more than base"]


@pytest.mark.thorough
def test_what_the_papers_scale_would_cost() -> None:
    small, large = run_recipe("calibration.py", "--dry-run", "--only", "paper-1.7B", "paper-4B", "--tasks", "433")
    assert (small["model"], large["model"]) == ("Qwen/Qwen3-1.7B", "Qwen/Qwen3-4B")
    assert small["episodes"] == 433 and 500_000 < small["tokens"] == large["tokens"] < 10_000_000


@pytest.mark.thorough
def test_evaluations_at_the_papers_scale_are_counted() -> None:
    """The commands that the README has: table 1, figures 6, 8 and 10, the user an endpoint."""
    model = ("--model", "http:Qwen/Qwen3-4B", "--base-url", "http://localhost:8000/v1", "--dry-run", "--json")
    user = ("--user", "http:Qwen/Qwen3-14B", "--user-url", "http://localhost:8001/v1")
    one = ("twenty_questions", "--preset", "delta_belief", *user)
    for args, episodes in (((*one, "-k", "8"), 433 * 8), ((*one, "-k", "128", "--max-turns", "50"), 433 * 128)):
        (found,) = sonde_eval(*args, *model)
        assert found["episodes"] == episodes and set(found["seats"]) == {"agent", "user"}
    everything = sonde_eval("--suite", "delta_belief", *model)
    assert len(everything) == 5 and sum(row["episodes"] for row in everything) == 14_944


def sonde_eval(*args: str) -> Any:
    command = [sys.executable, "-m", "sonde", "eval", *args]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base model after three steps of its training: it says nothing that can be read, and beliefs it has."""
    pytest.importorskip("torch")
    folder, recipe = tmp_path_factory.mktemp("base"), FOLDER.parent / "tiny" / "train.py"
    args = ("--env", "twenty_questions", "--steps", "3", "--no-gate", "--to", str(folder))
    done = subprocess.run([sys.executable, str(recipe), *args], text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_arms_are_compared_at_equal_episodes_and_never_trained_twice(base: Path, tmp_path: Path) -> None:
    args = ("--quick", "--json", "--model", str(base), "--out", str(tmp_path))
    found = {row["arm"]: row for row in run_recipe("compare.py", *args, "--only", "to_go")}
    assert set(found) == {"base", "starpo", "to_go"} and all(row["seeds"] == 2 for row in found.values())
    assert found["starpo"]["drawn_more"] is None and found["to_go"]["drawn_more"]["n"] == 24
    rows = (tmp_path / "quick" / "results.jsonl").read_text().splitlines()
    trained = [row for row in map(json.loads, rows) if row["arm"] != "base"]
    assert len(rows) == 6 and {row["episodes"] for row in trained} == {128}
    assert all("invalid" in entry for row in trained for entry in row["history"])
    assert all("belief" in entry for row in trained if row["arm"] == "to_go" for entry in row["history"])
    again = {row["arm"]: row for row in run_recipe("compare.py", *args, "--only", "to_go")}
    assert again == found and len((tmp_path / "quick" / "results.jsonl").read_text().splitlines()) == 6
    curves = run_recipe("figure4.py", *args, "--arms", "starpo", "to_go", "--every", "2")
    assert {name: len(row["turns"]) for name, row in curves.items()} == {"starpo": 1, "to_go": 1}
    passes = run_recipe("figure6.py", *args, "--arms", "to_go")
    assert passes["k"] == [1, 2, 4] and len(passes["to_go"]) == 3
    budget = run_recipe("figure8.py", *args, "--arms", "to_go", "--turns", "10")
    assert len(budget["base"]) == 10 and sorted(budget["to_go"]) == budget["to_go"]
    longer = {row["arm"]: row for row in run_recipe("figure9.py", *args, "--to", "lmrl", "--arms", "to_go")}
    assert longer["to_go"]["drawn"]["n"] == 48 and longer["to_go"]["drawn_more"]["n"] == 48
    rising = run_recipe("figure5.py", *args, "--arms", "to_go")
    assert rising["base"]["exact"][0] == pytest.approx(-math.log(64), abs=1e-3)
    assert len(rising["to_go"]["believed"]) == 8


@pytest.mark.slow
def test_questions_are_picked_by_belief_and_losses_varied(base: Path, tmp_path: Path) -> None:
    args = ("--quick", "--json", "--model", str(base), "--out", str(tmp_path))
    picked = {row["arm"]: row for row in run_recipe("figure3.py", *args, "--n", "2")}
    assert set(picked) == {"alone", "belief", "half", "worst", "expected"}
    assert picked["alone"]["met_more"] is None and all(row["seeds"] == 1 for row in picked.values())
    tethered = {row["arm"]: row for row in run_recipe("figure12.py", *args, "--kl", "0.1")}
    assert set(tethered) == {"base", "delta_belief", "kl-0.1"}
    rates = {row["arm"] for row in run_recipe("table5.py", *args)}
    assert {"base", "token-mean-0.001", "seq-mean-token-mean-0.003"} <= rates


@pytest.mark.thorough
def test_the_papers_trainings_resolve_to_its_numbers() -> None:
    """ΔBelief-RL, section 4.1 and tables 5 and 6; by its code 240 tasks of 16 games in 3 updates, 60 rollouts."""
    found = {row["config"]: row for row in run_recipe("paper.py", "--dry-run", "--json")}
    assert set(found) == {f"{method}-{size}" for method in ("starpo", "delta_belief") for size in ("1.7B", "4B")}
    rates = {name: row["training"]["settings"]["lr"] for name, row in found.items()}
    assert rates == {"starpo-1.7B": 1e-5, "starpo-4B": 3e-5, "delta_belief-1.7B": 3e-5, "delta_belief-4B": 3e-5}
    for name, row in found.items():
        online, settings, cost = row["training"]["online"], row["training"]["settings"], row["cost"]
        assert row["model"] == f"Qwen/Qwen3-{name.split('-')[1]}" and row["user"]["model"]["model"] == "Qwen/Qwen3-14B"
        assert (online["k"], online["temperature"], online["template"]) == (16, 1.0, {"enable_thinking": False})
        assert (settings["lora"]["r"], settings["lora"]["alpha"], settings["batch_size"]) == (64, 64.0, 1280)
        assert cost["episodes"] == 60 * 240 * 16 and cost["user_calls"] == 20 * cost["episodes"]
        assert (cost["tokens_elicited"] > 0) == name.startswith("delta") == bool(online["rewarders"])
    rewarder = found["delta_belief-4B"]["training"]["online"]["rewarders"]["belief"]
    assert rewarder["template"] == "question" and rewarder["shaping"] == ["relu"]
    assert found["starpo-4B"]["cost"]["gpu_hours"] > 2 * found["starpo-1.7B"]["cost"]["gpu_hours"]


def test_figure_7_has_the_papers_five_and_no_two_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Naive, tanh, ReLU, EMA and PACR (section 5.1); EMA is not clipped, and over the moving average."""
    pytest.importorskip("torch")
    monkeypatch.syspath_prepend(str(FOLDER))
    arms = runpy.run_path(str(FOLDER / "figure7.py"))["PARTS"]["shaping"]
    found = {name: made().online.rewarders[0] for name, made in arms.items()}
    five = ("delta_belief", "naive", "tanh", "ema", "group_min_max")
    assert [found[name].shaping for name in five] == [("relu",), (), ("tanh",), (), ("group_min_max",)]
    assert [found[name].baseline for name in five] == ["current", "current", "current", "average", "current"]
    assert len(set(map(repr, found.values()))) == len(found)


@pytest.mark.thorough
def test_other_environments_are_played_by_floor_and_reference(tmp_path: Path) -> None:
    rows = {row["player"]: row for row in run_recipe("figure10.py", "--quick", "--json", "--out", str(tmp_path))}
    assert rows["reference"]["guess_my_city, pass@1"] == 1.0 > rows["floor"]["guess_my_city, pass@1"]
    assert rows["reference"]["user_personalization, score"] > rows["floor"]["user_personalization, score"]


@pytest.mark.slow
def test_the_best_weights_by_held_out_things_are_tested_beside_the_last(base: Path, tmp_path: Path) -> None:
    args = ("--quick", "--json", "--model", str(base), "--out", str(tmp_path))
    rows = {row["weights"]: row for row in run_recipe("checkpoint.py", *args)}
    assert set(rows) == {"delta_belief, last", "delta_belief, best"}
    (one, two) = map(json.loads, (tmp_path / "quick" / "results.jsonl").read_text().splitlines())
    assert len(one["course"]) == 2 and one["step"] in (1, 2) and len(two["best"]["others"]["won"]) == 12
