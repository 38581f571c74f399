"""Transfer (ΔBelief-RL, figure 9, for a tiny model): to other kinds of secret, or to a longer game with more of them.

    python recipes/delta_belief/figure9.py [--to kinds|lmrl] [--arms ARM ...] [--samples 8] [--quick] [--json] [--save]

The paper tests on other environments, which a model with the words of one game cannot read. Here instead:

    kinds   trained to find tools, vehicles and instruments, tested on all animals and fruits, none of which was ever
            secret in training, so that the good questions are different ones
    lmrl    the models of `compare.py` in LMRL-Gym's game: 158 secrets and 20 turns instead of 64 and 8. Of the 48 test
            secrets the model knows 24.

As in the paper, pass@1 and pass@8 from `samples` games of every thing at temperature 1; and success at temperature 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import common
from common import ARMS, Lab, Row, format_estimate

from sonde.core import Task
from sonde.evaluation.metrics import Estimate, pass_at

NEAR = ("a tool", "a vehicle", "a musical instrument")
"""The training categories."""


def choose_tasks(near: bool) -> list[Task]:
    """The tasks of the training categories (of the train split), or all others (of both splits)."""
    env = common.make_game()
    found = [task for split in env.splits for task in env.tasks(split) if near == (task.tags["category"] in NEAR)]
    return [task for task in found if not near or task.split == "train"]


def play_far(lab: Lab, arm: str, seed: int) -> Row:
    """Test a model that was trained on near things on far ones."""
    name = f"near-{arm}"
    cost = 0.0
    if arm != "base":
        cost = common.train_model(lab, name, ARMS[arm](), seed, choose_tasks(near=True))["cpu_seconds"]
    model = lab.base if arm == "base" else str(lab.model(name, seed))
    key = _name_row("far", lab, arm, seed)
    return common.load_or_make_row(lab.out, key, partial(_play_far_of_seed, lab, model, seed, cost))


def _play_far_of_seed(lab: Lab, model: str, seed: int, cost: float) -> dict[str, Any]:
    chosen = choose_tasks(near=False)
    drawn = common.play_games(model, 1.0, lab.samples, seed, tasks=chosen)
    return {"cpu_seconds": cost, "greedy": common.play_games(model, 0.0, 1, seed, tasks=chosen), "drawn": drawn}


def _name_row(measure: str, lab: Lab, arm: str, seed: int) -> dict[str, Any]:
    return {"measure": measure, "arm": arm, "seed": seed, "samples": lab.samples, **lab.training_identity}


def play_longer(lab: Lab, arm: str, seed: int) -> Row:
    """Test a model of `compare.py` in LMRL-Gym's game."""
    cost = 0.0 if arm == "base" else common.train_model(lab, arm, ARMS[arm](), seed)["cpu_seconds"]
    model = lab.base if arm == "base" else str(lab.model(arm, seed))
    key = _name_row("longer", lab, arm, seed)
    return common.load_or_make_row(lab.out, key, partial(_play_longer_of_seed, lab, model, seed, cost))


def _play_longer_of_seed(lab: Lab, model: str, seed: int, cost: float) -> dict[str, Any]:
    greedy = common.play_games(model, 0.0, 1, seed, preset="lmrl")
    return {
        "cpu_seconds": cost,
        "greedy": greedy,
        "drawn": common.play_games(model, 1.0, lab.samples, seed, preset="lmrl"),
    }


PARTS = {"kinds": play_far, "lmrl": play_longer}


def estimate_pass(rows: Sequence[Row], k: int) -> float:
    """pass@k of the games at temperature 1, averaged over things and seeds."""
    games = [of_thing for row in rows for of_thing in common.tabulate_wins(row, "drawn")]
    return sum(pass_at(len(won), int(sum(won)), k) for won in games) / len(games)


def tabulate_arms(
    found: Mapping[str, Sequence[Row]], k: int
) -> tuple[list[str], list[list[Any]], list[dict[str, Any]]]:
    """The columns, the rows, and all numbers of each arm."""
    columns = ["arm", "seeds", "pass@1", "pass@1, more than base", f"pass@{k}", "success at T=0"]
    known = [
        {**row, "pass": round(estimate_pass(found[row["arm"]], k), 3)} for row in common.compare_models(found, "base")
    ]
    rows = [
        [row["arm"], row["seeds"], format_estimate(row["drawn"]), format_estimate(row["drawn_more"]), row["pass"],
         format_estimate(row["greedy"])]
        for row in known
    ]  # fmt: skip
    return columns, rows, known


def main() -> None:
    parser = common.make_parser(__doc__)
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=["starpo", "delta_belief", "to_go"])
    parser.add_argument("--to", choices=PARTS, default="kinds", help="what it is tested on (default kinds)")
    parser.add_argument("--samples", type=int, default=8, help="games of every thing at temperature 1 (default 8)")
    args = parser.parse_args()
    lab = common.make_lab(args)
    lab = lab if args.quick else replace(lab, samples=args.samples)
    found = {arm: [PARTS[args.to](lab, arm, seed) for seed in range(lab.seeds)] for arm in ("base", *args.arms)}
    columns, rows, known = tabulate_arms(found, lab.samples)
    plain = [{k: asdict(v) if isinstance(v, Estimate) else v for k, v in row.items()} for row in known]
    common.print_rows(args, f"figure9_{args.to}_passes", columns, rows, plain)


if __name__ == "__main__":
    main()
