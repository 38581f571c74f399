"""The best of eight questions, by belief (ΔBelief-RL, equation 2 and figure 3, for a tiny model).

    python recipes/delta_belief/figure3.py [--n 8] [--arms ARM ...] [--quick] [--json] [--save]

No model is trained: at every turn `n` candidates are drawn at temperature 1, the reply to each is simulated, and the
model asks one of them:

    alone       the first one: the model without a choice
    belief      the one after which the model believes the truth most, as in the paper, or that wins; this choice knows
                the truth
    half        the same with probability one half, otherwise the first: `p_best` of the paper's code
    worst       the one after which the model believes the truth least, also from its code
    expected    the one with the highest expected gain under the environment's filter, which needs neither truth nor
                belief

Success is on the training secrets (see `compare.py`), by the base model, and with `--arms` by trained ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import common
from common import ARMS, Lab, Row

PICKS: Mapping[str, Mapping[str, Any] | None] = {
    "alone": None,
    "belief": {},
    "half": {"p": 0.5},
    "worst": {"worst": True},
    "expected": {"by": "expected"},
}


def play_picked(lab: Lab, arm: str, seed: int, pick: str, n: int) -> Row:
    """Play games in which the model asks one of n candidates."""
    model = lab.base if arm == "base" else str(lab.model(arm, seed))
    key: dict[str, Any] = {"measure": "pick", "arm": arm, "pick": pick, "n": n, "seed": seed, **lab.training_identity}
    return common.load_or_make_row(lab.out, key, partial(_play_picked_of_seed, lab, model, seed, pick, n))


def _play_picked_of_seed(lab: Lab, model: str, seed: int, pick: str, n: int) -> dict[str, Any]:
    settings = PICKS[pick]
    best = None if settings is None else {"n": n, **settings}
    games = common.play_games(model, 1.0, lab.samples, seed + 3000, split="train", best=best)
    return {"cpu_seconds": 0.0, "met": games}


def main() -> None:
    parser = common.make_parser(__doc__)
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=[], help="trained models, beside the base model")
    parser.add_argument("--n", type=int, default=8, help="candidates (default 8)")
    args = parser.parse_args()
    lab = common.make_lab(args)
    common.run_arms(lab, {name: ARMS[name] for name in args.arms})
    for arm in ("base", *args.arms):
        seeds = range(1 if arm == "base" else lab.seeds)
        found = {pick: [play_picked(lab, arm, seed, pick, args.n) for seed in seeds] for pick in PICKS}
        if not args.json:
            print(f"\n{arm}\n")
        common.show_table(common.compare_models(found, "alone"), "alone", args, "figure3")


if __name__ == "__main__":
    main()
