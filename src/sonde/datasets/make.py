"""Generate a dataset: its two parts are run folders, filled on all cores and continued after an interruption.

    DIR/train/       a run (`sonde.runs.run`, docs/store.md)
    DIR/eval/        another, on other tasks, or with other seeds where the tasks are the same
    DIR/card.json    their statistics (`card.py`), and the same as a page:
    DIR/README.md

Episodes are numbered sample by sample, first one of every task (`rollout.Plan.span`), so any number of them is spread
evenly over the tasks, and a larger number continues a smaller one. The episodes do not depend on the number of
processes. Where a language model has a seat, one process plays many episodes concurrently.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence, Set
from contextlib import aclosing, closing
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from sonde._util.processes import count_cores, map_processes
from sonde.core import AGENT, EMPTY, AnyPolicy, Env, Task, Trajectory, build, derive, invalid, run_sync
from sonde.core.types import Json
from sonde.runs.games import GameConfig
from sonde.runs.rollout import Key, OnDone, Plan, close, fill_seats, record_plan, stream_trajectories
from sonde.runs.run import PreparedRun, RunConfig, prepare_run
from sonde.runs.store import Run, RunWriter

from .tasks import Dataset

PARTS = ("train", "eval")
_SECONDS = 2.0
"""Approximate duration of a chunk of episodes: what an interruption may lose, per core."""
_MOST = 512
"""Most episodes of a chunk."""
_HELD = 5_000
"""Task lists up to this length are kept in memory, so that each task is made once."""


@dataclass(frozen=True)
class Part:
    """One part of a dataset with its environment, policies and tasks, and the number of its episodes."""

    name: str
    run: PreparedRun
    episodes: int
    cost: float

    @property
    def plan(self) -> Plan:
        return replace(self.run.config.make_plan(), span=(0, self.episodes))

    @property
    def has_model(self) -> bool:
        """Whether a language model has a seat."""
        return any(_has_model(policy.config) for policy in self.run.policies.values())

    def make_chunks(self, finished: Set[Key]) -> list[EpisodeChunk]:
        """The unfinished episodes, in chunks of some seconds."""
        size = max(1, min(_MOST, int(1000 * _SECONDS / self.cost)))
        found = [self._make_chunk(at, min(at + size, self.episodes), finished) for at in range(0, self.episodes, size)]
        return [chunk for chunk in found if chunk is not None]

    def _make_chunk(self, first: int, end: int, finished: Set[Key]) -> EpisodeChunk | None:
        span, run, skip = (first, end), self.run, frozenset[Key]()
        if finished:
            plan = replace(self.plan, span=span)
            skip = frozenset(job.key for job in plan.list_jobs(run.tasks)) & finished
            if len(skip) == end - first:
                return None
        env, seats = run.env.config, {seat: policy.config for seat, policy in run.policies.items()}
        config = run.config
        return EpisodeChunk(
            orjson.dumps(env), orjson.dumps(seats), config.split, config.tasks_file, config.seed, span, skip
        )


class EpisodeChunk(NamedTuple):
    """Some episodes of a part, in a form that can be sent to another process."""

    env: bytes
    seats: bytes
    split: str
    tasks_file: str
    seed: int
    span: tuple[int, int]
    skip: frozenset[Key]


def make_parts(
    dataset: Dataset,
    *,
    n: int | None = None,
    seed: int = 0,
    seats: Mapping[str, Mapping[str, Json]] = EMPTY,
    env: Mapping[str, Json] = EMPTY,
    tasks_file: str = "",
    concurrency: int = RunConfig.concurrency,
    budget: int | None = None,
) -> list[Part]:
    """The parts of a dataset: `n` training episodes and a tenth as many for evaluation, by default as many as the table
    says. `seats` replaces the behaviour policies of these seats, `env` arguments of the environment, `tasks_file` its
    tasks; errors in the configuration are raised here."""
    if n is not None and n < 1:
        raise invalid("n", n, "1 or more")
    if not 0 <= seed < 2**64:
        raise invalid("seed", seed, "0 to 2**64 - 1")
    sizes = (dataset.size, dataset.eval_size) if n is None else (n, max(1, n // 10))
    seeds = (seed, derive(seed, "dataset", "eval"))
    found: list[Part] = []
    for name, episodes, own in zip(PARTS, sizes, seeds, strict=True):
        config = RunConfig(
            env={**dataset.env, **env}, seats={AGENT: dataset.agent, **seats}, split=dataset.splits[name],
            tasks_file=tasks_file, seed=own, k=1, concurrency=concurrency, budget=budget, gains=False,
        )  # fmt: skip
        run = prepare_run(config)
        found.append(Part(name, replace(run, tasks=_keep_tasks(run.tasks)), episodes, dataset.cost))
    return found


def count_held(part: Part, folder: Path) -> int:
    """The number of episodes that the folder holds, without failed ones."""
    begun = (folder / "config.json").is_file()
    return len(Run.load(folder).trajectories.select_where("error = ''")) if begun else 0


def fill_part(part: Part, folder: Path, *, processes: int | None = None, on_done: OnDone | None = None) -> Run:
    """Play the missing episodes. Raises `UserError` where the folder holds anything but this part."""
    run = part.run
    if part.has_model:
        return record_plan(run.env, run.policies, run.tasks, part.plan, folder, run.resolved_config, on_done=on_done)
    _write_part(part, folder, processes, on_done)
    return Run.load(folder)


def _write_part(part: Part, folder: Path, processes: int | None, on_done: OnDone | None) -> None:
    """Play with several processes. A separate function, so that the writer's index is freed before the run's is
    read."""
    with RunWriter.open(folder, part.run.resolved_config) as writer:
        writer.plan_episodes(part.plan.count_episodes(part.run.tasks, writer.finished_keys))
        chunks = part.make_chunks(writer.finished_keys)
        at_once = min(len(chunks), processes or count_cores())
        played = (
            map_processes(_play_chunk, chunks, at_once) if at_once > 1 else (_play_chunk(chunk) for chunk in chunks)
        )
        with closing(played):
            for rows in played:
                for trajectory in rows:
                    writer.append_trajectory(trajectory)
                    if on_done is not None:
                        on_done(trajectory)


def _play_chunk(chunk: EpisodeChunk) -> list[Trajectory]:
    """Play the episodes of a chunk, in any process."""
    env, policies, tasks = _build_players(chunk.env, chunk.seats, chunk.split, chunk.tasks_file)
    plan = Plan(seed=chunk.seed, span=chunk.span)

    async def play_episodes() -> list[Trajectory]:
        try:
            async with aclosing(_stream_episodes(env, policies, tasks, plan, chunk.skip)) as stream:
                return [trajectory async for trajectory in stream]
        finally:
            await close(policies)

    return run_sync(play_episodes())


def _stream_episodes(
    env: Env[Any], policies: Mapping[str, AnyPolicy], tasks: Sequence[Task], plan: Plan, skip: frozenset[Key]
) -> AsyncGenerator[Trajectory, None]:
    return stream_trajectories(env, policies, tasks, plan, skip=skip)


@lru_cache(maxsize=2)
def _build_players(
    env: bytes, seats: bytes, split: str, tasks_file: str
) -> tuple[Env[Any], dict[str, AnyPolicy], Sequence[Task]]:
    made = build(orjson.loads(env))
    policies = fill_seats(made, {seat: build(config) for seat, config in orjson.loads(seats).items()})
    game = GameConfig(env=made.config, split=split, tasks_file=tasks_file)
    return made, policies, _keep_tasks(game.select_tasks(made))


def _keep_tasks(tasks: Sequence[Task]) -> Sequence[Task]:
    return list(tasks) if len(tasks) <= _HELD else tasks


def _has_model(config: Json) -> bool:
    if isinstance(config, Mapping):
        return str(config.get("name", "")).startswith("models:") or any(map(_has_model, config.values()))
    return isinstance(config, list | tuple) and any(map(_has_model, config))
