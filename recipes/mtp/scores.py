"""Multi-Turn Puzzles, figures 1 and 5: scores and cost of every agent that played the suite.

    python recipes/mtp/scores.py [--results results] [--save]

Reads the files of `sonde eval --suite mtp --agent AGENT --submit FILE` (or `--model MODEL`), one per agent, and plays
nothing. The score is the paper's metric, the mean return of an episode, from 0 to 1. The cost is thousands of prompt
and completion tokens per episode. Means are over the environments that were played, with equal weights.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from sonde.evaluation.metrics import Estimate, mean_of_estimates
from sonde.evaluation.results import PlayedEnvironment, SuiteResult, read_result
from sonde.evaluation.suites import suite_environments

sys.path.append(str(Path(__file__).parents[1]))
from rows import Cell, save_table

NAMES = [env for env, _ in suite_environments("mtp")]


def read_suite(folder: Path) -> list[SuiteResult]:
    """All results of the suite, the best first."""
    found = [read_result(file) for file in sorted(folder.glob("mtp--*.json"))]
    return sorted(found, key=lambda one: -(_mean_score(one) or 0.0))


def _mean_score(result: SuiteResult) -> float | None:
    found = result.mean_metric("score")[0]
    return None if found is None else found.mean


def tabulate(results: Sequence[SuiteResult], cell: Callable[[PlayedEnvironment], Cell]) -> list[list[Cell]]:
    """One row per agent with one cell per environment, which is empty if the agent did not play it."""
    rows: list[list[Cell]] = []
    for one in results:
        played = {env.env["name"]: env for env in one.environments}
        rows.append([one.agent, *(cell(played[name]) if name in played else None for name in NAMES)])
    return rows


def format_score(value: Estimate | None) -> str | None:
    return None if value is None else f"{value.mean:.3f} [{value.low:.3f}, {value.high:.3f}]"


def make_tables(results: Sequence[SuiteResult]) -> dict[str, tuple[list[str], list[list[Cell]]]]:
    """The columns and rows of each table, by its name."""
    scores = tabulate(results, lambda env: format_score(env.metrics["score"]))
    for row, one in zip(scores, results, strict=True):
        found = [env.metrics["score"] for env in one.environments]
        row.append(format_score(mean_of_estimates([value for value in found if value is not None])))
        row.append(", ".join(sorted({f"{env.tasks} x {env.k}" for env in one.environments})))
    costs = [
        [one.agent, round(one.tokens_per_episode / 1000, 2), format_score(one.mean_metric("score")[0])]
        for one in results
        if one.tokens
    ]
    return {
        "scores": (["agent", *NAMES, "mean", "tasks x samples"], scores),
        "costs": (["agent", "k tokens per episode", "mean score"], costs),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of result files")
    parser.add_argument("--save", action="store_true", help="keep the tables for the page of the paper")
    args = parser.parse_args()
    for name, (columns, rows) in make_tables(read_suite(args.results)).items():
        print(name)
        for row in (columns, *rows):
            print("  ".join(f"{'' if cell is None else cell!s:24}" for cell in row).rstrip())
        if args.save:
            save_table("mtp", name, "python recipes/mtp/scores.py", columns, rows)


if __name__ == "__main__":
    main()
