"""Success by the number of turns, beyond the limit of training (ΔBelief-RL, figure 8, for a tiny model).

    python recipes/delta_belief/figure8.py [--arms ARM ...] [--turns 20] [--quick] [--json] [--save]

The models are trained with 8 turns and tested with `turns`, at temperature 1. The prompt names the limit; success
within a shorter budget is the share of the same games that were won by then (`metrics.success_within`). The models are
those of `compare.py`; missing ones are trained. The base model has never seen a game longer than 8 turns.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import common
from common import ARMS, Lab, Row

from sonde.evaluation.metrics import success_within


def play_long(lab: Lab, arm: str, seed: int, turns: int) -> Row:
    """Play games with this limit of turns, of every training secret."""
    model = lab.base if arm == "base" else str(lab.model(arm, seed))
    samples = min(lab.samples, 4)
    key: dict[str, Any] = {"measure": "long", "arm": arm, "seed": seed, "turns": turns, **lab.training_identity}
    return common.load_or_make_row(lab.out, key, partial(_play_long_of_seed, model, samples, seed, turns))


def _play_long_of_seed(model: str, samples: int, seed: int, turns: int) -> dict[str, Any]:
    return {"drawn": common.play_games(model, 1.0, samples, seed, split="train", max_turns=turns)}


def main() -> None:
    parser = common.make_parser(__doc__)
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=["starpo", "delta_belief", "to_go"])
    parser.add_argument("--turns", type=int, default=20)
    args = parser.parse_args()
    lab = common.make_lab(args)
    common.run_arms(lab, {name: ARMS[name] for name in args.arms})
    table: dict[str, list[float]] = {}
    for arm in ("base", *args.arms):
        rows = [play_long(lab, arm, seed, args.turns) for seed in range(1 if arm == "base" else lab.seeds)]
        curves = [[found.mean for found in success_within(row["drawn"]["won"], args.turns)] for row in rows]
        table[arm] = [sum(column) / len(column) for column in zip(*curves, strict=True)]
    at = [n for n in range(2, args.turns + 1, 2) if n % 10 == 0 or (n <= 20 and n % 4 == 0)]
    rows = [[arm, *(round(row[n - 1], 3) for n in at)] for arm, row in table.items()]
    common.print_rows(args, "figure8", ["arm", *(f"within {n}" for n in at)], rows, table)


if __name__ == "__main__":
    main()
