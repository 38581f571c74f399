"""pass@k, k up to 128 (ΔBelief-RL, figure 6, for a tiny model).

    python recipes/delta_belief/figure6.py [--arms ARM ...] [--samples 128] [--quick] [--json] [--save]

The unbiased estimator (`metrics.pass_at`) over `samples` games of every thing at temperature 1, averaged over things
and seeds: the training secrets, or with `--split test` the held-out things. The models are those of `compare.py`;
missing ones are trained.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import common
from common import ARMS, Lab, Row

from sonde.evaluation.metrics import pass_at


def play_many(lab: Lab, arm: str, seed: int, samples: int, split: str) -> Row:
    """Play `samples` games of every thing of a split with the base model or a trained one."""
    model = lab.base if arm == "base" else str(lab.model(arm, seed))
    key: dict[str, Any] = {
        "measure": "pass",
        "arm": arm,
        "seed": seed,
        "samples": samples,
        "split": split,
        **lab.training_identity,
    }
    return common.load_or_make_row(lab.out, key, partial(_play_many_of_seed, model, samples, seed, split))


def _play_many_of_seed(model: str, samples: int, seed: int, split: str) -> dict[str, Any]:
    return {"drawn": common.play_games(model, 1.0, samples, seed + 1000, split=split)}


def pass_rates(row: Row, ks: list[int]) -> list[float]:
    """pass@k for several k, averaged over things."""
    won = [sum(turn is not None for turn in games) for games in row["drawn"]["won"]]
    n = len(row["drawn"]["won"][0])
    return [sum(pass_at(n, w, k) for w in won) / len(won) for k in ks]


def main() -> None:
    parser = common.make_parser(__doc__)
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=["starpo", "delta_belief", "to_go"])
    parser.add_argument("--samples", type=int, default=128)
    parser.add_argument("--split", choices=("train", "test"), default="train", help="things met, or held out")
    args = parser.parse_args()
    lab = common.make_lab(args)
    samples = 4 if args.quick else args.samples
    ks = [2**i for i in range(samples.bit_length()) if 2**i <= samples]
    common.run_arms(lab, {name: ARMS[name] for name in args.arms})
    table: dict[str, list[float]] = {}
    for arm in ("base", *args.arms):
        seeds = [
            pass_rates(play_many(lab, arm, seed, samples, args.split), ks)
            for seed in range(1 if arm == "base" else lab.seeds)
        ]
        table[arm] = [sum(column) / len(column) for column in zip(*seeds, strict=True)]
    rows = [[arm, *(round(value, 3) for value in row)] for arm, row in table.items()]
    name = "figure6" if args.split == "train" else "figure6_held_out"
    common.print_rows(args, name, ["arm", *(f"pass@{k}" for k in ks)], rows, {"k": ks, **table})


if __name__ == "__main__":
    main()
