"""Three rounds of training on tasks from a curriculum, compared with uniformly drawn tasks.

    python recipes/paprika/rounds.py [--quick] [--json] [--seeds N] [--workers N]

The paper's figure 4, with `maze`: the groups are its eight maps. Every round of the pipeline draws 80 training tasks, 8
at a time, before the picker sees their results, and plays each 6 times. The model learns from these episodes by SFT and
RPO, starting from the model of the previous round, and is tested on held-out pairs of all maps, at temperature 1 and 0.
*Curriculum* picks the map by UCB on the learning potential (coefficient of variation of the turns needed; unknown at
the start of a round) and the task within it uniformly; *uniform* draws uniformly from all training tasks.

Departures: the paper's groups are three difficulties of twenty questions, judged by a model, and 250 tasks a round.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from common import (
    GREEDY,
    MAZE,
    SAMPLED,
    Budget,
    Parser,
    Subject,
    Table,
    choose_budget,
    choose_subject,
    configure,
    estimate_gain,
    estimate_success,
    map_seeds,
    play_greedily,
    publish,
    resume_pipeline,
)

from sonde.evaluation.evaluate import Evaluation
from sonde.runs.store import Run

PICKERS: Mapping[str, str] = {"curriculum": "ucb", "uniform": "uniform"}
FULL = Budget(tasks=80, k=6, tests=150, test_k=1, seeds=3)
QUICK = Budget(tasks=12, k=8, tests=16, test_k=1, seeds=1)


class Rounds(NamedTuple):
    """One seed and picker: tests at the start and after every round, by temperature; per round the tasks picked of each
    map, and the share of episodes that were won in play."""

    tests: Mapping[str, list[Evaluation]]
    picks: list[dict[str, int]]
    won: list[float]


def run_seed(seed: int, subject: Subject, b: Budget, folder: Path, n_rounds: int) -> dict[str, Rounds]:
    """Run all rounds with both pickers."""
    return {picker: run_rounds(seed, subject, b, folder, n_rounds, picker) for picker in PICKERS}


def run_rounds(seed: int, subject: Subject, b: Budget, folder: Path, n_rounds: int, picker: str) -> Rounds:
    here = folder / "rounds" / f"seed-{seed}" / picker
    outcome = resume_pipeline(configure(subject, b, seed, rounds=n_rounds, curriculum=PICKERS[picker]), here)
    ends = [outcome.stages[0], *outcome.stages[2::2]]
    sampled = [stage.evaluations[0] for stage in ends]
    greedy = [play_greedily(subject, stage.model, subject.make_env(), b.tests, stage.name) for stage in ends]
    played = [Run.load(next((here / f"round-{n}" / "play").iterdir())) for n in range(1, n_rounds + 1)]
    counts = [Counter(t.task.tags["group"] for t in run) for run in played]
    won = [sum(t.outcome is not None and t.outcome.success for t in run) / len(run) for run in played]
    return Rounds({SAMPLED: sampled, GREEDY: greedy}, [{m: n // b.k for m, n in c.items()} for c in counts], won)


def average_picks(rounds: Sequence[Rounds]) -> list[dict[str, float]]:
    """Tasks of each map per round, averaged over seeds."""
    maps = sorted({name for r in rounds for picks in r.picks for name in picks})
    per_round = zip(*(r.picks for r in rounds), strict=True)
    return [{name: sum(p.get(name, 0) for p in picks) / len(rounds) for name in maps} for picks in per_round]


def report_success(at: str, results: Sequence[Mapping[str, Rounds]]) -> Table:
    """Success at the start and after each round, and the advantage of the curriculum, paired by seed and task."""
    columns = {p: list(zip(*(r[p].tests[at] for r in results), strict=True)) for p in PICKERS}
    rows = [[p, *(str(estimate_success(tests)) for tests in found)] for p, found in columns.items()]
    gains = [estimate_gain(a, b) for a, b in zip(columns["curriculum"][1:], columns["uniform"][1:], strict=True)]
    heads = ["", "start", *(f"round {i}" for i in range(1, len(gains) + 1))]
    last = ["curriculum minus uniform", "", *map(str, gains)]
    return Table(f"success on held-out pairs, {at}, {len(results)} seeds", heads, [*rows, last])


def main() -> None:
    args = Parser(__doc__).parse_args()
    b, n_rounds = choose_budget(args, FULL, QUICK), 2 if args.quick else 3
    results = map_seeds(run_seed, b.seeds, args.workers, choose_subject(args, MAZE), b, args.out, n_rounds)
    tables = [report_success(at, results) for at in (SAMPLED, GREEDY)]
    picks = {picker: average_picks([r[picker] for r in results]) for picker in PICKERS}
    maps = sorted({name for rounds in picks.values() for found in rounds for name in found})
    rows = [[picker, i, *(f"{found.get(name, 0):.1f}" for name in maps)]
            for picker, rounds in picks.items() for i, found in enumerate(rounds, 1)]  # fmt: skip
    tables.append(Table("tasks picked of each map, mean over seeds", ["", "round", *maps], rows))
    won = {picker: [r[picker].won for r in results] for picker in PICKERS}
    success = {table.title: table.rows for table in tables[:2]}
    numbers = {"success": success, "picked": picks, "won_in_play": won, "seeds": b.seeds}
    shown = [[f"{picker}, round {n}", *cells] for picker, n, *cells in rows]
    picked = Table("picked", ["", *maps], shown)
    publish(
        args,
        "rounds",
        tables,
        numbers,
        {"rounds": tables[0], "rounds_greedy": tables[1], "rounds_picks": picked},
        b.seeds,
    )


if __name__ == "__main__":
    main()
