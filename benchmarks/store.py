"""The run store at 100,000 six-turn trajectories: time, size on disk and peak memory of every way to use it.

    python benchmarks/store.py [--n 100000] [--folder FOLDER]

Trajectories are episodes of Mastermind as a small model would play them: 30 to 90 sampled tokens per turn with their
log-probabilities, ids drawn from a Zipf distribution over 49,152, some 60 new prompt ids per turn. Each stage runs in
a process of its own; `peak` is the most memory it ever held (VmHWM: heap and mapped pages together), and `us` its CPU
time per trajectory. The budget is 500 MB for writing and for scanning. Beside them the wall clock: how long opening the
run takes, one append, and the reading of one trajectory among all (the median and the worst of a hundred).
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

import sonde
from sonde.core import Action, Completion, Episode, Trajectory, Usage, derive
from sonde.runs.store import Run, RunWriter, TrajectoryDataset
from sonde.runs.store.export import export_parquet
from sonde.runs.store.index import NAME

VOCABULARY = 49_152
WORDS = [a + b + c for a in ("ba", "co", "de", "fu", "li") for b in ("ran", "sto", "ple") for c in ("", "s", "ing")]
HEAD = ("stage", "records", "wall s", "CPU s", "us", "peak MB", "disk MB")
BUDGET_MB = 500
PLAYED = 2000


def _make_ids(rng: np.random.Generator, n: int) -> array[int]:
    return array("i", np.minimum(rng.zipf(1.2, n), VOCABULARY - 1).astype(np.int32).tobytes())


def _make_action(rng: np.random.Generator, words: random.Random, turn: int) -> Action:
    ids = _make_ids(rng, int(rng.integers(30, 90)))
    logprobs = array("f", (-rng.exponential(0.7, len(ids))).astype(np.float32).tobytes())
    thought, guess = " ".join(words.choices(WORDS, k=len(ids) - 12)), " ".join(f"{words.randrange(10_000):04}")
    text = f"<Think> {thought} </Think> <Answer> {guess} </Answer>"
    usage = Usage(280 + 120 * turn, len(ids), 120 * turn)
    completion = Completion(
        text=text, ids=ids, logprobs=logprobs, prompt_ids=_make_ids(rng, 45 if turn else 260), shared=120 * turn,
        model="HuggingFaceTB/SmolLM2-135M-Instruct", weights="main", usage=usage,
    )  # fmt: skip
    return Action(text, completions=(completion,))


def make_trajectories(n: int) -> Iterator[Trajectory]:
    """`n` trajectories of six turns, groups of four per task. 2,000 are played; the rest are these in other worlds, so
    far apart that no frame holds the same twice."""
    env = sonde.make("mastermind", max_turns=6)
    tasks, played = env.tasks("train"), list[Trajectory]()
    for i in range(n):
        if i >= PLAYED:
            world, j = divmod(i, PLAYED)
            yield replace(played[j], seed=world, id=f"{i:020x}")
            continue
        rng, words = np.random.Generator(np.random.PCG64(derive(0, "bench", i))), random.Random(i)
        ep = Episode.begin(env, tasks[i // 4], sample=i % 4)
        while ep.outcome is None:
            ep = ep.step(_make_action(rng, words, len(ep.turns)))
        played.append(ep.to_trajectory())
        yield played[-1]


def generate(folder: Path, n: int) -> int:
    """The trajectories alone, to be subtracted from `write`."""
    return sum(1 for _ in make_trajectories(n))


def write(folder: Path, n: int) -> int:
    with RunWriter.open(folder, {"benchmark": "store", "n": n}) as run:
        for t in make_trajectories(n):
            run.append_trajectory(t)
    return n


def resume(folder: Path, n: int) -> int:
    with RunWriter.open(folder, {"benchmark": "store", "n": n}) as run:
        return len(run.finished_keys)


def rebuild(folder: Path, n: int) -> int:
    """Opening without the index."""
    (folder / NAME).unlink()
    return len(TrajectoryDataset(folder))


def append(folder: Path, n: int) -> int:
    """2,000 trajectories more, played before."""
    more = [replace(t, sample=t.sample + 4) for t in make_trajectories(2000)]
    begun = time.perf_counter()
    with RunWriter.open(folder, {"benchmark": "store", "n": n}) as run:
        opened = time.perf_counter()
        for t in more:
            run.append_trajectory(t)
        appended = time.perf_counter()
    closed, each = time.perf_counter() - appended, (appended - opened) / 2000
    print(f"append: opening {1e3 * (opened - begun):.0f} ms, {1e6 * each:.0f} us each, closing {1e3 * closed:.0f} ms",
          file=sys.stderr)  # fmt: skip
    return 2000


def scan(folder: Path, n: int) -> int:
    return sum(1 for t in TrajectoryDataset(folder) if len(t.turns) <= 6)


def access(folder: Path, n: int) -> int:
    """2,000 trajectories at random; `us` is per trajectory read, opening included."""
    dataset, rng = TrajectoryDataset(folder), random.Random(0)
    return sum(1 for _ in range(2000) if dataset[rng.randrange(n)].id)


def entries(folder: Path, n: int) -> int:
    return sum(1 for entry in TrajectoryDataset(folder).index_entries() if entry.turns)


def best(folder: Path, n: int) -> int:
    """The best fifty of those that took more than four turns."""
    found = TrajectoryDataset(folder).select_where("turns > ?", 4, order="score DESC, turns, task, seed, sample")
    return sum(1 for t in found[:50] if t.id)


def single(folder: Path, n: int) -> int:
    """One trajectory at a time, as a person looks at them: the wall clock of each."""
    begun = time.perf_counter()
    dataset, rng = TrajectoryDataset(folder), random.Random(1)
    opened, times = time.perf_counter() - begun, list[float]()
    for _ in range(100):
        begun, i = time.perf_counter(), rng.randrange(len(dataset))
        assert dataset[i].id
        times.append(time.perf_counter() - begun)
    times.sort()
    print(f"single: opening {1e3 * opened:.0f} ms; one of {len(dataset):,} in {1e3 * times[50]:.2f} ms "
          f"(median; worst {1e3 * times[-1]:.2f} ms)", file=sys.stderr)  # fmt: skip
    return 100


def canonical(folder: Path, n: int) -> int:
    return sum(1 for _ in Run.load(folder).canonical_lines())


def exporting(folder: Path, n: int) -> int:
    target = folder.with_name(f"{folder.name}-tables")
    export_parquet(folder, target)
    shutil.rmtree(target)
    return n


STAGES: dict[str, Callable[[Path, int], int]] = {
    f.__name__: f
    for f in (
        generate, write, resume, single, access, scan, entries, best, canonical, rebuild, append, exporting,
    )
}  # fmt: skip


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
        print_report(args.folder or Path(temporary) / "run", args.n)


def print_report(folder: Path, n: int) -> None:
    print(f"{n:,} trajectories of six turns", "".join(f"{word:>11}" for word in HEAD), sep="\n")
    for name in STAGES:
        command = [sys.executable, __file__, "--stage", name, "--folder", str(folder), "--n", str(n)]
        out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        done, wall, cpu, peak = map(float, out.split())
        disk = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) / 2**20
        cells = (f"{x:11.1f}" for x in (wall, cpu, 1e6 * cpu / done, peak, disk))
        over = "" if peak <= BUDGET_MB else f"   more than {BUDGET_MB} MB"
        print(f"{name:>11}{done:11,.0f}", *cells, over, sep="", flush=True)


if __name__ == "__main__":
    main()
