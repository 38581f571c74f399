"""Learned values against realised returns and exact values, for the models that `table2.py` trained.

    python recipes/lmrl/values.py [--tasks maze ...] [--methods MC ILQL] [--seeds 3] [--save]

Needs the trainings of `table2.py` in the same folder; it plays nothing but the dataset (`sonde.train.value_check`).
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import common
from rows import save_table
from small import TASKS
from table2 import FOLDER

from sonde.train.value_check import ValueFit, check_values

METHODS = ("MC", "ILQL")
COLUMNS = ("values", "rmse", "correlation", "best answer equal", "pairs")


def format_fit(name: str, fit: ValueFit) -> list[str | float | int | None]:
    correlation = None if fit.correlation is None else round(fit.correlation, 3)
    return [name, round(fit.rmse, 2), correlation, None if fit.best is None else round(fit.best, 2), fit.n]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=["maze"])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=FOLDER, help=f"folder of `table2.py` (default {FOLDER})")
    parser.add_argument("--save", action="store_true", help="keep the table for the page of the paper")
    args = parser.parse_args()
    begun, rows = time.process_time(), list[list[str | float | int | None]]()
    for task in args.tasks:
        played = common.load_dataset(TASKS[task], args.out)
        for method in args.methods:
            for seed in range(args.seeds):
                folder = args.out / task / f"seed-{seed}" / method.lower()
                rows += [format_fit(f"{task} {method} {seed}: {fit.name}", fit) for fit in check_values(folder, played)]
    print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|")
    for row in rows:
        print(f"| {' | '.join('' if cell is None else str(cell) for cell in row)} |")
    if args.save:
        command = f"python recipes/lmrl/values.py --tasks {' '.join(args.tasks)} --methods {' '.join(args.methods)}"
        seconds = round(time.process_time() - begun, 1)
        save_table("lmrl", "values", command, COLUMNS, rows, range(args.seeds), seconds)


if __name__ == "__main__":
    main()
