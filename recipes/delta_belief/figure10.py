"""The paper's other environments (ΔBelief-RL, figures 9 and 10): cities and mysteries by pass@k, customer service and
personalization by mean score.

    python recipes/delta_belief/figure10.py [--players PLAYER ...] [--tasks 20] [-k 8] [--quick] [--json] [--save]

A player is `floor` or `reference` (the environment's own random and expert players), or a chat model by folder or name,
sampled as in the paper's code. The rule users answer. The tiny model of the other figures has no words for these
conversations, so the models trained here cannot be tested on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import common
from common import Row

import sonde
from sonde.core import AGENT, Policy
from sonde.evaluation.metrics import pass_at
from sonde.runs.rollout import Plan, collect_trajectories

ENVS = ("guess_my_city", "murder_mystery", "customer_service", "user_personalization")
OWN = ("floor", "reference")


def make_env(name: str) -> sonde.Env[Any]:
    return sonde.make(name, preset="delta_belief")


def make_player(env: sonde.Env[Any], player: str) -> Policy:
    if player in OWN:
        return sonde.make(f"agents:{env.spec.floor if player == 'floor' else env.spec.reference}")
    model = sonde.make("models:hf", model=player)
    return sonde.make("agents:llm", model=model, temperature=0.7, top_p=0.8, min_p=0.0)


def play_tasks(out: Any, name: str, player: str, tasks: int, k: int) -> Row:
    env = make_env(name)
    key = {"measure": "others", "env": name, "version": env.spec.version, "player": player, "tasks": tasks, "k": k}
    return common.load_or_make_row(out, key, partial(_play, env, player, tasks, k))


def _play(env: sonde.Env[Any], player: str, tasks: int, k: int) -> dict[str, Any]:
    played = collect_trajectories(env, {AGENT: make_player(env, player)}, env.tasks("test")[:tasks], Plan(k=k, seed=0))
    scores = [t.outcome.score if t.outcome is not None else 0.0 for t in played]
    wins = [t.outcome is not None and t.outcome.success for t in played]
    return {"scores": [scores[i : i + k] for i in range(0, len(scores), k)],
            "won": [sum(wins[i : i + k]) for i in range(0, len(wins), k)]}  # fmt: skip


def summarise_player(rows: Mapping[str, Row], k: int) -> list[float]:
    """pass@1 and pass@k in the first two environments, the mean score in the others."""
    cells: list[float] = []
    for name, row in rows.items():
        if name in ENVS[:2]:
            cells += [sum(pass_at(k, won, n) for won in row["won"]) / len(row["won"]) for n in (1, k)]
        else:
            cells.append(sum(map(sum, row["scores"])) / sum(map(len, row["scores"])))
    return [round(cell, 3) for cell in cells]


def main() -> None:
    parser = common.make_parser(__doc__)
    parser.add_argument("--players", nargs="+", default=list(OWN), help="floor, reference, or chat models")
    parser.add_argument("--tasks", type=int, default=20, help="test tasks of each environment (default 20)")
    parser.add_argument("-k", type=int, default=8, help="games of each task (default 8)")
    args = parser.parse_args()
    tasks, k = (2, 2) if args.quick else (args.tasks, args.k)
    out = args.out / "quick" if args.quick else args.out
    passes = [f"{name}, pass@{n}" for name in ENVS[:2] for n in (1, k)]
    rows = [
        [player, *summarise_player({name: play_tasks(out, name, player, tasks, k) for name in ENVS}, k)]
        for player in args.players
    ]
    common.print_rows(args, "figure10", ["player", *passes, *(f"{name}, score" for name in ENVS[2:])], rows, seeds=[0])


if __name__ == "__main__":
    main()
