"""Training with and without a penalty for moving away from the base model (ΔBelief-RL, figure 12, for a tiny model).

    python recipes/delta_belief/figure12.py [--kl 0.001 0.01 0.1] [--quick] [--json] [--save]

The loss is that of `delta_belief` plus `kl` times the divergence from the base model, estimated token by token
(`train.objectives.grpo`). The paper finds no effect and leaves the penalty out. It does not say which weight it tried.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import common

from sonde.train.training import Training

WITHOUT = "delta_belief"


def add_penalty(kl: float) -> Training:
    training = common.delta_belief()
    return replace(training, options={**training.options, "kl": kl})


def main() -> None:
    parser = common.make_parser(__doc__)
    parser.add_argument("--kl", nargs="+", type=float, default=[0.001, 0.01, 0.1], help="weights of the penalty")
    args = parser.parse_args()
    lab = common.make_lab(args)
    arms: dict[str, Callable[[], Training]] = {WITHOUT: common.delta_belief}
    arms |= {f"kl-{weight:g}": partial(add_penalty, weight) for weight in args.kl}
    found = {"base": common.test_base(lab), **common.run_arms(lab, arms)}
    common.show_table(common.compare_models(found, WITHOUT), WITHOUT, args, "figure12")


if __name__ == "__main__":
    main()
