"""StarPO with two averages of its loss, at two learning rates (ΔBelief-RL, tables 5 and 6, for a tiny model).

    python recipes/delta_belief/table5.py [--rates 1e-3 3e-3] [--quick] [--json] [--save]

The paper's baseline is a StarPO with tuned settings: `seq-mean-token-mean` is the mean over games of means over tokens,
`token-mean` the mean over all tokens of a step. Its rates are 1e-5 and 3e-5, for models of 1.7 and 4 billion weights;
those for a model of a third of a million weights are about a hundred times as high.
"""

from __future__ import annotations

from dataclasses import replace

import common

from sonde.train.presets import preset
from sonde.train.training import Training

AGGREGATIONS = ("seq-mean-token-mean", "token-mean")


def starpo_training(aggregation: str) -> Training:
    training = preset("tiny_starpo")
    return replace(training, options={**training.options, "aggregation": aggregation})


def main() -> None:
    parser = common.make_parser(__doc__)
    parser.add_argument("--rates", nargs="+", type=float, default=[common.Lab.lr, 3 * common.Lab.lr])
    args = parser.parse_args()
    lab = common.make_lab(args)
    found = {"base": common.test_base(lab)}
    for rate in args.rates:
        at = replace(lab, lr=rate)
        for name in AGGREGATIONS:
            arm = f"{name}-{rate:g}"
            found[arm] = [common.train_model(at, arm, starpo_training(name), seed) for seed in range(lab.seeds)]
    common.show_table(common.compare_models(found, "base"), "base", args, "table5")


if __name__ == "__main__":
    main()
