"""Turns, invalid and repeated questions, and success, over training (ΔBelief-RL, figure 4, for a tiny model).

    python recipes/delta_belief/figure4.py [--arms ARM ...] [--every 5] [--quick] [--json] [--save]

Means over the training games of the steps (train split) and over seeds. The trainings are those of `compare.py`;
missing ones are run.
"""

from __future__ import annotations

from collections.abc import Sequence

import common
from common import ARMS, Row

DRAWN = ("success", "turns", "invalid", "repeated")


def average_course(found: Sequence[Row], name: str, every: int) -> list[float]:
    """The mean over seeds and each `every` steps."""
    curves = [[entry[name] for entry in row["history"]] for row in found]
    means = [sum(column) / len(column) for column in zip(*curves, strict=True)]
    return [sum(part) / len(part) for i in range(0, len(means), every) if (part := means[i : i + every])]


def main() -> None:
    parser = common.make_parser(__doc__)
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=["starpo", "delta_belief", "to_go"])
    parser.add_argument("--every", type=int, default=5, help="steps that a column averages over (default 5)")
    args = parser.parse_args()
    found = common.run_arms(common.make_lab(args), {name: ARMS[name] for name in args.arms})
    table = {name: {what: average_course(mine, what, args.every) for what in DRAWN} for name, mine in found.items()}
    n = len(next(iter(table.values()))["success"])
    columns = ["mean", *(f"steps {i * args.every + 1} to {(i + 1) * args.every}" for i in range(n))]
    rows = [[f"{what}, {name}", *(round(x, 2) for x in table[name][what])] for what in DRAWN for name in args.arms]
    common.print_rows(args, "figure4", columns, rows, table)


if __name__ == "__main__":
    main()
