"""Multi-Turn Puzzles, section 3.3: who should ask, who should conclude? Movie recommendation, with scripted policies.

    python recipes/mtp/handover.py [--tasks 1000] [--weak movie_recommendation_lookalike] [--k 1] [--json]

One policy asks the ten questions, another makes the pick (`agents:switch`). The paper let Gemini 2.5 Pro and Gemini
2.0 Flash finish each other's conversations: either mixture scored between the two models alone, and both the same.
Here the stronger policy is the reference (`agents:movie_recommendation`), the weaker one
`movie_recommendation_lookalike` (questions down the list, then the movie most like the favourite) or `random`. Score:
normalised rank, 0.5 by chance.

The 95 % intervals resample tasks; the gap is the difference from the stronger policy alone, paired by task. The
published numbers are of other users, movies and players, so only patterns may be compared. Measured on the 1,000 test
tasks:

    asks        concludes   score                   gap
    reference   reference   0.999 [0.999, 1.000]    0.000 [0.000, 0.000]
    lookalike   reference   0.991 [0.989, 0.992]    -0.008 [-0.010, -0.007]
    reference   lookalike   0.785 [0.772, 0.797]    -0.214 [-0.227, -0.202]
    lookalike   lookalike   0.842 [0.832, 0.853]    -0.157 [-0.167, -0.147]
    random      reference   0.957 [0.954, 0.959]    -0.042 [-0.045, -0.040]     (k = 4)
    reference   random      0.501 [0.492, 0.510]    -0.498 [-0.507, -0.489]     (k = 4)

As in the paper, a strong conclusion repairs most of weak questions. Unlike there, strong questions do not help the
weaker player here: what tells most about the weights need not tell which movie is the favourite.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import sonde
from sonde.evaluation import metrics
from sonde.runs.rollout import Plan, collect_trajectories

STRONG = "movie_recommendation"
PUBLISHED = {("strong", "strong"): "86", ("weak", "strong"): "75.7", ("strong", "weak"): "75.2", ("weak", "weak"): "63"}
"""Percent, by who asks and who concludes. The mixtures are stated; the models alone follow from the stated differences
(11 below the stronger one, 13 above the weaker)."""


def scores(env: sonde.Env[Any], players: Sequence[str], n_tasks: int, k: int) -> list[list[float]]:
    """The normalised ranks on the test split, one row of k per task; `players` ask and conclude."""
    first, then = (sonde.make(f"agents:{name}") for name in players)
    policy = sonde.make("agents:switch", first=first, then=then, turn=env.spec.max_turns - 1)
    tasks = env.tasks("test")[:n_tasks]
    rows: dict[str, list[float]] = {task.id: [] for task in tasks}
    for t in collect_trajectories(env, {"agent": policy}, tasks, Plan(k=k)):
        rows[t.task.id].append(sum(turn.rewards.get("agent", 0.0) for turn in t.turns))
    return list(rows.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=1000, help="test tasks, at most 1000")
    parser.add_argument(
        "--weak", default="movie_recommendation_lookalike", choices=("movie_recommendation_lookalike", "random")
    )
    parser.add_argument("--k", type=int, default=1, help="episodes per task")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    env, players = sonde.make("movie_recommendation"), {"strong": STRONG, "weak": args.weak}
    found = {pair: scores(env, [players[p] for p in pair], args.tasks, args.k) for pair in PUBLISHED}
    best = found["strong", "strong"]
    table = {pair: (metrics.mean(rows), metrics.paired_difference(rows, best)) for pair, rows in found.items()}
    if args.json:
        cells = {"/".join(pair): {"score": asdict(s), "gap": asdict(g)} for pair, (s, g) in table.items()}
        print(json.dumps({"players": players, "cells": cells}, indent=1))
        return
    print(f"{'asks':32}{'concludes':32}{'score':24}{'gap':26}published, %")
    for (asker, closer), (score, gap) in table.items():
        print(f"{players[asker]:32}{players[closer]:32}{score!s:24}{gap!s:26}{PUBLISHED[asker, closer]}")


if __name__ == "__main__":
    main()
