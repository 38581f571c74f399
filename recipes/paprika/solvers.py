"""Floor and ceiling of the paper's tests beyond the ten groups, by programs: figures 4, 14 to 16 and 19, in seconds.

    python recipes/paprika/solvers.py [--quick] [--json] [--tests N]

Success of random play and of the reference solver on twenty questions by difficulty (figure 4, right), on the cities
and topics of LMRL-Gym, both splits (figures 14 and 15), and on Wordle with other lengths of words (figure 16); the
regret of bandit algorithms over 100 pulls with 5, 10 and 20 arms (figure 19).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from common import Budget, Parser, Table, choose_budget, publish

from sonde.core import AGENT, Env, make
from sonde.evaluation.evaluate import Evaluation, evaluate
from sonde.runs.rollout import Plan, collect_trajectories

ARMS = (5, 10, 20)
BANDITS = ("random", "epsilon_greedy", "ucb1", "thompson")
"""Agents that play the bandits."""
FULL = Budget(tasks=0, k=0, tests=200, test_k=1, seeds=1)
QUICK = Budget(tasks=0, k=0, tests=12, test_k=1, seeds=1)


class Words(NamedTuple):
    """An environment, its splits, and the tag by which success is divided ("" for none)."""

    name: str
    env: Mapping[str, Any]
    splits: Sequence[str] = ("test",)
    by: str = ""


GAMES = (
    Words("twenty questions", {"name": "twenty_questions", "preset": "paprika"}, by="difficulty"),
    Words("guess my city, LMRL-Gym", {"name": "guess_my_city", "preset": "lmrl"}, ("train", "test")),
    Words("twenty questions, LMRL-Gym", {"name": "twenty_questions", "preset": "lmrl"}, ("train", "test")),
    Words("wordle, modified", {"name": "wordle", "preset": "modified"}, by="length"),
)


def play(env: Env[Any], agent: str, split: str, b: Budget) -> Evaluation:
    tasks = env.tasks(split)[: b.tests]
    played = collect_trajectories(env, {AGENT: make(f"agents:{agent}")}, tasks, Plan(k=b.test_k))
    return evaluate(played, tasks=[task.id for task in tasks], label=agent, gains=False)


def measure_games(b: Budget) -> Table:
    """Measure success and turns of floor and reference, and success by tag."""
    rows: list[list[Any]] = []
    for game in GAMES:
        env = make(**game.env)
        for split in game.splits:
            found = [play(env, str(agent), split, b) for agent in (env.spec.floor, env.spec.reference)]
            name = f"{game.name}, {split}" if len(game.splits) > 1 else game.name
            rows.append([name, *_cells(found)])
            for value in found[0].by_tag.get(game.by, {}):
                groups = [e.by_tag[game.by][value] for e in found]
                rows.append(
                    [f"{name}, {value}", groups[0].n_tasks, *(g.success.mean for g in groups), groups[1].turns.mean]
                )
    return Table("success of programs", ["", "tasks", "random", "reference", "turns of the reference"], rows)


def _cells(found: Sequence[Evaluation]) -> list[Any]:
    success = [e.metrics["success"] for e in found]
    turns = found[1].metrics["turns"]
    return [found[0].n_tasks, *(s and s.mean for s in success), turns and turns.mean]


def measure_bandits(b: Budget) -> Table:
    """Measure the expected regret of an episode."""
    rows: list[list[Any]] = []
    for agent in BANDITS:
        envs = [make("bernoulli_bandit", preset="krishnamurthy", arms=arms) for arms in ARMS]
        rows.append([agent, *(play(env, agent, "test", b).metrics["regret"] for env in envs)])
    return Table("regret over 100 pulls", ["", *(f"{arms} arms" for arms in ARMS)], rows)


def main() -> None:
    parser = Parser(__doc__)
    args = parser.parse_args()
    b = choose_budget(args, FULL, QUICK)
    games, bandits = measure_games(b), measure_bandits(b._replace(tests=min(b.tests, 100)))
    publish(args, "solvers", [games, bandits], {t.title: t.rows for t in (games, bandits)},
            {"solvers": games, "bandit": bandits})  # fmt: skip


if __name__ == "__main__":
    main()
