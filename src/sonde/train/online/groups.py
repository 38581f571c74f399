"""Play groups of episodes, k samples of a task in one world, and turn them into samples with rewards and credit.

No torch here: the model is behind the agent's policy. Random draws depend only on the seed, the number of the rollout
and the position in it, so a resumed run plays the same episodes. The world of the i-th task of rollout r is
`derive(seed, "world", r, i)`, so a repeated task gets a new world if its world is drawn; the k samples of a task share
it. Source: ours; the sampling settings are the papers' (see `OnlineSettings`).
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sonde.core import AGENT, EMPTY, AnyPolicy, Task, Trajectory, UserError, derive, invalid, run_sync
from sonde.evaluation.per_turn import CALLED, marked_turns
from sonde.runs.rollout import OnDone, Plan, Seats, stream_trajectories

from ..collect import Game
from ..credit import Values, with_advantages
from ..curriculum import Choice, coefficient_of_variation, learning_potential
from ..data import RowReport, make_samples
from ..rewarders import Measurements, Rewarder, Under
from ..rewards import named_rewards
from ..selection import count_share, has_ended
from ..types import Objective, Sample, SkipsFlat
from .settings import OnlineSettings

Taken = tuple[Game, Rewarder, Sequence[Trajectory], Measurements]
"""Episodes of a game, and a rewarder's measurements of them."""
Sums = dict[str, tuple[float, float]]
"""Sum and count per name, to be added over processes and divided."""


# --- playing ---------------------------------------------------------------------------------------------------------


class PlannedTask(NamedTuple):
    """A task to play, its world, and the curriculum's group that chose it."""

    game: Game
    task: Task
    seed: int
    group: str


def plan_tasks(
    groups: Mapping[str, Sequence[tuple[Game, Task]]], choices: Sequence[Choice], seed: int, n_rollout: int
) -> list[PlannedTask]:
    """The tasks that a curriculum chose for a rollout, with their worlds."""
    return [
        PlannedTask(*groups[choice.group][choice.task], derive(seed, "world", n_rollout, i), choice.group)
        for i, choice in enumerate(choices)
    ]


def play_groups(
    chosen: Sequence[PlannedTask], agent: AnyPolicy, others: Seats, k: int, on_done: OnDone | None = None
) -> list[list[Trajectory]]:
    """Play k episodes each, all at once, so that they share the model's batches; sorted by sample. Policies stay
    open. `on_done` is called with every episode as it ends."""
    return run_sync(play_groups_async(chosen, agent, others, k, on_done))


async def play_groups_async(
    chosen: Sequence[PlannedTask], agent: AnyPolicy, others: Seats, k: int, on_done: OnDone | None = None
) -> list[list[Trajectory]]:
    """Like `play_groups`, awaitable."""
    return list(await asyncio.gather(*(_play_group(one, agent, others, k, on_done) for one in chosen)))


async def _play_group(
    one: PlannedTask, agent: AnyPolicy, others: Seats, k: int, on_done: OnDone | None
) -> list[Trajectory]:
    env, played = one.game.env, list[Trajectory]()
    policies = {**{name: p for name, p in others.items() if name in env.spec.seats}, AGENT: agent}
    async for trajectory in stream_trajectories(env, policies, [one.task], Plan(k=k, seed=one.seed)):
        played.append(trajectory)
        if on_done is not None:
            on_done(trajectory)
    return sorted(played, key=lambda t: t.sample)


# --- samples and credit ----------------------------------------------------------------------------------------------


class Group(NamedTuple):
    """The episodes of one task as samples with advantages, whether any advantage is not zero, the task's learning
    potential (None if every episode failed for outside reasons), and numbers for the log."""

    samples: list[Sample]
    signal: bool
    potential: float | None
    sums: Sums


Brought = Mapping[str, Mapping[str, Values]]
"""Rewarders' arrays by trajectory and name."""


def drop_failed(played: Sequence[Sequence[Trajectory]]) -> dict[str, list[Trajectory]]:
    """The episodes of every group, by its number, without those that failed for outside reasons. Episodes whose
    conversation filled the context are kept, with the reward earned so far."""
    return {str(i): [t for t in group if has_ended(t) and not t.error] for i, group in enumerate(played)}


def measure_rewards(
    rewarders: Iterable[Rewarder],
    games: Iterable[Game],
    chosen: Sequence[PlannedTask],
    played: Sequence[Sequence[Trajectory]],
    under: Under,
) -> tuple[dict[str, dict[str, Values]], list[Taken]]:
    """Rewarders' arrays for these episodes, by trajectory and name, and all measurements. `under` gives the player
    under the weights that a rewarder asks for."""
    brought, taken, valid = dict[str, dict[str, Values]](), list[Taken](), drop_failed(played)
    for rewarder in rewarders:
        for game in games:
            groups = {str(i): valid[str(i)] for i, one in enumerate(chosen) if one.game.name == game.name}
            episodes = [t for group in groups.values() for t in group]
            measurements = rewarder.measure_under(game.env, episodes, under)
            taken.append((game, rewarder, episodes, measurements))
            for key, arrays in rewarder.compute_rewards(groups, measurements).items():
                brought.setdefault(key, {}).update(arrays)
    return brought, taken


def assign_credit(
    chosen: Sequence[PlannedTask],
    played: Sequence[Sequence[Trajectory]],
    settings: OnlineSettings,
    brought: Brought = EMPTY,
) -> list[Group]:
    """Rewards, credit and rows of the groups just played. Episodes that failed for outside reasons are ignored. Samples
    have the mixed rewards; with a critic (`credit.GAE`) their advantages follow later."""
    valid = drop_failed(played)
    named = {i: [{**named_rewards(t), **brought.get(t.id, {})} for t in group] for i, group in valid.items()}
    rewards = {i: [settings.rewards(row) for row in rows] for i, rows in named.items()}
    advantages = settings.credit(rewards)
    _check_advantages(advantages, rewards)
    groups: list[Group] = []
    for (i, group), one, everyone in zip(valid.items(), chosen, played, strict=True):
        group_samples, report = make_samples(group, max_tokens=settings.max_tokens)
        of = {t.id: values for t, values in zip(group, advantages[i], strict=True)}
        per_turn = {t.id: tuple(values.tolist()) for t, values in zip(group, rewards[i], strict=True)}
        ready = [replace(with_advantages(s, of[s.trajectory]), rewards=per_turn[s.trajectory]) for s in group_samples]
        signal = settings.critic is not None or any(map(has_advantage, ready))
        earned = [settings.rewards.total_reward(row) for row in named[i]]
        groups.append(Group(
            samples=ready,
            signal=signal,
            potential=_group_potential(one, group, earned, settings),
            sums=_episode_sums(group, earned, report) | _rewarder_sums(group, brought) | {
                "flat_groups": (float(not signal), 1.0),
                "errors": (float(len(everyone) - len(group)), float(len(everyone))),
            },
        ))  # fmt: skip
    return groups


def _check_advantages(found: Any, rewards: Mapping[str, Sequence[Values]]) -> None:
    """Raise `UserError` where an estimator of credit does not return a list with the advantages of each episode."""
    for group, rows in rewards.items():
        given = found.get(group) if isinstance(found, Mapping) else found
        if not isinstance(given, Sequence | np.ndarray) or len(given) != len(rows):
            allowed = f"for group {group!r} a list of {len(rows)}: a number, or one per turn, for each episode"
            raise invalid("online: credit: advantages", given, allowed)


def _rewarder_sums(group: Sequence[Trajectory], brought: Brought) -> Sums:
    """Means over the episodes of each array's total, before it is weighted."""
    names = dict.fromkeys(name for t in group for name in brought.get(t.id, ()))
    return {name: (math.fsum(float(brought[t.id][name].sum()) for t in group), float(len(group))) for name in names}


def keep_best(
    groups: Sequence[Group], keep: float, everyone: Callable[[list[Any]], list[list[Any]]], rank: int, world: int
) -> list[Group]:
    """The samples that are among the best of the rollout, over all processes (`everyone` gathers a list from each),
    each as its own group, so that updates share them evenly; ties in return are spread over as many tasks as
    possible."""
    mine = [(-sum(s.rewards), j, i * world + rank) for i, g in enumerate(groups) for j, s in enumerate(g.samples)]
    ranked = sorted(place for part in everyone(mine) for place in part)
    kept = set(ranked[: count_share(keep, len(ranked))])
    flags = iter([place in kept for place in mine])
    return [group._replace(samples=[s]) for group in groups for s in group.samples if next(flags)]


def divide_steps(groups: Sequence[Group], n: int) -> list[list[Group]]:
    """The groups of each of the n optimizer steps on a rollout. Groups without samples (all their episodes failed or
    are too long) take no place, and where too few are left for every step to have one, their samples are divided."""
    full = [group for group in groups if group.samples]
    if len(full) < n:
        full = [group._replace(samples=[sample]) for group in full for sample in group.samples]
    return [full[i::n] for i in range(n)]


def split_moving(
    step: list[Sample], objective: Objective, over: Callable[[int, int], tuple[int, int]]
) -> tuple[list[Sample], int]:
    """The samples that move the weights, and the units of the others over all processes; `over` gives sum and maximum
    over processes.

    If the objective allows it (`types.SkipsFlat`), a sample whose advantages are all zero is counted and not computed.
    Any other objective gets all samples, and so does a step in which nothing moves.
    """
    if not (isinstance(objective, SkipsFlat) and objective.skips_flat):
        return step, 0
    moved = [sample for sample in step if has_advantage(sample)]
    if not over(len(moved), 0)[0]:
        return step, 0
    still = [sample for sample in step if not has_advantage(sample)]
    tokens = sum(row.n_agent for sample in still for row in sample.rows)
    return moved, over(tokens if objective.unit == "token" else len(still), 0)[0]


def no_samples_error(played: Sequence[Sequence[Trajectory]], step: int) -> UserError:
    """The error for a rollout without samples."""
    errors = [t.error for group in played for t in group if t.error]
    return UserError(
        f"online: step {step}: no episode has tokens to learn from ({len(errors)} of "
        f"{sum(map(len, played))} failed: {errors[0] if errors else 'all others exceed max_tokens'})"
    )


def has_advantage(sample: Sample) -> bool:
    """Whether any token of a sample has a non-zero advantage."""
    return any(any(row.advantages or ()) for row in sample.rows)


def _group_potential(
    one: PlannedTask, group: Sequence[Trajectory], earned: Sequence[float], settings: OnlineSettings
) -> float | None:
    if not group:
        return None
    if settings.on == "reward":
        return coefficient_of_variation(earned)
    return learning_potential(group, one.game.env.spec.max_turns)


def _episode_sums(valid: Sequence[Trajectory], earned: Sequence[float], report: RowReport) -> Sums:
    """Means over the episodes that did not fail for outside reasons. `unreadable` is the share that ended without a
    readable answer, `cut` that of replies that reached the limit of tokens; `invalid` and `repeated` are turns per game
    that the environment marked as such."""
    n, said = float(len(valid)), [c for t in valid for turn in t.turns for c in turn.acts[0].action.completions]

    def mean_of(values: Iterable[float]) -> tuple[float, float]:
        return math.fsum(values), n

    return {
        "success": mean_of(float(t.outcome is not None and t.outcome.success) for t in valid),
        "score": mean_of(turn.rewards.get(AGENT, 0.0) for t in valid for turn in t.turns),
        "reward": mean_of(earned),
        "turns": mean_of(len(t.turns) for t in valid),
        **{name: mean_of(len(marked_turns(t).get(name, ())) for t in valid) for name in CALLED},
        "unreadable": mean_of(float(t.outcome is not None and t.outcome.kind == "unreadable") for t in valid),
        "cut": (float(sum(c.finish == "length" for c in said)), float(len(said))),
        "context_full": mean_of(float(t.outcome is not None and t.outcome.truncated == "context") for t in valid),
        "tokens": (float(report.tokens), n),
        "agent_tokens": (float(report.agent_tokens), n),
        "forked": (float(report.forked), n),
        "too_long": (float(report.too_long), n),
    }
