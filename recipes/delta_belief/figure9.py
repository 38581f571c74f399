"""Transfer (ΔBelief-RL, figure 9, for a tiny model): to other kinds of secret, or to a longer game with more of them.

    python recipes/delta_belief/figure9.py [--to kinds|lmrl] [--arms ARM ...] [--quick] [--json] [--save]

The paper tests on other environments, which a model that knows the words of one cannot read. In their place:

    kinds   trained to find tools, vehicles and instruments, tested on all animals and fruits, none of which was ever
            secret in training: what is learned of asking has to hold where the good questions are other ones
    lmrl    the models of `compare.py` in LMRL-Gym's game: 158 secrets and 20 turns in place of 64 and 8. Of the 48 that
            are tested the model knows 24.

Success, T=0 and T=1.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import common
from common import ARMS, Lab, Row

from sonde.core import Task

NEAR = ("a tool", "a vehicle", "a musical instrument")
"""The categories that are trained on."""


def choose_tasks(near: bool) -> list[Task]:
    """Those of both splits that are near, or the others; of the near ones, those of the train split."""
    env = common.make_game()
    found = [task for split in env.splits for task in env.tasks(split) if near == (task.tags["category"] in NEAR)]
    return [task for task in found if not near or task.split == "train"]


def play_far(lab: Lab, arm: str, seed: int) -> Row:
    """How a model that was trained on near things finds far ones."""
    name = f"near-{arm}"
    cost = 0.0
    if arm != "base":
        cost = common.train_model(lab, name, ARMS[arm](), seed, choose_tasks(near=True))["cpu_seconds"]
    model = lab.base if arm == "base" else str(lab.model(name, seed))
    key: dict[str, Any] = {"measure": "far", "arm": arm, "seed": seed, **lab.training_identity}
    return common.kept(lab.out, key, partial(_play_far_of_seed, lab, model, seed, cost))


def _play_far_of_seed(lab: Lab, model: str, seed: int, cost: float) -> dict[str, Any]:
    chosen = choose_tasks(near=False)
    drawn = common.play_games(model, 1.0, min(lab.samples, 4), seed, tasks=chosen)
    return {"cpu_seconds": cost, "greedy": common.play_games(model, 0.0, 1, seed, tasks=chosen), "drawn": drawn}


def play_longer(lab: Lab, arm: str, seed: int) -> Row:
    """How a model of `compare.py` plays LMRL-Gym's game."""
    cost = 0.0 if arm == "base" else common.train_model(lab, arm, ARMS[arm](), seed)["cpu_seconds"]
    model = lab.base if arm == "base" else str(lab.model(arm, seed))
    key: dict[str, Any] = {"measure": "longer", "arm": arm, "seed": seed, **lab.training_identity}
    return common.kept(lab.out, key, partial(_play_longer_of_seed, lab, model, seed, cost))


def _play_longer_of_seed(lab: Lab, model: str, seed: int, cost: float) -> dict[str, Any]:
    greedy = common.play_games(model, 0.0, 1, seed, preset="lmrl")
    return {
        "cpu_seconds": cost,
        "greedy": greedy,
        "drawn": common.play_games(model, 1.0, lab.samples, seed, preset="lmrl"),
    }


PARTS = {"kinds": play_far, "lmrl": play_longer}


def main() -> None:
    parser = common.make_parser(__doc__)
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=["starpo", "delta_belief", "to_go"])
    parser.add_argument("--to", choices=PARTS, default="kinds", help="what it is tested on (default kinds)")
    args = parser.parse_args()
    lab = common.lab_of(args)
    found = {arm: [PARTS[args.to](lab, arm, seed) for seed in range(lab.seeds)] for arm in ("base", *args.arms)}
    common.show_table(common.compare_models(found, "base"), "base", args, f"figure9_{args.to}")


if __name__ == "__main__":
    main()
