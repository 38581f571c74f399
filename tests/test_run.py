"""Runs: what a configuration may be, what one folder holds, and what is left after `kill -9` of a real process."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import sonde
from sonde.core import AGENT, StoreError, UserError
from sonde.evaluate import Evaluation
from sonde.models.cache import Store
from sonde.rollout import record
from sonde.run import (
    EVALUATION,
    Prepared,
    RunConfig,
    config_from,
    execute,
    load_evaluation,
    missing,
    override,
    play,
    prepare,
    read_config,
    reopen,
    rescore,
)
from sonde.store import Run

MASTERMIND = {"name": "mastermind", "length": 3, "digits": 5, "max_turns": 8}
RANDOM: dict[str, Any] = {AGENT: {"name": "agents:random"}}


def small(**changes: Any) -> Prepared:
    values = {"env": MASTERMIND, "seats": RANDOM, "n_tasks": 4, "k": 2, **changes}
    return prepare(config_from(values))


# --- configurations ------------------------------------------------------------------------------------------------

FILES = {
    "run.yaml": "env: {name: mastermind, length: 3}\nseats:\n  agent: {name: agents:random}\nk: 2\n",
    "run.yml": "env: {name: mastermind, length: 3}\nseats: {agent: {name: 'agents:random'}}\nk: 2\n",
    "run.toml": 'k = 2\n[env]\nname = "mastermind"\nlength = 3\n[seats.agent]\nname = "agents:random"\n',
    "run.json": '{\n\t"env": {"name": "mastermind", "length": 3},\n\t"seats": {"agent": {"name": "agents:random"}}, "k": 2}',
}


@pytest.mark.parametrize("name", FILES)
def test_every_format_says_the_same(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(FILES[name])
    config = config_from(read_config(tmp_path / name))
    assert config == RunConfig(env={"name": "mastermind", "length": 3}, seats=RANDOM, k=2)
    assert prepare(config).env == sonde.make("mastermind", length=3)


@pytest.mark.parametrize(
    ("name", "text", "says"),
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
    with pytest.raises(UserError, match="config: no file .*gone.yaml"):
        read_config(tmp_path / "gone.yaml")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"n_task": 3}, "config: unknown name 'n_task' .did you mean 'n_tasks'"),
        ({"k": "4"}, "config: k: got '4', allowed: a whole number"),
        ({"k": True}, "config: k: got True"),
        ({"k": 0}, "k: got 0, allowed: 1 or more"),
        ({"gains": "yes"}, "config: gains: got 'yes', allowed: true or false"),
        ({"n_tasks": 0}, "n_tasks: got 0, allowed: 1 or more"),
        ({"n_tasks": 1.5}, "n_tasks: got 1.5, allowed: a whole number or none"),
        ({"n_tasks": 9999}, "n_tasks: got 9999, allowed: 1 to .* for mastermind, split test"),
        ({"budget": 0}, "budget: got 0, allowed: 1 or more tokens"),
        ({"seed": -1}, "seed: got -1, allowed: 0 to"),
        ({"split": "dev"}, "split: unknown name 'dev'"),
        ({"env": "mastermind"}, "config: env: got 'mastermind', allowed: a mapping"),
        ({"env": {}}, "env.name: got None, allowed: text"),
        ({"env": {"name": 7}}, "env.name: got 7, allowed: text"),
        ({"env": {"name": "masterminf"}}, "did you mean 'mastermind'"),
        ({"env": {"name": "agents:random"}}, "env: 'agents:random' is not an environment"),
        ({"env": {"name": "mastermind", "length": "4"}}, "mastermind: length: got '4', allowed: a whole number"),
        ({"env": {"name": "mastermind", "size": 4}}, "mastermind: argument: unknown name 'size'"),
        ({"seats": {AGENT: "random"}}, "seats.agent: got 'random', allowed: a mapping"),
        ({"seats": {AGENT: {"name": "mastermind"}}}, "seats.agent: 'mastermind' is not a policy"),
        ({"seats": {AGENT: {"name": "models:fake", "script": ["x"]}}}, "seats.agent: 'models:fake' is not a policy"),
        ({"seats": {}}, "no policy for seat 'agent'"),
        ({"seats": {**RANDOM, "judge": {"name": "agents:random"}}}, "mastermind has no seat 'judge'; seats: agent"),
        ({"seats": {AGENT: {"name": "agents:llm", "model": "x"}}}, "agents:llm: model: got 'x', allowed: a model"),
    ],
)  # fmt: skip
def test_a_mistake_shows_before_anything_is_played(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(UserError, match=says):
        small(**changes)


@pytest.mark.parametrize("field", ["env", "seats"])
def test_what_must_be_there_is_named(field: str) -> None:
    values: dict[str, Any] = {"env": MASTERMIND, "seats": RANDOM}
    del values[field]
    with pytest.raises(UserError, match=f"config: missing {field}"):
        config_from(values)


def test_overrides_reach_inside_and_change_nothing_else() -> None:
    values = {"env": {"name": "mastermind"}, "seats": {AGENT: {"name": "agents:llm"}}, "k": 1}
    before = json.dumps(values)
    assert override(values, "k=3")["k"] == 3
    assert override(values, "seats.agent.context=last:3")["seats"][AGENT] == {"name": "agents:llm", "context": "last:3"}
    assert override(values, "seats.agent.model.stop=[a, b]")["seats"][AGENT]["model"] == {"stop": ["a", "b"]}
    assert override(values, "label=")["label"] is None
    assert override(values, "label=a=b")["label"] == "a=b"
    assert json.dumps(values) == before


@pytest.mark.parametrize(
    ("assignment", "says"),
    [
        ("k", "override: got 'k', allowed: KEY.KEY=VALUE"),
        ("=3", "override: got '=3'"),
        ("k.x=3", "override: k.x: k is not a mapping"),
        ("k=[1", "override: k: while parsing a flow sequence"),
        ("k=2024-99-99", "override: k: month must be"),
    ],
)
def test_a_bad_override_is_named(assignment: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        override({"k": 1}, assignment)


# --- what a run is called and where it goes ------------------------------------------------------------------------


def test_the_same_configuration_has_the_same_folder_and_no_other_has() -> None:
    runs = [
        small(),
        small(k=5, n_tasks=2, budget=9, concurrency=3, gains=False),
        small(env={**MASTERMIND, "preset": "paprika"}),
    ]
    assert len({r.folder_name for r in runs}) == 1, "extent and speed do not make another run, nor do spelled-out defaults"
    others = [small(seed=1), small(split="train"), small(env={"name": "mastermind"}), small(seats=entropy())]
    assert len({r.folder_name for r in [*runs, *others]}) == 5
    assert small().folder_name.startswith("mastermind-paprika--random--")


def entropy() -> dict[str, Any]:
    return {AGENT: {"name": "agents:entropy"}}


@pytest.mark.parametrize(
    ("model", "label"),
    [
        ({"name": "models:fake", "script": ["x"]}, "llm (fake)"),
        ({"name": "models:http", "base_url": "http://localhost/v1", "model": "org/qwen"}, "llm (qwen)"),
        (
            {"name": "models:cached", "path": "c", "model": {"name": "models:http", "base_url": "http://a/v1", "model": "q"}},
            "llm (q)",
        ),
        ({"name": "models:cached", "path": "c", "model": {"name": "models:fake", "script": ["x"]}}, "llm (fake)"),
    ],
)
def test_a_run_is_labelled_by_its_model(model: dict[str, Any], label: str) -> None:
    run = small(seats={AGENT: {"name": "agents:llm", "model": model}})
    assert run.label == label
    assert set(run.folder_name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-._")
    assert small(label="Mine!").label == "Mine!"


def test_the_folder_alone_builds_the_run_again(tmp_path: Path) -> None:
    run = small()
    saved = execute(run, tmp_path / "run")
    again = reopen(Run.load(tmp_path / "run"))
    assert again.resolved == run.resolved
    assert again.fingerprint == run.fingerprint == Run.load(tmp_path / "run").fingerprint
    assert (again.config.k, len(again.tasks)) == (2, 4)
    assert load_evaluation(tmp_path / "run") == saved


# --- playing, continuing, rescoring --------------------------------------------------------------------------------


def test_another_configuration_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    execute(small(), tmp_path)
    with pytest.raises(UserError, match="begun with another configuration: config.seed: got 1, the run has 0"):
        execute(small(seed=1), tmp_path)
    assert len(Run.load(tmp_path)) == 8


def test_a_finished_run_is_not_played_again_and_can_be_extended(tmp_path: Path) -> None:
    assert missing(small(), tmp_path) == 8
    first = execute(small(), tmp_path)
    assert missing(small(), tmp_path) == 0
    played: list[Any] = []
    again = execute(small(), tmp_path, on_done=played.append)
    assert played == []
    assert replace(again, seconds=0.0) == replace(first, seconds=0.0)

    wider = small(k=3, n_tasks=6)
    assert missing(wider, tmp_path) == 18 - 8
    more = execute(wider, tmp_path, on_done=played.append)
    assert len(played) == 10 and len(more.rows) == 18
    assert {(r.index, r.sample): r for r in more.rows}.items() >= {(r.index, r.sample): r for r in first.rows}.items()
    narrow = execute(small(), tmp_path)
    assert replace(narrow, seconds=0.0) == replace(first, seconds=0.0), "an evaluation is of what was asked for"


def test_a_budget_leaves_the_rest_missing_and_the_next_call_goes_on(tmp_path: Path) -> None:
    model = {"name": "models:fake", "script": ["<Answer>000</Answer>", "<Answer>111</Answer>"]}
    config = {"seats": {AGENT: {"name": "agents:llm", "model": model}}, "concurrency": 1}
    cut = execute(small(**config, budget=100), tmp_path)
    assert (len(cut.rows), cut.kinds["missing"]) == (1, 7)
    whole = execute(small(**config), tmp_path)
    assert (len(whole.rows), whole.kinds["missing"]) == (8, 0)


def test_rescoring_gives_the_same_evaluation_without_playing(tmp_path: Path) -> None:
    run = small(label="mine", seats=entropy())
    first = execute(run, tmp_path)
    again = reopen(Run.load(tmp_path))
    found = rescore(again, Run.load(tmp_path), tmp_path)
    assert replace(found, seconds=first.seconds) == first
    assert load_evaluation(tmp_path) == found


def test_episodes_without_an_evaluation_can_be_scored(tmp_path: Path) -> None:
    stored = play(small(), tmp_path)
    with pytest.raises(UserError, match=f"no {EVALUATION}; was the run finished"):
        load_evaluation(tmp_path)
    found = rescore(reopen(stored), stored, tmp_path)
    assert (found.k, found.n_tasks, found.kinds["missing"]) == (2, 4, 0)


def test_a_broken_evaluation_is_named(tmp_path: Path) -> None:
    execute(small(), tmp_path)
    for text in ("{", "[]", '{"schema": 1}'):
        (tmp_path / EVALUATION).write_text(text)
        with pytest.raises(StoreError, match=f"{EVALUATION}: not an evaluation"):
            load_evaluation(tmp_path)


def test_an_empty_run_has_nothing_to_reopen(tmp_path: Path) -> None:
    run = small()
    stored = record(run.env, run.policies, [], run.config.plan(), tmp_path, run.resolved)
    with pytest.raises(UserError, match="no episodes"):
        reopen(stored)


# --- kill -9 -------------------------------------------------------------------------------------------------------

DIGIT = "{0|1|2|3|4}"
FAKE = {"name": "models:fake", "pattern": [f"<Answer>{DIGIT * 3}</Answer>"], "latency": 0.02}


def slow(folder: Path, cached: bool) -> dict[str, Any]:
    model = {"name": "models:cached", "path": str(folder / "cache"), "model": FAKE} if cached else FAKE
    agent = {"name": "agents:llm", "model": model}
    return {"env": MASTERMIND, "seats": {AGENT: agent}, "split": "train", "n_tasks": 10, "k": 3, "concurrency": 5, "gains": False}


def start(config: Path, folder: Path) -> subprocess.Popen[bytes]:
    code = "from sonde.cli import main; main()"
    args = [sys.executable, "-c", code, "rollout", "mastermind", str(folder), "--config", str(config)]
    return subprocess.Popen(args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def held(folder: Path) -> dict[tuple[Any, ...], str]:
    """Finished episodes: what was said in each, by task and sample."""
    if not (folder / "config.json").exists():
        return {}
    return {(t.task.id, t.sample): t.id for t in Run.load(folder)}


def kill_at(process: subprocess.Popen[bytes], folder: Path, episodes: int) -> None:
    """Kill it when that many episodes are on disk."""
    deadline = time.monotonic() + 60
    while process.poll() is None and len(held(folder)) < episodes and time.monotonic() < deadline:
        time.sleep(0.01)
    assert process.poll() is None, f"it ended before it could be killed, with {len(held(folder))} episodes"
    process.kill()
    assert process.wait() == -signal.SIGKILL


@pytest.mark.parametrize("cached", [False, True], ids=["plain", "cached"])
def test_after_kill_9_nothing_finished_is_played_again(cached: bool, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps(slow(tmp_path, cached)))
    folder, seen = tmp_path / "run", {}
    for target in (1, 12):
        kill_at(start(tmp_path / "run.json", folder), folder, target)
        now = held(folder)
        assert len(now) >= target
        assert seen.items() <= now.items()
        seen = now
    assert len(seen) < 30, "there is something left to continue"

    run = prepare(config_from(slow(tmp_path, cached)))
    before = _calls_of(folder), _cached(tmp_path / "cache") if cached else 0
    played: list[Any] = []
    stored = play(run, folder, on_done=played.append)
    assert {(t.task.id, t.sample) for t in played}.isdisjoint(seen)
    assert len(played) + len(seen) == len(stored) == 30
    assert stored.trajectories.superseded == 0
    assert seen.items() <= held(folder).items()
    stats = run.policies[AGENT].model.stats  # type: ignore[union-attr]
    if cached:
        # Calls of unfinished episodes come from the cache, each once; only those never made reach the model.
        assert stats.hits == before[1] - before[0] > 0
    assert stats.hits + stats.calls == _calls_of(folder) - before[0]

    whole = prepare(config_from({**slow(tmp_path, False), "concurrency": 30}))
    fresh = play(whole, tmp_path / "uninterrupted")
    assert _canonical(fresh) == _canonical(stored)


def _calls_of(folder: Path) -> int:
    return sum(len(a.action.completions) for t in Run.load(folder) for a in t.acts)


def _cached(folder: Path) -> int:
    store = Store(folder)
    try:
        return len(store)
    finally:
        store.close()


def _canonical(run: Run) -> list[bytes]:
    """The canonical export without the policies' configurations, which differ in whether calls are kept."""
    rows = [json.loads(line) for line in run.canonical()]
    return [json.dumps({k: v for k, v in row.items() if k != "policies"}, sort_keys=True).encode() for row in rows]


def test_an_uninterrupted_run_and_a_continued_one_are_the_same_bytes(tmp_path: Path) -> None:
    config = {**slow(tmp_path, False), "seats": {AGENT: {"name": "agents:llm", "model": {**FAKE, "latency": 0.0}}}}
    for n in (3, 7, 10):
        play(prepare(config_from({**config, "n_tasks": n})), tmp_path / "pieces")
    play(prepare(config_from(config)), tmp_path / "whole")
    pieces, whole = (b"".join(Run.load(tmp_path / name).canonical()) for name in ("pieces", "whole"))
    assert pieces == whole
    assert Counter(json.loads(line)["sample"] for line in whole.splitlines()) == {0: 10, 1: 10, 2: 10}


def test_evaluations_are_written_whole(tmp_path: Path) -> None:
    execute(small(), tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir() if not p.name.startswith(".")) == [
        "config.json", EVALUATION, "trajectories-00000.jsonl.zst",
    ]  # fmt: skip
    assert not (tmp_path / f".{EVALUATION}").exists()
    assert isinstance(load_evaluation(tmp_path), Evaluation)
