"""`make demo`: a real language model plays every environment, between a floor and a ceiling, and a report says how.

SmolLM2-135M is far too small to play well; it is here because it runs on any laptop in minutes. Everything around it is
what a large model would meet: the same environments, batching, records, evaluation and report.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from sonde.cli import tables
from sonde.cli.progress import progress
from sonde.core import AGENT, Env, make
from sonde.core.types import Json
from sonde.evaluate import Evaluation
from sonde.models.fetch import fetch
from sonde.run import RunConfig, execute, prepare
from sonde.viewer import write_report

ENVIRONMENTS = ("wordle", "mastermind", "battleship", "minesweeper", "best_arm", "cellular_automata")
TASKS = 8
REPLY_TOKENS = {"cellular_automata": 192}
"""Eight rules take some 140 tokens; every other answer is a word or a cell."""
SHORT_REPLY = 24

out = Console()


def main(folder: Path = Path("runs/demo")) -> None:
    """Play, print the table, write the report; a second call continues where the first stopped."""
    begun = time.perf_counter()
    with _stage("1/4 weights"):
        fetch("smollm2", progress=lambda stage, _: out.print(f"    {stage}", highlight=False))
    done: list[Evaluation] = []
    folders: list[Path] = []
    with _stage("2/4 random play and the reference solvers"):
        for name in ENVIRONMENTS:
            env: Env[Any] = make(name)
            for agent in (env.spec.floor, env.spec.reference):
                _play(name, {"name": f"agents:{agent}"}, folder, done, folders)
    with _stage("3/4 SmolLM2-135M"):
        for name in ENVIRONMENTS:
            _play(name, small_model(name), folder, done, folders)
    with _stage("4/4 report"):
        page = write_report(folders, folder / "report.html")
    order = {name: i for i, name in enumerate(ENVIRONMENTS)}
    out.print(tables.evaluations(sorted(done, key=lambda e: order[e.env_name])))
    out.print(f"whole demo: {time.perf_counter() - begun:.0f} s; report: {page}", highlight=False)


def small_model(env: str) -> dict[str, Json]:
    """The policy of a very small model: two example games, answers without thinking."""
    model = {"name": "models:hf", "model": "smollm2", "dtype": "bfloat16", "threads": os.cpu_count() or 1}
    tokens = REPLY_TOKENS.get(env, SHORT_REPLY)
    policy: dict[str, Json] = {"name": "agents:llm", "examples": 2, "answer_only": True}
    return {**policy, "model": model, "max_new_tokens": tokens}


def _play(env: str, policy: dict[str, Json], folder: Path, done: list[Evaluation], folders: list[Path]) -> None:
    label = "SmolLM2-135M" if "model" in policy else ""
    config = RunConfig(env={"name": env}, seats={AGENT: policy}, n_tasks=TASKS, k=1, label=label)
    run = prepare(config)
    with progress(f"    {env} {run.label}", TASKS) as on_done:
        done.append(execute(run, folder / run.folder_name, on_done=on_done))
    folders.append(folder / run.folder_name)


@contextmanager
def _stage(title: str) -> Iterator[None]:
    out.print(f"[bold]{title}[/bold]")
    begun = time.perf_counter()
    yield
    out.print(f"    {time.perf_counter() - begun:.1f} s", highlight=False)


if __name__ == "__main__":
    main()
