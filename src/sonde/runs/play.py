"""`sonde.rollout`: play an environment in one call, in memory or into a run folder.

    played = sonde.rollout("wordle", "entropy", tasks=10, k=2)                     # 20 trajectories
    run = sonde.rollout("wordle", "entropy", tasks=10, k=2, folder="runs/a")       # the same episodes, on disk

`rollout.py` has what is behind it: plans, shares of a plan, episodes one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast, overload

from sonde._util.argument_checks import check_call
from sonde.core import AGENT, AnyPolicy, Env, Task, Trajectory, invalid, make

from .rollout import OnDone, Plan, Seats, collect_trajectories, fill_seats, record_plan
from .store import Run

Player = AnyPolicy | str
"""A policy, or its name."""


@overload
def rollout(
    env: Env[Any] | str, agent: Player | Mapping[str, Player], tasks: Sequence[Task] | int | None = None, *,
    split: str = "test", k: int = 1, seed: int = 0, concurrency: int = 256, budget: int | None = None,
    folder: None = None, on_done: OnDone | None = None,
) -> list[Trajectory]: ...  # fmt: skip
@overload
def rollout(
    env: Env[Any] | str, agent: Player | Mapping[str, Player], tasks: int | None = None, *,
    split: str = "test", k: int = 1, seed: int = 0, concurrency: int = 256, budget: int | None = None,
    folder: Path | str, on_done: OnDone | None = None,
) -> Run: ...  # fmt: skip
@check_call
def rollout(
    env: Env[Any] | str,
    agent: Player | Mapping[str, Player],
    tasks: Sequence[Task] | int | None = None,
    *,
    split: str = "test",
    k: int = 1,
    seed: int = 0,
    concurrency: int = 256,
    budget: int | None = None,
    folder: Path | str | None = None,
    on_done: OnDone | None = None,
) -> list[Trajectory] | Run:
    """Play tasks, each `k` times, and return the trajectories, or with a `folder` the run that holds them.

    `env` is an environment or its name. `agent` is a policy or its name (`entropy`), or a mapping of seats to those;
    the environment's own policies take the other seats. `tasks` are the first so many of the `split`, all of it
    (None), or any tasks. `seed`, `concurrency` and `budget` are those of `rollout.Plan`. `on_done` receives every
    trajectory as its episode ends.

    A `folder` that holds episodes of the same configuration is continued, so its tasks are a number, or all: `sonde
    rescore`, `sonde view` and `Run.to_frame` find them again. Any list of tasks is recorded by `rollout.record_plan`.
    """
    env = make(env) if isinstance(env, str) else env
    policies = _make_players(agent)
    plan = Plan(k=k, seed=seed, concurrency=concurrency, budget=budget)
    if folder is not None and not (tasks is None or isinstance(tasks, int)):
        raise invalid("rollout: tasks", f"{len(tasks)} tasks", "a number or None, where there is a folder")
    chosen = _choose_tasks(env, tasks, split)
    if folder is None:
        return collect_trajectories(env, policies, chosen, plan, on_done=on_done)
    seats = {seat: policy.config for seat, policy in fill_seats(env, policies).items()}
    tied = {"env": env.config, "seats": seats, "split": split, "seed": seed, "version": env.spec.version}
    return record_plan(env, policies, chosen, plan, folder, tied, on_done=on_done)


def _make_players(agent: Player | Mapping[str, Player]) -> Seats:
    seats = agent if isinstance(agent, Mapping) else {AGENT: agent}
    return {seat: _make_player(seat, player) for seat, player in seats.items()}


def _make_player(seat: str, player: Player) -> AnyPolicy:
    if not isinstance(player, str):
        return player
    named = f"agents:{player}" if seat == AGENT and ":" not in player else player
    return cast("AnyPolicy", make(named))


def _choose_tasks(env: Env[Any], tasks: Sequence[Task] | int | None, split: str) -> Sequence[Task]:
    if isinstance(tasks, Sequence):
        return tasks
    every = env.tasks(split)
    if tasks is None:
        return every
    if not 1 <= tasks <= len(every):
        raise invalid("rollout: tasks", tasks, f"1 to {len(every)}, as many as {env.name} has in {split}")
    return every[:tasks]
