"""`make demo`: a real language model plays, between a floor and a ceiling; a tiny one learns; and a report says how.

SmolLM2-135M is far too small to play well; it is here because it runs on any laptop in minutes. Everything around it is
what a large model would meet: the same environments, batching, records, evaluation and report. The model that learns,
sonde-tiny-maze, comes with sonde: it walks mazes like a novice, trains on its own play, and is tested on ways through
the mazes that it has never walked.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sonde.cli import tables
from sonde.cli.progress import stages
from sonde.cli.terminal import out
from sonde.core import AGENT, Env, make
from sonde.core.types import Json
from sonde.evaluate import Evaluation, compare
from sonde.models.fetch import fetch
from sonde.run import RunConfig, execute, load_evaluation, prepare
from sonde.train.gather import Game
from sonde.train.learn import learn_online
from sonde.train.presets import preset
from sonde.viewer import write_report

MODEL = "model"
"""Where a training leaves its model."""
ENVIRONMENTS = (
    "wordle", "mastermind", "battleship", "minesweeper", "best_arm", "cellular_automata", "twenty_questions",
    "guess_my_city",
)  # fmt: skip
"""The last two are conversations: a rule user answers."""
LONGEST_FIRST = (
    "guess_my_city", "battleship", "cellular_automata", "twenty_questions", "minesweeper", "best_arm", "wordle",
    "mastermind",
)  # fmt: skip
TASKS = 8
EXAMPLES = {"wordle": 2, "mastermind": 2}
"""Example games; one where a game is long, because every token of it is attended to at every step."""
REPLY_TOKENS = {"cellular_automata": 192}
"""Eight rules take some 140 tokens; every other answer is a word or a cell."""
SHORT_REPLY = 24
LEARNER = "sonde-tiny-maze"
STEPS = 20
"""Optimizer steps of 64 episodes."""
TESTS = 200
TEMPERATURES = (1.0, 0.0)
"""A model may gain at 1 by saying more often what it would have said at 0 anyway; what it learned shows at 0 too."""


def main(folder: Path = Path("runs/demo")) -> None:
    """Play, print the table, write the report; a second call finds everything played and is done in seconds."""
    begun = time.perf_counter()
    with _stage("1/5 weights of SmolLM2-135M"):
        fetch("smollm2", progress=stages(out, "    "))
    folders: list[Path] = []
    with _stage("2/5 random play and the reference solvers"):
        for name in ENVIRONMENTS:
            spec = _environment(name).spec
            folders += [play(name, {"name": f"agents:{agent}"}, folder) for agent in (spec.floor, spec.reference)]
    with _stage("3/5 SmolLM2-135M"):
        folders += _play_in_parallel(folder)
    with _stage("4/5 sonde-tiny-maze learns from its own play"):
        tests, trained = learn(folder)
    with _stage("5/5 report"):
        page = write_report([*folders, *tests], folder / "report.html", training=[trained])
    order = {name: i for i, name in enumerate(ENVIRONMENTS)}
    out.print(tables.evaluations(sorted(map(load_evaluation, folders), key=lambda e: order[e.env_name])))
    out.print(_learned(tests), highlight=False, soft_wrap=True)
    out.print(f"whole demo: {time.perf_counter() - begun:.0f} s; report: {page}", highlight=False)


def small_model(env: str) -> dict[str, Json]:
    """The policy of a very small model: example games in front, answers without thinking."""
    model = {"name": "models:hf", "model": "smollm2", "dtype": "bfloat16", "threads": 1}
    policy: dict[str, Json] = {"name": "agents:llm", "model": model, "answer_only": True}
    return {**policy, "examples": EXAMPLES.get(env, 1), "max_new_tokens": REPLY_TOKENS.get(env, SHORT_REPLY)}


def play(env: str, policy: dict[str, Json], folder: Path) -> Path:
    """One run of the demo; its folder."""
    label = "SmolLM2-135M" if "model" in policy else ""
    run = prepare(RunConfig(env={"name": env}, seats={AGENT: policy}, n_tasks=TASKS, k=1, label=label))
    begun = time.perf_counter()
    done = execute(run, folder / run.folder_name)
    out.print(f"    {env}, {run.label}: {_ends(done)} ({time.perf_counter() - begun:.1f} s)", highlight=False)
    return folder / run.folder_name


def learn(folder: Path) -> tuple[list[Path], Path]:
    """Test, train by GRPO, test again: the run folders of the tests, and that of the training."""
    env, trained = make("maze", preset="pairs"), folder / "maze-grpo"
    tests = [_test(folder, LEARNER, "base", t) for t in TEMPERATURES]
    if not (trained / MODEL).is_dir():
        training = preset("tiny_grpo", folder=str(trained), max_steps=STEPS)
        learn_online(LEARNER, training, [Game(env, env.tasks("train"), "maze")], resume=True)
    tests += [_test(folder, str(trained / MODEL), "after GRPO", t) for t in TEMPERATURES]
    return tests, trained


def _learned(tests: list[Path]) -> str:
    """What training changed, a line per temperature."""
    n, found = len(TEMPERATURES), [load_evaluation(test) for test in tests]
    lines = [f"{LEARNER} learned from its own play; held-out walks won before and after, and the difference by task:"]
    for temperature, before, after in zip(TEMPERATURES, found[:n], found[n:], strict=True):
        won = [f"{100 * m.mean:.0f} %" for e in (before, after) if (m := e.metrics["success"])]
        lines.append(f"    temperature {temperature:g}: {', '.join(won)}; {compare(after, before).success}")
    return "\n".join(lines)


def _test(folder: Path, model: str, label: str, temperature: float) -> Path:
    """The learner on held-out tasks: drawing from all that it would say, twice, or saying what is likeliest."""
    backend = {"name": "models:hf", "model": model, "threads": 1, "max_batch": 256}
    policy = {"name": "agents:llm", "model": backend, "temperature": temperature, "min_p": 0.0, "max_new_tokens": 8}
    env, k = {"name": "maze", "preset": "pairs"}, 2 if temperature else 1
    named = f"{label}, temperature {temperature:g}"
    run = prepare(RunConfig(env=env, seats={AGENT: policy}, n_tasks=TESTS, k=k, label=named))
    execute(run, folder / run.folder_name)
    return folder / run.folder_name


def _play_in_parallel(folder: Path) -> list[Path]:
    """The model on every environment: one process and one thread per core beats threads that wait for each other."""
    workers = min(4, os.cpu_count() or 1)
    with (
        out.status(f"{workers} at a time"),
        ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool,
    ):
        waiting = [pool.submit(play, env, small_model(env), folder) for env in LONGEST_FIRST]
        return [future.result() for future in as_completed(waiting)]


def _environment(name: str) -> Env[Any]:
    return make(name)


def _ends(done: Evaluation) -> str:
    return ", ".join(f"{n} {kind}" for kind, n in done.kinds.items() if n)


@contextmanager
def _stage(title: str) -> Iterator[None]:
    out.print(title, style="bold")
    begun = time.perf_counter()
    yield
    out.print(f"    stage: {time.perf_counter() - begun:.1f} s", highlight=False)


if __name__ == "__main__":
    main()
