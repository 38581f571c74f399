"""How the belief in the truth rises with the turns, before and after training (ΔBelief-RL, figure 5, for a tiny model).

    python recipes/delta_belief/figure5.py [--arms ARM ...] [--quick] [--json] [--save]

Every model plays the training secrets at temperature 1; its belief is elicited before the first turn and after every
reply, under the template of its rewards. The table has ln b_t of the truth among the 64 things, averaged over the games
that still run (and over seeds). `exact` is ln of the truth's probability under the environment's posterior, which is
the most that those questions could teach. The models are those of `compare.py`; missing ones are trained.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

import common
import numpy as np
from common import ARMS, Lab, Row

from sonde.beliefs.calibration import Course
from sonde.beliefs.elicitation import Elicitation, elicit_beliefs
from sonde.beliefs.records import belief_course
from sonde.core import AGENT
from sonde.runs.rollout import Plan, collect_trajectories

HOW = Elicitation(template="statement", candidates="all")


def measure_beliefs(lab: Lab, arm: str, seed: int) -> Row:
    """Measure a model's beliefs over its own games."""
    model = lab.base if arm == "base" else str(lab.model(arm, seed))
    key: dict[str, Any] = {"measure": "rising", "arm": arm, "seed": seed, **lab.training_identity}
    return common.load_or_make_row(lab.out, key, partial(_measure_beliefs_of_seed, lab, model, seed))


def _measure_beliefs_of_seed(lab: Lab, model: str, seed: int) -> dict[str, Any]:
    found = asyncio.run(_belief_courses(model, lab.samples, seed))
    turns = range(max(one.held_count for one in found))
    return {
        "believed": [_mean_course(found, t, exact=False) for t in turns],
        "exact": [_mean_course(found, t) for t in turns],
    }


async def _belief_courses(model: str, k: int, seed: int) -> list[Course]:
    env, agent = common.make_game(), common.make_player(model)
    games = await asyncio.to_thread(
        collect_trajectories, env, {AGENT: agent}, env.tasks("train"), Plan(k=k, seed=seed + 4000)
    )
    asked: Any = agent
    return [
        belief_course(env, game, beliefs)
        async for game, beliefs in elicit_beliefs(asked.model, env, games, HOW, prompt=asked.build_prompt)
    ]


def _mean_course(found: Sequence[Course], t: int, *, exact: bool = True) -> float:
    """The mean over the games that still run after t turns. The truth is never ruled out, so no logarithm is of 0."""
    rows = [one for one in found if t < one.held_count]
    logs = [np.log(one.exact_truth[t]) if exact else one.elicited[t, one.truth] for one in rows]  # type: ignore[index]
    return round(float(np.mean(logs)), 4)


def main() -> None:
    parser = common.make_parser(__doc__)
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=["starpo", "delta_belief"])
    args = parser.parse_args()
    lab = common.make_lab(args)
    common.run_arms(lab, {name: ARMS[name] for name in args.arms})
    table: dict[str, dict[str, list[float]]] = {}
    for arm in ("base", *args.arms):
        rows = [measure_beliefs(lab, arm, seed) for seed in range(1 if arm == "base" else lab.seeds)]
        table[arm] = {
            what: [sum(column) / len(column) for column in zip(*(row[what] for row in rows), strict=False)]
            for what in ("believed", "exact")
        }
    columns = ["ln b", *(f"turn {t}" for t in range(len(table["base"]["believed"])))]
    curves = [(f"{arm}, {what}", curve) for arm, row in table.items() for what, curve in row.items()]
    rows = [[name, *(round(x, 2) for x in curve)] for name, curve in curves]
    common.print_rows(args, "figure5", columns, rows, table)


if __name__ == "__main__":
    main()
