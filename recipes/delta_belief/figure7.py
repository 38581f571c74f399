"""The weight and the shaping of ΔBelief (ΔBelief-RL, figure 7, for a tiny model).

    python recipes/delta_belief/figure7.py [--only weight|shaping] [--arms ARM ...] [--quick] [--json] [--save]

Weights 0, .05, .1 and .5, shaped by `relu`; and at weight .1 the paper's five shapings: `relu` (its choice), none
(naive), `tanh`, `ema` (not shaped, relative to the belief of the weights' moving average) and `group_min_max` (PACR).
The paper's code has more: `ref` (relative to the belief of the initial weights), `sigmoid`, `min_max`,
`group_centring`, `episode_centring`. Otherwise as `delta_belief` in `compare.py`, with which it shares equal trainings.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from functools import partial

import common
from common import ARMS, Lab, delta_belief, weigh_beliefs

from sonde.train.training import Training

SHAPINGS = ("tanh", "group_min_max", "sigmoid", "min_max", "group_centring", "episode_centring")
BEST = "delta_belief"
"""Weight .1, `relu`."""


Arms = Mapping[str, Callable[[], Training]]
PARTS: Mapping[str, Arms] = {
    "weight": {
        "outcome_turnwise": ARMS["outcome_turnwise"],
        "weight-0.05": partial(weigh_beliefs, 0.05),
        BEST: delta_belief,
        "weight-0.5": partial(weigh_beliefs, 0.5),
    },
    "shaping": {
        BEST: delta_belief,
        "naive": partial(delta_belief, shaping=()),
        "ema": partial(delta_belief, shaping=(), baseline="average"),
        "ref": partial(delta_belief, shaping=(), baseline="start"),
        **{name: partial(delta_belief, shaping=(name,)) for name in SHAPINGS},
    },
}


def show_shapings(lab: Lab, arms: Arms, args: argparse.Namespace, name: str) -> None:
    found = {"base": common.test_base(lab), **common.run_arms(lab, arms)}
    common.show_table(common.compare_models(found, BEST), BEST, args, name)


def main() -> None:
    parser = common.make_parser(__doc__)
    parser.add_argument("--only", choices=PARTS, help="this part")
    parser.add_argument("--arms", nargs="+", choices={name for arms in PARTS.values() for name in arms})
    args = parser.parse_args()
    for name, arms in PARTS.items():
        if args.only in (None, name):
            chosen = {arm: made for arm, made in arms.items() if arm in (BEST, *(args.arms or arms))}
            show_shapings(common.make_lab(args), chosen, args, f"figure7_{name}")


if __name__ == "__main__":
    main()
