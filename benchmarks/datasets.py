"""What the largest dataset costs: time per game on one core, bytes on disk, and memory that grows with the games.

    python benchmarks/datasets.py [games]

Games of wordle as in `sonde dataset lmrl wordle`, in five equal parts, each continuing the one before: after each the
peak of memory so far. What grows is of two kinds. Posteriors are kept, since games share histories, 20,000 of them
(`sonde.rules.guessing`): all are there after some 9,000 games. What every further game adds is of the run's index, which
is in memory up to 64 MB (`sonde.store.index`).
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

from sonde import datasets

PARTS = 5


def main(games: int) -> None:
    """Play and print."""
    with tempfile.TemporaryDirectory() as name:
        folder, peaks, begun = Path(name), list[float](), time.process_time()
        for part in range(1, PARTS + 1):
            n = games * part // PARTS
            run = datasets.fill(datasets.parts(datasets.dataset("wordle"), n=n)[0], folder, processes=1)
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
            print(f"{n} games: {peaks[-1] / 1e6:.0f} MB at the peak", flush=True)
        seconds, size = time.process_time() - begun, sum(path.stat().st_size for path in folder.iterdir())
        print(f"{1000 * seconds / len(run):.2f} ms and {size / len(run):.0f} bytes per game")
        print(f"{PARTS * (peaks[-1] - peaks[-2]) / games:.0f} bytes of memory per game of the last part")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
