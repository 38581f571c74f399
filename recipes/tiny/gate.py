"""The conditions for shipping a sonde-tiny model, measured by playing test tasks.

    python recipes/tiny/gate.py --env maze FOLDER [FOLDER ...] [--episodes 500]

Each folder is a model of one training seed; the results are written into it as `gate.json`. A model passes if, at
temperature 1, (1) at least 99 % of its turns are readable; (2) the lower 95 % limit of its success is above the upper
limit of every floor, such as random legal play; (3) its upper limit is below the lower limit of the reference; (4) of
20 samples of one task, at least 10 differ in their first ten replies, on average over 10 tasks (the first few replies
often have no alternative, as in a corridor). All models play the same tasks, which training did not see.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import games
from games import Game

import sonde
from sonde.core import AGENT, Task, Trajectory
from sonde.evaluation import metrics
from sonde.evaluation.metrics import Estimate
from sonde.runs.rollout import Plan, collect_trajectories

FORMAT, DISTINCT = 0.99, 10.0
SPREAD_TASKS, SAMPLES, OPENING = 10, 20, 10


@dataclass(frozen=True, kw_only=True)
class Played:
    """Success of one player, the share of its readable turns, and its speed."""

    success: Estimate
    fine: float
    turns: float
    per_second: float


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The measurements for the gate."""

    seed: int
    """Of the training."""
    episodes: int
    floors: Mapping[str, Played]
    top: Played
    warm: Played
    cool: Played
    distinct: float
    fewest: int


def make_player(game: Game, folder: Path | str, temperature: float = 1.0) -> sonde.Policy:
    """The model in the agent's seat, as users put it there."""
    model = sonde.make("models:hf", model=str(folder), max_batch=256)
    return sonde.make(
        "agents:llm",
        model=model,
        context=game.context,
        temperature=temperature,
        min_p=0.0,
        max_new_tokens=game.max_new_tokens,
    )


def spread_tasks(game: Game, n: int) -> Sequence[Task]:
    """`n` tasks of the test split, spread over all of it."""
    found = game.env.tasks("test")
    return [found[i * len(found) // n] for i in range(n)] if n < len(found) else list(found)


def play_episodes(game: Game, policy: sonde.Policy, n: int, seed: int = 0) -> Played:
    """Play at least `n` episodes: every task equally often."""
    chosen = spread_tasks(game, n)
    k = -(-n // len(chosen))
    began = time.perf_counter()
    rows = collect_trajectories(game.env, {AGENT: policy}, chosen, Plan(k=k, seed=seed))
    seconds = time.perf_counter() - began
    wins = [[float(is_won(t)) for t in rows[i : i + k]] for i in range(0, len(rows), k)]
    acts = [act for t in rows for act in t.acts if act.seat == AGENT]
    return Played(
        success=metrics.rate(wins),
        fine=sum(game.fine(act.info) for act in acts) / len(acts),
        turns=len(acts) / len(rows),
        per_second=len(rows) / seconds,
    )


def is_won(trajectory: Trajectory) -> bool:
    return trajectory.outcome is not None and trajectory.outcome.success


def measure_variety(game: Game, policy: sonde.Policy) -> list[int]:
    """For each of some tasks, how many of 20 samples differ in their first ten replies."""
    rows = collect_trajectories(game.env, {AGENT: policy}, spread_tasks(game, SPREAD_TASKS), Plan(k=SAMPLES, seed=1))
    openings = [tuple(act.action.text for act in t.acts if act.seat == AGENT)[:OPENING] for t in rows]
    return [len(set(openings[i : i + SAMPLES])) for i in range(0, len(rows), SAMPLES)]


def measure_model(game: Game, folder: Path, episodes: int) -> Measured:
    """Play and measure the model, random legal play and the reference on the same tasks."""
    seen = measure_variety(game, make_player(game, folder))
    return Measured(
        seed=json.loads((folder / "training.json").read_text())["seed"],
        episodes=episodes,
        floors={label: play_episodes(game, policy, episodes) for label, policy in game.floors.items()},
        top=play_episodes(game, sonde.make(game.reference), episodes),
        warm=play_episodes(game, make_player(game, folder), episodes),
        cool=play_episodes(game, make_player(game, folder, 0.7), episodes),
        distinct=sum(seen) / len(seen),
        fewest=min(seen),
    )


def save_measurements(found: Measured, folder: Path) -> None:
    (folder / "gate.json").write_text(json.dumps(asdict(found), indent=2) + "\n")


def load_measurements(folder: Path) -> Measured:
    """Load the measurements in a folder."""

    def load_played(row: dict[str, Any]) -> Played:
        return Played(**{**row, "success": Estimate(**row["success"])})

    row = json.loads((folder / "gate.json").read_text())
    floors = {label: load_played(value) for label, value in row["floors"].items()}
    return Measured(**{**row, "floors": floors, **{key: load_played(row[key]) for key in ("top", "warm", "cool")}})


def list_failures(found: Measured) -> list[str]:
    """The conditions that a model fails; empty if it passes."""
    warm, top = found.warm, found.top
    floors = {label: floor.success for label, floor in found.floors.items()}
    rules = {
        f"format {warm.fine:.4f} is below {FORMAT}": warm.fine < FORMAT,
        **{f"success {warm.success} is not above {x} {y}": warm.success.low <= y.high for x, y in floors.items()},
        f"success {warm.success} is not below the reference {top.success}": warm.success.high >= top.success.low,
        f"{found.distinct:.1f} distinct openings of {SAMPLES}, allowed: {DISTINCT:.0f}": found.distinct < DISTINCT,
    }
    return [text for text, missed in rules.items() if missed]


def format_table(game: Game, rows: Sequence[Measured]) -> str:
    """The gate's numbers, one row per training seed, as a table in Markdown."""
    top = rows[0].top
    lines = [
        "| player | success, T=1 | turns that can be read | success, T=0.7 | distinct openings of 20 (fewest) |",
        "|---|---|---|---|---|",
        *(f"| {label} | {floor.success} | | | |" for label, floor in rows[0].floors.items()),
    ]
    for row in rows:
        cells = (f"training seed {row.seed}", row.warm.success, f"{row.warm.fine:.4f}", row.cool.success)
        lines.append(f"| {' | '.join(map(str, cells))} | {row.distinct:.1f} ({row.fewest}) |")
    return "\n".join([*lines, f"| reference, `{game.reference}` | {top.success} | | | |"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--env", choices=sorted(games.GAMES), required=True)
    parser.add_argument("--episodes", type=int, default=500)
    args = parser.parse_args()
    game = games.GAMES[args.env]()
    missed: list[str] = []
    for folder in args.folders:
        found = measure_model(game, folder, args.episodes)
        save_measurements(found, folder)
        missed += [f"{folder}: {text}" for text in list_failures(found)]
    print(format_table(game, [load_measurements(folder) for folder in args.folders]))
    print("\n".join(missed) or "all pass")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
