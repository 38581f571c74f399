"""Leave-one-out and single group: does what is learned on some maps help on another?

    python recipes/paprika/groups.py [--quick] [--json] [--seeds N] [--workers N]

The paper's figure 3 (and 13), with the four largest maps of `maze` as groups of tasks. The model plays 120 training
tasks of every map 3 times each, once per seed. For every map G three models learn from parts of that play, by SFT and
then RPO: *leave-one-out* from the other three maps, *single* from G alone, *full* from all four. Each is tested on 100
held-out pairs of G, twice each at temperature 1, untruncated, and once at temperature 0.

Departures: the paper's groups are ten games, ours four maps of one game, which the model has all seen before (it was
trained from scratch to wander them). Leave-one-out sees three times as many episodes as single, full four times, as in
the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import charts
from common import (
    AT,
    MAZE,
    Budget,
    Part,
    Subject,
    Tested,
    arguments,
    budget,
    gain,
    offline,
    over_seeds,
    play,
    publish,
    subject_of,
    success_over_seeds,
    test_tasks,
    tested_at_both,
    train_tasks,
    win_rate,
)

from sonde.core import Trajectory
from sonde.evaluation.metrics import Estimate

MAPS = ("comb", "double_t", "ladder", "spiral")
FULL = Budget(tasks=120, k=3, tests=100, test_k=2, seeds=3)
QUICK = Budget(tasks=6, k=12, tests=12, test_k=2, seeds=1)
KINDS = ("leave-one-out", "single", "full")


class Result(NamedTuple):
    """What one seed gave: tests by map, kind of training and temperature; the share of each map's play that was won."""

    tests: dict[str, dict[str, dict[str, Tested]]]
    won: dict[str, float]


def one_seed(seed: int, subject: Subject, b: Budget, folder: Path, maps: Sequence[str]) -> Result:
    """Play every map, train on its part and test."""
    here = folder / f"seed-{seed}"
    played = {
        name: play(subject, subject.model, train_tasks(subject, b.tasks, seed, [name]), b.k, seed) for name in maps
    }
    full = train(subject, [t for part in played.values() for t in part], here / "full", seed)
    tests: dict[str, dict[str, dict[str, Tested]]] = {}
    for name in maps:
        others = [t for other, part in played.items() if other != name for t in part]
        models = {
            "leave-one-out": train(subject, others, here / f"without-{name}", seed),
            "single": train(subject, played[name], here / f"only-{name}", seed),
            "full": full,
        }
        tests[name] = {kind: test(subject, model, b, name, kind) for kind, model in models.items()}
    return Result(tests, {name: win_rate(part) for name, part in played.items()})


def test(subject: Subject, model: str, b: Budget, name: str, label: str) -> dict[str, Tested]:
    """On the held-out pairs of one map, at both temperatures."""
    return tested_at_both(subject, model, test_tasks(subject, b.tests, [name]), b.test_k, label)


def train(subject: Subject, played: Sequence[Trajectory], folder: Path, seed: int) -> str:
    """SFT, then RPO from there, on the same episodes."""
    sft = offline(subject, subject.model, "sft", played, folder / "sft", seed)
    return offline(subject, sft, "rpo", played, folder / "rpo", seed)


class Row(NamedTuple):
    """One map: success of the base model and of each kind of training, and what each gained over base."""

    name: str
    success: dict[str, Estimate]
    gains: dict[str, Estimate]


def row(name: str, at: str, results: Sequence[Result], base: Tested) -> Row:
    found = {kind: [r.tests[name][kind][at] for r in results] for kind in KINDS}
    return Row(
        name,
        {kind: success_over_seeds(tests) for kind, tests in {"base": [base], **found}.items()},
        {kind: gain(tests, [base] * len(tests)) for kind, tests in found.items()},
    )


def verdict(rows: Sequence[Row]) -> dict[str, Any]:
    """What the paper counts: on how many groups each beats base, and full beats single."""
    n = len(rows)
    better = {kind: sum(r.gains[kind].mean > 0 for r in rows) for kind in KINDS}
    surely = {kind: sum(r.gains[kind].low > 0 for r in rows) for kind in KINDS}
    full = sum(r.success["full"].mean > r.success["single"].mean for r in rows)
    matches = sum(r.success["leave-one-out"].mean >= r.success["single"].mean for r in rows)
    return {
        "groups": n, "better_than_base": better, "interval_above_0": surely, "full_above_single": full,
        "leave_one_out_matches_single": matches,
    }  # fmt: skip


def report(at: str, results: Sequence[Result], rows: Sequence[Row]) -> list[Part]:
    """The tables of one temperature."""
    kinds = ("base", *KINDS)
    n = len(results)
    won = {r.name: sum(result.won[r.name] for result in results) / n for r in rows}
    said = verdict(rows)
    counts = [
        [kind, f"{said['better_than_base'][kind]} of {len(rows)}", f"{said['interval_above_0'][kind]} of {len(rows)}"]
        for kind in KINDS
    ]
    return [
        Part(f"success on held-out pairs of a map, {at}, {n} seeds", ["map", "won in play", *kinds],
             [[r.name, won[r.name], *(r.success[kind].mean for kind in kinds)] for r in rows]),
        Part(f"minus base, {at}, 95 % interval over seeds and tasks", ["map", *KINDS],
             [[r.name, *(str(r.gains[kind]) for kind in KINDS)] for r in rows]),
        Part(f"maps on which it is better than base, {at}", ["", "mean", "interval above 0"], counts),
        Part(f"between kinds, {at}", ["", "maps"], [
            ["full above single", f"{said['full_above_single']} of {len(rows)}"],
            ["leave-one-out at least single", f"{said['leave_one_out_matches_single']} of {len(rows)}"],
        ]),
    ]  # fmt: skip


def main() -> None:
    args = arguments(__doc__).parse_args()
    b, maps = budget(args, FULL, QUICK), MAPS[:2] if args.quick else MAPS
    subject = subject_of(args, MAZE)
    results = over_seeds(one_seed, b.seeds, args.workers, subject, b, args.out / "groups", maps)
    base = {name: test(subject, subject.model, b, name, "base") for name in maps}
    rows = {at: [row(name, at, results, base[name][at]) for name in maps] for at in AT}
    series = {kind: [r.success[kind] for r in rows["temperature 1"]] for kind in ("base", *KINDS)}
    plot = charts.bars(args.out / "groups" / "groups.png", maps, series)
    found = {
        "rows": {at: [r._asdict() for r in found] for at, found in rows.items()},
        "verdict": {at: verdict(found) for at, found in rows.items()},
        "won": [r.won for r in results],
        "seeds": b.seeds,
    }
    parts = [part for at in AT for part in report(at, results, rows[at])]
    publish(args, "groups", parts, found, plot)


if __name__ == "__main__":
    main()
