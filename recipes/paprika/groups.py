"""Leave-one-out and single group: does what is learned in some groups of tasks help in another?

    python recipes/paprika/groups.py [maps|games] [--quick] [--json] [--seeds N] [--workers N]

The paper's figure 3 (and 13). For every group G, one pipeline (SFT, then RPO) learns from all others (*leave-one-out*)
and one from G alone (*single*); one learns from all (*full*). They share the base model's episodes. Leave-one-out sees
so many times as many episodes as single as there are other groups, as in the paper. Held-out tasks are played at
temperature 1, untruncated, and once at temperature 0.

    maps     the four largest maps of `maze`, `sonde-tiny-maze`: 120 training tasks of each, 3 samples; 100 held-out
             pairs of starts and goals, twice
    games    three games of three papers, `sonde-tiny-many`: 48 training tasks of each, 4 samples; 60 held-out tasks,
             once. SFT alone is shown too (the paper's figure 17).

Departures: the paper's groups are ten games. Ours are four maps of one game, or three games that the model sees whole
and wins now and then. Both models were trained from scratch on play of their groups, so no group is new to
them: what is asked is whether *further* training carries over, or makes a model forget.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from common import (
    GAMES,
    GREEDY,
    MANY,
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

from sonde.core import build
from sonde.evaluation.evaluate import Evaluation
from sonde.evaluation.metrics import Estimate

KINDS = ("leave-one-out", "single", "full")
SFT = "full, SFT alone"
QUICK = Budget(tasks=6, k=12, tests=12, test_k=2, seeds=1)

Groups = Mapping[str, Mapping[str, Any]]
"""The environment of each group, by the group's name."""


class Division(NamedTuple):
    """A model's tasks in groups, and the size of an experiment with them."""

    group: str
    subject: Subject
    groups: Groups
    full: Budget
    table: str


DIVISIONS: Mapping[str, Division] = {
    "maps": Division(
        "map", MAZE, {name: {**MAZE.env, "grid": name} for name in ("comb", "double_t", "ladder", "spiral")},
        Budget(tasks=120, k=3, tests=100, test_k=2, seeds=3), "groups",
    ),
    "games": Division(
        "game", MANY, GAMES, Budget(tasks=48, k=4, tests=60, test_k=1, seeds=3), "games",
    ),
}  # fmt: skip

Tests = dict[str, dict[str, dict[str, Evaluation]]]
"""By temperature, group and kind of training (and the base model)."""


def run_seed(seed: int, subject: Subject, b: Budget, folder: Path, groups: Groups) -> Tests:
    """Train every kind for every group, and test each on its group."""
    here = folder / f"seed-{seed}"
    tests = Tests({at: {name: {} for name in groups} for at in (SAMPLED, GREEDY)})

    def train(kind: str, title: str, learned: Sequence[str], tested: Sequence[str]) -> None:
        held_out = [name for name in tested if name not in learned]
        envs, others = (tuple(groups[name] for name in part) for part in (learned, held_out))
        config = configure(subject, b, seed, envs=envs, held_out=others, tested="held_out" if held_out else "all")
        stages = resume_pipeline(config, here / title, here / "base").stages
        labels = {"base": stages[0], SFT: stages[1], kind: stages[-1]}
        for label, stage in labels.items():
            if label == SFT and kind != "full":
                continue
            for name, evaluation in zip(tested, stage.evaluations, strict=True):
                tests[SAMPLED][name][label] = evaluation
                if label not in tests[GREEDY][name]:
                    tests[GREEDY][name][label] = play_greedily(
                        subject, stage.model, build(groups[name]), b.tests, label
                    )

    train("full", "full", [*groups], [*groups])
    for name in groups:
        train("leave-one-out", f"without-{name}", [other for other in groups if other != name], [name])
        train("single", f"only-{name}", [name], [name])
    return tests


class Row(NamedTuple):
    """One group: success of the base model and of each kind of training, and what each gained over base."""

    name: str
    success: dict[str, Estimate]
    gains: dict[str, Estimate]


def make_row(name: str, at: str, results: Sequence[Tests]) -> Row:
    tests = {kind: [r[at][name][kind] for r in results] for kind in ("base", *KINDS, SFT)}
    gains = {kind: estimate_gain(tests[kind], tests["base"]) for kind in (*KINDS, SFT)}
    return Row(name, {kind: estimate_success(found) for kind, found in tests.items()}, gains)


def count_better(rows: Sequence[Row]) -> dict[str, Any]:
    """What the paper counts: on how many groups each kind beats base, and full beats single."""
    return {
        "groups": len(rows),
        "better_than_base": {kind: sum(r.gains[kind].mean > 0 for r in rows) for kind in KINDS},
        "interval_above_0": {kind: sum(r.gains[kind].low > 0 for r in rows) for kind in KINDS},
        "interval_below_0": {kind: sum(r.gains[kind].high < 0 for r in rows) for kind in KINDS},
        "full_above_single": sum(r.success["full"].mean > r.success["single"].mean for r in rows),
        "leave_one_out_matches_single": sum(r.success["leave-one-out"].mean >= r.success["single"].mean for r in rows),
    }


def report(at: str, group: str, n_seeds: int, rows: Sequence[Row]) -> list[Table]:
    """The tables of one temperature."""
    kinds, counts, n = ("base", *KINDS, SFT), count_better(rows), len(rows)
    columns = ("better_than_base", "interval_above_0", "interval_below_0")
    return [
        Table(f"success on held-out tasks of a {group}, {at}, {n_seeds} seeds", [group, *kinds],
              [[r.name, *(r.success[kind].mean for kind in kinds)] for r in rows]),
        Table(f"minus base, {at}, 95 % interval over seeds and tasks", [group, *kinds[1:]],
              [[r.name, *(str(r.gains[kind]) for kind in kinds[1:])] for r in rows]),
        Table(f"{group}s on which it is better than base, {at}", ["", "mean", "interval above 0", "interval below 0"],
              [[kind, *(f"{counts[column][kind]} of {n}" for column in columns)] for kind in KINDS]),
        Table(f"between kinds, {at}", ["", f"{group}s"], [
            ["full above single", f"{counts['full_above_single']} of {n}"],
            ["leave-one-out at least single", f"{counts['leave_one_out_matches_single']} of {n}"],
        ]),
    ]  # fmt: skip


def main() -> None:
    parser = Parser(__doc__)
    parser.add_argument("of", nargs="?", default="maps", choices=DIVISIONS, help="what the groups are (default maps)")
    args = parser.parse_args()
    division = DIVISIONS[args.of]
    b, groups = choose_budget(args, division.full, QUICK), dict(division.groups)
    if args.quick:
        groups = {name: groups[name] for name in list(groups)[:2]}
    subject, table = choose_subject(args, division.subject), division.table
    results = map_seeds(run_seed, b.seeds, args.workers, subject, b, args.out / table, groups)
    rows = {at: [make_row(name, at, results) for name in groups] for at in (SAMPLED, GREEDY)}
    tables = [shown for at, found in rows.items() for shown in report(at, division.group, len(results), found)]
    numbers = {at: {"rows": [r._asdict() for r in found], **count_better(found)} for at, found in rows.items()}
    saved = {f"{table}{name}": tables[i] for name, i in {"": 0, "_gains": 1, "_counts": 2, "_greedy_gains": 5}.items()}
    publish(args, table, tables, {**numbers, "seeds": b.seeds}, saved, b.seeds)


if __name__ == "__main__":
    main()
