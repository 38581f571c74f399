"""LMRL-Gym's table 2 at a size for a CPU: every method, compared with floor, dataset and reference.

    python recipes/lmrl/table2.py [--tasks maze ...] [--methods BC ILQL ...] [--seeds 3] [--quick] [--json] [--save]

The paper trains GPT-2; here small Llamas start from random weights and learn everything from the dataset
(`sonde dataset lmrl TASK`, fewer episodes). As in the paper, all methods but BC start from BC's model. BC, filtered BC
(%BC), Monte-Carlo returns and ILQL learn from the dataset alone; the last two decode with their values. PPO, online
filtered BC, and GRPO, which the paper does not have, learn from their own play.

Scores are those of appendix F, at temperature 1: 0 is the worst possible return, 50 the dataset's mean, 100 the
reference solver's mean, linear between and beyond. Intervals are 95 %, over training seeds and test tasks. `at 0` is
the score of the same model at temperature 0, `paper's` the return of table 6, if there is one, and `legal answers` the
same model with `agents:ranked`, which says one of the legal answers.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import common
from common import METHODS, Row
from rows import save_table
from small import TASKS, Small

from sonde.evaluation.metrics import Estimate, anchored_score, difference_over_seeds, estimate

FOLDER = Path("runs/recipes/lmrl")


def mean_return(row: Row, how: str = "drawn") -> float:
    by_task = [sum(found) / len(found) for found in row[how]["returns"]]
    return sum(by_task) / len(by_task)


def normalise_score(task: Small, known: Mapping[str, Row], found: Sequence[Row], how: str = "drawn") -> Estimate:
    """The normalised score of the mean return and of both ends of its interval."""
    mean = _estimate_mean([row[how]["returns"] for row in found])
    average, high = mean_return(known["dataset"]), mean_return(known["reference"])

    def score_one(raw: float) -> float:
        return anchored_score(raw, low=task.low, average=average, high=high)

    return Estimate(score_one(mean.mean), score_one(mean.low), score_one(mean.high), mean.n)


def _estimate_mean(tables: Sequence[Sequence[Sequence[float]]]) -> Estimate:
    """Estimate the mean over seeds and tests; over tests alone with one seed, or if no two returns differ, because then
    the spread of seeds is unknown."""
    whole = [[x for seed in test for x in seed] for test in zip(*tables, strict=True)]
    if len(tables) == 1 or len({x for test in whole for x in test}) == 1:
        return estimate(whole)
    return difference_over_seeds(tables, [[[0.0] for _ in table] for table in tables])


def make_table(task: Small, known: Mapping[str, Row], found: Mapping[str, Sequence[Row]]) -> list[dict[str, Any]]:
    """One row per method, floor and reference first, and a second one for a method that was also tested among legal
    answers."""
    out = list[dict[str, Any]]()
    for name, mine in {**{name: [row] for name, row in known.items()}, **found}.items():
        out.append(_make_line(task, known, mine, name, ""))
        if "legal drawn" in mine[0]:
            out.append(_make_line(task, known, mine, f"{name}, legal answers", "legal "))
    return out


def _make_line(task: Small, known: Mapping[str, Row], mine: Sequence[Row], name: str, how: str) -> dict[str, Any]:
    drawn, greedy = f"{how}drawn", f"{how}greedy"
    return {
        "method": name,
        "score": normalise_score(task, known, mine, drawn),
        "at 0": normalise_score(task, known, mine, greedy) if greedy in mine[0] else None,
        **{what: sum(row[drawn][what] for row in mine) / len(mine) for what in ("success", "length", "invalid")},
        "return": sum(mean_return(row, drawn) for row in mine) / len(mine),
        "paper": task.paper.get(name),
        "cpu_seconds": sum(row["cpu_seconds"] for row in mine) / len(mine),
    }


def show_table2(task: Small, rows: Sequence[Mapping[str, Any]], seeds: int) -> None:
    """As Markdown."""
    print(f"\n**{task.name}**, {task.episodes:,} episodes to learn from, {seeds} seeds, {task.tests} tests\n")
    heads = ("", "score", "at 0", "return", "paper's", "success", "replies", "invalid", "CPU s")
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for row in rows:
        at_0 = "" if row["at 0"] is None else f"{row['at 0'].mean:.1f}"
        paper = "" if row["paper"] is None else f"{row['paper']:.2f}"
        cells = [
            row["method"],
            format_estimate(row["score"]),
            at_0,
            f"{row['return']:.2f}",
            paper,
            f"{row['success']:.2f}",
        ]
        cells += [f"{row['length']:.1f}", f"{row['invalid']:.3f}", f"{row['cpu_seconds']:.0f}"]
        print(f"| {' | '.join(cells)} |")


def save_table2(task: Small, rows: Sequence[Mapping[str, Any]], methods: Sequence[str], seeds: int) -> None:
    """Save the table for the page of the paper. Seconds are those of all seeds, on one thread if
    `OMP_NUM_THREADS=1`."""
    columns = ("method", "score", "at 0", "return", "paper's return", "won", "replies", "invalid", "CPU s a seed")
    table = [
        [
            row["method"], format_estimate(row["score"]), None if row["at 0"] is None else round(row["at 0"].mean, 1),
            round(row["return"], 2), row["paper"], round(row["success"], 2), round(row["length"], 1),
            round(row["invalid"], 3), round(row["cpu_seconds"]),
        ]
        for row in rows
    ]  # fmt: skip
    names = " ".join(f'"{name}"' if " " in name else name for name in methods)
    command = f"OMP_NUM_THREADS=1 python recipes/lmrl/table2.py --tasks {task.name} --methods {names} --seeds {seeds}"
    seconds = sum(row["cpu_seconds"] for row in rows) * seeds
    save_table("lmrl", f"small_{task.name}", command, columns, table, range(seeds), seconds)


def format_estimate(e: Estimate) -> str:
    return f"{e.mean:.1f} [{e.low:.1f}, {e.high:.1f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), help="BC is always there")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="one seed, less of everything, to test that it runs")
    parser.add_argument("--out", type=Path, default=FOLDER, help=f"folder of rows and models (default {FOLDER})")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--save", action="store_true", help="keep the tables for the page of the paper")
    args = parser.parse_args()
    out, seeds = (args.out / "quick", 1) if args.quick else (args.out, args.seeds)
    methods = [name for name in METHODS if name == "BC" or name in args.methods]
    everything = {}
    for name in args.tasks:
        task = TASKS[name].quick() if args.quick else TASKS[name]
        known = common.measure_known(task, out)
        found = {m: [common.run_cell(task, m, seed, out) for seed in range(seeds)] for m in methods}
        everything[name] = make_table(task, known, found)
        if not args.json:
            show_table2(task, everything[name], seeds)
        if args.save and not args.quick:
            save_table2(task, everything[name], args.methods, seeds)
    if args.json:
        print(json.dumps(everything, default=vars))


if __name__ == "__main__":
    main()
