"""Folders that somebody else made: looking at them imports nothing that they name, and asks nobody."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import sonde
from sonde.core import AGENT, UntrustedError, UserError, build, build_recorded, identity, registry
from sonde.core.registry import describe_reach
from sonde.evaluation.evaluate import evaluate
from sonde.evaluation.run_evaluation import EVALUATION, execute_run
from sonde.runs.rollout import Plan, collect_trajectories
from sonde.runs.run import config_from, prepare_run
from sonde.runs.store import Run, StoreWarning
from sonde.viewer.site import pages
from sonde.viewer.site.library import Library
from sonde.viewer.site.links import Links
from sonde.viewer.site.play import Games, describe_outside
from tests.cases import each

from .invoke import failure, run

SMALL = {"name": "mastermind", "length": 2, "digits": 4, "max_turns": 4}
EVIL = """
from dataclasses import dataclass
from pathlib import Path
from sonde.envs.mastermind.env import Mastermind
from sonde.agents.random import Random
Path(__file__).with_name("was-imported").touch()
@dataclass(frozen=True, kw_only=True)
class Env(Mastermind):
    pass
@dataclass(frozen=True, kw_only=True)
class Player(Random):
    pass
"""
Change = Callable[[dict[str, object]], None]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A good run of two episodes, in a current folder that holds a module beside it."""
    (tmp_path / "evil.py").write_text(EVIL, "utf-8")
    monkeypatch.chdir(tmp_path)
    seats = {"agent": {"name": "agents:random"}}
    execute_run(prepare_run(config_from({"env": SMALL, "seats": seats, "n_tasks": 2, "k": 1})), tmp_path / "run")
    path = list(sys.path)
    yield tmp_path / "run"
    sys.path[:] = path
    sys.modules.pop("evil", None)


def rewrite(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")


def name_module(folder: Path) -> None:
    """Let the run's configuration and evaluation name a class of the module beside it, as a foreign folder may."""
    for file in ("config.json", EVALUATION):
        rewrite(folder / file, '"name": "mastermind"', '"name": "evil:Env"')


def was_imported() -> bool:
    return Path("was-imported").exists()


@pytest.mark.parametrize("command", [
    ["rescore", "run"], ["report", "run"], ["export", "run"], ["compare", "run", "run"], ["show", "evil:Env"],
    ["show", "gymnasium:evil:X-v0"],
])  # fmt: skip
def test_reading_a_foreign_run_imports_nothing(folder: Path, command: list[str]) -> None:
    name_module(folder)
    assert "--trust" in failure(*command) and "imports evil" in failure(*command)
    assert not was_imported()


def test_texts_of_a_foreign_run_are_read_all_the_same(folder: Path) -> None:
    name_module(folder)
    run("read", "run")
    assert not was_imported()


def test_pages_of_a_foreign_run_import_nothing_and_the_others_stay(folder: Path) -> None:
    execute_run(
        prepare_run(config_from({"env": SMALL, "seats": {"agent": {"name": "agents:random"}}, "n_tasks": 1, "k": 1})),
        folder.with_name("good"),
    )
    name_module(folder)
    library = Library([folder.parent])
    assert "good" in pages.render_page(pages.find_page(library, (), {}), Links(0))
    with pytest.raises(UserError, match="imports evil"):
        pages.find_page(library, ("run", "run"), {})
    assert not was_imported()


def test_a_seat_of_a_foreign_run_is_not_imported(folder: Path) -> None:
    rewrite(folder / "config.json", '"agents:random"', '"evil:Player"')
    assert "imports evil" in failure("rescore", "run") and not was_imported()


def test_who_trusts_a_run_may_read_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("rollout", "evil:Env", "theirs", "--agent", "random", "-n", "1", "-o", "env.length=2", "-o", "env.digits=4")
    Path("was-imported").unlink()
    sys.path.remove(str(folder.parent))
    monkeypatch.setattr(registry, "_CLASSES", {})
    del sys.modules["evil"]
    assert "imports evil" in failure("rescore", "theirs") and not was_imported()
    run("rescore", "theirs", "--trust")
    run("report", "theirs")  # what is imported by now
    assert was_imported() and Path("report.html").is_file()


def test_ones_own_class_needs_no_trust_in_the_process_that_made_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(folder.parent))
    env = sonde.make("evil:Env", length=2, digits=4, max_turns=4)
    played = collect_trajectories(env, {AGENT: sonde.make("agents:random")}, env.tasks("test")[:2], Plan())
    assert evaluate(played).n_tasks == 2 and build_recorded(env.config) == env


@each("config, reach", [
    ({"name": "nobody_has:This"}, "imports nobody_has"),
    ({"name": "openenv:http://169.254.169.254/latest"}, "asks http://169.254.169.254/latest"),
    ({"name": "gymnasium:nobody_has:X-v0"}, "imports nobody_has"),
    ({"name": "agents:switch", "policies": [{"name": "agents:nobody_has:P"}]}, "imports agents"),
    ({"name": "agents:llm", "model": {"name": "nobody_has:Model"}}, "imports nobody_has"),
    ({"name": "agents:llm", "system": {"name": "nobody_has.deeper:Model"}}, "imports nobody_has.deeper"),
])  # fmt: skip
def test_what_a_record_may_not_reach(config: dict[str, object], reach: str) -> None:
    with pytest.raises(UntrustedError, match=reach):
        build_recorded(config)
    assert identity(config) == config  # nor does a comparison of configurations import anything


def test_registered_names_reach_nothing() -> None:
    assert [describe_reach(n) for n in ("wordle", "agents:llm", "models:http", "users:topic", "textarena:X-v0")] == [
        None
    ] * 5
    assert build_recorded(SMALL) == build(SMALL)


def test_a_fingerprint_that_is_not_of_its_configuration_is_told(folder: Path) -> None:
    rewrite(folder / "config.json", '"max_turns": 4', '"max_turns": 40')
    with pytest.warns(StoreWarning, match="config.json: its fingerprint is not that of its content"):
        Run.load(folder)


def test_keys_go_nowhere_because_a_record_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A foreign run's endpoint is asked only once the page has shown it and its key, and the person agreed."""
    monkeypatch.setenv("SOME_SECRET", "very-secret-0001")
    env, agent = sonde.make("twenty_questions"), sonde.make("agents:random")
    model = {"name": "models:http", "model": "m", "base_url": "http://192.0.2.1:9/v1", "api_key_env": "SOME_SECRET"}
    played = collect_trajectories(env, {AGENT: agent}, env.tasks("test")[:1], Plan())
    from sonde.runs.store import RunWriter

    seats = {"agent": agent.config, "user": {"name": "users:llm", "model": model}}
    with RunWriter.open(tmp_path / "theirs", {"env": env.config, "seats": seats}) as writer:
        writer.append_trajectory(played[0])
    games, library = Games(), Library([tmp_path])
    key = games.take_over(library, "theirs", played[0].id, 0)
    page = games.make_game_page(key)
    assert page.outside == ["models:http, model m, base_url http://192.0.2.1:9/v1, api_key_env SOME_SECRET"]
    assert games.find_game(key).others["user"].config["name"] == env.spec.seats["user"]
    games.apply_form(key, {"say": "Is it alive?"})  # answered here; asked of the endpoint it would fail
    assert len(games.make_game_page(key).moves) == 1
    shown = pages.render_page(games.make_game_page(key), Links(1))
    assert "http://192.0.2.1:9/v1" in shown and "SOME_SECRET" in shown and "very-secret" not in shown
    agreed = games.take_over(library, "theirs", played[0].id, 0, agreed=True)
    assert (
        games.find_game(agreed).others["user"].config["name"] == "users:llm"
        and not games.make_game_page(agreed).outside
    )


def test_programs_of_the_machine_are_shown_too() -> None:
    assert describe_outside({"name": "users:stockfish", "binary": "/tmp/x"}) == ["users:stockfish, binary /tmp/x"]
    cached = {"name": "models:cached", "path": "c.sqlite", "model": {"name": "models:hf", "model": "org/m"}}
    assert describe_outside({"name": "users:llm", "model": cached}) == [
        "models:cached, path c.sqlite", "models:hf, model org/m",
    ]  # fmt: skip


def test_a_result_that_names_foreign_code_is_refused(folder: Path) -> None:
    out = folder.with_name("results")
    out.mkdir()
    run("eval", "--suite", "mtp", "--agent", "random", "-n", "1", "-k", "1", "--submit", str(out / "mtp--r.json"))
    rewrite(out / "mtp--r.json", '"name":"circuit_decoding"', '"name":"evil:Env"')
    rewrite(out / "mtp--r.json", '"name": "circuit_decoding"', '"name": "evil:Env"')
    assert "evil:Env" in failure("leaderboard", str(out), "--json") and not was_imported()
