"""Runs: what a configuration may be, and what one folder holds, gains and refuses."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde.core import AGENT, StoreError, UserError
from sonde.evaluation.evaluate import Evaluation, evaluate
from sonde.evaluation.run_evaluation import EVALUATION, execute_run, load_evaluation, reopen_run, rescore_run
from sonde.runs.rollout import record_plan
from sonde.runs.run import PreparedRun, RunConfig, config_from, count_missing, play_run, prepare_run, read_config
from sonde.runs.store import Run
from sonde.runs.store.folder import read_planned
from tests.cases import each

from ..models.server import Server, says

MASTERMIND = {"name": "mastermind", "length": 3, "digits": 5, "max_turns": 8}
RANDOM: dict[str, Any] = {AGENT: {"name": "agents:random"}}


def prepare_small(**changes: Any) -> PreparedRun:
    values = {"env": MASTERMIND, "seats": RANDOM, "n_tasks": 4, "k": 2, **changes}
    return prepare_run(config_from(values))


# --- configurations ------------------------------------------------------------------------------------------------

FILES = {
    "run.yaml": "env: {name: mastermind, length: 3}\nseats:\n  agent: {name: agents:random}\nk: 2\n",
    "run.yml": "env: {name: mastermind, length: 3}\nseats: {agent: {name: 'agents:random'}}\nk: 2\n",
    "run.toml": 'k = 2\n[env]\nname = "mastermind"\nlength = 3\n[seats.agent]\nname = "agents:random"\n',
    "run.json": '{\t"k": 2, "env": {"name": "mastermind", "length": 3}, "seats": {"agent": {"name": "agents:random"}}}',
}


@each("name", FILES)
def test_every_format_says_the_same(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(FILES[name])
    config = config_from(read_config(tmp_path / name))
    assert config == RunConfig(env={"name": "mastermind", "length": 3}, seats=RANDOM, k=2)
    assert prepare_run(config).env == sonde.make("mastermind", length=3)


@each(
    "name, text, says",
    [
        ("a.txt", b"", r"config: got 'a.txt', allowed: a file ending in .toml, .yaml, .yml, .json"),
        ("a.yaml", b"- 1\n", "config: .*a.yaml: allowed: a mapping at the top"),
        ("a.yaml", b"a: [1", r"config: .*a.yaml: while parsing a flow sequence .* line 1"),
        ("a.yaml", b"", "allowed: a mapping at the top"),
        ("a.toml", b"k = ", "config: .*a.toml: Invalid value"),
        ("a.json", b"{", "config: .*a.json: Expecting property name"),
        ("a.json", b"\xff\xfe{}", "config: .*a.json: .*utf-8"),
    ],
)
def test_a_broken_file_is_named(name: str, text: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(text)
    with pytest.raises(UserError, match=says):
        read_config(tmp_path / name)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"config: no file .*gone\.yaml"):
        read_config(tmp_path / "gone.yaml")


@each("changes, says",
    [
        ({"n_task": 3}, "config: unknown name 'n_task' .did you mean 'n_tasks'"),
        ({"k": "4"}, "config: k: got '4', allowed: a whole number"), ({"k": True}, "config: k: got True"),
        ({"k": 0}, "k: got 0, allowed: 1 or more"),
        ({"gains": "yes"}, "config: gains: got 'yes', allowed: true or false"),
        ({"n_tasks": 0}, "n_tasks: got 0, allowed: 1 or more"),
        ({"n_tasks": 1.5}, "n_tasks: got 1.5, allowed: a whole number or none"),
        ({"n_tasks": 9999}, "n_tasks: got 9999, allowed: 1 to .* for mastermind, split test"),
        ({"budget": 0}, "budget: got 0, allowed: 1 or more tokens"), ({"seed": -1}, "seed: got -1, allowed: 0 to"),
        ({"split": "dev"}, "split: unknown name 'dev'"),
        ({"env": "mastermind"}, "config: env: got 'mastermind', allowed: a mapping"),
        ({"env": {}}, "env.name: got None, allowed: text"), ({"env": {"name": 7}}, "env.name: got 7, allowed: text"),
        ({"env": {"name": "masterminf"}}, "did you mean 'mastermind'"),
        ({"env": {"name": "agents:random"}}, "env: 'agents:random' is not an environment"),
        ({"env": {"name": "mastermind", "length": "4"}}, "mastermind: length: got '4', allowed: a whole number"),
        ({"env": {"name": "mastermind", "size": 4}}, "mastermind: unknown name 'size'"),
        ({"seats": {AGENT: "random"}}, "seats.agent: got 'random', allowed: a mapping"),
        ({"seats": {AGENT: {"name": "entropy"}}}, "seats.agent.name: got 'entropy', allowed: .*agents:entropy"),
        ({"seats": {AGENT: {"name": "mastermind"}}}, "seats.agent: 'mastermind' is not a policy"),
        ({"seats": {AGENT: {"name": "models:fake", "script": ["x"]}}}, "seats.agent: 'models:fake' is not a policy"),
        ({"seats": {}}, "no policy for seat 'agent'"),
        ({"seats": {**RANDOM, "judge": {"name": "agents:random"}}}, "mastermind has no seat 'judge'; seats: agent"),
        ({"seats": {AGENT: {"name": "agents:llm", "model": "x"}}}, "agents:llm: model: got 'x', allowed: a model"),
    ],
)  # fmt: skip
def test_a_mistake_shows_before_anything_is_played(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError, match=says):
        prepare_small(**changes)


@each("field", ["env", "seats"])
def test_what_must_be_there_is_named(field: str) -> None:
    values: dict[str, Any] = {"env": MASTERMIND, "seats": RANDOM}
    del values[field]
    with pytest.raises(UserError, match=f"config: missing {field}"):
        config_from(values)


# --- what a run is called and where it goes ------------------------------------------------------------------------


def test_the_same_configuration_has_the_same_folder_and_no_other_has() -> None:
    runs = [
        prepare_small(),
        prepare_small(k=5, n_tasks=2, budget=9, concurrency=3, gains=False),
        prepare_small(env={**MASTERMIND, "preset": "paprika"}),
    ]
    assert len({r.folder_name for r in runs}) == 1, (
        "extent and speed do not make another run, nor do spelled-out defaults"
    )
    others = [
        prepare_small(seed=1),
        prepare_small(split="train"),
        prepare_small(env={"name": "mastermind"}),
        prepare_small(seats=seat_entropy()),
    ]
    assert len({r.folder_name for r in [*runs, *others]}) == 5
    assert prepare_small().folder_name.startswith("mastermind-paprika--random--")


def seat_endpoint(url: str, cache: str = "", **how: Any) -> dict[str, Any]:
    model: dict[str, Any] = {"name": "models:http", "base_url": url, "model": "org/qwen", **how}
    model = {"name": "models:cached", "path": cache, "model": model} if cache else model
    return {AGENT: {"name": "agents:llm", "model": model}}


def test_a_run_is_the_same_wherever_its_endpoint_is_and_however_fast_it_is_asked(tmp_path: Path) -> None:
    for cache in ("", "a"):
        runs = [
            prepare_small(seats=seat_endpoint("http://node1:8000/v1", cache)),
            prepare_small(
                seats=seat_endpoint("http://node2:9000/v1", cache and "b", concurrency=1, timeout=5.0, retries=0)
            ),
        ]
        assert len({r.folder_name for r in runs}) == len({r.policies[AGENT].fingerprint for r in runs}) == 1
    model = {"name": "models:http", "base_url": "http://node1:8000/v1", "model": "org/other"}
    assert prepare_small(seats={AGENT: {"name": "agents:llm", "model": model}}).fingerprint != runs[0].fingerprint


def test_a_run_goes_on_at_another_endpoint_and_says_the_last_one(tmp_path: Path) -> None:
    async def main() -> None:
        said = says("<Answer>000</Answer>")
        async with Server((said,)) as first, Server((said,)) as second:
            for server, n in ((first, 1), (second, 2)):
                run = prepare_small(seats=seat_endpoint(server.url, concurrency=n), n_tasks=n, k=1, gains=False)
                done = await asyncio.to_thread(execute_run, run, tmp_path)
                assert sum(done.kinds.values()) == n and done.kinds["error"] == 0
                model = Run.load(tmp_path).config["seats"][AGENT]["model"]
                assert (model["base_url"], model["concurrency"]) == (server.url, n)
                assert Run.load(tmp_path).fingerprint == run.fingerprint
            assert len(first.requests) == len(second.requests), "the first task was not played again"
        recorded = {t.policies[AGENT]["model"]["base_url"] for t in Run.load(tmp_path)}
        assert recorded == {first.url, second.url}
        assert evaluate(Run.load(tmp_path), gains=False).n_tasks == 2

    asyncio.run(main())


def seat_entropy() -> dict[str, Any]:
    return {AGENT: {"name": "agents:entropy"}}


@each(
    "model, label",
    [
        ({"name": "models:fake", "script": ["x"]}, "llm (fake)"),
        ({"name": "models:http", "base_url": "http://localhost/v1", "model": "org/qwen"}, "llm (qwen)"),
        (
            {
                "name": "models:cached",
                "path": "c",
                "model": {"name": "models:http", "base_url": "http://a/v1", "model": "q"},
            },
            "llm (q)",
        ),
        ({"name": "models:cached", "path": "c", "model": {"name": "models:fake", "script": ["x"]}}, "llm (fake)"),
    ],
)
def test_a_run_is_labelled_by_its_model(model: dict[str, Any], label: str) -> None:
    run = prepare_small(seats={AGENT: {"name": "agents:llm", "model": model}})
    assert run.label == label
    assert set(run.folder_name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-._")
    assert prepare_small(label="Mine!").label == "Mine!"


def test_the_folder_alone_builds_the_run_again(tmp_path: Path) -> None:
    run = prepare_small()
    saved = execute_run(run, tmp_path / "run")
    again = reopen_run(Run.load(tmp_path / "run"))
    assert again.resolved_config == run.resolved_config
    assert again.fingerprint == run.fingerprint == Run.load(tmp_path / "run").fingerprint
    assert (again.config.k, len(again.tasks)) == (2, 4)
    assert load_evaluation(tmp_path / "run") == saved


# --- playing, continuing, rescoring --------------------------------------------------------------------------------


def test_another_configuration_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    execute_run(prepare_small(), tmp_path)
    with pytest.raises(UserError, match=r"started with another configuration: config\.seed: got 1, the run has 0"):
        execute_run(prepare_small(seed=1), tmp_path)
    assert len(Run.load(tmp_path)) == 8


def test_a_finished_run_is_not_played_again_and_can_be_extended(tmp_path: Path) -> None:
    assert count_missing(prepare_small(), tmp_path) == 8
    first = execute_run(prepare_small(), tmp_path)
    assert count_missing(prepare_small(), tmp_path) == 0
    played: list[Any] = []
    again = execute_run(prepare_small(), tmp_path, on_done=played.append)
    assert played == []
    assert replace(again, seconds=0.0) == replace(first, seconds=0.0)

    wider = prepare_small(k=3, n_tasks=6)
    assert count_missing(wider, tmp_path) == 18 - 8
    more = execute_run(wider, tmp_path, on_done=played.append)
    assert len(played) == 10 and len(more.rows) == 18
    assert {(r.index, r.sample): r for r in more.rows}.items() >= {(r.index, r.sample): r for r in first.rows}.items()
    narrow = execute_run(prepare_small(), tmp_path)
    assert replace(narrow, seconds=0.0) == replace(first, seconds=0.0), "an evaluation is of what was asked for"


@pytest.mark.filterwarnings("ignore::sonde.runs.limits.BudgetWarning")
def test_a_budget_leaves_the_rest_missing_and_the_next_call_goes_on(tmp_path: Path) -> None:
    model = {"name": "models:fake", "script": ["<Answer>000</Answer>", "<Answer>111</Answer>"]}
    config = {"seats": {AGENT: {"name": "agents:llm", "model": model}}, "concurrency": 1}
    cut = execute_run(prepare_small(**config, budget=10_000), tmp_path)
    assert (len(cut.rows), cut.kinds["missing"]) == (1, 7)
    whole = execute_run(prepare_small(**config), tmp_path)
    assert (len(whole.rows), whole.kinds["missing"]) == (8, 0)


def test_rescoring_gives_the_same_evaluation_without_playing(tmp_path: Path) -> None:
    run = prepare_small(label="mine", seats=seat_entropy())
    first = execute_run(run, tmp_path)
    again = reopen_run(Run.load(tmp_path))
    found = rescore_run(again, tmp_path)
    assert found == first and first.seconds > 0
    assert load_evaluation(tmp_path) == found


def test_episodes_without_an_evaluation_can_be_scored(tmp_path: Path) -> None:
    stored = play_run(prepare_small(), tmp_path)
    with pytest.raises(UserError, match=f"no {EVALUATION}; was the run finished"):
        load_evaluation(tmp_path)
    found = rescore_run(reopen_run(stored), tmp_path)
    assert (found.k, found.n_tasks, found.kinds["missing"]) == (2, 4, 0)


def test_a_broken_evaluation_is_named(tmp_path: Path) -> None:
    execute_run(prepare_small(), tmp_path)
    for text in ("{", "[]", '{"schema": 2}'):
        (tmp_path / EVALUATION).write_text(text)
        with pytest.raises(StoreError, match=f"{EVALUATION}: not an evaluation"):
            load_evaluation(tmp_path)


def test_an_empty_run_has_nothing_to_reopen(tmp_path: Path) -> None:
    run = prepare_small()
    stored = record_plan(run.env, run.policies, [], run.config.make_plan(), tmp_path, run.resolved_config)
    with pytest.raises(UserError, match="no episodes"):
        reopen_run(stored)


def test_shares_of_a_run_are_one_run(tmp_path: Path) -> None:
    whole = play_run(prepare_small(n_tasks=5, k=3), tmp_path / "whole")
    for i in (2, 0, 1, 0):  # the last finds nothing to do
        play_run(prepare_small(n_tasks=5, k=3, share=(i, 3)), tmp_path / "shared")
    assert count_missing(prepare_small(n_tasks=5, k=3), tmp_path / "shared") == 0
    shared = Run.load(tmp_path / "shared")
    assert list(shared.canonical_lines()) == list(whole.canonical_lines())
    assert [len(shared.trajectories.select_where("log / 1000000 = ?", i)) for i in range(3)] == [5, 5, 5]
    assert shared.trajectories.superseded_count == 0
    for share in ((1, 1), (-1, 2), (0, 0)):
        with pytest.raises(UserError, match=r"share: got .* the first from 0 to below the second"):
            prepare_small(share=share)


def test_a_run_tells_how_many_episodes_it_will_have(tmp_path: Path) -> None:
    planned: list[int | None] = []
    plans: list[dict[str, Any]] = [
        {"n_tasks": 5, "k": 3, "share": (1, 3)}, {"n_tasks": 5, "k": 3, "share": (0, 3)}, {"n_tasks": 2, "k": 4}, {},
    ]  # fmt: skip
    for plan in plans:
        play_run(prepare_small(**plan), tmp_path)
        planned.append(read_planned(tmp_path))
    assert planned == [15, 15, 10 + 4, 14]  # two shares hold 10, of which 4 are among the 8 of the third plan


def test_evaluations_are_written_whole(tmp_path: Path) -> None:
    execute_run(prepare_small(), tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir() if not p.name.startswith(".")) == [
        "annotations-information.jsonl.zst", "config.json", EVALUATION, "index.sqlite", "trajectories-00000.jsonl.zst",
    ]  # fmt: skip
    assert not (tmp_path / f".{EVALUATION}").exists()
    assert isinstance(load_evaluation(tmp_path), Evaluation)
