"""Collect training episodes: play k samples of each task and record them, one run folder per environment.

Tasks are given, or a curriculum chooses them while it sees how the games go. Calling `collect_episodes` again after an
interruption continues where it stopped: recorded episodes are not played again, and a curriculum's choices follow from
its seed and those episodes. A task that a curriculum picks again is played in the next world (or, where nothing is
drawn, with new samples). Source: PAPRIKA (arXiv 2502.17543), sections 3.2 and 3.4: 20 trajectories per task at
temperature 1.5 and min-p 0.3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sonde._util.argument_checks import Checked
from sonde.core import AnyPolicy, Env, Task, Trajectory, UserError, content_hash, invalid, run_sync
from sonde.core.types import Json
from sonde.runs.games import GameConfig
from sonde.runs.rollout import OnDone, Plan, close, fill_seats, record_plan
from sonde.runs.store import Run

from .curriculum import Curriculum, group_tasks, learning_potential

Seats = Mapping[str, AnyPolicy]


@dataclass(frozen=True)
class Game(Checked):
    """An environment, the tasks that may be played in it, the name of its run folder, and the samples of each of its
    tasks (None: as many as the plan says). `split` and `tasks_file` say where the tasks come from, for the record.
    `held_out`: tasks to choose weights by, in place of those of a split (`train.online.held_out`)."""

    called = "game"

    env: Env[Any]
    tasks: Sequence[Task]
    name: str
    samples: int | None = None
    split: str = ""
    tasks_file: str = ""
    held_out: Sequence[Task] | None = None

    @property
    def source(self) -> dict[str, Json]:
        """Where the tasks come from, with a hash of them where that is a file."""
        read = {"tasks_file": self.tasks_file, "tasks_read": content_hash(tuple(task.id for task in self.tasks))}
        return {**({"split": self.split} if self.split else {}), **(read if self.tasks_file else {})}

    def make_plan(self, plan: Plan) -> Plan:
        """The plan with this game's number of samples."""
        return plan if self.samples is None else replace(plan, k=self.samples)


@dataclass(frozen=True, kw_only=True)
class Picks(Checked):
    """How a curriculum picks tasks: `n` in all, `at_once` before it sees results (1 is the paper's algorithm 1); groups
    are the values of the tag `by` (or `env`, `preset`)."""

    called = "curriculum"

    curriculum: Curriculum
    n: int
    by: str = "group"
    at_once: int = 8
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("n", "at_once"):
            if getattr(self, name) < 1:
                raise invalid(f"curriculum: {name}", getattr(self, name), "1 or more")


def collect_episodes(
    games: Sequence[Game], policies: Seats, plan: Plan, folder: Path, *, picks: Picks | None = None,
    on_done: OnDone | None = None,
) -> list[Run]:  # fmt: skip
    """Play every task of the games, or those that `picks` chooses; one run per game, in their order.

    `policies` are closed at the end.
    """
    if len({game.name for game in games}) < len(games):
        raise invalid("games", [game.name for game in games], "different names")
    try:
        if picks is None:
            for game in games:
                _record_game(game, game.tasks, policies, plan, folder, on_done)
        else:
            _play_picked(games, policies, plan, folder, picks, on_done)
    finally:
        run_sync(close(policies))
    return [Run.load(folder / game.name) for game in games if (folder / game.name).is_dir()]


def make_games(configs: Sequence[GameConfig], envs: Sequence[Env[Any]] | None = None) -> list[Game]:
    """The games of these configurations. Run folders are called by name and preset, and numbered where these are
    equal."""
    envs = [config.make_env() for config in configs] if envs is None else envs
    return [
        Game(env, c.select_tasks(env, at_most=True), name, split=c.split, tasks_file=c.tasks_file)
        for c, env, name in zip(configs, envs, name_games(envs), strict=True)
    ]


def name_games(envs: Sequence[Env[Any]], *, by_content: bool = False) -> list[str]:
    """The folder of each environment: its name and preset, numbered where these are equal; `by_content`, as in a folder
    that several pipelines share, with a hash of its whole configuration."""
    plain = [f"{env.spec.name.rpartition(':')[2]}-{env.spec.preset}" for env in envs]
    if by_content:
        return [f"{name}-{content_hash(env.config)[:8]}" for name, env in zip(plain, envs, strict=True)]
    return [name if plain.count(name) == 1 else f"{name}-{plain[: i + 1].count(name)}" for i, name in enumerate(plain)]


def group_game_tasks(games: Sequence[Game], by: str) -> dict[str, list[tuple[Game, Task]]]:
    """The tasks of all games, grouped by the value of a tag."""
    pool = [(game, task) for game in games for task in game.tasks]
    indices = group_tasks([task for _, task in pool], by)
    return {name: [pool[i] for i in rows] for name, rows in indices.items()}


def _play_picked(
    games: Sequence[Game], policies: Seats, plan: Plan, folder: Path, picks: Picks, on_done: OnDone | None
) -> None:
    groups = group_game_tasks(games, picks.by)
    state = picks.curriculum.initial_state()
    times = Counter[str]()
    for begun in range(0, picks.n, picks.at_once):
        choices, state = picks.curriculum.choose_tasks(state, picks.seed, min(picks.n - begun, picks.at_once))
        batch: dict[tuple[str, int], list[tuple[str, Task]]] = {}
        for choice in choices:
            game, task = groups[choice.group][choice.task]
            batch.setdefault((game.name, plan.seed + times[task.id]), []).append((choice.group, task))
            times[task.id] += 1
        for (name, seed), chosen in batch.items():
            game, again = next(game for game in games if game.name == name), replace(plan, seed=seed)
            _record_game(game, [task for _, task in chosen], policies, again, folder, on_done)
            played = Run.load(folder / name)
            for group, task in chosen:
                episodes = episodes_of_task(played, task, game.make_plan(again))
                value = learning_potential(episodes, game.env.spec.max_turns)
                state = picks.curriculum.record_potential(state, group, value)


def episodes_of_task(run: Run, task: Task, plan: Plan) -> list[Trajectory]:
    """The episodes of a plan on one task, by sample."""
    wanted = {job.key for job in plan.list_jobs([task])}
    recorded = run.trajectories.select_where("task = ? AND seed = ?", task.id, plan.seed, order="sample")
    return [t for t in recorded if (t.task.id, t.seed, t.sample) in wanted]


def _record_game(
    game: Game, tasks: Sequence[Task], policies: Seats, plan: Plan, folder: Path, on_done: OnDone | None
) -> None:
    """Record into the game's folder, which is tied to no world seed; policies stay open."""
    filled = fill_seats(game.env, {seat: p for seat, p in policies.items() if seat in game.env.spec.seats})
    seats = {seat: policy.config for seat, policy in filled.items()}
    config = {"env": game.env.config, "version": game.env.spec.version, "seats": seats, **game.source}
    record_plan(
        game.env, filled, tasks, game.make_plan(plan), folder / game.name, config, on_done=on_done, keep_open=True
    )


def load_trajectories(runs: Sequence[Run]) -> list[Trajectory]:
    """All episodes of the runs, in the order of tasks and samples. Raises `UserError` if there are none."""
    episodes = [t for run in runs for t in sorted(run, key=lambda t: (t.task.index, t.task.id, t.seed, t.sample))]
    if not episodes:
        raise UserError(f"runs: no episodes in {', '.join(str(run.folder) for run in runs) or 'no folders'}")
    return episodes
