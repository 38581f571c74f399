"""Three rounds of training on tasks that a curriculum picks, against tasks picked uniformly.

    python recipes/paprika/rounds.py [--quick] [--json] [--seeds N] [--workers N]

The paper's figure 4, with `maze`: the groups are its eight maps. In every round 80 training tasks are picked, 8 before
the picker looks at how they went, and played 6 times each; the model learns from these episodes by SFT and RPO,
starting from the model of the round before, and is tested on held-out pairs of all maps, at temperature 1 and at 0.
*Curriculum* picks the map by UCB on the learning potential (coefficient of variation of the turns needed; nothing known
at the start of a round) and the task within it uniformly; *uniform* picks among all training tasks alike.

Departures: the paper's groups are three difficulties of twenty questions, judged by a model, and 250 tasks a round. The
reference of RPO is the model that the round's SFT left; the paper names the checkpoint that the round began with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

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
    player,
    publish,
    subject_of,
    success_over_seeds,
    test_tasks,
    tested_at_both,
    win_rate,
)

from sonde.core import AGENT, Trajectory, derive
from sonde.metrics import Estimate
from sonde.rollout import Plan
from sonde.train.collect import Game, Picks, gather, groups_of, trajectories
from sonde.train.curriculum import UCB, Curriculum, Uniform

ROUNDS = 3
PICKERS = ("curriculum", "uniform")
FULL = Budget(tasks=80, k=6, tests=150, test_k=1, seeds=3)
QUICK = Budget(tasks=12, k=8, tests=16, test_k=1, seeds=1)


class Round(NamedTuple):
    """A round: the tests of its model by temperature, how many tasks of each map were picked, and their win rate."""

    test: dict[str, Tested]
    picked: dict[str, int]
    won: float


Result = dict[str, list[Round]]
"""What one seed gave: the rounds of each picker."""


def one_seed(seed: int, subject: Subject, b: Budget, folder: Path, n_rounds: int) -> Result:
    """All rounds with both pickers."""
    rounds: Result = {}
    for picker in PICKERS:
        model, rounds[picker] = subject.model, []
        for number in range(1, n_rounds + 1):
            here = folder / f"seed-{seed}" / picker / f"round-{number}"
            played = pick_and_play(subject, model, picker, b, here / "play", derive(seed, "round", number) % 2**32)
            model = offline(subject, model, "sft", played, here / "sft", seed)
            model = offline(subject, model, "rpo", played, here / "rpo", seed)
            found = test(subject, model, b, f"{picker} {number}")
            rounds[picker].append(Round(found, picked(played, b.k), win_rate(played)))
    return rounds


def test(subject: Subject, model: str, b: Budget, label: str) -> dict[str, Tested]:
    """On held-out pairs of all maps, at both temperatures."""
    return tested_at_both(subject, model, test_tasks(subject, b.tests), b.test_k, label)


def pick_and_play(subject: Subject, model: str, picker: str, b: Budget, folder: Path, seed: int) -> list[Trajectory]:
    """Episodes on tasks that a picker chose while it was played."""
    games = [Game(subject.game, subject.game.tasks("train"), subject.env)]
    picks = picks_of(picker, games, b, seed)
    return trajectories(gather(games, {AGENT: player(subject, model)}, Plan(k=b.k, seed=seed), folder, picks=picks))


def picks_of(picker: str, games: Sequence[Game], b: Budget, seed: int) -> Picks:
    """UCB over maps, or one group of everything."""
    by = "group" if picker == "curriculum" else "preset"
    sizes = {name: len(rows) for name, rows in groups_of(games, by).items()}
    curriculum = Curriculum(groups=sizes, bandit=UCB() if picker == "curriculum" else Uniform(), replacement=False)
    return Picks(curriculum=curriculum, n=b.tasks, by=by, seed=seed)


def picked(played: Sequence[Trajectory], k: int) -> dict[str, int]:
    """How many tasks of each map were played, k times each."""
    counts = Counter(t.task.tags["group"] for t in played)
    return {name: n // k for name, n in sorted(counts.items())}


class Row(NamedTuple):
    """One picker: success at the start and after each round."""

    picker: str
    success: list[Estimate]


def row(picker: str, at: str, results: Sequence[Result], base: Tested) -> Row:
    n_rounds = len(results[0][picker])
    tests = [[base], *([r[picker][i].test[at] for r in results] for i in range(n_rounds))]
    return Row(picker, [success_over_seeds(found) for found in tests])


def advantages(at: str, results: Sequence[Result]) -> list[Estimate]:
    """Curriculum minus uniform after each round, paired by seed and task."""
    n_rounds = len(results[0]["uniform"])
    return [
        gain([r["curriculum"][i].test[at] for r in results], [r["uniform"][i].test[at] for r in results])
        for i in range(n_rounds)
    ]


def mean_picks(results: Sequence[Result], picker: str) -> list[dict[str, float]]:
    """Tasks of each map per round, averaged over seeds."""
    n_rounds, names = len(results[0][picker]), sorted({n for r in results for n in all_picked(r)})
    return [
        {name: sum(r[picker][i].picked.get(name, 0) for r in results) / len(results) for name in names}
        for i in range(n_rounds)
    ]


def all_picked(r: Result) -> set[str]:
    return {name for rounds in r.values() for found in rounds for name in found.picked}


def report(
    results: Sequence[Result], rows: Mapping[str, Sequence[Row]], picks: Mapping[str, list[dict[str, float]]]
) -> list[Part]:
    """The tables."""
    names = list(picks["uniform"][0])
    return [
        *(successes(at, results, found) for at, found in rows.items()),
        Part("tasks picked of each map, mean over seeds", ["", "round", *names],
             [[picker, i, *(f"{found[name]:.1f}" for name in names)]
              for picker, rounds in picks.items() for i, found in enumerate(rounds, 1)]),
    ]  # fmt: skip


def successes(at: str, results: Sequence[Result], rows: Sequence[Row]) -> Part:
    """The table of one temperature."""
    heads = ["", "start", *(f"round {i}" for i in range(1, len(rows[0].success)))]
    better = ["curriculum minus uniform", "", *map(str, advantages(at, results))]
    return Part(f"success on held-out pairs, {at}, {len(results)} seeds", heads,
                [*([r.picker, *map(str, r.success)] for r in rows), better])  # fmt: skip


def main() -> None:
    args = arguments(__doc__).parse_args()
    b = budget(args, FULL, QUICK)
    n_rounds = 2 if args.quick else ROUNDS
    subject = subject_of(args, MAZE)
    results = over_seeds(one_seed, b.seeds, args.workers, subject, b, args.out / "rounds", n_rounds)
    base = test(subject, subject.model, b, "base")
    rows = {at: [row(picker, at, results, base[at]) for picker in PICKERS] for at in AT}
    picks = {p: mean_picks(results, p) for p in PICKERS}
    lines = [
        charts.Curve(r.picker, [e.mean for e in r.success], [e.low for e in r.success], [e.high for e in r.success])
        for r in rows["temperature 1"]
    ]
    plot = charts.curves(args.out / "rounds" / "rounds.png", range(n_rounds + 1), lines, xlabel="round")
    found = {
        "rows": {at: [r._asdict() for r in found] for at, found in rows.items()},
        "curriculum_minus_uniform": {at: advantages(at, results) for at in AT},
        "picked": picks,
        "seeds": b.seeds,
    }
    won = {picker: [[found.won for found in r[picker]] for r in results] for picker in PICKERS}
    publish(args, "rounds", report(results, rows, picks), {**found, "won_in_play": won}, plot)


if __name__ == "__main__":
    main()
