"""What the largest dataset costs: time per game on one core, bytes on disk, and memory that grows with the games.

    python benchmarks/datasets.py [games]

Games of wordle as in `sonde dataset lmrl wordle`, a fifth of them first and then the rest; the difference in memory is
what every further game keeps (its key, so that it is never played again).
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

from sonde import datasets


def main(games: int) -> None:
    """Play and print."""
    with tempfile.TemporaryDirectory() as name:
        folder, peaks = Path(name), list[int]()
        for n in (games // 5, games):
            begun = time.process_time()
            run = datasets.fill(datasets.parts(datasets.dataset("wordle"), n=n)[0], folder, processes=1)
            seconds = time.process_time() - begun
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        size = sum(path.stat().st_size for path in folder.iterdir())
        played = games - games // 5
        print(f"{1000 * seconds / played:.2f} ms and {size / len(run):.0f} bytes per game")
        print(f"peak {peaks[-1] / 1024:.0f} MB, {1024 * (peaks[1] - peaks[0]) / played:.0f} bytes per further game")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
