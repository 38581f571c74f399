"""Leave-one-out and single group: does what is learned on some maps help on another?

    python recipes/paprika/groups.py [--quick] [--json] [--seeds N] [--workers N]

The paper's figure 3 (and 13), with the four largest maps of `maze` as groups of tasks. For every map G, one pipeline
(SFT, then RPO) learns from the other three (*leave-one-out*) and one from G alone (*single*); one learns from all four
(*full*). Each map gives 120 training tasks, 3 samples each. Tests: 100 held-out pairs of G, twice each at temperature
1, untruncated, and once at temperature 0.

Departures: the paper's groups are ten games, ours four maps of one game, which the model has all seen before (it was
trained from scratch to wander them). Leave-one-out sees three times as many episodes as single, full four times, as in
the paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

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
from sonde.evaluation.metrics import Estimate

MAPS = ("comb", "double_t", "ladder", "spiral")
FULL = Budget(tasks=120, k=3, tests=100, test_k=2, seeds=3)
QUICK = Budget(tasks=6, k=12, tests=12, test_k=2, seeds=1)
KINDS = ("leave-one-out", "single", "full")

Tests = dict[str, dict[str, dict[str, Evaluation]]]
"""By temperature, map and kind of training (and the base model)."""


def run_seed(seed: int, subject: Subject, b: Budget, folder: Path, maps: Sequence[str]) -> Tests:
    """Train every kind for every map, and test each on its map."""
    here, tests = (
        folder / "groups" / f"seed-{seed}",
        Tests({at: {name: {} for name in maps} for at in (SAMPLED, GREEDY)}),
    )

    def train(kind: str, name: str, learned: Sequence[str], tested: Sequence[str]) -> None:
        envs, held_out = (tuple(choose_map(subject, m) for m in part) for part in (learned, set(tested) - set(learned)))
        outcome = resume_pipeline(configure(subject, b, seed, envs=envs, held_out=held_out), here / name)
        for place, map_name in enumerate([*learned, *(m for m in tested if m not in learned)]):
            if map_name not in tested:
                continue
            for label, stage in (("base", outcome.stages[0]), (kind, outcome.stages[-1])):
                env = subject.make_env(grid=map_name)
                tests[SAMPLED][map_name][label] = stage.evaluations[place]
                tests[GREEDY][map_name][label] = play_greedily(subject, stage.model, env, b.tests, label)

    train("full", "full", maps, maps)
    for name in maps:
        train("leave-one-out", f"without-{name}", [other for other in maps if other != name], [name])
        train("single", f"only-{name}", [name], [name])
    return tests


def choose_map(subject: Subject, name: str) -> Mapping[str, Any]:
    return {**subject.env, "grid": name}


class Row(NamedTuple):
    """One map: success of the base model and of each kind of training, and what each gained over base."""

    name: str
    success: dict[str, Estimate]
    gains: dict[str, Estimate]


def make_row(name: str, at: str, results: Sequence[Tests]) -> Row:
    tests = {kind: [r[at][name][kind] for r in results] for kind in ("base", *KINDS)}
    gains = {kind: estimate_gain(tests[kind], tests["base"]) for kind in KINDS}
    return Row(name, {kind: estimate_success(found) for kind, found in tests.items()}, gains)


def count_better(rows: Sequence[Row]) -> dict[str, Any]:
    """What the paper counts: on how many groups each kind beats base, and full beats single."""
    return {
        "groups": len(rows),
        "better_than_base": {kind: sum(r.gains[kind].mean > 0 for r in rows) for kind in KINDS},
        "interval_above_0": {kind: sum(r.gains[kind].low > 0 for r in rows) for kind in KINDS},
        "full_above_single": sum(r.success["full"].mean > r.success["single"].mean for r in rows),
        "leave_one_out_matches_single": sum(r.success["leave-one-out"].mean >= r.success["single"].mean for r in rows),
    }


def report(at: str, n_seeds: int, rows: Sequence[Row]) -> list[Table]:
    """The tables of one temperature."""
    kinds, counts, n = ("base", *KINDS), count_better(rows), len(rows)
    columns = ("better_than_base", "interval_above_0")
    return [
        Table(f"success on held-out pairs of a map, {at}, {n_seeds} seeds", ["map", *kinds],
              [[r.name, *(r.success[kind].mean for kind in kinds)] for r in rows]),
        Table(f"minus base, {at}, 95 % interval over seeds and tasks", ["map", *KINDS],
              [[r.name, *(str(r.gains[kind]) for kind in KINDS)] for r in rows]),
        Table(f"maps on which it is better than base, {at}", ["", "mean", "interval above 0"],
              [[kind, *(f"{counts[column][kind]} of {n}" for column in columns)] for kind in KINDS]),
        Table(f"between kinds, {at}", ["", "maps"], [
            ["full above single", f"{counts['full_above_single']} of {n}"],
            ["leave-one-out at least single", f"{counts['leave_one_out_matches_single']} of {n}"],
        ]),
    ]  # fmt: skip


def main() -> None:
    args = Parser(__doc__).parse_args()
    b, maps = choose_budget(args, FULL, QUICK), MAPS[:2] if args.quick else MAPS
    results = map_seeds(run_seed, b.seeds, args.workers, choose_subject(args, MAZE), b, args.out, maps)
    rows = {at: [make_row(name, at, results) for name in maps] for at in (SAMPLED, GREEDY)}
    tables = [table for at, found in rows.items() for table in report(at, len(results), found)]
    numbers = {at: {"rows": [r._asdict() for r in found], **count_better(found)} for at, found in rows.items()}
    saved = {"groups": tables[0], "groups_gains": tables[1], "groups_counts": tables[2]}
    publish(args, "groups", tables, {**numbers, "seeds": b.seeds}, saved, b.seeds)


if __name__ == "__main__":
    main()
