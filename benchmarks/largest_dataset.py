"""Cost of the largest dataset: time per game on one core, bytes on disk, and how memory grows with the games.

    python benchmarks/largest_dataset.py [games]

Games of wordle as in `sonde dataset lmrl wordle`, with the peak memory after each fifth of them. At first the cache of
posteriors grows, up to 20,000 (`sonde.envs._shared.words.guessing`), which takes some 9,000 games. After that only
the run's index grows, of which at most 64 MB are in memory (`sonde.runs.store.index`).
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

from sonde import datasets
from sonde.core import Trajectory

PARTS = 5


def main(games: int) -> None:
    """Play and print."""
    peaks, played = [_peak_memory()], 0

    def report_progress(_: Trajectory) -> None:
        nonlocal played
        played += 1
        if played % (games // PARTS) == 0:
            peaks.append(_peak_memory())
            grown = PARTS * (peaks[-1] - peaks[-2]) / games
            print(
                f"{played:,} games: {peaks[-1] / 1e6:.0f} MB, {grown:.0f} bytes for each of the last fifth", flush=True
            )

    with tempfile.TemporaryDirectory() as name:
        folder, begun = Path(name), time.process_time()
        datasets.fill_part(
            datasets.make_parts(datasets.find_dataset("wordle"), n=games)[0],
            folder,
            processes=1,
            on_done=report_progress,
        )
        seconds, size = time.process_time() - begun, sum(path.stat().st_size for path in folder.iterdir())
    print(
        f"{1000 * seconds / games:.2f} ms and {size / games:.0f} bytes on disk per game; "
        f"peak {_peak_memory() / 1e6:.0f} MB"
    )


def _peak_memory() -> int:
    """Peak memory of this process in bytes."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
