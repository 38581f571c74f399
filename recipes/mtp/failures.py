"""Multi-Turn Puzzles, section 3.4: how players of movie recommendation fail, counted from the exact posterior.

    python recipes/mtp/failures.py [--players movie_recommendation,movie_recommendation_lookalike,random] [--tasks 100]
    python recipes/mtp/failures.py --players http:SMALL,http:LARGE --base-url http://localhost:8000/v1

A player is an agent of sonde or a model in the short form of `sonde eval --model`. The columns are the `MEASURES` of
`sonde.evaluation.failure_kinds`, means over tasks with 95 % intervals; a report of any run has the same table.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from handover import player_config

import sonde
from sonde.cli.estimate import PlannedPlay, print_estimate
from sonde.cli.terminal import out
from sonde.core import UserError, build, default_policies, run_sync
from sonde.evaluation import metrics
from sonde.evaluation.failure_kinds import MEASURES, label_run, summarise_failures
from sonde.runs.rollout import Plan, collect_trajectories

sys.path.append(str(Path(__file__).parents[1]))
from rows import Cell, save_table

PLAYERS = "movie_recommendation,movie_recommendation_lookalike,random"


def label_player(name: str, args: argparse.Namespace) -> list[Cell]:
    """Play, label the episodes, and make a row: the score, then the measures."""
    env = sonde.make("movie_recommendation")
    player = build(player_config(name, args.base_url, env))
    played = list(collect_trajectories(env, {"agent": player}, env.tasks("test")[: args.tasks], Plan(k=args.k)))
    run_sync(player.close())
    score = metrics.mean(
        metrics.group_by_task((t.task.id, 0.0 if t.outcome is None else t.outcome.score) for t in played),
        bounds=(0.0, 1.0),
    )
    found = summarise_failures(label_run(env, played))
    return [name, str(score), *(None if found[of] is None else str(found[of]) for of in MEASURES)]


def plan_player(name: str, args: argparse.Namespace) -> PlannedPlay:
    """A player's episodes, to estimate their cost."""
    env = sonde.make("movie_recommendation")
    task, *more = env.tasks("test")[: args.tasks]
    seats = {**default_policies(env), "agent": build(player_config(name, args.base_url, env))}
    return PlannedPlay(env, seats, task, (1 + len(more)) * args.k, name=name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--players", default=PLAYERS, help="agents or models, with commas between them")
    parser.add_argument("--base-url", help="address of the endpoint of http:NAME")
    parser.add_argument("--tasks", type=int, default=100, help="test tasks")
    parser.add_argument("--k", type=int, default=1, help="episodes per task")
    parser.add_argument("--dry-run", action="store_true", help="only estimate the number of calls and tokens")
    parser.add_argument("--save", action="store_true", help="keep the table for the page of the paper")
    args = parser.parse_args()
    if args.dry_run:
        print_estimate([plan_player(name, args) for name in args.players.split(",")], out, as_json=False)
        return
    columns = ["player", "score", *MEASURES]
    rows = [label_player(name, args) for name in args.players.split(",")]
    for row in rows:
        for column, cell in zip(columns, row, strict=True):
            print(f"{column:20}{'n/a' if cell is None else cell}")
        print()
    if args.save:
        command = " ".join(["python recipes/mtp/failures.py", *(word for word in sys.argv[1:] if word != "--save")])
        save_table("mtp", "failures", command, columns, rows, [0], time.process_time())


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        raise SystemExit(str(error)) from None
