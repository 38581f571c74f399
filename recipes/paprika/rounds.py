"""Three rounds of training on tasks from a curriculum, compared with uniformly drawn tasks.

    python recipes/paprika/rounds.py [maps|games] [--quick] [--json] [--seeds N] [--workers N]

The paper's figure 4. The groups are the eight maps of `maze`, or the games of `groups.py` and the model of many games.
Every round of the pipeline draws 80 training tasks, 8 at a time, before the picker sees their results, and plays each 6
times. The model learns from these episodes by SFT and RPO, starting from the model of the previous round, and is tested
on held-out tasks of all groups, at temperature 1 and 0. *Curriculum* picks the group by UCB on the learning potential
(coefficient of variation of the turns needed; unknown at the start of a round) and the task within it uniformly;
*uniform* draws uniformly from all training tasks, so that a game with more of them is played more.

Departures: the paper's groups are three difficulties of twenty questions, judged by a model, and 250 tasks a round.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

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
    map_seeds,
    play_greedily,
    publish,
    resume_pipeline,
    tabulate_wins,
)

from sonde.core import build
from sonde.core.types import Json
from sonde.evaluation.evaluate import Evaluation
from sonde.evaluation.metrics import difference_over_seeds
from sonde.runs.store import Run

PICKERS: Mapping[str, str] = {"curriculum": "ucb", "uniform": "uniform"}
QUICK = Budget(tasks=12, k=8, tests=16, test_k=1, seeds=1)


class Choice(NamedTuple):
    """What the groups are: the model, its environments, the tag of the groups, and the size of the experiment with
    them. The name of its tables begins with `table`."""

    group: str
    subject: Subject
    envs: Sequence[Mapping[str, Json]]
    by: str
    full: Budget
    table: str


CHOICES: Mapping[str, Choice] = {
    "maps": Choice("map", MAZE, (MAZE.env,), "group", Budget(tasks=80, k=6, tests=150, test_k=1, seeds=3), "rounds"),
    "games": Choice(
        "game", MANY, (*GAMES.values(),), "env", Budget(tasks=80, k=6, tests=40, test_k=1, seeds=3), "rounds_games"
    ),
}

Wins = list[list[float]]
"""1 where an episode was won, by task of all environments, and sample."""


class Rounds(NamedTuple):
    """One seed and picker: tests at the start and after every round, by temperature; per round the tasks picked of each
    group, and the share of episodes that were won in play."""

    tests: Mapping[str, list[Wins]]
    picks: list[dict[str, int]]
    won: list[float]


def run_seed(seed: int, choice: Choice, b: Budget, folder: Path, n_rounds: int) -> dict[str, Rounds]:
    """Run all rounds with both pickers."""
    return {picker: run_rounds(seed, choice, b, folder, n_rounds, picker) for picker in PICKERS}


def run_rounds(seed: int, choice: Choice, b: Budget, folder: Path, n_rounds: int, picker: str) -> Rounds:
    here, subject, by = folder / choice.table / f"seed-{seed}" / picker, choice.subject, choice.by
    config = configure(subject, b, seed, envs=choice.envs, rounds=n_rounds, curriculum=PICKERS[picker], by=by)
    outcome = resume_pipeline(config, here)
    ends = [outcome.stages[0], *outcome.stages[2::2]]
    sampled = [join_wins(stage.evaluations) for stage in ends]
    greedy = [
        join_wins([play_greedily(subject, stage.model, build(env), b.tests, stage.name) for env in choice.envs])
        for stage in ends
    ]
    picks, won = list[dict[str, int]](), list[float]()
    for n in range(1, n_rounds + 1):
        played = [t for run in sorted((here / f"round-{n}" / "play").iterdir()) for t in Run.load(run)]
        counts = Counter(t.task.env if by == "env" else t.task.tags[by] for t in played)
        picks.append({group: count // b.k for group, count in counts.items()})
        won.append(sum(t.outcome is not None and t.outcome.success for t in played) / len(played))
    return Rounds({SAMPLED: sampled, GREEDY: greedy}, picks, won)


def join_wins(tests: Sequence[Evaluation]) -> Wins:
    """The tasks of all environments, one after the other."""
    return [row for test in tests for row in tabulate_wins(test)]


def average_picks(rounds: Sequence[Rounds]) -> list[dict[str, float]]:
    """Tasks of each group per round, averaged over seeds."""
    groups = sorted({name for r in rounds for picks in r.picks for name in picks})
    per_round = zip(*(r.picks for r in rounds), strict=True)
    return [{name: sum(p.get(name, 0) for p in picks) / len(rounds) for name in groups} for picks in per_round]


def report_success(at: str, results: Sequence[Mapping[str, Rounds]]) -> Table:
    """Success at the start and after each round, and the advantage of the curriculum, paired by seed and task."""
    columns = {p: list(zip(*(r[p].tests[at] for r in results), strict=True)) for p in PICKERS}
    rows = [
        [p, *(str(difference_over_seeds(wins, [[[0.0] for _ in table] for table in wins])) for wins in found)]
        for p, found in columns.items()
    ]
    ends = zip(columns["curriculum"][1:], columns["uniform"][1:], strict=True)
    gains = [difference_over_seeds(curriculum, uniform) for curriculum, uniform in ends]
    heads = ["", "start", *(f"round {i}" for i in range(1, len(gains) + 1))]
    last = ["curriculum minus uniform", "", *map(str, gains)]
    return Table(f"success on held-out tasks, {at}, {len(results)} seeds", heads, [*rows, last])


def main() -> None:
    parser = Parser(__doc__)
    parser.add_argument("of", nargs="?", default="maps", choices=CHOICES, help="what the groups are (default maps)")
    args = parser.parse_args()
    choice = CHOICES[args.of]
    choice = choice._replace(subject=choose_subject(args, choice.subject))
    b, n_rounds = choose_budget(args, choice.full, QUICK), 2 if args.quick else 3
    results = map_seeds(run_seed, b.seeds, args.workers, choice, b, args.out, n_rounds)
    tables = [report_success(at, results) for at in (SAMPLED, GREEDY)]
    picks = {picker: average_picks([r[picker] for r in results]) for picker in PICKERS}
    groups = sorted({name for rounds in picks.values() for found in rounds for name in found})
    rows = [[f"{picker}, round {i}", *(f"{found.get(name, 0):.1f}" for name in groups)]
            for picker, rounds in picks.items() for i, found in enumerate(rounds, 1)]  # fmt: skip
    tables.append(Table(f"tasks picked of each {choice.group}, mean over seeds", ["", *groups], rows))
    won = {picker: [r[picker].won for r in results] for picker in PICKERS}
    success = {table.title: table.rows for table in tables[:2]}
    numbers = {"success": success, "picked": picks, "won_in_play": won, "seeds": b.seeds}
    name = choice.table
    saved = dict(zip((name, f"{name}_greedy", f"{name}_picks"), tables, strict=True))
    publish(args, name, tables, numbers, saved, b.seeds)


if __name__ == "__main__":
    main()
