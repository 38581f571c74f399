"""CPU microseconds of a step in games that other libraries have too, ours and theirs, where they are installed.

    pip install textarena gem-llm
    python benchmarks/peers.py [--json]

Ours is `env.step` in the middle of an episode, from value to value, every rule and text included. Theirs change an
object, so it is set up anew for every two steps, outside the measured time. TextArena (0.7.4) is measured
without its wrappers, GEM (0.1.0) as it comes. The best of several rounds. A game whose data is not available (their
Wordle downloads a list of words) is n/a, with the reason below the table.
"""

# Types are checked without these libraries too.
# pyright: reportMissingImports=false

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

from core import best_time, typical_episode

import sonde

Step = Callable[[], Any]
Begin = Callable[[], Step]
"""Sets a game up, and gives what makes a step of it."""

GAMES: dict[str, dict[str, tuple[str, str]]] = {
    "wordle": {"gem": ("game:Wordle-v0-hard", r"\boxed{crane}"), "textarena": ("Wordle-v0-raw", "[crane]")},
    "mastermind": {
        "gem": ("game:Mastermind-v0-hard", r"\boxed{1 2 3 4}"),
        "textarena": ("Mastermind-v0-raw", "[1 2 3 4]"),
    },
    "best_arm": {"textarena": ("Bandit-v0-raw", "[red]")},
    "minesweeper": {
        "gem": ("game:Minesweeper-v0-easy", r"\boxed{reveal 0 0}"),
        "textarena": ("Minesweeper-v0-raw", "[0 0]"),
    },
}
"""Our game, and what it is called elsewhere, with something legal to say."""


def time_gem(game: str, said: str) -> Begin:
    import gem as library

    env: Any = library.make(game)

    def begin_gem() -> Step:
        env.reset(seed=0)
        return lambda: env.step(said)

    return begin_gem


def time_textarena(game: str, said: str) -> Begin:
    import textarena as library

    env: Any = library.make(game)

    def begin_textarena() -> Step:
        env.reset(num_players=1, seed=0)
        return lambda: (env.step(said), env.get_observation())

    return begin_textarena


PEERS: dict[str, Callable[[str, str], Begin]] = {"gem": time_gem, "textarena": time_textarena}


def vary_replies(begin: Begin, n: int = 2000, rounds: int = 15) -> float:
    """CPU microseconds of a step of an object that it changes: the second and third after it was set up."""
    fastest = float("inf")
    for _ in range(rounds):
        spent = 0.0
        for _ in range(n // rounds):
            step = begin()
            step()
            begun = time.perf_counter()
            step()
            step()
            spent += time.perf_counter() - begun
        fastest = min(fastest, spent / (2 * (n // rounds)))
    return fastest * 1e6


def measure_peer(name: str) -> dict[str, Any]:
    env = sonde.make(name)
    ep, text = typical_episode(env)
    ours = best_time(lambda: env.step(ep.state, text, sonde.Rng(0, "benchmark")), 2000, 15)
    row: dict[str, Any] = {"game": name, "sonde": ours, "lacks": {}}
    for peer, called in GAMES[name].items():
        try:
            row[peer] = vary_replies(PEERS[peer](*called))
        except (ImportError, LookupError, OSError) as e:
            row["lacks"][peer] = f"{type(e).__name__}: {' '.join(str(e).split())[:80]}"
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    rows = [measure_peer(name) for name in GAMES]
    if args.json:
        print(json.dumps(rows, indent=1))
        return
    print(f"{'us a step':14}{'sonde':>8}" + "".join(f"{peer:>12}" for peer in PEERS))
    for row in rows:
        cells = [f"{row[peer]:12.1f}" if peer in row else f"{'n/a':>12}" for peer in PEERS]
        print(f"{row['game']:14}{row['sonde']:8.1f}" + "".join(cells))
    for row in rows:
        for peer, why in row["lacks"].items():
            print(f"{peer} {row['game']}: {why}")


if __name__ == "__main__":
    main()
