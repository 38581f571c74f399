"""Other sizes: are the models better only where they were trained, or also with other distances and numbers of moves?

    python recipes/paprika/objectives.py maze            # trains the models, once
    python recipes/paprika/sizes.py [--quick] [--json] [--seeds N] [--workers N]

The paper's figure 16 tests its models on Wordle with words of other lengths. Here the models of `objectives.py`, which
learned on pairs of start and goal 2 to 14 steps apart with 20 moves, walk held-out pairs near, middling and far, with
12, 20 and 36 moves, and pairs 15 to 20 steps apart, farther than any they were shown, with 36 moves, at temperature 1
and at 0. 36 moves are what the model's window of 1,024 tokens holds; neither that number nor a chat of that length
occurred in any training.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import charts
from common import (
    AT,
    MAZE,
    TRAINED,
    Budget,
    Part,
    Subject,
    Tested,
    arguments,
    budget,
    gain,
    judged,
    over_seeds,
    publish,
    subject_of,
    success_over_seeds,
    tested_at_both,
    trained_models,
)

from sonde.core import AGENT, Env, Task, UserError, make
from sonde.core.types import content_hash
from sonde.envs.maze.grid import MAPS, distances, free_cells
from sonde.evaluation.metrics import Estimate
from sonde.runs.rollout import Plan, collect

BANDS = {"2-5": (2, 5), "6-9": (6, 9), "10-14": (10, 14)}
BEYOND = {"15-20": (15, 20)}
MOVES, TRAINING_MOVES, MOST = (12, 20, 36), 20, 36
FULL = Budget(tasks=0, k=0, tests=80, test_k=1, seeds=3)
QUICK = Budget(tasks=0, k=0, tests=8, test_k=1, seeds=1)


class Condition(NamedTuple):
    """A band of distances, a number of moves, and tasks of both."""

    band: str
    subject: Subject
    tasks: list[Task]

    @property
    def name(self) -> str:
        return f"{self.band} steps, {self.subject.max_turns} moves"


def conditions(subject: Subject, n: int) -> list[Condition]:
    """Every band of the test split with every number of moves, and what lies beyond; `n` tasks each."""
    played = [replace(subject, max_turns=moves) for moves in MOVES]
    tests = subject.game.tasks("test")
    found = [Condition(band, s, within(tests, *limits)[:n]) for band, limits in BANDS.items() for s in played]
    longest = replace(subject, max_turns=MOST)
    beyond = [Condition(band, longest, apart(longest.game, *limits)[:n]) for band, limits in BEYOND.items()]
    return found + beyond


def within(tasks: Iterable[Task], low: int, high: int) -> list[Task]:
    """The tasks whose goal is so many steps away."""
    return [t for t in tasks if low <= int(t.tags["distance"]) <= high]


def apart(env: Env[Any], low: int, high: int) -> list[Task]:
    """All pairs of cells of the named maps so many steps apart, in an order mixed by hash."""
    setups = [
        {"map": name, "start": start, "goal": goal}
        for name, layout in MAPS.items()
        for goal in free_cells(layout)
        for start, steps in distances(layout, goal).items()
        if low <= steps <= high
    ]
    return [env.task(setup) for setup in sorted(setups, key=content_hash)]


Walked = dict[str, Tested]
"""The tests of a model in one condition, by temperature."""


def walk(subject: Subject, model: str, b: Budget, label: str) -> list[Walked]:
    """A model in every condition."""
    return [tested_at_both(c.subject, model, c.tasks, b.test_k, label) for c in conditions(subject, b.tests)]


def one_seed(seed: int, subject: Subject, b: Budget, models: Sequence[Mapping[str, str]]) -> dict[str, list[Walked]]:
    """The models of one training seed in every condition."""
    return {name: walk(subject, model, b, name) for name, model in models[seed].items()}


def by_chance(subject: Subject, b: Budget) -> list[Tested]:
    """Random legal play in every condition."""
    agent, plan = make("agents:random"), Plan(k=b.test_k)
    return [
        judged(collect(c.subject.game, {AGENT: agent}, c.tasks, plan), c.tasks, b.test_k, "random")
        for c in conditions(subject, b.tests)
    ]


class Row(NamedTuple):
    """One condition: success by model, and what training gained over the base model."""

    name: str
    band: str
    moves: int
    tasks: int
    success: dict[str, Estimate]
    gains: dict[str, Estimate]


def rows(
    at: str, found: Sequence[Condition], results: Sequence[Mapping[str, list[Walked]]], base: Sequence[Walked],
    chance: Sequence[Tested],
) -> list[Row]:  # fmt: skip
    """The rows of one temperature."""
    return [
        _row(c, [[r[name][i][at] for r in results] for name in TRAINED], base[i][at], chance[i])
        for i, c in enumerate(found)
    ]


def _row(c: Condition, trained: Sequence[list[Tested]], base: Tested, chance: Tested) -> Row:
    known = {"random": [chance], "base": [base]}
    models = dict(zip(TRAINED, trained, strict=True))
    return Row(
        name=c.name,
        band=c.band,
        moves=c.subject.game.spec.max_turns,
        tasks=len(c.tasks),
        success={name: success_over_seeds(tests) for name, tests in {**known, **models}.items()},
        gains={name: gain(tests, [base] * len(tests)) for name, tests in models.items()},
    )


def report(at: str, found: Sequence[Row], n_seeds: int) -> list[Part]:
    """The tables of one temperature."""
    names = list(found[0].success)
    return [
        Part(f"success in other sizes, {at}, {n_seeds} seeds", ["", "tasks", *names],
             [[r.name, r.tasks, *(r.success[name].mean for name in names)] for r in found]),
        Part(f"minus base, {at}, 95 % interval over seeds and tasks", ["", *TRAINED],
             [[r.name, *(str(r.gains[name]) for name in TRAINED)] for r in found]),
    ]  # fmt: skip


def draw(found: Sequence[Row], path: Path) -> Path:
    """Success over distance, with the number of moves of the training and, beyond it, the largest."""
    shown = [r for r in found if r.moves == TRAINING_MOVES or r.band in BEYOND]
    lines = [
        charts.Curve(name, [s.mean for s in line], [s.low for s in line], [s.high for s in line])
        for name in found[0].success
        if (line := [r.success[name] for r in shown])
    ]
    ticks = [r.band if r.moves == TRAINING_MOVES else f"{r.band}\n({r.moves} moves)" for r in shown]
    return charts.curves(path, range(len(shown)), lines, xlabel="steps from start to goal", ticks=ticks)


def main() -> None:
    parser = arguments(__doc__)
    args = parser.parse_args()
    b, subject = budget(args, FULL, QUICK), subject_of(args, MAZE)
    try:
        models = [trained_models(args.out, subject, seed) for seed in range(b.seeds)]
    except UserError as e:
        parser.error(str(e))
    results = over_seeds(one_seed, b.seeds, args.workers, subject, b, models)
    base, chance = walk(subject, subject.model, b, "base"), by_chance(subject, b)
    found = {at: rows(at, conditions(subject, b.tests), results, base, chance) for at in AT}
    plot = draw(found["temperature 1"], args.out / "sizes" / "sizes.png")
    parts = [part for at in AT for part in report(at, found[at], b.seeds)]
    numbers = {"rows": {at: [r._asdict() for r in table] for at, table in found.items()}, "seeds": b.seeds}
    publish(args, "sizes", parts, numbers, plot)


if __name__ == "__main__":
    main()
