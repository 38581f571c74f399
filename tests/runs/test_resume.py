"""What is left after `kill -9` of a real process, and that the next one continues it as if nothing had happened."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sonde.core import AGENT, Rng
from sonde.models.cached import CompletionStore
from sonde.runs.run import config_from, play_run, prepare_run
from sonde.runs.store import Run, RunWriter

MASTERMIND = {"name": "mastermind", "length": 3, "digits": 5, "max_turns": 8}
DIGIT = "{0|1|2|3|4}"
FAKE = {"name": "models:fake", "pattern": [f"<Answer>{DIGIT * 3}</Answer>"], "latency": 0.05}


def slow(folder: Path, cached: bool) -> dict[str, Any]:
    model = {"name": "models:cached", "path": str(folder / "cache"), "model": FAKE} if cached else FAKE
    agent = {"name": "agents:llm", "model": model}
    return {
        "env": MASTERMIND, "seats": {AGENT: agent}, "split": "train", "n_tasks": 10, "k": 3, "concurrency": 5,
        "gains": False,
    }  # fmt: skip


def start(config: Path, folder: Path, env: str = "mastermind") -> subprocess.Popen[bytes]:
    code = "from sonde.cli import main; main()"
    args = [sys.executable, "-c", code, "rollout", env, str(folder), "--config", str(config)]
    return subprocess.Popen(args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def list_held(folder: Path) -> dict[tuple[Any, ...], str]:
    """Finished episodes: what was said in each, by task and sample."""
    if not (folder / "config.json").exists():
        return {}
    return {(t.task.id, t.sample): t.id for t in Run.load(folder)}


def kill_at(process: subprocess.Popen[bytes], folder: Path, episodes: int) -> None:
    """Kill it when that many episodes are on disk."""
    deadline = time.monotonic() + 60
    while process.poll() is None and len(list_held(folder)) < episodes and time.monotonic() < deadline:
        time.sleep(0.01)
    assert process.poll() is None, f"it ended before it could be killed, with {len(list_held(folder))} episodes"
    process.kill()
    assert process.wait() == -signal.SIGKILL


@pytest.mark.thorough
@pytest.mark.filterwarnings(
    "ignore::sonde.runs.store.StoreWarning"
)  # a flush that the kill cut is cut off, with a warning
@pytest.mark.parametrize("cached", [False, True], ids=["plain", "cached"])
def test_after_kill_9_nothing_finished_is_played_again(cached: bool, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps(slow(tmp_path, cached)))
    folder, seen = tmp_path / "run", {}
    for target in (1, 12):
        kill_at(start(tmp_path / "run.json", folder), folder, target)
        now = list_held(folder)
        assert len(now) >= target
        assert seen.items() <= now.items()
        seen = now
    assert len(seen) < 30, "there is something left to continue"

    run = prepare_run(config_from(slow(tmp_path, cached)))
    before = _calls_of(folder), _count_cached(tmp_path / "cache") if cached else 0
    played: list[Any] = []
    stored = play_run(run, folder, on_done=played.append)
    assert {(t.task.id, t.sample) for t in played}.isdisjoint(seen)
    assert len(played) + len(seen) == len(stored) == 30
    assert stored.trajectories.superseded_count == 0
    assert seen.items() <= list_held(folder).items()
    stats = run.policies[AGENT].model.stats  # type: ignore[union-attr]
    if cached:
        # Calls of unfinished episodes come from the cache, each once; only those never made reach the model.
        assert stats.hits == before[1] - before[0] > 0
    assert stats.hits + stats.calls == _calls_of(folder) - before[0]

    whole = prepare_run(config_from({**slow(tmp_path, False), "concurrency": 30}))
    fresh = play_run(whole, tmp_path / "uninterrupted")
    assert _canonical(fresh) == _canonical(stored)


COMPOSED = ["Hypothesis: {010|101}\nBeliefs: about {0|1}\nNote: {0|1}\nAction: {0|1}"]


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::sonde.runs.store.StoreWarning")
def test_agents_made_of_several_calls_are_continued_after_kill_9(tmp_path: Path) -> None:
    model = {"name": "models:fake", "pattern": COMPOSED, "latency": 0.02}
    config = {
        **slow(tmp_path, False),
        "env": {"name": "combination_lock", "sub_episodes": 3},
        "seats": {AGENT: {"name": "agents:llm_psrl", "model": model}},
    }
    (tmp_path / "run.json").write_text(json.dumps(config))
    kill_at(start(tmp_path / "run.json", tmp_path / "run", "combination_lock"), tmp_path / "run", 7)
    seen = list_held(tmp_path / "run")
    assert 7 <= len(seen) < 30
    run, played = prepare_run(config_from(config)), list[Any]()
    stored = play_run(run, tmp_path / "run", on_done=played.append)
    assert len(played) == 30 - len(seen) and seen.items() <= list_held(tmp_path / "run").items()
    whole = play_run(prepare_run(config_from({**config, "concurrency": 30})), tmp_path / "uninterrupted")
    assert _canonical(whole) == _canonical(stored)


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::sonde.runs.store.StoreWarning")
def test_processes_that_share_a_run_are_continued_after_kill_9(tmp_path: Path) -> None:
    folder, config = tmp_path / "run", slow(tmp_path, False)
    shares = [{**config, "share": [i, 2]} for i in range(2)]
    for i, share in enumerate(shares):
        (tmp_path / f"{i}.json").write_text(json.dumps(share))
    one, two = (start(tmp_path / f"{i}.json", folder) for i in range(2))
    kill_at(one, folder, 4)
    assert two.wait(60) == 0
    seen = list_held(folder)
    assert 15 <= len(seen) < 30
    with RunWriter.open(folder, Run.load(folder).config, writer=0):
        assert start(tmp_path / "0.json", folder).wait(60) == 2, "nobody else plays this share at the same time"
    assert start(tmp_path / "0.json", folder).wait(60) == 0
    assert seen.items() <= list_held(folder).items() and len(list_held(folder)) == 30
    whole = play_run(prepare_run(config_from({**config, "concurrency": 30})), tmp_path / "uninterrupted")
    assert _canonical(whole) == _canonical(Run.load(folder))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sonde.runs.store.StoreWarning")
def test_kills_at_random_moments_lose_nothing_finished(tmp_path: Path) -> None:
    config = {**slow(tmp_path, True), "n_tasks": 20, "k": 4}
    (tmp_path / "run.json").write_text(json.dumps(config))
    folder, seen, rng = tmp_path / "run", {}, Rng(0, "test", "kill")
    for _ in range(12):
        process = start(tmp_path / "run.json", folder)
        time.sleep(0.2 + 1.5 * rng.random())
        process.kill()
        process.wait()
        now = list_held(folder)
        assert seen.items() <= now.items()
        seen = now
    stored = play_run(prepare_run(config_from(config)), folder)
    assert (len(stored), stored.trajectories.superseded_count) == (80, 0)
    fresh = play_run(prepare_run(config_from({**config, "seats": slow(tmp_path, False)["seats"]})), tmp_path / "whole")
    assert _canonical(fresh) == _canonical(stored)


def _calls_of(folder: Path) -> int:
    return sum(len(a.action.completions) for t in Run.load(folder) for a in t.acts)


def _count_cached(folder: Path) -> int:
    store = CompletionStore(folder)
    try:
        return len(store)
    finally:
        store.close()


def _canonical(run: Run) -> list[bytes]:
    """The canonical export without the policies' configurations, which differ in whether calls are kept."""
    rows = [json.loads(line) for line in run.canonical_lines()]
    return [json.dumps({k: v for k, v in row.items() if k != "policies"}, sort_keys=True).encode() for row in rows]


def test_an_uninterrupted_run_and_a_continued_one_are_the_same_bytes(tmp_path: Path) -> None:
    config = {**slow(tmp_path, False), "seats": {AGENT: {"name": "agents:llm", "model": {**FAKE, "latency": 0.0}}}}
    for n in (3, 7, 10):
        play_run(prepare_run(config_from({**config, "n_tasks": n})), tmp_path / "pieces")
    play_run(prepare_run(config_from(config)), tmp_path / "whole")
    pieces, whole = (b"".join(Run.load(tmp_path / name).canonical_lines()) for name in ("pieces", "whole"))
    assert pieces == whole
    assert Counter(json.loads(line)["sample"] for line in whole.splitlines()) == {0: 10, 1: 10, 2: 10}
