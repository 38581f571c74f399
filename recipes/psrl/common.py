"""What the recipes of this folder share: trials of an agent, their cumulative regret, a table beside the paper's words.

The paper gives its classic results as curves without numbers, so beside ours stands what its text says of them.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import sonde
from sonde.evaluation import regret
from sonde.runs.rollout import Plan, collect_trajectories

PAPER = "Toward Efficient Exploration by LLM Agents"


class Row(NamedTuple):
    """An agent's cumulative regret after some sub-episodes, `{sub-episode: (mean, standard error)}`, and other numbers;
    what the paper says; trials and seconds."""

    agent: str
    regret: Mapping[int, tuple[float, float]]
    more: Mapping[str, float | None]
    paper: str
    trials: int
    seconds: float


def arguments(doc: str | None, trials: int = 1000) -> argparse.Namespace:
    """The options of every recipe here."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=trials, help=f"trials of each agent (default {trials:,})")
    parser.add_argument("--seed", type=int, default=0, help="world seed")
    parser.add_argument("--quick", action="store_true", help="50 trials, for a first look")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    args = parser.parse_args()
    if args.quick:
        args.trials = min(args.trials, 50)
    if args.trials < 2:
        parser.error(f"--trials: got {args.trials}, allowed: 2 or more")
    return args


def play(env: sonde.Env[Any], agent: Any, trials: int, seed: int, **more: Any) -> list[sonde.Trajectory]:
    """This many trials in worlds of the prior: tasks of both splits, several samples of each where they are too few."""
    tasks = [*env.tasks("train"), *env.tasks("test")]
    k = -(-trials // len(tasks))
    return collect_trajectories(env, {"agent": agent}, tasks[: -(-trials // k)], Plan(k=k, seed=seed), **more)[:trials]


def measure(
    env: sonde.Env[Any], label: str, agent: Any, args: argparse.Namespace, points: Sequence[int], paper: str = ""
) -> Row:
    """The regret of an agent after `points` sub-episodes, and for problems that can be solved, how they were."""
    begun = time.perf_counter()
    played = play(env, agent, args.trials, args.seed)
    return row(env, label, played, points, paper, time.perf_counter() - begun)


def row(
    env: sonde.Env[Any],
    label: str,
    played: Sequence[sonde.Trajectory],
    points: Sequence[int],
    paper: str,
    seconds: float,
    **more: float | None,
) -> Row:
    """Trials as a row of the table."""
    table = regret.regret_table(env, played)
    curve = regret.cumulative_regret(table)
    found = {k: (float(curve.mean[k - 1]), float(curve.error[k - 1])) for k in points}
    ends: dict[str, float | None] = {"late": float(table[:, -5:].mean())}
    if env.name in ("combination_lock", "letter_wordle", "customer_service_bandit"):
        took = regret.solve_rate([regret.episodes_to_solve(t) for t in played])
        ends = {"solved": took.rate, "in": took.sub_episodes if took.rate else None}
    return Row(label, found, {**ends, **more}, paper, len(played), seconds)


def show(title: str, rows: Sequence[Row], args: argparse.Namespace, notes: Sequence[str] = ()) -> None:
    """The table, or JSON."""
    if args.json:
        print(json.dumps({"title": title, "rows": [row._asdict() for row in rows]}, indent=1))
        return
    points, names = list(rows[0].regret), list(rows[0].more)
    print(title)
    heads = [f"after {k}" for k in points]
    told = "  the paper" if any(row.paper for row in rows) else ""
    print(f"{'agent':28}" + "".join(f"{h:>18}" for h in heads) + "".join(f"{n:>9}" for n in names) + told)
    for row in rows:
        cells = "".join(f"{f'{mean:.3f} ± {error:.3f}':>18}" for mean, error in row.regret.values())
        more = "".join(f"{'n/a' if value is None else f'{value:.3f}':>9}" for value in row.more.values())
        print(f"{row.agent:28}{cells}{more}  {row.paper}".rstrip())
    shown = f"{rows[0].trials:,} trials of each agent; {sum(row.seconds for row in rows):.0f} s of play in all."
    print("\n".join(["Cumulative regret, mean ± standard error; " + shown, *notes]))
