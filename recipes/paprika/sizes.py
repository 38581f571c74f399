"""Other sizes: are the models better only at the sizes of training, or also with other distances and numbers of moves?

    python recipes/paprika/objectives.py maze            # trains the models, once
    python recipes/paprika/sizes.py [--quick] [--json] [--seeds N] [--workers N]

The paper's figure 16 tests its models on Wordle with words of other lengths. Here the models of `objectives.py`, which
learned on pairs of start and goal 2 to 14 steps apart with 20 moves, walk near, middle and far held-out pairs with 12,
20 and 36 moves, and pairs 15 to 20 steps apart, farther than any in training, with 36 moves, at temperature 1 and at 0.
The model's window of 1,024 tokens holds 36 moves; neither that number nor a chat of that length occurred in any
training.
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
    estimate_gain,
    estimate_success,
    map_seeds,
    play_test,
    publish,
)
from objectives import seed_folder

from sonde.core import AGENT, Env, Task, UserError, make
from sonde.core.types import content_hash
from sonde.envs.maze.grid import MAPS, free_cells, goal_distances
from sonde.evaluation.evaluate import Evaluation, evaluate
from sonde.runs.rollout import Plan, collect_trajectories

BANDS = {"2-5": (2, 5), "6-9": (6, 9), "10-14": (10, 14)}
BEYOND = {"15-20": (15, 20)}
MOVES, MOST = (12, 20, 36), 36
TRAINED = {"SFT": "pipeline/round-1/sft", "SFT + RPO": "pipeline/round-1/rpo", "GRPO": "grpo"}
"""The models of `objectives.py`, and their folders."""
FULL = Budget(tasks=0, k=0, tests=80, test_k=1, seeds=3)
QUICK = Budget(tasks=0, k=0, tests=8, test_k=1, seeds=1)

Tests = dict[str, list[Evaluation]]
"""By temperature, a test per condition."""


def find_models(out: Path, subject: Subject, seed: int) -> dict[str, str]:
    """The models of `objectives.py`. Raises `UserError` if there are none."""
    env = str(subject.env["name"])
    models = {name: seed_folder(out, env, seed) / part / "model" for name, part in TRAINED.items()}
    for path in models.values():
        if not (path / "config.json").is_file():
            raise UserError(
                f"{path} is missing; run objectives.py {env} first, with the same --out, --seeds and --quick"
            )
    return {name: str(path) for name, path in models.items()}


class Condition(NamedTuple):
    """A band of distances, a number of moves, and tasks of both."""

    name: str
    env: Env[Any]
    tasks: list[Task]


def list_conditions(subject: Subject, n: int) -> list[Condition]:
    """Every band of the test split with every number of moves, and the pairs beyond; `n` tasks each."""
    envs = {moves: subject.make_env(max_turns=moves) for moves in MOVES}
    tests = subject.make_env().tasks("test")
    near = [
        Condition(f"{band} steps, {moves} moves", env, [t for t in tests if low <= int(t.tags["distance"]) <= high][:n])
        for band, (low, high) in BANDS.items()
        for moves, env in envs.items()
    ]
    far = [
        Condition(f"{band} steps, {MOST} moves", envs[MOST], list_pairs(envs[MOST], *limits)[:n])
        for band, limits in BEYOND.items()
    ]
    return near + far


def list_pairs(env: Env[Any], low: int, high: int) -> list[Task]:
    """All pairs of cells of the named maps that are so many steps apart, ordered by a hash."""
    setups = [
        {"map": name, "start": start, "goal": goal}
        for name, layout in MAPS.items()
        for goal in free_cells(layout)
        for start, steps in goal_distances(layout, goal).items()
        if low <= steps <= high
    ]
    return [env.task(setup) for setup in sorted(setups, key=content_hash)]


def test_model(subject: Subject, model: str, b: Budget, label: str) -> Tests:
    """Test a model in every condition."""
    plans = {SAMPLED: (b.test_k, 1.0), GREEDY: (1, 0.0)}
    conditions = list_conditions(subject, b.tests)
    return {
        at: [play_test(subject, model, c.env, c.tasks, k, label, temperature) for c in conditions]
        for at, (k, temperature) in plans.items()
    }


def run_seed(seed: int, subject: Subject, b: Budget, models: Sequence[Mapping[str, str]]) -> dict[str, Tests]:
    """Test the models of one training seed in every condition."""
    return {name: test_model(subject, model, b, name) for name, model in models[seed].items()}


def play_randomly(subject: Subject, b: Budget) -> list[Evaluation]:
    """Test random legal play in every condition."""
    agent, plan = make("agents:random"), Plan(k=b.test_k)
    return [
        evaluate(collect_trajectories(c.env, {AGENT: agent}, c.tasks, plan), k=b.test_k, label="random")
        for c in list_conditions(subject, b.tests)
    ]


def report(at: str, names: Sequence[str], columns: Mapping[str, Sequence[Sequence[Evaluation]]]) -> list[Table]:
    """Print the tables of one temperature; `columns` has the tests of every seed, by model and condition."""
    success = [
        [name, columns["base"][i][0].n_tasks, *(estimate_success(found[i]).mean for found in columns.values())]
        for i, name in enumerate(names)
    ]
    gains = [
        [name, *(str(estimate_gain(columns[m][i], [columns["base"][i][0]] * len(columns[m][i]))) for m in TRAINED)]
        for i, name in enumerate(names)
    ]
    n_seeds = len(columns["SFT"][0])
    return [
        Table(f"success in other sizes, {at}, {n_seeds} seeds", ["", "tasks", *columns], success),
        Table(f"minus base, {at}, 95 % interval over seeds and tasks", ["", *TRAINED], gains),
    ]


def main() -> None:
    parser = Parser(__doc__)
    args = parser.parse_args()
    b, subject = choose_budget(args, FULL, QUICK), choose_subject(args, MAZE)
    try:
        models = [find_models(args.out, subject, seed) for seed in range(b.seeds)]
    except UserError as e:
        parser.error(str(e))
    results = map_seeds(run_seed, b.seeds, args.workers, subject, b, models)
    base, chance = test_model(subject, subject.model, b, "base"), play_randomly(subject, b)
    names, tables = [c.name for c in list_conditions(subject, b.tests)], list[Table]()
    for at in (SAMPLED, GREEDY):
        columns = {"random": [[e] for e in chance], "base": [[e] for e in base[at]]}
        columns |= {name: [list(row) for row in zip(*(r[name][at] for r in results), strict=True)] for name in TRAINED}
        tables += report(at, names, columns)
    saved = {"sizes": tables[0], "sizes_gains": tables[1], "sizes_greedy": tables[2], "sizes_greedy_gains": tables[3]}
    publish(args, "sizes", tables, {table.title: table.rows for table in tables}, saved, b.seeds)


if __name__ == "__main__":
    main()
