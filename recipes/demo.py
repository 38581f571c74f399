"""`make demo`: compare a language model with random play and reference solvers, train a tiny model, write a report.

SmolLM2-135M is far too small to play well, but runs on any laptop in minutes. Environments, batching, records,
evaluation and report are the same as for a large model. The model that trains, sonde-tiny-habit, comes with sonde: it
tries three machines, and then mostly names the one that won least, as if its luck were due to turn. GRPO on its own
play cures this habit (with ten of ten seeds in `recipes/tiny/cure.py`; here seed 0), in other worlds than those of the
test. The same training from the command line:

    sonde train grpo --model sonde-tiny-habit --out runs/grpo -o settings.max_steps=12

`--full` (`make demo FULL=1`) plays more and longer environments and trains longer.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sonde.cli import tables
from sonde.cli.progress import stage_printer
from sonde.cli.terminal import out
from sonde.cli.training_display import training_display
from sonde.core import AGENT, make
from sonde.core.types import Json
from sonde.evaluation.evaluate import Evaluation, compare
from sonde.evaluation.run_evaluation import execute_run, load_evaluation
from sonde.models.files.fetch import fetch_model
from sonde.models.files.shipped import SHIPPED
from sonde.runs.run import RunConfig, prepare_run
from sonde.train.automatic import choose_training, find_device, hold_out_tasks, read_model_facts
from sonde.train.by_name import learn_online
from sonde.train.collect import Game
from sonde.viewer import write_report

MODEL = "model"
"""The subfolder of a training's final model."""
TRAINED = "grpo"


@dataclass(frozen=True)
class DemoSize:
    """How much is played: `tasks` of each environment. The tiny model trains for `steps`, and is tested on `tests`
    tasks."""

    environments: tuple[str, ...]
    tasks: int
    steps: int
    tests: int


SHORT = DemoSize(("wordle", "twenty_questions"), tasks=4, steps=12, tests=200)
FULL = DemoSize(
    (
        "wordle", "mastermind", "battleship", "minesweeper", "best_arm", "cellular_automata", "twenty_questions",
        "guess_my_city",
    ),
    tasks=8, steps=30, tests=500,
)  # fmt: skip
"""The last two environments are conversations with a rule-based user."""
LONGEST_FIRST = (
    "guess_my_city", "battleship", "cellular_automata", "twenty_questions", "minesweeper", "best_arm", "wordle",
    "mastermind",
)  # fmt: skip
EXAMPLES = {"wordle": 2, "mastermind": 2}
"""Number of example games; one if games are long, because every token costs attention at every step."""
REPLY_TOKENS = {"cellular_automata": 192}
"""Eight rules take some 140 tokens; all other answers are a word or a cell."""
SHORT_REPLY = 24
LEARNER = SHIPPED["sonde-tiny-habit"]
PLAYED = LEARNER.games[0]
TEMPERATURES = (1.0, 0.0)
"""At 1 a model may gain by sampling its most likely answer more often; what it has learned also shows at 0."""


def main(folder: Path, size: DemoSize) -> None:
    """Play, print the table, write the report. A second call finds all episodes and takes seconds."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch is imported; every process here has one thread
    begun, floors = time.perf_counter(), list[Path]()
    with _print_stage("1/4 random play and the reference solvers"):
        for name in size.environments:
            spec = make(name).spec
            agents = ({"name": f"agents:{agent}"} for agent in (spec.floor, spec.reference))
            floors += [_print_run(*play_demo(name, agent, folder, size.tasks)) for agent in agents]
    with _print_stage("2/4 weights of SmolLM2-135M"):
        fetch_model("smollm2", progress=stage_printer(out, "    "))
    with _print_stage(f"3/4 SmolLM2-135M plays; {LEARNER.name} learns from its own play"):
        models, tests = _in_parallel(folder, size)
    with _print_stage("4/4 report"):
        page = write_report([*floors, *models, *tests], folder / "report.html", training=[folder / TRAINED])
    order = {name: i for i, name in enumerate(size.environments)}
    found = [load_evaluation(path) for path in (*floors, *models)]
    out.print(tables.evaluation_table(sorted(found, key=lambda e: order[e.env_name])))
    out.print(_describe_training(tests), highlight=False, soft_wrap=True)
    out.print(f"whole demo: {time.perf_counter() - begun:.0f} s; report: {page}", highlight=False)


def small_model_policy(env: str) -> dict[str, Json]:
    """The policy of a very small model: example games in the prompt, answers without thinking."""
    from sonde.models.hf import native_dtype

    model = {"name": "models:hf", "model": "smollm2", "dtype": native_dtype(), "threads": 1}
    policy: dict[str, Json] = {"name": "agents:llm", "model": model, "answer_only": True}
    return {**policy, "examples": EXAMPLES.get(env, 1), "max_new_tokens": REPLY_TOKENS.get(env, SHORT_REPLY)}


def play_demo(env: str, policy: dict[str, Json], folder: Path, tasks: int) -> tuple[Path, str]:
    """Play one run of the demo; return its folder and a line about it."""
    label = "SmolLM2" if "model" in policy else ""
    return _execute_run(RunConfig(env={"name": env}, seats={AGENT: policy}, n_tasks=tasks, k=1, label=label), folder)


def train_demo(folder: Path, size: DemoSize) -> list[Path]:
    """Test, train, test again, with the curve on the screen; the run folders of the tests."""
    from sonde.train.callbacks import ProgressCallback

    trained = folder / TRAINED
    tests = [_test_learner(folder, LEARNER.name, "before", t, size.tests) for t in TEMPERATURES]
    if not (trained / MODEL).is_dir():
        with training_display("grpo", out) as display:
            train_learner(trained, size.steps, callbacks=[ProgressCallback(display.show_step, display.show_episode)])
    return tests + [_test_learner(folder, str(trained / MODEL), "after", t, size.tests) for t in TEMPERATURES]


def train_learner(
    folder: Path, steps: int, seed: int = 0, lr: float | None = None, callbacks: Sequence[Any] = ()
) -> Path:
    """GRPO with the settings that `sonde train` chooses, or at another rate; the folder of the model."""
    env = make(PLAYED.env, preset=PLAYED.preset)
    known = choose_training("grpo", read_model_facts(LEARNER.name), find_device(), [env])
    settings = replace(known.settings, folder=str(folder), max_steps=steps, seed=seed, lr=lr or known.settings.lr)
    games = hold_out_tasks([Game(env, env.tasks("train"), env.name)], known.online.eval_split)
    return learn_online(LEARNER.name, replace(known, settings=settings), games, resume=True, callbacks=callbacks).model


def _describe_training(tests: list[Path]) -> str:
    """Success before and after training, a line per temperature."""
    n, found = len(TEMPERATURES), [load_evaluation(test) for test in tests]
    lines = [f"{LEARNER.name} learned from its own play; test games won before and after, and the difference by task:"]
    for temperature, before, after in zip(TEMPERATURES, found[:n], found[n:], strict=True):
        won = [f"{100 * m.mean:.0f} %" for e in (before, after) if (m := e.metrics["success"])]
        lines.append(f"    temperature {temperature:g}: {', '.join(won)}; {compare(after, before).success}")
    return "\n".join(lines)


def _test_learner(folder: Path, model: str, label: str, temperature: float, n: int) -> Path:
    """Test the model that trains, at temperature 1 (no truncation) or 0."""
    backend = {"name": "models:hf", "model": model, "threads": 1, "max_batch": 256}
    policy = {
        "name": "agents:llm", "model": backend, "context": PLAYED.context, "temperature": temperature, "min_p": 0.0,
        "max_new_tokens": LEARNER.max_new_tokens,
    }  # fmt: skip
    env, named = {"name": PLAYED.env, "preset": PLAYED.preset}, f"{label}, temperature {temperature:g}"
    config = RunConfig(env=env, seats={AGENT: policy}, n_tasks=n, k=1, label=named)
    return _print_run(*_execute_run(config, folder))


def _execute_run(config: RunConfig, folder: Path) -> tuple[Path, str]:
    run, begun = prepare_run(config), time.perf_counter()
    done = execute_run(run, folder / run.folder_name)
    seconds = time.perf_counter() - begun
    return folder / run.folder_name, f"    {run.env.name}, {run.label}: {_describe_ends(done)} ({seconds:.1f} s)"


def _print_run(path: Path, line: str) -> Path:
    out.print(line, highlight=False)
    return path


def _in_parallel(folder: Path, size: DemoSize) -> tuple[list[Path], list[Path]]:
    """Let SmolLM2 play in other processes, one thread each, which is faster than threads that wait for each other,
    while the tiny model trains in this process, which has the screen."""
    workers = max(1, min(3, (os.cpu_count() or 1) - 1))
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        names = (env for env in LONGEST_FIRST if env in size.environments)
        playing = [pool.submit(play_demo, env, small_model_policy(env), folder, size.tasks) for env in names]
        tests = train_demo(folder, size)
        with out.status("SmolLM2 plays"):
            return [_print_run(*future.result()) for future in playing], tests


def _describe_ends(done: Evaluation) -> str:
    return ", ".join(f"{n} {kind}" for kind, n in done.kinds.items() if n)


@contextmanager
def _print_stage(title: str) -> Iterator[None]:
    out.print(title, style="bold")
    begun = time.perf_counter()
    yield
    out.print(f"    stage: {time.perf_counter() - begun:.1f} s", highlight=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="eight environments, longer learning")
    parser.add_argument("--out", type=Path, help="folder (default runs/demo, runs/demo-full)")
    asked = parser.parse_args()
    main(asked.out or Path("runs/demo-full" if asked.full else "runs/demo"), FULL if asked.full else SHORT)
