"""The run store at 100,000 six-turn trajectories: time, size on disk and peak memory of every way to use it.

    python benchmarks/store.py [--n 100000] [--folder FOLDER]

Trajectories are episodes of Mastermind as a small model would play them: 30 to 90 sampled tokens per turn with their
log-probabilities, ids drawn from a Zipf distribution over 49,152, some 60 new prompt ids per turn. Each stage runs in
a process of its own; `peak` is the most memory it ever held (VmHWM: heap and mapped pages together), and `us` its CPU
time per trajectory. The budget is 500 MB for writing and for scanning.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import sonde
from sonde.core import Action, Completion, Episode, Trajectory, Usage, derive
from sonde.store import Run, RunWriter, TrajectoryDataset, compact

VOCABULARY = 49_152
WORDS = [a + b + c for a in ("ba", "co", "de", "fu", "li") for b in ("ran", "sto", "ple") for c in ("", "s", "ing")]
HEAD = ("stage", "records", "wall s", "CPU s", "us", "peak MB", "disk MB")
BUDGET_MB = 500


def _ids(rng: np.random.Generator, n: int) -> array[int]:
    return array("i", np.minimum(rng.zipf(1.2, n), VOCABULARY - 1).astype(np.int32).tobytes())


def _action(rng: np.random.Generator, words: random.Random, turn: int) -> Action:
    ids = _ids(rng, int(rng.integers(30, 90)))
    logprobs = array("f", (-rng.exponential(0.7, len(ids))).astype(np.float32).tobytes())
    thought, guess = " ".join(words.choices(WORDS, k=len(ids) - 12)), " ".join(f"{words.randrange(10_000):04}")
    text = f"<Think> {thought} </Think> <Answer> {guess} </Answer>"
    usage = Usage(280 + 120 * turn, len(ids), 120 * turn)
    completion = Completion(
        text=text, ids=ids, logprobs=logprobs, prompt_ids=_ids(rng, 45 if turn else 260), shared=120 * turn,
        model="HuggingFaceTB/SmolLM2-135M-Instruct", weights="main", usage=usage,
    )  # fmt: skip
    return Action(text, completions=(completion,))


def trajectories(n: int) -> Iterator[Trajectory]:
    """`n` trajectories of six turns, groups of four per task."""
    env = sonde.make("mastermind", max_turns=6)
    tasks = env.tasks("train")
    for i in range(n):
        rng, words = np.random.Generator(np.random.PCG64(derive(0, "bench", i))), random.Random(i)
        ep = Episode.begin(env, tasks[i // 4 % len(tasks)], seed=i // (4 * len(tasks)), sample=i % 4)
        while ep.outcome is None:
            ep = ep.step(_action(rng, words, len(ep.turns)))
        yield ep.trajectory()


def generate(folder: Path, n: int) -> int:
    """The trajectories alone, to be subtracted from `write`."""
    return sum(1 for _ in trajectories(n))


def write(folder: Path, n: int) -> int:
    with RunWriter.open(folder, {"benchmark": "store", "n": n}) as run:
        for t in trajectories(n):
            run.append(t)
    return n


def resume(folder: Path, n: int) -> int:
    with RunWriter.open(folder, {"benchmark": "store", "n": n}) as run:
        return len(run.finished)


def scan(folder: Path, n: int) -> int:
    return sum(1 for t in TrajectoryDataset(folder) if len(t.turns) <= 6)


def access(folder: Path, n: int) -> int:
    """2,000 trajectories at random; `us` is per trajectory read, opening included."""
    dataset, rng = TrajectoryDataset(folder), random.Random(0)
    return sum(1 for _ in range(2000) if dataset[rng.randrange(n)].id)


def columns(folder: Path, n: int) -> int:
    return sum(1 for row in TrajectoryDataset(folder).scan("trajectories", ["kind", "n_turns"]) if row["n_turns"])


def tokens(folder: Path, n: int) -> int:
    dataset = TrajectoryDataset(folder)
    rows = dataset.scan("acts", ["act", "completions.ids", "completions.logprobs"])
    return sum(1 for row in rows if row["act"] == 0 and len(row["completions"][0]["ids"]))


def canonical(folder: Path, n: int) -> int:
    return sum(1 for _ in Run.load(folder).canonical())


def compacting(folder: Path, n: int) -> int:
    compact(folder, delete=True)
    return n


STAGES: dict[str, Callable[[Path, int], int]] = {
    f.__name__: f for f in (generate, write, resume, scan, access, columns, tokens, canonical, compacting)
}
PLAN = [*STAGES, "resume", "scan", "access", "columns", "tokens"]


def run_stage(name: str, folder: Path, n: int) -> None:
    """One stage, in this process; prints records, wall seconds, CPU seconds and peak MB."""
    wall, cpu = time.perf_counter(), time.process_time()
    done = STAGES[name](folder, n)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    status = Path("/proc/self/status").read_text()
    peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
    print(done, wall, cpu, peak)


def main() -> None:
    parser = argparse.ArgumentParser(description="The run store at 100,000 six-turn trajectories.")
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--stage", choices=STAGES)
    args = parser.parse_args()
    if args.stage:
        run_stage(args.stage, args.folder, args.n)
        return
    with tempfile.TemporaryDirectory() as temporary:
        report(args.folder or Path(temporary), args.n)


def report(folder: Path, n: int) -> None:
    print(f"{n:,} trajectories of six turns", "".join(f"{word:>11}" for word in HEAD), sep="\n")
    for name in PLAN:
        command = [sys.executable, __file__, "--stage", name, "--folder", str(folder), "--n", str(n)]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        done, wall, cpu, peak = map(float, out.split())
        disk = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) / 2**20
        cells = (f"{x:11.1f}" for x in (wall, cpu, 1e6 * cpu / done, peak, disk))
        over = "" if peak <= BUDGET_MB else f"   more than {BUDGET_MB} MB"
        print(f"{name:>11}{done:11,.0f}", *cells, over, sep="", flush=True)


if __name__ == "__main__":
    main()
