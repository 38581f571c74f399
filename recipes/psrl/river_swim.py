"""Section 4.2 and appendices C and D: tabular PSRL on RiverSwim of 3 caves (H = 6) and of 4 (H = 20), K = 35.

    python recipes/psrl/river_swim.py [--trials 1000] [--quick] [--json]

Vanilla PSRL as in the paper: Dirichlet(1/|S|) per cave and tunnel, rewards uniform over {0, 0.005, 1}, 1,000 trials;
also with the deterministic transitions given (figure 13). The paper shows curves (figures 6, 13 and 14) without
numbers.

Its text leaves the ends of the river open, which changes every number: `stated` applies its 35 % and 5 % in every cave
(the first keeps a swimmer with 0.65, the last with 0.95), `osband` takes the ends of Osband et al. (2013): 0.6 up from
the first cave, 0.6 to stay in the last. Rewards belong to cave and tunnel. `late` is the mean regret of the last five
sub-episodes: sublinear regret makes it small beside the optimal value V*.
"""

from __future__ import annotations

from common import PAPER, arguments, measure, show

import sonde

PUBLISHED = {
    "psrl": "plotted, sublinear (figures 6, 14)",
    "known": "plotted (figure 13)",
    "random": "not shown",
}


def main() -> None:
    args = arguments(__doc__)
    for preset in ("length3", "length4"):
        for ends in ("stated", "osband"):
            env = sonde.make("river_swim", preset=preset, ends=ends)
            told = sonde.make("river_swim", preset=preset, ends=ends, downstream_known=True)
            psrl, points = sonde.make("agents:psrl"), (5, 15, 35)
            rows = [
                measure(env, "uniform", sonde.make("agents:random"), args, points, PUBLISHED["random"]),
                measure(env, "PSRL", psrl, args, points, PUBLISHED["psrl"]),
                measure(told, "PSRL, downstream known", psrl, args, points, PUBLISHED["known"]),
            ]
            best = env.optimal_value(env.reset(env.tasks("train")[0], sonde.Rng(0)))
            title = f"{PAPER}: RiverSwim {preset}, H = {env.step_count}, K = 35, ends {ends!r}, V* = {best:.4f}"
            show(title, rows, args)
            if not args.json:
                print()


if __name__ == "__main__":
    main()
