"""Compare the last weights with those that were best on validation words (ΔBelief-RL, section 4, for a tiny model).

    python recipes/delta_belief/checkpoint.py [--arms ARM ...] [--every 5] [--quick] [--json] [--save]

The paper validates on 198 held-out words during training. Here twelve of the 24 things that are never secret in
training select the weights (`online.eval_every`); the test plays the other twelve and the training secrets with both
weights, at temperature 1. `held out` is the success on the twelve selecting things during training.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from functools import partial
from typing import Any

import common
from common import ARMS, Lab, Row

from sonde.train.by_name import learn_online
from sonde.train.collect import Game
from sonde.train.online.held_out import FILE

CHOOSING = 12
"""The number of selecting things, of the 24 held-out ones."""
SAMPLES = 4
"""Games of each selecting thing per evaluation."""


def train_and_choose(lab: Lab, arm: str, seed: int, every: int) -> Row:
    key = {"measure": "checkpoint", "arm": arm, "seed": seed, "every": every, **lab.training_identity}
    return common.load_or_make_row(lab.out, key, partial(_train_of_seed, lab, arm, seed, every))


def _train_of_seed(lab: Lab, arm: str, seed: int, every: int) -> dict[str, Any]:
    folder, env, known = lab.folder(f"chosen-{arm}", seed), common.make_game(), ARMS[arm]()
    shutil.rmtree(folder, ignore_errors=True)
    settings = replace(known.settings, folder=str(folder), seed=seed, max_steps=lab.steps, lr=lab.lr, save_steps=None)
    ready = common.with_online(
        replace(known, settings=settings), max_new_tokens=common.LONGEST, eval_every=every, eval_k=SAMPLES
    )
    game = Game(env, env.tasks("train"), "game", held_out=env.tasks("test")[:CHOOSING])
    result = learn_online(lab.base, ready, [game])
    tests = {name: play_both(lab, str(model), seed) for name, model in (("last", result.model), ("best", result.best))}
    course = [round(entry["held_out"], 4) for entry in result.history if "held_out" in entry]
    return {**tests, "course": course, "step": json.loads((folder / FILE).read_text())["step"]}


def play_both(lab: Lab, model: str, seed: int) -> dict[str, Any]:
    """Play the training secrets, and the held-out things that did not select."""
    others = common.make_game().tasks("test")[CHOOSING:]
    met = common.play_games(model, 1.0, lab.samples, seed, split="train")
    return {"met": met, "others": common.play_games(model, 1.0, lab.samples, seed, tasks=others)}


def tabulate_choice(found: dict[str, list[Row]]) -> list[list[str | float]]:
    """One row per arm and weights."""
    rows: list[list[str | float]] = []
    for arm, mine in found.items():
        for name in ("last", "best"):
            cells = [common.estimate_success([row[name] for row in mine], how) for how in ("met", "others")]
            steps = ", ".join(str(row["step"]) for row in mine) if name == "best" else ""
            rows.append([f"{arm}, {name}", steps, *map(common.format_estimate, cells)])
    return rows


def main() -> None:
    parser = common.make_parser(__doc__)
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=["delta_belief"])
    parser.add_argument("--every", type=int, default=5, help="steps between two evaluations (default 5)")
    args = parser.parse_args()
    lab, every = common.make_lab(args), 1 if args.quick else args.every
    found = {arm: [train_and_choose(lab, arm, seed, every) for seed in range(lab.seeds)] for arm in args.arms}
    columns = ["weights", "steps", "things met", "others held out"]
    common.print_rows(args, "checkpoint", columns, tabulate_choice(found))


if __name__ == "__main__":
    main()
