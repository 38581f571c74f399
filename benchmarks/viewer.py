"""`sonde view` at 100,000 six-turn episodes: time per page, and memory. Goals: the first page of a fresh application in
less than a second, any episode in less than 200 ms, bounded memory.

    python benchmarks/viewer.py [--n N] [--folder FOLDER]

Writes the run of `benchmarks/store.py` with an evaluation beside it, starts the application in a process of its own,
and asks it over HTTP. A folder that holds the run already is used as it is.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote
from urllib.request import urlopen

import orjson
from store import make_trajectories

import sonde
from sonde.core import Gain
from sonde.evaluation.evaluate import make_evaluation
from sonde.evaluation.rows import Row
from sonde.evaluation.run_evaluation import EVALUATION
from sonde.runs.store import Run, RunWriter

SAMPLED = 200
"""Pages of one kind that are asked for."""


def prepare_runs(folder: Path, n: int) -> None:
    """The run, and an evaluation of it. Its gains are invented: to compute them would take an hour and cost no page."""
    env, agent = sonde.make("mastermind", max_turns=6), sonde.make("agents:random")
    config = {"env": env.config, "seats": {"agent": agent.config}, "split": "train", "seed": 0, "version": "1"}
    with RunWriter.open(folder, config) as run:
        for t in make_trajectories(n):
            run.append_trajectory(t)
    found = make_evaluation(
        env, _make_rows(folder), agent=agent.config, label="random", split="train", seed=0, k=4,
        tasks=sorted({row.task for row in _make_rows(folder)}),
    )  # fmt: skip
    (folder / EVALUATION).write_bytes(orjson.dumps(found, default=dict, option=orjson.OPT_INDENT_2))


def _make_rows(folder: Path) -> Iterator[Row]:
    for e in Run.load(folder).trajectories.index_entries():
        gains = tuple(Gain(2.0, 2.0, 1.5, 2.5) for _ in range(e.turns))
        entropy = tuple(13.3 - 2.0 * i for i in range(e.turns + 1))
        yield Row(
            task=e.task, index=e.task_index, sample=e.seed * 4 + e.sample, trajectory=e.id, kind=e.kind or "error",
            score=e.score or 0.0, turns=e.turns, tokens=e.tokens, entropy=entropy, gains=gains,
        )  # fmt: skip


def measure_pages(folder: Path) -> None:
    command = [sys.executable, "-m", "sonde", "view", str(folder), "--no-open", "--json", "--port", "0"]
    begun = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = json.loads(server.stdout.readline())["address"]
            print(f"{'application answers after':34}{1e3 * (time.perf_counter() - begun):10.0f} ms")
            ask_page(address, folder, server.pid)
        finally:
            server.terminate()


def ask_page(address: str, folder: Path, pid: int) -> None:
    ids = [e.id for e in Run.load(folder).trajectories.index_entries()]
    rng, name = random.Random(0), quote(folder.name)
    some = rng.sample(ids, min(SAMPLED, len(ids)))
    pages = max(1, len(ids) // 50)

    def fetch_page(path: str) -> None:
        with urlopen(address + path) as answer:
            assert answer.read()

    def read_page(what: str, n: int, path: Callable[[int], str]) -> None:
        times: list[float] = []
        used = _cpu_seconds(pid)
        for i in range(n):
            begun = time.perf_counter()
            fetch_page(path(i))
            times.append(1e3 * (time.perf_counter() - begun))
        times.sort()
        cpu = f"{1e3 * (_cpu_seconds(pid) - used) / n:6.0f} ms CPU"
        print(
            f"{what:34}{times[len(times) // 2]:10.0f} ms   worst {times[-1]:6.0f} ms   {cpu}   {_memory_used(pid)}",
            flush=True,
        )

    read_page("first page, just begun", 1, lambda i: "")
    read_page("first page again", 20, lambda i: "")
    read_page("the run, just opened", 1, lambda i: f"run/{name}")
    read_page("the run again", 20, lambda i: f"run/{name}")
    read_page("any page of its list", 20, lambda i: f"run/{name}?page={rng.randrange(pages)}&sort=-turns")
    read_page("an episode", len(some), lambda i: f"episode/{name}/{some[i]}")
    read_page("its board and posterior", len(some), lambda i: f"replay/{name}/{some[i]}")
    read_page("is there news", 50, lambda i: f"state/run/{name}")
    read_page("a stretch of search", 5, lambda i: f"search/{name}?text=nowhere&from={i * len(ids) // 5}")


def _cpu_seconds(pid: int) -> float:
    """CPU seconds of a process, which on a shared machine say more than the wall clock."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory_used(pid: int) -> str:
    status = Path(f"/proc/{pid}/status").read_text()
    return ", ".join(
        f"{int(status.split(f'{f}:')[1].split()[0]) / 1024:.0f} MB {w}"
        for f, w in (("VmRSS", "now"), ("VmHWM", "peak"))
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--folder", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary) / "run"
        if not (folder / EVALUATION).is_file():
            prepare_runs(folder, args.n)
        print(f"{len(Run.load(folder)):,} episodes")
        measure_pages(folder)


if __name__ == "__main__":
    main()
